"""The operations log: one JSON line for each question to a language model, without a word of what was said."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FILE = "operations.jsonl"


class OperationsLog:
    """Appends lines, rotates by size, and tells what was spent; safe from many threads."""

    def __init__(self, folder: Path, max_bytes: int, files: int) -> None:
        self._path = folder / FILE
        self._max_bytes = max_bytes
        self._files = files
        self._lock = threading.Lock()

    def append(self, line: Mapping[str, Any]) -> None:
        """Write one line and hand it to the operating system."""
        data = json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            if self._path.exists() and self._path.stat().st_size + len(data) > self._max_bytes:
                self._rotate()
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, data)
            finally:
                os.close(descriptor)

    def since(self, at_us: int) -> list[dict[str, Any]]:
        """The lines from then on, oldest first; a torn line of a crash is left out."""
        with self._lock:
            found: list[dict[str, Any]] = []
            for path in self._newest_first():
                lines = list(_lines(path))
                found[:0] = [line for line in lines if line["at_us"] >= at_us]
                if lines and lines[0]["at_us"] < at_us:
                    break
            return found

    def _newest_first(self) -> list[Path]:
        return [self._path, *(self._rotated(number) for number in range(1, self._files + 1))]

    def _rotated(self, number: int) -> Path:
        return self._path.with_name(f"{FILE}.{number}")

    def _rotate(self) -> None:
        for number in range(self._files, 0, -1):
            source = self._rotated(number - 1) if number > 1 else self._path
            if source.exists():
                source.replace(self._rotated(number))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and isinstance(line.get("at_us"), int):
            yield line
