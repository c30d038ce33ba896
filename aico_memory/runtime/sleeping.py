"""A night's sleep on demand."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.domain.sleep.names import require_phases
from aico_memory.errors import BusUnavailable, DeadlineExceeded, NotFound
from aico_memory.runtime.probe import ask
from aico_memory.runtime.waiting import answered, until

if TYPE_CHECKING:
    from aico_memory.bus.link import Link
    from aico_memory.contracts.wire import StampedRecord

ENDED = frozenset({"complete", "cancelled", "failed"})
ASK_SECONDS = 10.0
LOOK_SECONDS = 0.5
RUN_LOOK_SECONDS = 0.1
LOOK_RECORDS = 100


def start_sleep(link: Link, event_id: uuid.UUID, now_us: int, users: Sequence[str] = (), phases: Sequence[str] = ()) -> str:
    """Start a manual consolidation; the identity of its firing. InvalidMessage for a phase that there is not."""
    require_phases(phases)
    firing = f"manual/{event_id}"
    start = sleep_pb2.ConsolidationStart(firing_id=firing, planned_at_us=now_us, user_ids=users, phases=phases, manual=True)
    published = link.publish([make_record(start, event_id=event_id, occurred_us=now_us)])[0]
    answered(published, ASK_SECONDS, "The start of the sleep")
    return firing


def await_sleep(link: Link, firing: str, seconds: float, progressed: Callable[[int], None] = lambda done: None) -> Any:
    """The run of this firing once it has ended, however it ended."""

    def ended() -> Any | None:
        try:
            (run,) = _asked(link, sleep_pb2.RunsRequest(firing_id=firing, limit=1, brief=True)).runs
            progressed(run.users_done)
            return _asked(link, sleep_pb2.RunsRequest(run_id=run.run_id)).runs[0] if run.status in ENDED else None
        except (NotFound, BusUnavailable, DeadlineExceeded):
            # Not begun yet, or the worker is just starting again.
            return None

    return until(ended, seconds, "The run is not complete", RUN_LOOK_SECONDS)


def _asked(link: Link, request: sleep_pb2.RunsRequest) -> sleep_pb2.RunsPage:
    page: sleep_pb2.RunsPage = ask(link, request, seconds=ASK_SECONDS)
    return page


def await_record(link: Link, topic: str, event_id: uuid.UUID, after: int, seconds: float) -> StampedRecord:
    """The record of this id once it stands in the journal behind this global sequence; DeadlineExceeded where it does not."""
    deadline = monotonic() + seconds
    consumer = link.consume([topic], link.epoch, after)
    try:
        while (left := deadline - monotonic()) > 0:
            for record in consumer.receive(LOOK_RECORDS, min(left, LOOK_SECONDS)):
                if record.id == event_id:
                    return record
    finally:
        consumer.close()
    raise DeadlineExceeded(f"No {topic} has told the end within {seconds:g} s")
