"""Options of the verbs on memory: each reaches the client, or is refused; what was cut says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aico_memory.cli import main
from aico_memory.cli.face import Exit, Face

MOMENT = "2026-03-01T00:00:00Z"


class Asked:
    """A client that keeps what it is asked and answers as it is told to."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.answer: Any = {}

    def __getattr__(self, verb: str) -> Any:
        def asked(*given: Any, **named: Any) -> Any:
            self.calls.append((verb, given, named))
            return self.answer

        return asked


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Asked:
    made = Asked()

    @contextmanager
    def connected(face: Face) -> Iterator[Asked]:
        yield made

    monkeypatch.setattr(Face, "client", connected)
    monkeypatch.setenv("AICO_MEMORY_HOME", str(tmp_path / "home"))
    return made


def call(*arguments: str) -> int:
    try:
        return int(main(list(arguments)))
    except SystemExit as ended:
        return int(ended.code or 0)


def test_a_snapshot_by_what_was_known_at_another_moment_is_refused(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("state", "--at", MOMENT, "--known-as-of", MOMENT, "--snapshot", "--json") == Exit.USAGE
    error = json.loads(capsys.readouterr().out)["error"]
    assert "snapshot" in error["detail"] and "--known-as-of" in error["mend"]
    assert asked.calls == []
