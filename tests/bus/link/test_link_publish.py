"""Publishing through a link."""

from __future__ import annotations

import time
import uuid

from aico_memory.bus.link import Link
from aico_memory.bus.link_tickets import OneTicket
from aico_memory.bus.link_traffic import Traffic
from aico_memory.contracts.wire import OutgoingRecord

TOPIC = "memory/working/message/v1/"
PATIENCE = 60.0


def _records(count: int) -> list[OutgoingRecord]:
    return [OutgoingRecord(uuid.uuid4().bytes, TOPIC, "u", b"x" * 100) for _ in range(count)]


def test_every_record_is_acknowledged_in_order(link: Link, fake) -> None:
    records = _records(500)
    futures = link.publish(records)
    acknowledged = [future.result(PATIENCE) for future in futures]
    assert [record.event_id for record in fake.log] == [record.event_id for record in records]
    assert [ack.global_sequence for ack in acknowledged] == list(range(1, 501))


def test_the_first_publish_after_a_rest_is_given_its_time(settings) -> None:
    traffic = Traffic(bytes(16), settings, lambda records, size: None)
    traffic.welcomed()
    rested = time.monotonic() + 10 * settings.stall_seconds
    traffic.tick(rested)
    traffic.window.add(_records(1)[0], (OneTicket(), 0))
    assert traffic.next_frame() is not None
    # Something else wakes the link before the acknowledgement is there.
    traffic.tick(rested + settings.stall_seconds / 2)
    assert not traffic.resync_due
    traffic.tick(rested + 1.5 * settings.stall_seconds)
    assert traffic.resync_due
