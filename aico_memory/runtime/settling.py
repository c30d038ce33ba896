"""Waiting until consumers have worked off what stands in the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aico_memory.bus.read_only import WriteStop
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.errors import BusUnavailable, DeadlineExceeded
from aico_memory.runtime.probe import ask, broker_says
from aico_memory.runtime.waiting import until

if TYPE_CHECKING:
    from aico_memory.bus.link import Link

ASK_SECONDS = 5.0
# A question that met a broker or worker which is just starting again is asked once more.
LATER = (BusUnavailable, DeadlineExceeded)
NEVER = 2**62
# Work that gets on is waited for so many times as long as work that stands.
MOST = 10
# The look that was going on, and one whole one.
LOOKS = 2


def settled_through(link: Link, sequence: int, seconds: float, only: str = "") -> None:
    """Return when every consumer (or only that one) has settled everything up to this global sequence.

    What is settled may have led to new records, see `quiet`. ReadOnly where all writing is stopped and records wait.
    """

    def caught_up() -> bool | None:
        try:
            return None if _behind(broker_says(link, "consumers", seconds=ASK_SECONDS), sequence, only) else True
        except LATER:
            return None

    until(caught_up, seconds, f"{only or 'The consumers'} did not catch up to {sequence}")


def quiet(link: Link, seconds: float) -> int:
    """Return the head once every consumer has settled all of it and nothing new came of that.

    DeadlineExceeded where it does not come to rest and nothing has moved for `seconds`, or others publish on and on.
    """
    seen: object = None

    def rests() -> int | None:
        nonlocal seen
        try:
            first = broker_says(link, "consumers", seconds=ASK_SECONDS)
            if seen := _behind(first, int(first["head"])):
                return None
            again = broker_says(link, "consumers", seconds=ASK_SECONDS)
        except LATER:
            return None
        head = int(again["head"])
        return head if head == int(first["head"]) and not _behind(again, head) else None

    return until(rests, seconds, "The deployment did not come to rest", progress=lambda: seen, most=MOST * seconds)


def schedule_caught_up(link: Link, now_us: int, seconds: float) -> int:
    """Wait until all that may run at this time has been fired and has ended; when the next job is due (Unix µs).

    0 while a job waits for more than its time (an idle machine), far in the future where no scheduler runs.
    DeadlineExceeded where no firing began or ended for `seconds`.
    """
    clear_since: list[int] = []
    seen: object = None

    def next_firing() -> int | None:
        nonlocal seen
        try:
            page = ask(link, sleep_pb2.JobsRequest(history=1000), seconds=ASK_SECONDS)
        except LATER:
            return None
        seen = [(firing.firing_id, firing.finished_us) for firing in page.firings]
        times = [job.next_us for job in page.jobs if job.enabled and job.next_us]
        outcomes = {firing.outcome for firing in page.firings if not firing.finished_us}
        if page.looked_us < now_us or any(moment <= now_us for moment in times) or "fired" in outcomes:
            clear_since.clear()
            return None
        clear_since.append(page.looks)
        # The end of one job may let another one go: a whole look after this one must have found nothing to fire.
        if page.looks < clear_since[0] + LOOKS:
            return None
        return 0 if "planned" in outcomes else min(times, default=NEVER)

    def scheduled() -> bool | None:
        try:
            return any(
                consumer["name"] == "scheduler" for consumer in broker_says(link, "consumers", seconds=ASK_SECONDS)["consumers"]
            )
        except LATER:
            return None

    if not until(scheduled, seconds, "The broker has not told who consumes"):
        return NEVER
    return until(next_firing, seconds, "The scheduler has not fired what is due", progress=lambda: seen, most=MOST * seconds)


def _behind(answer: dict[str, Any], sequence: int, only: str = "") -> list[tuple[str, int, int]]:
    """Who has not settled everything up to this sequence: name, what it settled last, and what its outbox holds."""
    heads = answer["topics"]
    behind: list[tuple[str, int, int]] = []
    for consumer in answer["consumers"]:
        if only and consumer["name"] != only:
            continue
        # A consumer hears of its own topics only: the last record of those is what it can reach.
        last = max((int(heads[topic][0]) for topic in consumer["topics"] if topic in heads), default=0)
        settled, waiting = int(consumer["settled"]), int(consumer["outbox"])
        if settled < min(last, sequence) or waiting:
            stop = WriteStop(**answer["read_only"])
            if stop.on and not waiting:
                raise stop.error()
            behind.append((consumer["name"], settled, waiting))
    return behind
