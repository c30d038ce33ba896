"""`aico-memory publish`: what it prints of a question, a command and a message, and how it ends where one is refused."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable

import pytest

from aico_memory.cli import main
from aico_memory.cli.face import Exit
from aico_memory.contracts.v1 import behavioral_pb2, semantic_pb2
from aico_memory.errors import NotFound
from aico_memory.paths import Home

UNDO, GET = "memory/behavioral/undo/v1/", "memory/semantic/get/v1/"
BODY = json.dumps({"user_id": "ana"})
Call = Callable[..., tuple[int, str]]


@pytest.fixture
def call(broker: object, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.setenv("AICO_MEMORY_HOME", str(home.root))

    def run(*arguments: str) -> tuple[int, str]:
        try:
            code = int(main(list(arguments)))
        except SystemExit as ended:
            code = int(ended.code or 0)
        return code, capsys.readouterr().out

    return run


def test_a_command_prints_where_it_stands_and_its_answer(call: Call, worker, connect) -> None:
    worker("behavioral").answers(UNDO, lambda event: behavioral_pb2.UndoResult(undone=3, left=1))
    code, out = call("publish", UNDO, BODY, "--json")
    told = json.loads(out)
    (record,) = connect("operator").read(UNDO)
    assert (code, told["event_id"], told["global_sequence"]) == (0, str(record.id), record.global_sequence)
    assert told["answer"] == {"undone": 3, "left": 1}
    code, out = call("publish", UNDO, BODY)
    first, rest = out.split("\n", 1)
    assert (code, uuid.UUID(first.split()[0]).version, json.loads(rest)["undone"]) == (0, 7, 3)


def test_a_command_that_is_refused_ends_with_the_code_of_its_error(call: Call, worker) -> None:
    worker("behavioral").answers(UNDO, lambda event: NotFound("Nothing to undo"))
    code, out = call("publish", UNDO, BODY, "--json")
    assert (code, json.loads(out)["error"]["code"]) == (Exit.NOT_FOUND, "not_found")


def test_a_command_that_nobody_answers_in_time_names_its_event(call: Call, connect) -> None:
    code, out = call("publish", UNDO, BODY, "--timeout", "0.5", "--json")
    error = json.loads(out)["error"]
    (record,) = connect("operator").read(UNDO)
    assert (code, error["event_ids"]) == (Exit.DEADLINE, [str(record.id)])
    assert "the command is on disk" in error["detail"]


def test_a_question_prints_its_answer_alone(call: Call, worker) -> None:
    worker("semantic").answers(GET, lambda event: semantic_pb2.MemoryPage(records=[semantic_pb2.MemoryRecord(text="tea")]))
    body = json.dumps({"user_id": "ana", "memory_ids": [str(uuid.UUID(int=7))]})
    code, out = call("publish", GET, body, "--json")
    assert (code, json.loads(out)) == (0, {"records": [{"text": "tea"}]})
