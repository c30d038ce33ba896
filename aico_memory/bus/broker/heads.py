"""The head beacon: the last sequence of every topic, so that loss at the tail shows."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from aico_memory.bus.broker.delivery import Delivery
from aico_memory.bus.journal import Journal
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.contracts.wire import HEADS_TOPIC
from aico_memory.settings.bus import BusSettings


def mark(journal: Journal, previous: int, batches: Sequence[bytes]) -> bytes:
    """The frame behind a drain's batches: which topics moved since `previous`, and to where.

    It lets a consumer know that nothing of *another* topic was lost before a live record, which the
    sequences of single topics cannot tell; until then it holds the record back.
    """
    heads = bus_pb2.Heads(epoch=journal.epoch, previous=previous)
    setattr(heads, "global", journal.head)
    for topic in {batch[: batch.index(b"\0")] for batch in batches}:
        heads.heads.add(topic=topic.decode(), sequence=journal.heads[topic][1])
    return HEADS_TOPIC + heads.SerializeToString()


class HeadBeacon:
    """Sends the heads often while they move, seldom at rest."""

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
        heads = bus_pb2.Heads(epoch=self._journal.epoch)
        # `global` is a Python keyword.
        setattr(heads, "global", self._journal.head)
        for topic, (_, sequence) in self._journal.heads.items():
            heads.heads.add(topic=topic.decode(), sequence=sequence)
        self._delivery.send(HEADS_TOPIC + heads.SerializeToString())
