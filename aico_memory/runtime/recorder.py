"""Writing what stands in the journal, and what comes, into a recording."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from aico_memory.contracts.recording import create_recording, new_header
from aico_memory.contracts.registry import topics
from aico_memory.contracts.v1 import recording_pb2
from aico_memory.contracts.wire import StampedRecord
from aico_memory.paths import Home
from aico_memory.vault.curve_keys import list_identities

if TYPE_CHECKING:
    from aico_memory.bus.link import Link

BATCH = 1024
WAIT_SECONDS = 0.2


def recorded_topics(everything: bool) -> list[str]:
    """Durable topics that belong into a recording: what came from outside, or all."""
    return [topic.name for topic in topics().values() if topic.durable and (topic.external or everything)]


def record_stream(
    link: Link,
    home: Home,
    path: Path,
    *,
    start: int = 0,
    everything: bool = False,
    follow: bool = False,
    stop: threading.Event | None = None,
    progressed: Callable[[int], None] = lambda done: None,
) -> int:
    """Write the records after global sequence `start`; returns their number.

    Ends at the journal's head, or with `follow` when `stop` is set. Records of forgotten users are gone and left out.
    """
    records = _records(link, recorded_topics(everything), start, follow, stop or threading.Event())
    first = next(records, None)
    header = new_header(path.name.split(".")[0], first.received_us if first else 0, description="exported from a journal")
    header.identities.extend(
        recording_pb2.RecordedIdentity(name=entry.name, role=entry.role)
        for entry in list_identities(home)
        if entry.revoked_at is None
    )
    with create_recording(path, header) as writer:
        if first is not None:
            writer.append(_frame(first))
        for record in records:
            writer.append(_frame(record))
            progressed(writer.frames)
        return writer.frames


def _records(link: Link, names: list[str], start: int, follow: bool, stop: threading.Event) -> Iterator[StampedRecord]:
    consumer = link.consume(names, link.epoch if start else 0, start)
    try:
        while not stop.is_set():
            records = consumer.receive(BATCH, WAIT_SECONDS)
            yield from (record for record in records if not record.erased)
            if not records and not follow and consumer.caught_up:
                return
    finally:
        consumer.close()


def _frame(record: StampedRecord) -> recording_pb2.RecordedFrame:
    return recording_pb2.RecordedFrame(
        at_us=record.received_us,
        sender=record.sender,
        record=recording_pb2.RecordedRecord(
            event_id=record.event_id,
            topic=record.topic,
            user=record.user,
            envelope=record.envelope,
            global_sequence=record.global_sequence,
            received_us=record.received_us,
        ),
    )
