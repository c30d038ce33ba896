"""Journals on a home of their own, opened and reopened as often as a test likes."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aico_memory.bus.journal import Journal, Pending, Provenance, read_range
from aico_memory.clock import FixedClock
from aico_memory.contracts.wire import StampedRecord, unpack_batch
from aico_memory.ids import new_id
from aico_memory.paths import Home
from aico_memory.settings.bus import BusSettings
from aico_memory.settings.security import SecuritySettings
from aico_memory.vault.master import Vault, open_vault

SMALL = BusSettings(segment_first_bytes=1024 * 1024, segment_bytes=1024 * 1024, min_free_bytes=0)
MESSAGE = "memory/working/message/v1/"
TURN = "memory/working/turn/v1/"
STORED = "memory/working/stored/v1/"


class Disk:
    """A home whose journal can be opened, closed and opened again."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder / "home")
        self.home.ensure()
        self.vault: Vault = open_vault(self.home, SecuritySettings(user_key_recheck_seconds=0), {})
        self.clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
        self.settings = SMALL
        self._journal: Journal | None = None

    @property
    def journal(self) -> Journal:
        if self._journal is None:
            self._journal = Journal(self.home.journal, self.settings, self.vault, self.clock)
        return self._journal

    def reopen(self, settings: BusSettings | None = None) -> Journal:
        self.close()
        self.settings = settings or self.settings
        return self.journal

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def crash(self) -> None:
        """End as after kill -9: nothing is flushed, the files stay as they are."""
        assert self._journal is not None
        for part in (*self._journal.segments, self._journal._waiting, self._journal.meta):
            (getattr(part, "release", None) or part.close)()
        os.close(self._journal._lock)
        self._journal = None


def make_record(topic: str = MESSAGE, user: str = "alice", content: bytes = b"", event_id: uuid.UUID | None = None) -> Pending:
    """A record as the broker hands it to the journal."""
    return Provenance(topic, user, "default"), (event_id or new_id()).bytes, content or os.urandom(32)


def read_all(journal: Journal, *topics: str, from_global: int = 1, chunk: int = 1000) -> list[StampedRecord]:
    """Everything on these topics from a global sequence on, read in chunks."""
    found: list[StampedRecord] = []
    while True:
        part = read_range(journal, [topic.encode() for topic in topics], from_global, chunk, 1 << 20)
        for batch in part.batches:
            found += unpack_batch(batch)[2]
        from_global = part.next_global
        if part.at_head:
            return found


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    made = Disk(tmp_path)
    yield made
    made.close()


@pytest.fixture
def record() -> Callable[..., Pending]:
    return make_record


@pytest.fixture
def read() -> Callable[..., list[StampedRecord]]:
    return read_all
