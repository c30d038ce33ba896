"""Reports after an answer and never in its way: a bounded queue, and one thread that tells them."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from aico_memory.contracts.envelope import Event, make_record
from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import AicoMemoryError
from aico_memory.ids import derive_id
from aico_memory.log import get_logger

_Report = TypeVar("_Report")

# Reports that are told at once.
TOGETHER = 32
log = get_logger(__name__)


def memories_used(event: Event, memory_ids: Sequence[str], strong_ids: Sequence[str], at_us: int) -> OutgoingRecord:
    """Says that the answer to a question used these memories, and which of them matched well; one a question.

    They are the user's own, of the group and project that the question names, or global.
    """
    asked: Any = event.message
    used = semantic_pb2.MemoriesUsed(
        user_id=event.user, memory_ids=memory_ids, strong_ids=strong_ids, request_id=str(event.event_id), at_us=at_us,
        group_id=asked.group_id, project_id=asked.project_id,
    )  # fmt: skip
    used_id = derive_id(event.event_id, "used")
    return make_record(used, event_id=used_id, occurred_us=at_us, user=event.user, causation_id=event.event_id)


class Reports(Generic[_Report]):
    """Tells what it is given, in order; drops and counts what comes while `waiting` others wait, or what cannot be told.

    A report waits `linger_seconds` for others and is told together with them, `TOGETHER` at most: whoever hears them has
    one piece of work instead of many, and none while the next question of the same moment waits for its answer.
    `give_way` is called before each telling, so that whoever asks goes first.
    """

    def __init__(
        self, name: str, waiting: int, tell: Callable[[Sequence[_Report]], None], linger_seconds: float = 0.0,
        give_way: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._tell = tell
        self._give_way = give_way
        self._linger = linger_seconds
        self._closing = threading.Event()
        self._queue: queue.Queue[_Report | None] = queue.Queue(waiting)
        self.told = 0
        self.lost = 0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, report: _Report) -> None:
        """Tell this when there is time."""
        try:
            self._queue.put_nowait(report)
        except queue.Full:
            self.lost += 1

    def close(self) -> None:
        """Tell what waits and stop."""
        self._closing.set()
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (report := self._queue.get()) is not None:
            self._closing.wait(self._linger)
            told = [report]
            with contextlib.suppress(queue.Empty):
                while report is not None:
                    report = self._queue.get_nowait()
                    told += [report] if report is not None else []
            for start in range(0, len(told), TOGETHER):
                self._give_way()
                self._tell_some(told[start : start + TOGETHER])
            if report is None:
                return

    def _tell_some(self, reports: Sequence[_Report]) -> None:
        try:
            self._tell(reports)
            self.told += len(reports)
        except AicoMemoryError as error:
            self.lost += len(reports)
            log.info("not_reported", code=error.code)
