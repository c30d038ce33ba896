"""Logs of supervised processes: one bounded file each, and all of them in one place on the terminal."""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

KEPT_LINES = 40
MAX_LINE = 16_384
READ_BYTES = 65_536
Echo = Callable[[str, str], None]


class ProcessLog:
    """Takes the raw output of one process; writes whole lines, rotates by size, remembers the last ones."""

    def __init__(self, path: Path, max_bytes: int, files: int, echo: Echo | None = None) -> None:
        self._path = path
        self._name = path.stem
        self._max_bytes = max_bytes
        self._files = files
        self._echo = echo
        self._rest = b""
        self._file = path.open("ab")
        self.last: deque[str] = deque(maxlen=KEPT_LINES)

    def feed(self, data: bytes) -> None:
        """Output as it came from the pipe."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_LINE:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self._line(line)
        self._file.flush()

    async def follow(self, descriptor: int) -> None:
        """Take what comes out of a pipe until nobody writes to it any more; closes it."""
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
        )
        try:
            while data := await reader.read(READ_BYTES):
                self.feed(data)
        finally:
            transport.close()

    def close(self) -> None:
        if self._rest:
            self._line(self._rest)
        self._file.close()

    def reason(self) -> str:
        """Why the process ended, in its own last words: its typed error if it named one, else the last line."""
        for line in reversed(self.last):
            entry = _parsed(line)
            if entry is not None and entry.get("event") == "stopped" and "detail" in entry:
                return f"{entry['detail']} ({entry.get('code', '')}). {entry.get('mend', '')}".strip()
        return next((_brief(line) for line in reversed(self.last) if line.strip()), "")

    def _line(self, line: bytes) -> None:
        if self._file.tell() + len(line) > self._max_bytes:
            self._rotate()
        self._file.write(line + b"\n")
        text = line.decode(errors="replace")
        self.last.append(text)
        if self._echo is not None and text.strip():
            self._echo(self._name, text)

    def _rotate(self) -> None:
        self._file.close()
        for number in range(self._files, 0, -1):
            source = self._path.with_suffix(f".log.{number - 1}") if number > 1 else self._path
            if source.exists():
                source.replace(self._path.with_suffix(f".log.{number}"))
        self._file = self._path.open("ab")


def readable(name: str, line: str) -> tuple[str, str]:
    """Level and one readable line of a log line (JSON or not) for the terminal."""
    entry = _parsed(line)
    if entry is None:
        return "info", f"{name:<14} {line}"
    level = str(entry.pop("level", "info"))
    moment = str(entry.pop("timestamp", ""))[11:19]
    event = entry.pop("event", "")
    for hidden in ("process", "logger"):
        entry.pop(hidden, None)
    trace = entry.pop("exception", None)
    details = " ".join(f"{key}={value}" for key, value in entry.items())
    text = f"{moment} {name:<14} {event} {details}".rstrip()
    return level, f"{text}\n{trace}" if trace else text


def _parsed(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def _brief(line: str) -> str:
    entry = _parsed(line)
    if entry is None:
        return line.strip()
    trace = str(entry.get("exception", "")).strip().splitlines()
    return trace[-1] if trace else str(entry.get("detail") or entry.get("event") or line)
