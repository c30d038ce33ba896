"""Between protobuf and values: building records to publish, opening records that arrive."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message

from aico_memory.clock import ZONE_MEND, is_zone
from aico_memory.contracts.registry import Topic, message_type, topic_named, topic_of
from aico_memory.contracts.v1 import envelope_pb2, options_pb2
from aico_memory.contracts.wire import REPLY_PREFIX, OutgoingRecord, StampedRecord
from aico_memory.errors import AicoMemoryError, InvalidFeedback, InvalidMessage, from_code
from aico_memory.ids import derive_id

SCHEMA_VERSION = 1
# What an answer's event id is derived for, from that of its question.
ANSWER = "reply"
# Unix microseconds of the times that can be shown in every zone: years 2 to 9998.
EARLIEST_US = -62_104_060_800_000_000
LATEST_US = 253_370_764_800_000_000
# Messages that judge an answer: what is wrong with them has a code of its own.
_JUDGEMENTS = frozenset({"FeedbackEvent", "EditFeedback"})


@dataclass(frozen=True, slots=True)
class Event:
    """A record that has been checked and decoded: what a worker's rules see."""

    event_id: uuid.UUID
    topic: str
    user: str
    message: Any
    sender: str = ""
    global_sequence: int = 0
    topic_sequence: int = 0
    # Unix microseconds: by the broker's clock, and by the publisher's.
    received_us: int = 0
    occurred_us: int = 0
    scope: tuple[str, str] | None = None
    correlation_id: uuid.UUID | None = None
    causation_id: uuid.UUID | None = None
    traceparent: str = ""
    reply_to: str = ""
    deadline_us: int = 0
    # Sent again for one consumer alone, under another id: that consumer, and the event that it is.
    again_for: str = ""
    again_of: uuid.UUID | None = None


def make_record(
    message: Message,
    *,
    event_id: uuid.UUID,
    occurred_us: int,
    user: str = "",
    topic: str = "",
    correlation_id: uuid.UUID | None = None,
    causation_id: uuid.UUID | None = None,
    reply_to: str = "",
    deadline_us: int = 0,
    traceparent: str = "",
    scope: tuple[str, str] | None = None,
) -> OutgoingRecord:
    """Wrap a message for the bus; `topic` only for a Reply, whose topic its requester chose.

    Raises InvalidMessage where a field breaks its contract's rules.
    """
    if topic.startswith(REPLY_PREFIX):
        name = topic
    else:
        declared = topic_of(message)
        check_fields(message)
        if declared.needs_user and not user:
            raise InvalidMessage(f"A message on {declared.name} must name its user")
        name = declared.name
    envelope = envelope_pb2.Envelope(
        event_id=event_id.bytes,
        topic=name,
        schema_version=SCHEMA_VERSION,
        occurred_at_us=occurred_us,
        reply_to=reply_to,
        deadline_us=deadline_us,
        traceparent=traceparent,
        payload=message.SerializeToString(deterministic=True),
    )
    if correlation_id is not None:
        envelope.correlation_id = correlation_id.bytes
    if causation_id is not None:
        envelope.causation_id = causation_id.bytes
    if scope is not None:
        envelope.scope.kind = envelope_pb2.ScopeKind.Value(f"SCOPE_KIND_{scope[0].upper()}")
        envelope.scope.id = scope[1]
    return OutgoingRecord(event_id.bytes, name, user, envelope.SerializeToString(deterministic=True))


def open_record(record: StampedRecord) -> Event:
    """Check and decode a delivered record; InvalidMessage says what is wrong with it.

    Header and envelope must agree, since the broker checked the header only.
    """
    try:
        envelope = envelope_pb2.Envelope.FromString(record.envelope)
    except DecodeError as error:
        raise InvalidMessage("The envelope cannot be parsed") from error
    if envelope.event_id != record.event_id or envelope.topic != record.topic:
        raise InvalidMessage("The envelope names another event or topic than the header")
    check_fields(envelope)
    if record.topic.startswith(REPLY_PREFIX):
        message: Message = _parse(envelope_pb2.Reply, envelope.payload, record.topic)
    else:
        topic = topic_named(record.topic)
        message = _parse(topic.message, envelope.payload, record.topic)
        check_fields(message)
        _check_user(topic, message, record.user)
    scope = None
    if envelope.HasField("scope"):
        scope = (envelope_pb2.ScopeKind.Name(envelope.scope.kind).removeprefix("SCOPE_KIND_").lower(), envelope.scope.id)
    return Event(
        event_id=record.id,
        topic=record.topic,
        user=record.user,
        message=message,
        sender=record.sender,
        global_sequence=record.global_sequence,
        topic_sequence=record.topic_sequence,
        received_us=record.received_us,
        occurred_us=envelope.occurred_at_us,
        scope=scope,
        correlation_id=_optional_id(envelope.correlation_id, "correlation"),
        causation_id=_optional_id(envelope.causation_id, "causation"),
        traceparent=envelope.traceparent,
        reply_to=answerable(envelope.reply_to, record.sender),
        deadline_us=envelope.deadline_us,
        again_for=envelope.again_for,
        again_of=_optional_id(envelope.again_of, "first"),
    )


def answerable(reply_to: str, sender: str) -> str:
    """The reply topic, if it is one of the authenticated sender's own; "" otherwise: nobody has answers sent to others."""
    return reply_to if reply_to.startswith(f"{REPLY_PREFIX}{sender}/") else ""


