"""The registry of durable consumers: who has applied what, and how far behind they are."""

from __future__ import annotations

from time import monotonic
from typing import Any

from aico_memory.bus.journal import ConsumerEntry, Journal, positions
from aico_memory.contracts.registry import topics
from aico_memory.errors import InvalidMessage, NotFound

_WRITE_SECONDS = 2.0
_CONSUMERS = 256


class ConsumerRegistry:
    """Kept in memory and written every two seconds: an older entry after a crash only holds more records back."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._entries = journal.meta.consumers()
        self._changed: set[str] = set()
        self._written = monotonic()

    def entries(self) -> list[ConsumerEntry]:
        """All consumers, by name."""
        return [self._entries[name] for name in sorted(self._entries)]

    def report(self, body: dict[str, Any], now_us: int) -> None:
        """Take a consumer's report; InvalidMessage where it is none."""
        name = body.get("consumer")
        names = body.get("topics")
        if not isinstance(name, str) or not 0 < len(name) <= 128 or not (name.isascii() and name.isprintable()):
            raise InvalidMessage("A report needs the name of its consumer, in printable ASCII")
        if not isinstance(names, list) or not all(isinstance(one, str) and _durable(one) for one in names):
            raise InvalidMessage("A report names durable topics, in full")
        figures = {key: body.get(key, 0) for key in ("applied", "settled", "outbox")}
        for key, value in figures.items():
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
                raise InvalidMessage(f"A report's {key} must be a whole number from 0 on")
        if name not in self._entries and len(self._entries) >= _CONSUMERS:
            raise InvalidMessage(f"There are {_CONSUMERS} consumers already", "Remove the ones that are gone.")
        before = self._entries.get(name)
        entry = ConsumerEntry(name, sorted(set(names)), seen_us=now_us, **figures)
        self._entries[name] = entry
        self._changed.add(name)
        if before is None or before.topics != entry.topics:
            self.write()

    def remove(self, name: str) -> None:
        """Forget a consumer for good; NotFound where there is none."""
        if self._entries.pop(name, None) is None:
            raise NotFound(f"There is no consumer {name!r}")
        self._changed.discard(name)
        self._journal.meta.remove_consumer(name)

    def overview(self) -> list[dict[str, Any]]:
        """Every consumer with its lag in records."""
        return [
            {
                "name": entry.name, "topics": entry.topics, "applied": entry.applied, "settled": entry.settled,
                "outbox": entry.outbox, "lag": self.lag(entry), "seen_at": entry.seen_us,
            }
            for entry in self.entries()
        ]  # fmt: skip

    def lag(self, entry: ConsumerEntry) -> int:
        """Records of its topics that it has not applied."""
        names = [topic.encode() for topic in entry.topics]
        behind = [name for name in names if self._journal.heads.get(name, (0, 0))[0] > entry.applied]
        if not behind:
            return 0
        done = positions(self._journal, behind, entry.applied + 1)
        return sum(self._journal.heads[name][1] - done[name] for name in behind)

    def write_if_due(self) -> None:
        """Write what changed, at most every two seconds."""
        if self._changed and monotonic() - self._written >= _WRITE_SECONDS:
            self.write()

    def write(self) -> None:
        """Write what changed."""
        self._written = monotonic()
        self._journal.meta.write_consumers([self._entries[name] for name in self._changed])
        self._changed.clear()


def _durable(topic: str) -> bool:
    declared = topics().get(topic)
    return declared is not None and declared.durable
