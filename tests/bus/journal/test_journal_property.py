"""The journal against a model of a dozen lines: random publishes, duplicates, rotations, restarts, crashes."""

from __future__ import annotations

import shutil
import struct
import tempfile
import uuid
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from aico_memory.bus.journal import Journal, Provenance, missing, positions, read_range
from aico_memory.contracts.wire import unpack_batch
from tests.bus.journal.conftest import MESSAGE, SMALL, STORED, TURN, Disk

MEMORY = Path("/dev/shm")
TOPICS = (MESSAGE, TURN, STORED)
IDENTIFIERS = st.one_of(
    st.integers(0, 40).map(lambda number: uuid.UUID(int=(number << 80) | (7 << 76) | (2 << 62) | number)),
    st.integers(0, 40).map(lambda number: uuid.UUID(int=(number << 100) | (4 << 76) | (2 << 62) | number)),
)
RECORDS = st.lists(
    st.tuples(IDENTIFIERS, st.sampled_from(TOPICS), st.sampled_from(("alice", "bob", "")), st.binary(min_size=1, max_size=40)),
    min_size=1, max_size=12,
)  # fmt: skip


class JournalMachine(RuleBasedStateMachine):
    """The model: records in order, and where each event id went first."""

    def __init__(self) -> None:
        super().__init__()
        # Logic is what is asked here, not the disk: a memory file system where there is one.
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.disk = Disk(self.folder)
        # Small drains go into the log ahead, larger ones into the segment with all that waits.
        self.disk.settings = SMALL.model_copy(update={"ahead_drain_bytes": 400})
        self.order: list[tuple[str, str, bytes, bytes]] = []
        self.first: dict[bytes, tuple[int, int]] = {}

    def teardown(self) -> None:
        self.disk.close()
        shutil.rmtree(self.folder)

    @property
    def journal(self) -> Journal:
        return self.disk.journal

    @rule(records=RECORDS)
    def publish(self, records: list[tuple[uuid.UUID, str, str, bytes]]) -> None:
        appended = self.journal.append([(Provenance(topic, user, "x"), one.bytes, body) for one, topic, user, body in records])
        for (identifier, topic, user, body), stamp in zip(records, appended.stamps, strict=True):
            if identifier.bytes not in self.first:
                self.order.append((topic, user, identifier.bytes, body))
                number = sum(1 for entry in self.order if entry[0] == topic)
                self.first[identifier.bytes] = (len(self.order), number)
            assert struct.unpack("<QQ", stamp) == self.first[identifier.bytes]

    @rule()
    def rotate(self) -> None:
        self.journal.rotate()

    @rule()
    def restart(self) -> None:
        self.disk.reopen()

    @rule()
    def crash(self) -> None:
        assert self.journal.head >= 0
        self.disk.crash()

    @rule()
    def flush(self) -> None:
        self.journal.flush()

    @rule()
    def unmap(self) -> None:
        self.journal.release_closed()

    @rule(
        topics=st.lists(st.sampled_from(TOPICS), min_size=1, unique=True), start=st.integers(1, 60), chunk=st.integers(1, 9),
        user=st.sampled_from((None, "alice", "bob")),
    )  # fmt: skip
    def read(self, topics: list[str], start: int, chunk: int, user: str | None) -> None:
        names = [topic.encode() for topic in topics]
        found, at = [], start
        while True:
            part = read_range(self.journal, names, at, chunk, 1 << 20, None if user is None else frozenset((user,)))
            batch_records = [one for batch in part.batches for one in unpack_batch(batch)[2]]
            assert len(batch_records) <= chunk
            found += batch_records
            assert part.next_global > at or part.at_head
            at = part.next_global
            for topic, sequence in positions(self.journal, names, at).items():
                assert sequence == sum(1 for entry in self.order[: at - 1] if entry[0].encode() == topic)
            if part.at_head:
                break
        expected = [
            (number, *entry)
            for number, entry in enumerate(self.order, 1)
            if number >= start and entry[0] in topics and user in (None, entry[1])
        ]
        assert [(one.global_sequence, one.topic, one.user, one.event_id, one.envelope) for one in found] == expected
        assert missing(self.journal, names, start) == 0

    @invariant()
    def the_head_is_the_number_of_records(self) -> None:
        assert self.journal.head == len(self.order)


JournalMachine.TestCase.settings = settings(max_examples=80, stateful_step_count=20, deadline=None)
test_the_journal_behaves_like_its_model = JournalMachine.TestCase
