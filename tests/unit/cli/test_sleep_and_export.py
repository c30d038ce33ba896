"""What the command line asks of sleep and export: other names of a user stand for the user, and programs read one document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aico_memory.cli import main, sleep
from aico_memory.cli.face import Face
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.paths import Home
from aico_memory.runtime import export

ALIAS, USER = "discord:7", "ana"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """Everything that goes to the bus; it answers emptily."""
    told: list[Any] = []

    @contextmanager
    def linked(face: Face) -> Iterator[Any]:
        yield SimpleNamespace()

    def answer(_: object, message: Any, *, user: str = "", seconds: float | None = None) -> Any:
        told.append((message, user))
        kinds = {sleep_pb2.PendingRequest: sleep_pb2.PendingPage, sleep_pb2.SleepStatusRequest: sleep_pb2.SleepStatus,
                 sleep_pb2.EstimateRequest: sleep_pb2.Estimate}  # fmt: skip
        return kinds[type(message)]()

    def start(_: object, event_id: object, now_us: int, users: list[str], phases: list[str]) -> str:
        told.append(users)
        return "f"

    def exported(_: object, workers: list[str], user: str, shown: object) -> list[str]:
        told.append(user)
        return ["{}"]

    monkeypatch.setattr(Face, "operator", linked)
    monkeypatch.setattr(sleep, "ask", answer)
    monkeypatch.setattr(sleep, "start_sleep", start)
    monkeypatch.setattr(sleep, "broker_says", lambda *_: {})
    monkeypatch.setattr(export, "canonical_export", exported)
    monkeypatch.setenv("AICO_MEMORY_HOME", str(tmp_path))
    monkeypatch.setenv("AICO_MEMORY_SET__identity__aliases", f'{{"{ALIAS}": "{USER}"}}')
    return told


def call(*arguments: str) -> int:
    """The exit code of one call."""
    try:
        return main(list(arguments))
    except SystemExit as ended:
        return int(ended.code or 0)


def test_sleep_and_export_are_those_of_the_user(asked: list[Any]) -> None:
    assert call("sleep", "now", "--user", ALIAS, "--user", "bo") == 0
    assert call("export", "--user", ALIAS) == 0
    assert call("sleep", "estimate", "--user", ALIAS) == 0
    assert call("sleep", "status", "--user", ALIAS) == 0
    assert call("sleep", "pending", "--user", ALIAS) == 0
    users, exported, (estimate, _), (status, header), (pending, whose) = asked
    assert (users, exported, list(estimate.user_ids)) == ([USER, "bo"], USER, [USER])
    assert status.user_id == header == pending.user_id == whose == USER


@pytest.mark.parametrize(("status", "code"), [("complete", 0), ("failed", 1)])
def test_a_run_is_one_document_to_programs_however_it_ended(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], status: str, code: int
) -> None:
    run = sleep_pb2.Run(run_id="r", status=status, error="" if code == 0 else "the disk is full")
    monkeypatch.setattr(sleep, "await_sleep", lambda *_: run)
    assert call("sleep", "now", "--wait", "--json") == code
    told = json.loads(capsys.readouterr().out)
    assert (told["run_id"], told["status"]) == ("r", status)
    assert call("sleep", "now", "--wait") == code
    assert ("the disk is full" in capsys.readouterr().err) == bool(code)


def test_nobody_stays_nobody(asked: list[Any], tmp_path: Path) -> None:
    assert call("sleep", "now") == 0
    assert call("export") == 0
    assert asked == [[], ""]
    assert Face(Home(tmp_path)).user("") == ""
