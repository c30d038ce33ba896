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
from aico_memory.client.paging import Rows
from aico_memory.errors import AicoMemoryError, DeadlineExceeded

MOMENT = "2026-03-01T00:00:00Z"


class Asked:
    """A client that keeps what it is asked, by the names that the real one has for it, and answers as it is told to."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.failure: AicoMemoryError | None = None
        self.answer: Any = {"results": [], "degraded": [], "cut": False, "interaction_id": "i1"}

    def __getattr__(self, verb: str) -> Any:
        signature = inspect.signature(getattr(MemoryClient, verb))

        def asked(*given: Any, **named: Any) -> Any:
            self.calls.append(signature.bind(self, *given, **named).arguments)
            if verb == "flush" and self.failure is not None:
                raise self.failure
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
        (("judge", "m1", "--helpful", "--id", "e1"), {"event_id": "e1"}),
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


FACT = {
    "memory": "User lives in Rome", "valid_from": None, "valid_until": None, "subject": "user", "predicate": "home_city",
    "kind": "profile", "id": "m1",
}  # fmt: skip
EDGE = {"subject": "user", "predicate": "age", "object": "41", "valid_from": None, "valid_until": None, "id": "m1"}
ENTITY = {"name": "Anna", "type": None, "aliases": [], "merge_ids": [], "id": "e1"}
MEMORY = {
    "memory": "tea", "kind": "fact", "status": "active", "id": "m1", "sources": [], "valid_from": None, "created_at": MOMENT,
}  # fmt: skip
LIMITED: list[tuple[tuple[str, ...], Any]] = [
    (("state",), {"results": [FACT], "cut": True}),
    (("state", "--at", MOMENT, "--snapshot"), {"results": [FACT], "cut": True}),
    (("timeline",), {"results": [FACT], "cut": True}),
    (("list",), {"results": [MEMORY], "cut": True}),
    (("graph", "entities"), Rows([ENTITY], cut=True)),
    (("graph", "neighbours", "user"), {"edges": [EDGE], "cut": True}),
    (("graph", "paths", "user", "41"), Rows([[EDGE]], cut=True)),
    (("graph", "hub", "Anna"), Rows([MEMORY], cut=True)),
    (("graph", "related", "m1"), Rows([{"hops": 1, "relation": "causes", "memory": MEMORY}], cut=True)),
]


@pytest.mark.parametrize(("arguments", "answer"), LIMITED)
def test_a_limit_reaches_the_client_and_what_it_cuts_is_said(
    asked: Asked, arguments: tuple[str, ...], answer: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    asked.answer = answer
    assert call(*arguments, "--limit", "7") == 0
    assert "There is more" in capsys.readouterr().out
    assert call(*arguments, "--limit", "7", "--json") == 0
    assert json.loads(capsys.readouterr().out)["cut"] is True
    assert [one["limit"] for one in asked.calls] == [7, 7]
    asked.answer = Rows(answer) if isinstance(answer, Rows) else {**answer, "cut": False}
    assert call(*arguments) == 0
    assert "There is more" not in capsys.readouterr().out


def test_changes_beyond_what_is_given_are_asked_for_in_a_shorter_time(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    asked.answer = {"came": [EDGE], "went": [], "cut": True}
    assert call("graph", "changes", "--since", MOMENT) == 0
    assert "There is more; ask about a shorter time." in capsys.readouterr().out


@pytest.mark.parametrize(
    "option",
    [
        ("--role", "assistant"),
        ("--name", "Ada"),
        ("--timestamp", MOMENT),
        ("--metadata", "{}"),
        ("--zone", "Europe/Lisbon"),
        ("--id", "0198c0de-0000-7000-8000-000000000000"),
    ],
)
def test_options_of_one_message_are_refused_beside_messages_from_standard_input(
    asked: Asked, option: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("add", "-", *option, "--json") == Exit.USAGE
    error = json.loads(capsys.readouterr().out)["error"]
    assert option[0] in error["detail"] and "line" in error["mend"]
    assert asked.calls == []


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [(("add", "I drink tea"), ["e1"]), (("add-turn", "tea?", "Yes."), {"event_id": "e1", "interaction_id": "i1"})],
)
def test_what_was_acknowledged_is_named_where_waiting_for_it_fails(
    asked: Asked, arguments: tuple[str, ...], answer: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    asked.answer, asked.failure = answer, DeadlineExceeded("After 60 s still behind: semantic")
    assert call(*arguments, "--wait", "--json") == Exit.DEADLINE
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["event_ids"]) == ("deadline_exceeded", ["e1"])
    assert error["mend"].startswith("It is kept") and "status" in error["mend"]
    assert call(*arguments, "--wait") == Exit.DEADLINE
    assert "event e1" in capsys.readouterr().err


@pytest.mark.parametrize("speed", ["nan", "inf", "0", "-1", "soon"])
def test_a_speed_that_is_none_is_refused(speed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stream = Path(__file__).parents[2] / "streams" / "moving_house.stream"
    assert call("replay", str(stream), "--speed", speed, "--home", str(tmp_path), "--json") == Exit.USAGE
    assert "is no speed" in json.loads(capsys.readouterr().out)["error"]["detail"]
