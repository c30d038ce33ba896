"""Reports of use, after the answer and never in its way."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import Event, make_record
from aico_memory.contracts.v1 import semantic_pb2, working_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.domain.context.items import ContextItem
from aico_memory.ids import derive_id
from aico_memory.runtime.ports import LinkPort
from aico_memory.runtime.reporting import Reports


class UseReports:
    """Tells semantic memory which memories were used, and working memory where attention is."""

    def __init__(
        self, link: LinkPort, clock: Clock, waiting: int, strong: float, linger_ms: float, give_way: Callable[[], None]
    ) -> None:
        self._link = link
        self._clock = clock
        # Score from which a memory matched well.
        self._strong = strong
        self._reports: Reports[tuple[Event, str, Sequence[ContextItem]]] = Reports(
            "use-reports", waiting, self._report, linger_ms / 1000, give_way
        )

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

    def _report(self, report: tuple[Event, str, Sequence[ContextItem]]) -> None:
        event, session, items = report
        now = self._clock.now_us()
        if session:
            self._link.send(_touched(event, session, items, now))
        remembered = [item.id for item in items if item.tier != "working" and item.layer != "L2"]
        if remembered:
            used = semantic_pb2.MemoriesUsed(
                user_id=event.user, memory_ids=remembered, request_id=str(event.event_id), at_us=now,
                strong_ids=[item.id for item in items if item.answers or item.score >= self._strong],
            )  # fmt: skip
            self._link.publish([make_record(used, event_id=_id(event, "used"), occurred_us=now, user=event.user,
                                            causation_id=event.event_id)])  # fmt: skip


def _touched(event: Event, session: str, items: Sequence[ContextItem], now: int) -> OutgoingRecord:
    message = working_pb2.BufferTouched(
        user_id=event.user,
        session_id=session,
        items=[
            working_pb2.BufferItem(
                id=item.id, content=item.text, importance=item.importance, access_count=1, last_access_us=now
            )
            for item in items
        ],
        at_us=now,
    )
    return make_record(message, event_id=_id(event, "touched"), occurred_us=now, user=event.user, causation_id=event.event_id)


def _id(event: Event, purpose: str) -> uuid.UUID:
    return derive_id(event.event_id, purpose)
