"""Streams of statements: the same bytes however they come, and nothing of one scope in another."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aico_memory.contracts.envelope import make_record, open_record
from aico_memory.contracts.wire import StampedRecord
from aico_memory.domain.memory import Scope
from aico_memory.domain.scopes import scope_of
from tests.services.semantic.statements import DAY, exported, items, message
from tests.services.semantic.worker import START, Worker


def test_a_redelivered_message_changes_nothing(worker):
    first = worker.tell(message("I live in Rome and I like tea"))
    before, outgoing = exported(worker), len(worker.handlers.state.outgoing(999))
    pending = worker.handlers._queue.pending_count()
    for _ in range(2):
        worker.tell(message("I live in Rome and I like tea"), event_id=first.event_id)
    assert exported(worker) == before
    assert len(worker.handlers.state.outgoing(999)) == outgoing
    assert worker.handlers._queue.pending_count() <= pending


TOLD = (
    "I live in Rome", "I like tea", "ok", "My sister Lena lives in Bern", "I moved to Oslo last week", "I like tea a lot",
    "No, I live in Bergen, not Oslo", "I'm allergic to nuts", "I no longer like tea", "I work at Acme until Friday",
    "Remember that my locker code is 4411", "What's the weather?", "I live in Bergen", "I hate mornings!!!",
)  # fmt: skip


def told_in(worker: Worker, sizes: Sequence[int]) -> list[str]:
    """The same stream, in batches of these sizes."""
    events = []
    for number, text in enumerate(TOLD):
        moment = START + number * DAY
        record = make_record(message(text), event_id=uuid.UUID(int=number + 1), occurred_us=moment, user="ada")
        stamped = StampedRecord(
            record.topic, record.event_id, record.user, record.envelope, "t", number + 1, number + 1, moment
        )
        events.append(open_record(stamped))
    at = 0
    for size in (*sizes, len(events)):
        batch = events[at : at + size]
        at += size
        if batch:
            worker.handlers.prepare(batch)
            with worker.handlers.state.transaction() as transaction:
                for event in batch:
                    worker.handlers.apply(transaction, event)
                transaction.set_cursor(1, batch[-1].global_sequence)
            worker.handlers.after_commit()
    return exported(worker)


def test_the_same_stream_gives_the_same_bytes_whatever_the_batches_and_failed_attempts(tmp_path):
    exports = []
    for number, sizes in enumerate(((1,) * len(TOLD), (), (3, 1, 5))):
        worker = Worker(tmp_path / str(number))
        if number == 1:
            # The worker dies in the middle of a batch, and begins it again.
            with pytest.raises(ZeroDivisionError), worker.handlers.state.transaction() as transaction:
                event = worker.event(message(TOLD[0]), event_id=uuid.UUID(int=1))
                worker.handlers.prepare([event])
                worker.handlers.apply(transaction, event)
                raise ZeroDivisionError
        exports.append(told_in(worker, sizes))
        worker.handlers.close()
    assert exports[0] == exports[1] == exports[2]
    assert any('"edge"' in line and '"statement"' in line for line in exports[0])
    assert any('"explanation"' in line for line in exports[0])


people = st.sampled_from(["ada", "ben"])
places = st.sampled_from([("", ""), ("team", ""), ("", "apollo")])
said_things = st.lists(st.tuples(people, places, st.sampled_from(TOLD)), min_size=1, max_size=8)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=said_things)
def test_nothing_of_a_scope_follows_from_what_was_said_in_another(tmp_path_factory, said):
    """Each scope holds what it would hold if nothing had been said anywhere else."""
    together = Worker(tmp_path_factory.mktemp("together"))
    alone: dict[Scope, Worker] = {}
    try:
        for number, (user, (group, project), text) in enumerate(said, 1):
            scope = scope_of(user, group, project)
            one = alone.setdefault(scope, Worker(tmp_path_factory.mktemp("alone")))
            for worker in (together, one):
                worker.sequence = number * 10
                told = message(text, user, group_id=group, project_id=project, name=user.title())
                worker.tell(told, user, event_id=uuid.UUID(int=number))
        for scope, one in alone.items():
            mine = [(known, known.memory) for known in items(together, scope)]
            theirs = [(known, known.memory) for known in items(one, scope)]
            assert [strip(memory) for _, memory in mine] == [strip(memory) for _, memory in theirs]
            assert [known.value for known, _ in mine] == [known.value for known, _ in theirs]
    finally:
        for worker in (together, *alone.values()):
            worker.handlers.close()


def strip(memory: Any) -> Any:
    return replace(memory, received_at_us=0)
