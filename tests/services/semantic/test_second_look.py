"""What refers to something that arrives late is judged again: the order of arrival tells nothing about what is true."""

from __future__ import annotations

import uuid
from itertools import permutations
from typing import Any

import pytest

from aico_memory.contracts.v1 import context_pb2, semantic_pb2, working_pb2, write_path_pb2
from aico_memory.domain.memory import Scope
from aico_memory.ids import derive_id
from tests.services.semantic.worker import Worker

DAY = 86_400_000_000
BEGIN = 1_771_000_000_000_000


@pytest.fixture
def worker(tmp_path: Any) -> Any:
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def tell(worker: Worker, text: str, day: int, user: str) -> uuid.UUID:
    said_at_us = BEGIN + day * DAY
    said = working_pb2.Message(user_id=user, role="user", content=text, session_id="s", said_at_us=said_at_us)
    return worker.tell(said, user).event_id


def recall(worker: Worker, question: str, user: str, day: int) -> list[tuple[str, int, int]]:
    request = context_pb2.RecallRequest(user_id=user, question=question, as_of_us=BEGIN + day * DAY)
    found = worker.ask(request, user).results
    return sorted((one.value, one.valid_from_us, one.valid_until_us) for one in found)


@pytest.mark.parametrize(
    ("story", "question"),
    [
        (("I'm learning Korean.", "I gave up on Korean, I'm doing Norwegian now."), "What language am I learning?"),
        (("I'm studying law at Leeds.", "I've switched from law to philosophy."), "What do I study?"),
        (("I drive a Corolla.", "I traded the Corolla in for a Rivian."), "What do I drive?"),
        (("Ich arbeite bei Bosch.", "Quatsch, nicht Bosch, bei ZF."), "Wo arbeite ich?"),
        (("Kızım Elif keman çalıyor.", "Elif kemanı bıraktı, piyanoya başladı."), "Elif hangi enstrümanı çalıyor?"),
        (("I live in Rome.", "I moved to Oslo.", "I never lived in Oslo, that was a joke."), "Where do I live?"),
    ],
)
def test_whatever_order_messages_arrive_in_the_same_is_true(worker: Worker, story: tuple[str, ...], question: str) -> None:
    told = list(enumerate(story))
    expected = None
    for number, order in enumerate(permutations(told)):
        user = f"user{number}"
        for day, text in order:
            tell(worker, text, day * 10, user)
        answers = [recall(worker, question, user, day) for day in (5, 15, 25)]
        expected = answers if expected is None else expected
        assert answers == expected, f"arrived as {[text for _, text in order]}"
    assert expected is not None and any(expected), "something is answered at all"


def test_what_was_carried_out_is_not_carried_out_again(worker: Worker) -> None:
    tell(worker, "I drive a Corolla.", 0, "ada")
    tell(worker, "I traded the Corolla in for a Rivian.", 10, "ada")
    before = list(worker.handlers.export("ada", "", 999).lines)
    tell(worker, "What a day!", 5, "ada")
    tell(worker, "I live in Rome.", 5, "ada")
    after = list(worker.handlers.export("ada", "", 999).lines)
    assert [line for line in after if "Corolla" in line or "Rivian" in line] == [
        line for line in before if "Corolla" in line or "Rivian" in line
    ]


def test_the_second_look_is_told_in_the_explanation(worker: Worker) -> None:
    end = tell(worker, "I gave up on Korean, I'm doing Norwegian now.", 10, "ada")
    tell(worker, "I'm learning Korean.", 0, "ada")
    request = write_path_pb2.ExplainRequest(user_id="ada", event_id=end.bytes)
    (explained,) = worker.ask(request, "ada").events
    assert "END" in [outcome.action for outcome in explained.outcomes]


def test_a_message_that_was_deleted_ends_nothing_any_more(worker: Worker) -> None:
    end = tell(worker, "I gave up on Korean.", 10, "ada")
    record = str(derive_id(end, "record"))
    worker.answered(semantic_pb2.InvalidateMemory(user_id="ada", memory_id=record), "ada")
    tell(worker, "I'm learning Korean.", 0, "ada")
    assert [one[0] for one in recall(worker, "What language am I learning?", "ada", 20)] == ["Korean"]
    assert worker.handlers.state.referring(Scope("user", "ada"), 0, 9) == []


def test_a_message_that_was_reworded_ends_nothing_by_its_former_words(worker: Worker) -> None:
    end = tell(worker, "I gave up on Korean.", 10, "ada")
    edit = semantic_pb2.UpdateMemory(user_id="ada", memory_id=str(derive_id(end, "record")), text="I gave up on Danish.")
    worker.answered(edit, "ada")
    tell(worker, "I'm learning Korean.", 0, "ada")
    assert [one[0] for one in recall(worker, "What language am I learning?", "ada", 20)] == ["Korean"]


def test_a_late_word_in_one_scope_is_nothing_to_another(worker: Worker) -> None:
    tell(worker, "I gave up on Korean.", 10, "bo")
    tell(worker, "I'm learning Korean.", 0, "ada")
    assert [one[0] for one in recall(worker, "What language am I learning?", "ada", 20)] == ["Korean"]
