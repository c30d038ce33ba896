"""Reports of use, after the answer and never in its way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import Event, make_record
from aico_memory.contracts.v1 import working_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.domain.context.items import ContextItem
from aico_memory.ids import derive_id
from aico_memory.runtime.ports import LinkPort
from aico_memory.runtime.reporting import Reports, memories_used

# A question, its conversation, and what its answer used.
_Report = tuple[Event, str, Sequence[ContextItem]]
# In one message of what a conversation has in mind.
_LETTERS = 50_000


class UseReports:
    """Tells semantic memory which memories were used, and working memory where attention is."""

    def __init__(
        self, link: LinkPort, clock: Clock, waiting: int, strong: float, linger_ms: float, give_way: Callable[[], None]
    ) -> None:
        self._link = link
        self._clock = clock
        # Score from which a memory matched well.
        self._strong = strong
        self._reports: Reports[_Report] = Reports("use-reports", waiting, self._report, linger_ms / 1000, give_way)

    @property
    def reported(self) -> int:
        """Reports that were published."""
        return self._reports.told

    @property
    def lost(self) -> int:
        """Reports that were dropped, or that the bus did not take."""
        return self._reports.lost

    def note(self, event: Event, session: str, items: Sequence[ContextItem]) -> None:
        """These items were in the answer to this request; dropped, and counted, where too many reports wait."""
        if items:
            self._reports.put((event, session, items))

    def close(self) -> None:
        """Publish what waits and stop."""
        self._reports.close()

    def _report(self, reports: Sequence[_Report]) -> None:
        now = self._clock.now_us()
        for touched in _touched(reports, now):
            self._link.send(touched)
        used = [record for event, _, items in reports if (record := self._used(event, items, now)) is not None]
        if used:
            self._link.publish(used)

    def _used(self, event: Event, items: Sequence[ContextItem], now: int) -> OutgoingRecord | None:
        remembered = [item.id for item in items if item.tier != "working" and not item.guiding]
        if not remembered:
            return None
        strong = [item.id for item in items if item.answers or item.score >= self._strong]
        return memories_used(event, remembered, strong, now)


def _touched(reports: Sequence[_Report], now: int) -> Iterator[OutgoingRecord]:
    """What the answers of a conversation had in mind, one after the other: a message a conversation, or a few of bounded size.

    Each answer has a moment of its own, by which its items are told from those of the next one.
    """
    conversations: dict[tuple[str, str], list[tuple[Event, int, Sequence[ContextItem]]]] = {}
    for place, (event, session, items) in enumerate(reports):
        if session:
            conversations.setdefault((event.user, session), []).append((event, now + place, items))
    for (user, session), answers in conversations.items():
        message, first, letters = working_pb2.BufferTouched(), answers[0][0], 0
        for event, at_us, items in answers:
            size = sum(len(item.text) for item in items)
            if message.items and letters + size > _LETTERS:
                yield _touch(message, first)
                message, first, letters = working_pb2.BufferTouched(), event, 0
            message.user_id, message.session_id, message.at_us = user, session, at_us
            message.items.extend(
                working_pb2.BufferItem(
                    id=item.id, content=item.text, importance=item.importance, access_count=1, last_access_us=at_us
                )
                for item in items
            )
            letters += size
        yield _touch(message, first)


def _touch(message: working_pb2.BufferTouched, event: Event) -> OutgoingRecord:
    touched_id = derive_id(event.event_id, "touched")
    return make_record(message, event_id=touched_id, occurred_us=message.at_us, user=event.user, causation_id=event.event_id)
