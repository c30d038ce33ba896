"""A night's sleep on demand."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from aico_memory.clock import format_us
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.errors import DeadlineExceeded, NotFound
from aico_memory.runtime.waiting import until

if TYPE_CHECKING:
    from aico_memory.bus.link import Link

ENDED = frozenset({"complete", "cancelled", "failed"})
ASK_SECONDS = 10.0


def start_sleep(link: Link, event_id: uuid.UUID, now_us: int, users: Sequence[str] = (), phases: Sequence[str] = ()) -> str:
    """Start a manual consolidation; the identity of its firing."""
    firing = f"manual/{event_id}"
    start = sleep_pb2.ConsolidationStart(firing_id=firing, planned_at_us=now_us, user_ids=users, phases=phases, manual=True)
    link.publish([make_record(start, event_id=event_id, occurred_us=now_us)])[0].result(ASK_SECONDS)
    return firing


def await_sleep(link: Link, firing: str, seconds: float, progressed: Callable[[int], None] = lambda done: None) -> Any:
    """The run of this firing once it has ended, however it ended."""

    def ended() -> Any | None:
        try:
            page = link.request(sleep_pb2.RunsRequest(firing_id=firing, limit=1), timeout=ASK_SECONDS).result(ASK_SECONDS + 1)
        except (NotFound, DeadlineExceeded):
            # Not begun yet, or the worker is just starting again.
            return None
        for run in page.runs:
            progressed(run.users_done)
            if run.status in ENDED:
                return run
        return None

    return until(ended, seconds, "The run is not complete")


def run_account(run: Any) -> dict[str, Any]:
    """A run as JSON values."""
    return {
        "run_id": run.run_id,
        "firing_id": run.firing_id,
        "status": run.status,
        "users": run.users,
        "experiences": run.experiences,
        "started": format_us(run.started_us),
        "finished": format_us(run.finished_us),
        "error": run.error,
        "phases": [{"phase": p.phase, "counts": dict(p.counts), "seconds": p.seconds, "error": p.error} for p in run.phases],
    }