def make_reply(outcome: Message | AicoMemoryError) -> envelope_pb2.Reply:
    """The Reply that carries a result or a typed error."""
    if isinstance(outcome, AicoMemoryError):
        return envelope_pb2.Reply(code=outcome.code, detail=outcome.detail, mend=outcome.mend)
    return envelope_pb2.Reply(type=outcome.DESCRIPTOR.full_name, body=outcome.SerializeToString())


def reply_record(event: Event, outcome: Message | AicoMemoryError, clock_us: int = 0) -> OutgoingRecord:
    """The answer to a request, on the topic its requester named; the same question gives the same event id.

    Only for an event with `reply_to`. `clock_us` defaults to the question's time, so that a replay gives the same bytes.
    """
    return make_record(
        make_reply(outcome),
        event_id=derive_id(event.event_id, ANSWER),
        occurred_us=clock_us or event.received_us or event.occurred_us,
        user=event.user,
        topic=event.reply_to,
        correlation_id=event.event_id,
        traceparent=event.traceparent,
    )


def open_reply(reply: envelope_pb2.Reply) -> Any:
    """The message inside a Reply; raises the typed error where it carries one."""
    if reply.code:
        raise from_code(reply.code, reply.detail, reply.mend)
    try:
        kind = message_type(reply.type)
    except KeyError as error:
        raise InvalidMessage(f"An answer of unknown type {reply.type!r}") from error
    return _parse(kind, reply.body, reply.type)


def check_fields(message: Message) -> None:
    """Hold a message against the rules its contract states; InvalidMessage names the field.

    Of a judgement of an answer it is an InvalidFeedback (`validation_error`), whichever way it came.
    """
    try:
        _hold_against_rules(message)
    except InvalidMessage as error:
        if message.DESCRIPTOR.name in _JUDGEMENTS:
            raise InvalidFeedback(error.detail, error.mend) from None
        raise


def _hold_against_rules(message: Message) -> None:
    for name in _times(message.DESCRIPTOR):
        if not EARLIEST_US <= getattr(message, name) <= LATEST_US:
            raise InvalidMessage(f"{message.DESCRIPTOR.name}.{name} is outside of the calendar")
    if "metadata_json" in message.DESCRIPTOR.fields_by_name:
        _check_metadata(getattr(message, "metadata_json"), message.DESCRIPTOR.name)  # noqa: B009
    for field, rules in _rules(message.DESCRIPTOR):
        value = getattr(message, field.name)
        where = f"{message.DESCRIPTOR.name}.{field.name}"
        if rules.required and not value:
            raise InvalidMessage(f"{where} is required")
        if rules.ranged and not rules.min <= value <= rules.max:
            raise InvalidMessage(f"{where} is {value}; allowed is {rules.min:g} to {rules.max:g}")
        if rules.max_length and len(value) > rules.max_length:
            unit = "characters" if isinstance(value, str | bytes) else "entries"
            raise InvalidMessage(f"{where} has {len(value)} {unit}; allowed are {rules.max_length}")
        if value and rules.one_of and value not in rules.one_of:
            raise InvalidMessage(f"{where} is {value!r}; allowed are {', '.join(rules.one_of)}")
        if value and rules.zone and not is_zone(value):
            raise InvalidMessage(f"{where} {value!r} is no IANA zone", ZONE_MEND)


def _check_metadata(text: str, name: str) -> None:
    """Metadata is a JSON object or nothing: whoever reads the message later must be able to read it too."""
    if not text:
        return
    try:
        value = json.loads(text, parse_constant=_no_constant)
        if "\\u" in text:
            # An escape may stand for half a character, which no file and no terminal takes.
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(f"{name}.metadata_json is no JSON") from error
    if not isinstance(value, dict):
        raise InvalidMessage(f"{name}.metadata_json is no JSON object")


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


@cache
def _times(descriptor: Descriptor) -> tuple[str, ...]:
    """Names of the fields that hold a time: by the contracts' way of naming them."""
    return tuple(
        field.name
        for field in descriptor.fields
        if field.cpp_type == FieldDescriptor.CPPTYPE_INT64
        and not field.is_repeated
        and (field.name.endswith("_us") or field.name == "timestamp")
    )


@cache
def _rules(descriptor: Descriptor) -> tuple[tuple[FieldDescriptor, options_pb2.FieldRules], ...]:
    found = ((field, field.GetOptions().Extensions[options_pb2.rules]) for field in descriptor.fields)
    return tuple((field, rules) for field, rules in found if rules.ByteSize())


def _parse(kind: type[Message], data: bytes, where: str) -> Message:
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise InvalidMessage(f"The payload on {where} is no {kind.DESCRIPTOR.full_name}") from error


def _check_user(topic: Topic, message: Message, user: str) -> None:
    claimed = getattr(message, "user_id", "") if "user_id" in message.DESCRIPTOR.fields_by_name else ""
    if topic.needs_user and not user:
        raise InvalidMessage(f"A record on {topic.name} must name its user")
    if claimed and topic.needs_user and claimed != user:
        raise InvalidMessage("The payload names another user than the header")


def _optional_id(data: bytes, what: str) -> uuid.UUID | None:
    if not data:
        return None
    if len(data) != 16:
        raise InvalidMessage(f"The {what} id has {len(data)} bytes instead of 16")
    return uuid.UUID(bytes=data)
