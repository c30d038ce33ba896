"""What becomes of a record that cannot be applied: a dead letter, and a typed answer where one is awaited."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import DecodeError

from aico_memory.contracts.envelope import Event, answerable, make_record, reply_record
from aico_memory.contracts.v1 import bus_pb2, envelope_pb2
from aico_memory.contracts.wire import OutgoingRecord, StampedRecord
from aico_memory.errors import AicoMemoryError
from aico_memory.ids import derive_id

# Of the record itself so much is kept; the topic allows 2 MiB in all.
KEPT_BYTES = 1_500_000
REASON_CHARACTERS = 1_000


def as_error(error: BaseException) -> AicoMemoryError:
    """A typed error of anything that was raised; the text of a foreign exception stays out (it may quote people)."""
    if isinstance(error, AicoMemoryError):
        return error
    return AicoMemoryError(f"{type(error).__name__} while the record was applied")


def dead_letter(record: StampedRecord, consumer: str, error: BaseException, attempts: int, at_us: int) -> OutgoingRecord:
    """The dead letter of a record that `consumer` gave up."""
    cause = as_error(error)
    letter = bus_pb2.DeadLetter(
        event_id=record.event_id,
        topic=record.topic,
        user_id=record.user,
        sender=record.sender,
        consumer=consumer,
        code=cause.code,
        reason=cause.detail[:REASON_CHARACTERS],
        attempts=attempts,
        first_failed_us=at_us,
        at_us=at_us,
        record=record.envelope[:KEPT_BYTES],
        truncated=len(record.envelope) > KEPT_BYTES,
    )
    return make_record(
        letter,
        event_id=derive_id(record.id, f"dead_letter/{consumer}"),
        occurred_us=record.received_us,
        user=record.user,
        causation_id=record.id,
    )


def refused_letter(record: OutgoingRecord, consumer: str, error: AicoMemoryError, at_us: int) -> OutgoingRecord:
    """The dead letter of a record of this worker's own that the bus refused."""
    stamped = StampedRecord(record.topic, record.event_id, record.user, record.envelope, consumer, 0, 0, at_us)
    return dead_letter(stamped, consumer, error, 1, at_us)


def answers_of_failure(record: StampedRecord, error: BaseException) -> Iterator[OutgoingRecord]:
    """The typed answer to whoever waits for one; nothing where nobody does or the envelope cannot be read."""
    try:
        envelope = envelope_pb2.Envelope.FromString(record.envelope)
    except DecodeError:
        return
    reply_to = answerable(envelope.reply_to, record.sender)
    if not reply_to:
        return
    event = Event(record.id, record.topic, record.user, None, received_us=record.received_us, reply_to=reply_to)
    yield reply_record(event, as_error(error))
