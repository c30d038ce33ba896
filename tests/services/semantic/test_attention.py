"""What somebody asks is attended to: only the last questions, and only those with a vector."""

from __future__ import annotations

from aico_memory.contracts.v1 import semantic_pb2, write_path_pb2
from aico_memory.domain.memory import Scope
from tests.services.semantic.statements import ADA, message
from tests.services.semantic.worker import Worker


def attention_of(worker: Worker, text: str) -> float:
    said = worker.tell(message(text))
    (explained,) = worker.ask(write_path_pb2.ExplainRequest(user_id="ada", event_id=said.event_id.bytes)).events
    return float(explained.outcomes[0].attention)


def asked(worker: Worker, scope: Scope = ADA) -> int:
    return len(worker.handlers.state.questions(scope, worker.model.fingerprint, 100))


def test_what_somebody_asks_is_what_is_attended_to_later(worker):
    assert attention_of(worker, "I play the violin") == 0.0
    for text in ("How do I string a cello?", "How are you?", "Really?"):
        worker.say(text)
    worker.tell(message("Which cello teacher should you take?", role="assistant"))
    assert asked(worker) == 1
    assert attention_of(worker, "I play the cello") > 0.2
    assert asked(worker, Scope("user", "bob")) == 0


def test_only_the_last_questions_are_kept(worker, monkeypatch):
    worker.handlers._write_path.writing._questions = 3
    monkeypatch.setattr("services.semantic.writing._ASKED_SINCE", 2)
    for number in range(8):
        worker.say(f"Where did I put letter {number}?")
    assert asked(worker) == 5


def test_a_question_that_could_not_be_embedded_is_not_kept_and_its_record_is(worker):
    worker.model_away = True
    worker.say("Where did I put the letter?")
    assert asked(worker) == 0
    assert worker.ask(semantic_pb2.ListMemories(user_id="ada")).records
