"""Heads of topics: a mark behind each drain for those whom it concerns, and the beacon for everybody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from aico_memory.bus.broker.delivery import Delivery
from aico_memory.bus.journal import Journal
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import HEADS_TOPIC, marks_topic
from aico_memory.settings.bus import BusSettings

# Sets of topics that one identity, and all together, may have marks for; of more they hear the beacon. Each drain looks at all
# of them, and nobody is to use up those of the others.
_SETS_PER_IDENTITY, _SETS = 64, 1024


@dataclass(slots=True)
class _Readers:
    """Consumers of the same topics, whoever they are: they share their marks."""

    topic: bytes
    topics: frozenset[bytes]
    # Head of the journal when they were last told of it.
    told: int
    count: int = 0


class Marks:
    """The frames behind a drain's batches: which topics moved since the mark before, and to where.

    They let a consumer know that nothing of *another* of its topics was lost before a live record, which the
    sequences of single topics cannot tell; until then it holds the record back. A drain without any of its topics
    is none of its business: the mark after says since when it vouches.
    """

    def __init__(self, journal: Journal, delivery: Delivery) -> None:
        self._journal = journal
        self._delivery = delivery
        self._readers: dict[bytes, _Readers] = {}
        # The identity of a connection and the topics of the marks that it hears, by routing id.
        self._heard: dict[bytes, tuple[str, set[bytes]]] = {}

    def join(self, routing_id: bytes, user_id: str, topics: Sequence[str]) -> None:
        """This connection reads these topics as one consumer; what stands in the journal by now it reads from there."""
        topic = marks_topic(topics)
        _, heard = self._heard.get(routing_id, (user_id, set[bytes]()))
        if topic in heard:
            return
        mine = set[bytes]().union(*(theirs for whose, theirs in self._heard.values() if whose == user_id))
        if topic not in mine and len(mine) >= _SETS_PER_IDENTITY:
            return
        readers = self._readers.get(topic)
        if readers is None:
            if len(self._readers) >= _SETS:
                return
            readers = _Readers(topic, frozenset(name.encode() for name in topics), self._journal.head)
            self._readers[topic] = readers
        readers.count += 1
        heard.add(topic)
        self._heard[routing_id] = (user_id, heard)

    def leave(self, routing_id: bytes) -> None:
        """This connection is gone; one that only says HELLO again is not, and goes on hearing its marks."""
        for topic in self._heard.pop(routing_id, ("", ()))[1]:
            readers = self._readers[topic]
            readers.count -= 1
            if not readers.count:
                del self._readers[topic]

    def connections(self) -> set[bytes]:
        """Routing ids of the connections that hear marks."""
        return set(self._heard)

    def send(self, batches: Sequence[bytes]) -> None:
        """Tell those whose topics moved in the drain that these batches are of."""
        moved = {batch[: batch.index(b"\0")] for batch in batches}
        for readers in self._readers.values():
            theirs = moved & readers.topics
            if not theirs:
                continue
            heads = _heads(self._journal, sorted(theirs))
            heads.previous, readers.told = readers.told, self._journal.head
            self._delivery.send(readers.topic + heads.SerializeToString())


class HeadBeacon:
    """Sends the heads of all topics to everybody: often while they move, seldom at rest."""

    def __init__(self, journal: Journal, settings: BusSettings, delivery: Delivery) -> None:
        self._journal = journal
        self._settings = settings
        self._delivery = delivery
        self._sent = 0.0
        self._sent_head = -1

    def send_if_due(self) -> None:
        """Send where it is time."""
        now = monotonic()
        moved = self._journal.head != self._sent_head
        if now - self._sent < (self._settings.heads_seconds if moved else self._settings.heads_idle_seconds):
            return
        self._sent, self._sent_head = now, self._journal.head
        self._delivery.send(HEADS_TOPIC + _heads(self._journal, list(self._journal.heads)).SerializeToString())


def _heads(journal: Journal, topics: Sequence[bytes]) -> bus_pb2.Heads:
    heads = bus_pb2.Heads(epoch=journal.epoch)
    # `global` is a Python keyword.
    setattr(heads, "global", journal.head)
    for topic in topics:
        heads.heads.add(topic=topic.decode(), sequence=journal.heads[topic][1])
    return heads
