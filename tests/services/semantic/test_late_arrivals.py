"""What arrives late, in batches of any size, behind an indexer that is fast or slow: the same bytes."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from aico_memory.contracts.envelope import Event, make_record, open_record
from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.contracts.wire import StampedRecord
from aico_memory.stores.semantic.port import SemanticTransaction
from tests.services.semantic.statements import ADA, DAY, exported, items, message, set_policy
from tests.services.semantic.worker import START, Worker

# Texts, and the days on which they were said.
Stream = Sequence[tuple[str, int]]
TEXTS = (
    "I live in Rome", "My home is in Rome", "I moved to Oslo", "Sorry, I meant Bergen, not Oslo", "No, in Hamburg",
    "I like tea", "I like coffee", "I never liked coffee, that was wrong", "I don't like tea anymore", "I play chess",
    "My weight is 80 kg", "Sorry, 83 kg", "My dog is called Rex", "No, Max", "I meant Bergen, not Oslo",
)  # fmt: skip
SPLIT = [("I live in Rome", 1), ("I live in Rome", 9), ("I moved to Oslo", 5), ("I play chess", 10)]
CORRECTED = [("Sorry, I meant Bergen, not Oslo", 9), ("I moved to Oslo", 5), ("I like tea", 10), ("I live in Bergen", 11)]
streams = st.lists(st.tuples(st.sampled_from(TEXTS), st.integers(0, 20)), min_size=2, max_size=14)
sizes = st.lists(st.integers(1, 7), max_size=8)


def events_of(stream: Stream) -> list[Event]:
    found = []
    for number, (text, day) in enumerate(stream, 1):
        said = message(text, said_at_us=START - 30 * DAY + day * DAY + number)
        moment = START + number * 1_000_000
        record = make_record(said, event_id=uuid.UUID(int=number), occurred_us=moment, user="ada")
        found.append(
            open_record(StampedRecord(record.topic, record.event_id, record.user, record.envelope, "t", number, number, moment))
        )
    return found


def told(worker: Worker, events: Sequence[Event]) -> None:
    worker.sequence = events[-1].global_sequence
    worker.handlers.prepare(events)
    with worker.handlers.state.transaction() as transaction:
        for event in events:
            worker.handlers.apply(transaction, event)
            assert bare(transaction) == []
        transaction.set_cursor(1, worker.sequence)
    worker.handlers.after_commit()


def bare(transaction: SemanticTransaction) -> list[str]:
    """What has no vector of its text before the indexer came by."""
    found = {one.memory.memory_id: one.memory.text for one in transaction.items([ADA], (), b"", 999)}
    vectors = transaction.vectors_of(list(found), transaction.active_fingerprint())
    return [text for memory_id, text in found.items() if memory_id not in vectors]


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stream=streams, cut=sizes)
@example(stream=SPLIT, cut=[])
@example(stream=CORRECTED, cut=[2])
def test_the_same_bytes_whether_the_indexer_comes_by_between_two_messages_or_not(tmp_path_factory, stream, cut):
    events = events_of(stream)
    exports = []
    for step in ((1,) * len(events), (*cut, len(events))):
        worker, at = Worker(tmp_path_factory.mktemp("late")), 0
        try:
            for size in step:
                batch, at = events[at : at + size], at + size
                if batch:
                    told(worker, batch)
                if step[0] == 1:
                    worker.settle()
            exports.append(exported(worker))
        finally:
            worker.handlers.close()
    assert exports[0] == exports[1]


def test_what_was_said_too_seldom_has_its_own_vector_when_it_is_proven(worker):
    set_policy(worker, min_evidence=2)
    events = events_of([("I live in Rome", 1), ("Rome is where I live", 2), ("I live in Rome now", 3)])
    for event in events:
        told(worker, [event])
    assert items(worker)


def test_an_edit_leaves_its_vector_to_the_old_text(worker):
    worker.say("I live in Rome")
    (known,) = items(worker)
    memory_id = str(uuid.UUID(bytes=known.memory.memory_id))
    told(worker, [worker.event(semantic_pb2.UpdateMemory(user_id="ada", memory_id=memory_id, text="I live in Bern"))])
    assert sorted(one.memory.text for one in items(worker)) == ["I live in Bern", "User lives in Rome"]
