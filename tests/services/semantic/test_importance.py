"""How much experiences resemble what was asked last."""

from __future__ import annotations

import uuid
from dataclasses import replace

import numpy as np
import pytest

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.domain.memory import RECORD
from aico_memory.errors import InvalidMessage
from aico_memory.ids import derive_id
from aico_memory.stores.semantic.item_port import Vector
from aico_memory.stores.semantic.port import KeptVector
from aico_memory.stores.semantic.twin import MemorySemanticStore
from services.semantic.sleep.importance import Importance
from tests.stores.semantic.memories import ADA, a_memory

MODEL = "model-1"


def direction(degrees: float) -> Vector:
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], dtype=np.float32)


def experience(number: int) -> uuid.UUID:
    return uuid.UUID(int=number)


@pytest.fixture
def store() -> MemorySemanticStore:
    """Three records: at 0 and 60 degrees, and one that is not embedded yet."""
    made = MemorySemanticStore()
    with made.transaction() as transaction:
        for number in (1, 2, 3):
            record_id = derive_id(experience(number), RECORD).bytes
            transaction.add(replace(a_memory(number), memory_id=record_id), [], [], number)
    keys = made.tables.keys
    kept = [KeptVector(keys[derive_id(experience(n), RECORD).bytes], 1, direction(at)) for n, at in ((1, 0.0), (2, 60.0))]
    made.keep(MODEL, kept)
    return made


def ask(store: MemorySemanticStore, *numbers: int, questions: int = 10, model: str = MODEL) -> sleep_pb2.ImportancePage:
    request = sleep_pb2.ImportanceRequest(
        user_id="ada", event_ids=[experience(number).bytes for number in numbers], questions=questions
    )
    answers = Importance(store, lambda: model)
    return answers.page(Event(uuid.UUID(int=99), "", "ada", request))


def asked(store: MemorySemanticStore, *degrees: float) -> None:
    with store.transaction() as transaction:
        for place, at in enumerate(degrees):
            transaction.note_question(ADA, MODEL, direction(at), 100 + place, 100)


def test_importance_is_the_mean_similarity_to_the_last_questions(store: MemorySemanticStore) -> None:
    asked(store, 90.0, 0.0, 60.0)
    page = ask(store, 1, 2, 3, questions=2)
    assert page.questions == 2
    assert list(page.importance) == pytest.approx([0.75, 0.75, 0.0], abs=1e-3)
    assert list(ask(store, 2, 1).importance) == pytest.approx([(np.cos(np.pi / 6) + 0.5 + 1) / 3, 0.5], abs=1e-3)


def test_what_was_asked_after_the_night_began_says_nothing(store: MemorySemanticStore) -> None:
    with store.transaction() as transaction:
        transaction.note_question(ADA, MODEL, direction(0.0), 100, 100, sequence=7)
        transaction.note_question(ADA, MODEL, direction(90.0), 101, 100, sequence=9)
    request = sleep_pb2.ImportanceRequest(user_id="ada", event_ids=[experience(1).bytes], questions=10, before=9)
    page = Importance(store, lambda: MODEL).page(Event(uuid.UUID(int=99), "", "ada", request))
    assert (page.questions, list(page.importance)) == (1, pytest.approx([1.0], abs=1e-3))


@pytest.mark.parametrize("before", [1 << 63, (1 << 64) - 1])
def test_a_place_beyond_any_is_refused(store: MemorySemanticStore, before: int) -> None:
    request = sleep_pb2.ImportanceRequest(user_id="ada", event_ids=[experience(1).bytes], questions=10, before=before)
    with pytest.raises(InvalidMessage, match="before"):
        Importance(store, lambda: MODEL).page(Event(uuid.UUID(int=99), "", "ada", request))
    request.before = (1 << 63) - 1
    assert Importance(store, lambda: MODEL).page(Event(uuid.UUID(int=99), "", "ada", request)).questions == 0


def test_where_nothing_was_asked_nothing_is_important(store: MemorySemanticStore) -> None:
    page = ask(store, 1, 2)
    assert (page.questions, list(page.importance)) == (0, [0.0, 0.0])


def test_questions_of_another_model_say_nothing(store: MemorySemanticStore) -> None:
    asked(store, 0.0)
    assert ask(store, 1, model="model-2").questions == 0
    assert ask(store, 1, model="").questions == 0


def test_what_is_not_known_is_answered_in_its_place(store: MemorySemanticStore) -> None:
    asked(store, 0.0)
    assert list(ask(store, 77, 1).importance) == pytest.approx([0.0, 1.0], abs=1e-3)
