"""Reports that answers used memories: after the answer and never in its way."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import Event, make_record
from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.errors import AicoMemoryError
from aico_memory.ids import derive_id
from aico_memory.runtime.ports import LinkPort


class RecallUses:
    """One thread that publishes what recall told; dropped, and counted, where too many reports wait."""

    def __init__(self, link: LinkPort, clock: Clock, waiting: int) -> None:
        self._link = link
        self._clock = clock
        self._queue: queue.Queue[tuple[Event, Sequence[str]] | None] = queue.Queue(waiting)
        self.reported = 0
        self.lost = 0
        self._thread = threading.Thread(target=self._run, name="recall-uses", daemon=True)
        self._thread.start()

    def note(self, event: Event, memory_ids: Sequence[str]) -> None:
        """These memories answered that question: all of them matched well."""
        if not memory_ids:
            return
        try:
            self._queue.put_nowait((event, memory_ids))
        except queue.Full:
            self.lost += 1

    def close(self) -> None:
        """Publish what waits and stop."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (report := self._queue.get()) is not None:
            event, memory_ids = report
            now_us = self._clock.now_us()
            used = semantic_pb2.MemoriesUsed(
                user_id=event.user, memory_ids=memory_ids, strong_ids=memory_ids, request_id=str(event.event_id), at_us=now_us
            )
            record = make_record(
                used,
                event_id=derive_id(event.event_id, "used"),
                occurred_us=now_us,
                user=event.user,
                causation_id=event.event_id,
            )
            try:
                self._link.publish([record])
                self.reported += 1
            except AicoMemoryError:
                self.lost += 1
