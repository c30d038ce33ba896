"""The topic registry, derived from the contracts' descriptors: one topic, one message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from aico_memory.contracts.v1 import (
    behavioral_pb2,
    bus_pb2,
    context_pb2,
    envelope_pb2,
    extraction_pb2,
    guardrails_pb2,
    model_pb2,
    options_pb2,
    outcomes_pb2,
    semantic_pb2,
    sleep_pb2,
    temporal_pb2,
    working_pb2,
    write_path_pb2,
)
from aico_memory.errors import UnknownTopic

TOPIC_PATTERN = re.compile(r"memory/[a-z0-9_]+/[a-z0-9_]+/v[1-9][0-9]*/")
FILES: tuple[FileDescriptor, ...] = tuple(
    module.DESCRIPTOR
    for module in (
        options_pb2, envelope_pb2, bus_pb2, working_pb2, semantic_pb2, context_pb2, model_pb2, extraction_pb2, behavioral_pb2,
        sleep_pb2, temporal_pb2, write_path_pb2, outcomes_pb2, guardrails_pb2,
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic as its contract declares it."""

    name: str
    message: type[Message]
    durable: bool
    owner: str
    external: bool
    retention_hours: int
    max_bytes: int
    reply: type[Message] | None
    needs_user: bool
    # Of identities that are bound to certain users: they may say it for one of these, or whoever it is for.
    may_name_user: bool = False
    about_nobody: bool = False

    @property
    def full_name(self) -> str:
        """Full protobuf name of the topic's message."""
        return str(self.message.DESCRIPTOR.full_name)


def _descriptors() -> dict[str, Descriptor]:
    return {message.full_name: message for file in FILES for message in file.message_types_by_name.values()}


@cache
def topics() -> Mapping[str, Topic]:
    """All topics by name, sorted; a contract that names a topic badly or twice is a programming error."""
    found: dict[str, Topic] = {}
    known = _descriptors()
    for descriptor in known.values():
        options = descriptor.GetOptions().Extensions[options_pb2.topic]
        if not options.name:
            continue
        if not TOPIC_PATTERN.fullmatch(options.name) or options.name in found:
            raise ValueError(f"{descriptor.full_name}: topic {options.name!r} is badly named or taken")
        found[options.name] = Topic(
            name=options.name,
            message=GetMessageClass(descriptor),
            durable=options.delivery == options_pb2.DELIVERY_DURABLE,
            owner=options.owner,
            external=options.origin == options_pb2.ORIGIN_EXTERNAL,
            retention_hours=options.retention_hours,
            max_bytes=options.max_bytes,
            reply=GetMessageClass(known[options.reply]) if options.reply else None,
            needs_user=options.needs_user,
            may_name_user=options.may_name_user,
            about_nobody=options.about_nobody,
        )
    return MappingProxyType(dict(sorted(found.items())))


@cache
def _by_message() -> Mapping[str, Topic]:
    return {topic.full_name: topic for topic in topics().values()}


@cache
def message_type(full_name: str) -> type[Message]:
    """The class of a message by its full protobuf name; KeyError where there is none."""
    return GetMessageClass(_descriptors()[full_name])


def topic_named(name: str) -> Topic:
    """The topic of a name; the closing slash may be left out. UnknownTopic where there is none."""
    topic = topics().get(name) or topics().get(name + "/")
    if topic is None:
        raise UnknownTopic(f"No contract declares the topic {name!r}")
    return topic


def topic_of(message: Message | type[Message]) -> Topic:
    """The topic that a message belongs to; UnknownTopic where it belongs to none."""
    try:
        return _by_message()[message.DESCRIPTOR.full_name]
    except KeyError:
        raise UnknownTopic(f"{message.DESCRIPTOR.full_name} belongs to no topic") from None
