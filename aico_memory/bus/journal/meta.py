"""What the journal keeps beside its segments: epoch, consumer registry, dispositions, what was removed."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import lmdb

from aico_memory.bus.journal.segment import FORMAT
from aico_memory.errors import StoreCorrupt

_MAP_BYTES = 256 * 1024 * 1024
_TRIMS_PER_TOPIC = 64


@dataclass(slots=True)
class ConsumerEntry:
    """A durable consumer as it last reported itself."""

    name: str
    topics: list[str] = field(default_factory=list)
    # Global sequences through which effects, and derived effects, are done.
    applied: int = 0
    settled: int = 0
    outbox: int = 0
    seen_us: int = 0


@dataclass(slots=True)
class Trim:
    """Records of one topic that retention removed: a range of global sequences and how many of them."""

    first_global: int
    last_global: int
    count: int


class JournalMeta:
    """A small LMDB environment of its own, so that segments come and go without it."""

    def __init__(self, path: Path) -> None:
        try:
            self._environment = lmdb.open(str(path), subdir=False, map_size=_MAP_BYTES, max_dbs=4, lock=False, mode=0o600)
        except lmdb.Error as error:
            raise StoreCorrupt(f"The journal's {path} does not open: {error}") from error
        self._consumers = self._environment.open_db(b"consumers")
        self._settled = self._environment.open_db(b"dead_letters")
        self._trims = self._environment.open_db(b"trims")
        with self._environment.begin(write=True) as transaction:
            stored = transaction.get(b"journal")
            if stored is None:
                # Fits a signed 64-bit column; never 0.
                stored = json.dumps({"epoch": secrets.randbits(62) | 1, "format": FORMAT}).encode()
                transaction.put(b"journal", stored)
        known = json.loads(stored)
        if known["format"] != FORMAT:
            raise StoreCorrupt(f"The journal has format {known['format']}; this side reads {FORMAT}")
        self.epoch: int = known["epoch"]

    def consumers(self) -> dict[str, ConsumerEntry]:
        """All registered consumers by name."""
        return {entry.name: entry for entry in (ConsumerEntry(**value) for value in self._all(self._consumers).values())}

    def write_consumers(self, entries: Iterable[ConsumerEntry]) -> None:
        """Store these entries."""
        with self._environment.begin(write=True, db=self._consumers) as transaction:
            for entry in entries:
                transaction.put(entry.name.encode(), json.dumps(asdict(entry)).encode())

    def remove_consumer(self, name: str) -> None:
        """Forget a consumer; it holds no records back any more."""
        with self._environment.begin(write=True, db=self._consumers) as transaction:
            transaction.delete(name.encode())

    def dispositions(self) -> dict[str, str]:
        """What was decided about dead letters: record id -> action."""
        return {name: str(value["action"]) for name, value in self._all(self._settled).items()}

    def settle(self, record_ids: Iterable[str], action: str, now_us: int) -> None:
        """Note what was decided about dead letters."""
        with self._environment.begin(write=True, db=self._settled) as transaction:
            for record_id in record_ids:
                transaction.put(record_id.encode(), json.dumps({"action": action, "at_us": now_us}).encode())

    def trims(self) -> dict[str, list[Trim]]:
        """What retention removed, by topic, oldest first."""
        return {topic: [Trim(*one) for one in value["ranges"]] for topic, value in self._all(self._trims).items()}

    def write_trims(self, trims: dict[str, list[Trim]]) -> None:
        """Store what was removed; the oldest ranges of a topic are joined, so that the list stays short."""
        with self._environment.begin(write=True, db=self._trims) as transaction:
            for topic, ranges in trims.items():
                while len(ranges) > _TRIMS_PER_TOPIC:
                    first, second = ranges[0], ranges[1]
                    ranges[:2] = [Trim(first.first_global, second.last_global, first.count + second.count)]
                value = {"ranges": [[one.first_global, one.last_global, one.count] for one in ranges]}
                transaction.put(topic.encode(), json.dumps(value).encode())

    def close(self) -> None:
        self._environment.close()

    def _all(self, database: Any) -> dict[str, Any]:
        with self._environment.begin(db=database) as transaction:
            return {bytes(key).decode(): json.loads(value) for key, value in transaction.cursor()}
