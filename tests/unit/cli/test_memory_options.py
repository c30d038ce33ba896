"""Options of the verbs on memory: each reaches the client, or is refused; what was cut says so."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aico_memory import MemoryClient
from aico_memory.cli import main
from aico_memory.cli.face import Exit, Face

MOMENT = "2026-03-01T00:00:00Z"


class Asked:
    """A client that keeps what it is asked, by the names that the real one has for it, and answers as it is told to."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.answer: Any = {"results": [], "degraded": [], "interaction_id": "i1"}

    def __getattr__(self, verb: str) -> Any:
        signature = inspect.signature(getattr(MemoryClient, verb))

        def asked(*given: Any, **named: Any) -> Any:
            self.calls.append(signature.bind(self, *given, **named).arguments)
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


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("delete", "m1", "--reason", "in jest"), {"reason": "in jest"}),
        (("update", "m1", "tea", "--metadata", '{"by": "hand"}'), {"metadata": {"by": "hand"}}),
        (
            ("add-turn", "a", "b", "--timestamp", MOMENT, "--zone", "Europe/Lisbon"),
            {"timestamp": MOMENT, "zone": "Europe/Lisbon"},
        ),
        (
            ("list", "--tier", "semantic", "--session", "s1", "--since", MOMENT, "--until", MOMENT, "--kind", "fact"),
            {"filters": {"tier": ["semantic"], "session_id": "s1", "since": MOMENT, "until": MOMENT, "kind": ["fact"]}},
        ),
        (("recall", "Where?", "--zone", "Europe/Lisbon"), {"zone": "Europe/Lisbon"}),
    ],
)
def test_an_option_reaches_the_client(asked: Asked, arguments: tuple[str, ...], meant: dict[str, Any]) -> None:
    assert call(*arguments, "--user", "ana") == 0
    (given,) = asked.calls
    assert {name: given.get(name) for name in meant} == meant
    assert given["user_id"] == "ana"


def test_what_is_no_json_for_an_edit_is_refused(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("update", "m1", "tea", "--metadata", "{", "--json") == Exit.USAGE
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "invalid_message"
    assert asked.calls == []
