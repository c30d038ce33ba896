"""What the journal removes: by age and size per topic, never what a durable consumer still needs.

Only closed segments lose records, and none before the window in which an event
id published twice is recognised has passed. Beyond the hard limits a consumer
that is still behind does not hold records back any more; that is counted and
raises an alarm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from aico_memory.bus.journal.journal import Journal
from aico_memory.bus.journal.meta import ConsumerEntry, Trim
from aico_memory.bus.journal.segment import Segment
from aico_memory.bus.journal.thinning import thin
from aico_memory.clock import Clock
from aico_memory.contracts.registry import topics
from aico_memory.log import get_logger
from aico_memory.settings.bus import BusSettings

_HOUR_US = 3_600_000_000
# Alarms that end when their cause ends.
_HELD = "held "
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Holding:
    """What a closed segment holds of one topic."""

    topic: str
    first_global: int
    last_global: int
    count: int
    size: int


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that apply to one topic, in microseconds and bytes."""

    age_us: int
    size: int
    dedup_us: int
    hard_age_us: int


def expired(holding: Holding, age_us: int, newer_bytes: int, limits: Limits) -> bool:
    """Whether retention would remove this, were it not for consumers."""
    return age_us > limits.dedup_us and (age_us > limits.age_us or newer_bytes > limits.size)


def holding_back(holding: Holding, consumers: Sequence[ConsumerEntry]) -> list[ConsumerEntry]:
    """The consumers of the topic that have not applied all of this."""
    return [one for one in consumers if holding.topic in one.topics and one.applied < holding.last_global]


class Retention:
    """Runs now and then in the broker's loop; one segment a run."""

    def __init__(self, journal: Journal, settings: BusSettings, clock: Clock) -> None:
        self._journal = journal
        self._settings = settings
        self._clock = clock
        self._ran = monotonic()
        self._alarms: dict[str, dict[str, object]] = {}
        self.removed = 0
        # Records removed that a consumer had not applied.
        self.removed_unread = 0

    def alarms(self) -> list[dict[str, object]]:
        """What somebody should look at."""
        full: list[dict[str, object]] = [{"alarm": "journal_full"}] if self._journal.full else []
        return full + list(self._alarms.values())

    def run_if_due(self, consumers: Sequence[ConsumerEntry]) -> bool:
        """Run where it is time; whether it was."""
        now = monotonic()
        if now - self._ran < self._settings.retention_seconds:
            return False
        self._ran = now
        self.run(consumers)
        return True

    def run(self, consumers: Sequence[ConsumerEntry]) -> None:
        """Close an aged segment, then remove what has expired from the oldest segment that holds such."""
        if self._journal.rotation_due():
            self._journal.rotate()
        self._alarms = {key: alarm for key, alarm in self._alarms.items() if not key.startswith(_HELD)}
        too_large = self._journal.size_bytes() > self._settings.retention_hard_bytes
        newer = self._bytes_by_topic()
        for segment in self._journal.segments[:-1]:
            gone: list[Holding] = []
            kept = 0
            for holding in holdings(segment):
                newer[holding.topic] -= holding.size
                if self._may_go(segment, holding, newer[holding.topic], consumers, too_large):
                    gone.append(holding)
                else:
                    kept += holding.size
            # Thinning rewrites what stays: worth it where less than half does.
            if gone and kept <= sum(one.size for one in gone):
                self._remove(segment, gone, consumers)
                return

    def _may_go(
        self, segment: Segment, holding: Holding, newer_bytes: int, consumers: Sequence[ConsumerEntry], too_large: bool
    ) -> bool:
        age = self._clock.now_us() - segment.state.last_us
        limits = self._limits(holding.topic)
        if not expired(holding, age, newer_bytes, limits) and not (too_large and age > limits.dedup_us):
            return False
        slow = holding_back(holding, consumers)
        if not slow:
            return True
        for one in slow:
            self._alarms[_HELD + one.name] = {
                "alarm": "consumer_holds_retention", "consumer": one.name, "topic": holding.topic, "applied": one.applied,
            }  # fmt: skip
        return too_large or age > limits.hard_age_us

    def _remove(self, segment: Segment, gone: Sequence[Holding], consumers: Sequence[ConsumerEntry]) -> None:
        trims = self._journal.meta.trims()
        for holding in gone:
            ranges = trims.setdefault(holding.topic, [])
            if not ranges or ranges[-1].last_global < holding.last_global:
                ranges.append(Trim(holding.first_global, holding.last_global, holding.count))
            self.removed += holding.count
            for one in holding_back(holding, consumers):
                self.removed_unread += holding.count
                key = f"lost {one.name} {holding.topic}"
                before = self._alarms.get(key, {}).get("records", 0)
                assert isinstance(before, int)
                self._alarms[key] = {
                    "alarm": "removed_before_applied", "consumer": one.name, "topic": holding.topic,
                    "records": before + holding.count,
                }  # fmt: skip
                _log.error("records removed before a consumer applied them", consumer=one.name, topic=holding.topic)
        # First the note, then the deed: a crash between them at most reports as missing what still stands.
        self._journal.meta.write_trims({one.topic: trims[one.topic] for one in gone})
        topics_gone = frozenset(one.topic.encode() for one in gone)
        at = self._journal.segments.index(segment)
        if len(gone) == len(segment.state.holdings):
            del self._journal.segments[at]
            segment.remove()
        else:
            self._journal.segments[at] = thin(segment, topics_gone)
        self._journal.note_segments()
        _log.info("journal segment trimmed", segment=segment.path.name, topics=len(gone))

    def _bytes_by_topic(self) -> dict[str, int]:
        found = dict.fromkeys(topics(), 0)
        for segment in self._journal.segments[:-1]:
            for holding in holdings(segment):
                found[holding.topic] = found.get(holding.topic, 0) + holding.size
        return found

    def _limits(self, topic: str) -> Limits:
        settings = self._settings
        declared = topics().get(topic)
        hours = (declared.retention_hours if declared else 0) or settings.retention_hours
        return Limits(
            age_us=int(hours * _HOUR_US), size=settings.retention_bytes, dedup_us=int(settings.dedup_hours * _HOUR_US),
            hard_age_us=int(max(hours, settings.retention_hard_hours) * _HOUR_US),
        )  # fmt: skip


def holdings(segment: Segment) -> list[Holding]:
    """What a segment holds, topic by topic."""
    return [Holding(topic, *figures) for topic, figures in segment.state.holdings.items()]
