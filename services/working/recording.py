"""From the events of working memory to what is stored of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import working_pb2
from aico_memory.contracts.v1.working_pb2 import StoredMessage
from aico_memory.ids import derive_id

# An event makes at most so many experiences; leaves room for the ordinal in a message's order.
ORDINAL_BITS = 8


def experiences_of(event: Event) -> list[StoredMessage]:
    """What is to be held of a message, a tool result or a turn (its two sides)."""
    made = list(_MAKERS[type(event.message)](event))
    for experience in made:
        experience.sequence = event.global_sequence
    return made


def order_of(event: Event, ordinal: int) -> int:
    """Tells apart what was said or received in one microsecond: global order, then place in the event."""
    return event.global_sequence << ORDINAL_BITS | ordinal


def _of_message(event: Event) -> Iterator[StoredMessage]:
    message = event.message
    yield StoredMessage(
        event_id=event.event_id.bytes,
        user_id=event.user,
        session_id=message.session_id,
        group_id=message.group_id,
        project_id=message.project_id,
        role=message.role,
        name=message.name,
        content=message.content,
        said_at_us=_said(event),
        received_at_us=event.received_us,
        metadata_json=message.metadata_json,
        source_type="system" if message.role == "system" else "message",
        zone=message.zone,
    )


def _of_tool_result(event: Event) -> Iterator[StoredMessage]:
    result = event.message
    yield StoredMessage(
        event_id=event.event_id.bytes,
        user_id=event.user,
        session_id=result.session_id,
        group_id=result.group_id,
        project_id=result.project_id,
        role="tool",
        name=result.tool,
        content=result.content,
        said_at_us=_said(event),
        received_at_us=event.received_us,
        metadata_json=result.metadata_json,
        source_type="tool_result",
    )


def _of_turn(event: Event) -> Iterator[StoredMessage]:
    turn = event.message
    for ordinal, (role, content) in enumerate((("user", turn.input), ("assistant", turn.response))):
        if content:
            yield StoredMessage(
                event_id=derive_id(event.event_id, "turn", ordinal).bytes,
                user_id=event.user,
                session_id=turn.session_id,
                group_id=turn.group_id,
                project_id=turn.project_id,
                role=role,
                content=content,
                said_at_us=_said(event),
                received_at_us=event.received_us,
                source_type="message",
                zone=turn.zone,
            )


def _said(event: Event) -> int:
    """When it was said; where the publisher does not tell, when it was published, or at least received."""
    return int(event.message.said_at_us or event.occurred_us or event.received_us)


_MAKERS: Mapping[type, Callable[[Event], Iterator[StoredMessage]]] = {
    working_pb2.Message: _of_message,
    working_pb2.ToolResult: _of_tool_result,
    working_pb2.Turn: _of_turn,
}
