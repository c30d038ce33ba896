"""Reports that answers used memories: after the answer and never in its way."""

from __future__ import annotations

from collections.abc import Sequence

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import Event
from aico_memory.runtime.ports import LinkPort
from aico_memory.runtime.reporting import Reports, memories_used


class RecallUses:
    """Publishes what recall told; dropped, and counted, where too many reports wait."""

    def __init__(self, link: LinkPort, clock: Clock, waiting: int) -> None:
        self._link = link
        self._clock = clock
        self._reports: Reports[tuple[Event, Sequence[str]]] = Reports("recall-uses", waiting, self._tell)

    @property
    def reported(self) -> int:
        """Reports that were published."""
        return self._reports.told

    @property
    def lost(self) -> int:
        """Reports that were dropped, or that the bus did not take."""
        return self._reports.lost

    def note(self, event: Event, memory_ids: Sequence[str]) -> None:
        """These memories answered that question: all of them matched well."""
        if memory_ids:
            self._reports.put((event, memory_ids))

    def close(self) -> None:
        """Publish what waits and stop."""
        self._reports.close()

    def _tell(self, reports: Sequence[tuple[Event, Sequence[str]]]) -> None:
        now_us = self._clock.now_us()
        self._link.publish([memories_used(event, memory_ids, memory_ids, now_us) for event, memory_ids in reports])
