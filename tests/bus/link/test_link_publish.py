"""Publishing through a link."""

from __future__ import annotations

import uuid

from aico_memory.bus.link import Link
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
