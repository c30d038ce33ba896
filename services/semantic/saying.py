"""What an event says: the sides of a message, a tool's result or a turn, each with its own record."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import working_pb2
from aico_memory.domain.memory import Scope
from aico_memory.domain.scopes import scope_of
from aico_memory.ids import derive_id


@dataclass(frozen=True, slots=True)
class Said:
    """One text by one voice. `event_id` is what its record and its items derive from."""

    event_id: uuid.UUID
    text: str
    # user | assistant | system | tool
    role: str
    name: str
    owner: str
    scope: Scope
    said_at_us: int
    # By the clock of whoever published it: part of a recording, so that a replay does the same.
    occurred_us: int
    received_us: int
    session_id: str
    sequence: int
    metadata_json: str = ""
    group_id: str = ""
    project_id: str = ""
    zone: str = ""


def said_by(event: Event) -> tuple[Said, ...]:
    """What the event says; nothing for events that say nothing."""
    maker = _MAKERS.get(type(event.message))
    return tuple(maker(event)) if maker else ()


def _of_message(event: Event) -> Iterator[Said]:
    message = event.message
    yield _said(event, event.event_id, message.content, message.role, message.name, message.metadata_json)


def _of_tool_result(event: Event) -> Iterator[Said]:
    message = event.message
    yield _said(event, event.event_id, message.content, "tool", message.tool, message.metadata_json)


def _of_turn(event: Event) -> Iterator[Said]:
    message = event.message
    for ordinal, (role, text) in enumerate((("user", message.input), ("assistant", message.response))):
        if text:
            yield _said(event, derive_id(event.event_id, "turn", ordinal), text, role, "", "")


def _said(event: Event, event_id: uuid.UUID, text: str, role: str, name: str, metadata_json: str) -> Said:
    message = event.message
    return Said(
        event_id=event_id, text=text, role=role, name=name, owner=event.user,
        scope=scope_of(event.user, message.group_id, message.project_id), said_at_us=message.said_at_us or event.occurred_us,
        occurred_us=event.occurred_us, received_us=event.received_us, session_id=message.session_id,
        sequence=event.global_sequence, metadata_json=metadata_json, group_id=message.group_id,
        project_id=message.project_id, zone=getattr(message, "zone", ""),
    )  # fmt: skip


_MAKERS: Mapping[type, Callable[[Event], Iterator[Said]]] = {
    working_pb2.Message: _of_message, working_pb2.ToolResult: _of_tool_result, working_pb2.Turn: _of_turn,
}  # fmt: skip
