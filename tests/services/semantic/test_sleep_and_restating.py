"""What sleep did survives what is said later under the same key, and what is said again is awake."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from aico_memory.contracts.v1 import context_pb2, semantic_pb2
from aico_memory.domain.memory import OPEN, Memory, Scope
from services.semantic.sleep.phase import Step
from services.semantic.sleep.placing import rest
from tests.services.semantic.statements import items, message
from tests.services.semantic.worker import START, Worker
from tests.support.sleeping import night

DAY = 86_400_000_000
ADA = Scope("user", "ada")


@pytest.fixture
def worker(tmp_path):
    made = Worker(tmp_path / "home")
    yield made
    made.handlers.close()


def say(worker: Worker, day: float, *texts: str, **fields: Any) -> None:
    """Said on a day, and heard of at once."""
    worker.began_us = START + round(day * DAY)
    for text in texts:
        worker.tell(message(text, **fields))


def value(worker: Worker, wanted: str) -> Memory:
    (found,) = [one.memory for one in items(worker) if one.value == wanted]
    return found


def state(worker: Worker) -> dict[str, tuple[str, str]]:
    return {one.value: (one.memory.status, one.memory.tier) for one in items(worker)}


def sleep_on(worker: Worker, day: float) -> None:
    night(worker, START + round(day * DAY), run=f"day {day}")


def put_to_rest(worker: Worker, day: float, wanted: str) -> None:
    memory = value(worker, wanted)
    event = worker.event(message("Good night"))
    step = Step(ADA, "ada", "", 1, START + round(day * DAY), event.event_id, event.global_sequence)
    with worker.handlers.state.transaction() as transaction:
        rest(transaction, step, memory, "for a test")


def test_a_preference_that_rests_wakes_when_it_is_said_again_and_stays_awake(worker):
    say(worker, 0, "I like tea", "I like chess")
    sleep_on(worker, 91)
    assert state(worker) == {"tea": ("active", "dormant"), "chess": ("active", "dormant")}
    tea = value(worker, "tea")
    say(worker, 92, "I like tea")
    assert state(worker) == {"tea": ("active", "episodic"), "chess": ("active", "dormant")}
    assert value(worker, "tea").memory_id == tea.memory_id
    told = [one for one in worker.handlers.state.evolution(tea.memory_id) if one.what == "tier"]
    assert [(one.old_value, one.new_value) for one in told] == [("episodic", "dormant"), ("dormant", "episodic")]
    sleep_on(worker, 98)
    assert state(worker) == {"tea": ("active", "episodic"), "chess": ("active", "dormant")}


def test_what_expired_for_want_of_confirmation_begins_anew_when_it_is_said_again(worker):
    say(worker, 0, "I'm working on the migration")
    first = value(worker, "migration")
    sleep_on(worker, 8)
    gone = value(worker, "migration")
    assert (gone.status, gone.valid_until_us) == ("expired", first.created_at_us + 7 * DAY)
    say(worker, 20, "I'm working on the migration")
    old, new = sorted((one.memory for one in items(worker)), key=lambda one: one.valid_from_us)
    assert (old.memory_id, old.status, old.valid_until_us) == (first.memory_id, "expired", gone.valid_until_us)
    assert (new.status, new.valid_until_us) == ("active", OPEN)
    sleep_on(worker, 21)
    assert [one.memory.status for one in items(worker)].count("active") == 1
    answer = worker.ask(context_pb2.RecallRequest(user_id="ada", question="What am I working on?"))
    assert [one.value for one in answer.results] == ["migration"]


def test_what_expired_stays_expired_when_another_value_is_said(worker):
    say(worker, 0, "I'm working on the migration")
    sleep_on(worker, 8)
    gone = value(worker, "migration")
    say(worker, 20, "I'm working on the website", "I'm working on the shop")
    after = value(worker, "migration")
    assert (after.status, after.valid_until_us) == ("expired", gone.valid_until_us)
    history = [one.new_value for one in worker.handlers.state.evolution(gone.memory_id) if one.what == "status"]
    assert history == ["expired"]


def test_a_confirmation_that_was_said_in_time_and_came_late_undoes_the_end(worker):
    say(worker, 0, "I'm working on the migration")
    sleep_on(worker, 8)
    assert state(worker) == {"migration": ("expired", "episodic")}
    say(worker, 9, "I'm working on the migration", said_at_us=START + 3 * DAY)
    assert state(worker) == {"migration": ("active", "episodic")}
    assert value(worker, "migration").valid_until_us == OPEN
    sleep_on(worker, 12)
    assert state(worker) == {"migration": ("active", "episodic")}
    sleep_on(worker, 17)
    assert state(worker) == {"migration": ("expired", "episodic")}


def test_what_replaced_a_resting_value_turns_out_wrong_and_the_value_is_awake(worker):
    say(worker, 0, "I live in Rome")
    put_to_rest(worker, 10, "Rome")
    assert state(worker) == {"Rome": ("active", "dormant")}
    say(worker, 20, "I live in Oslo")
    assert state(worker)["Rome"][0] == "superseded"
    say(worker, 21, "That I live in Oslo was never true.")
    assert state(worker)["Rome"] == ("active", "episodic")


def test_strengths_and_places_survive_another_statement_under_the_key(worker):
    say(worker, 0, "My locker code is 4411")
    red = value(worker, "4411")
    with worker.handlers.state.transaction() as transaction:
        for _ in range(3):
            transaction.note_use([red.memory_id], ADA, START + DAY)
    sleep_on(worker, 30)
    slept = value(worker, "4411")
    assert (slept.tier, slept.sub_tier) == ("semantic", "factual")
    assert slept.confidence < red.confidence
    say(worker, 31, "My locker code is 5522")
    after = value(worker, "4411")
    assert after.status == "superseded"
    for name in ("tier", "sub_tier", "confidence", "utility", "stability"):
        assert getattr(after, name) == getattr(slept, name)
    assert state(worker)["5522"] == ("active", "episodic")


def test_a_resting_value_is_still_replaced_by_what_follows_it(worker):
    say(worker, 0, "I live in Rome")
    put_to_rest(worker, 10, "Rome")
    say(worker, 20, "I moved to Oslo")
    assert {name: status for name, (status, _) in state(worker).items()} == {"Rome": "superseded", "Oslo": "active"}


def test_an_edited_item_wakes(worker):
    say(worker, 0, "I live in Rome")
    put_to_rest(worker, 10, "Rome")
    worker.began_us = START + 20 * DAY
    memory_id = str(uuid.UUID(bytes=value(worker, "Rome").memory_id))
    worker.tell(semantic_pb2.UpdateMemory(user_id="ada", memory_id=memory_id, text="I live in Oslo"))
    assert [(one.memory.status, one.memory.tier) for one in items(worker, ADA, "active")] == [("active", "episodic")]


def test_an_edit_of_what_began_anew_leaves_the_end_of_what_was_before(worker):
    say(worker, 0, "I'm working on the migration")
    sleep_on(worker, 8)
    say(worker, 20, "I'm working on the migration", "I'm working on the migration")
    old, new = sorted((one.memory for one in items(worker)), key=lambda one: one.valid_from_us)
    edit = semantic_pb2.UpdateMemory(
        user_id="ada", memory_id=str(uuid.UUID(bytes=new.memory_id)), text="I'm working on the migration, hard"
    )
    worker.tell(edit)
    say(worker, 21, "I'm working on the website")
    (before,) = worker.handlers.state.known([old.memory_id], [ADA])
    assert (before.memory.status, before.memory.valid_until_us) == ("expired", old.valid_until_us)
