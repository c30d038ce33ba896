"""Which firings have come due since a job was last looked at, and which of the waiting may go now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from aico_memory.clock import from_us, to_us
from aico_memory.domain.scheduling.cron import due, latest_due
from aico_memory.domain.scheduling.job import Firing, Job, Misfire, Outcome, Resource, firing_identity, jitter_us

SECOND_US = 1_000_000
# Missed firings are counted up to here; beyond, the number says "at least".
MISSED_COUNT_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class JobMark:
    """Up to where a job's firings have been planned, and under which expression."""

    job: str
    expression: str
    zone: str
    evaluated_us: int


def mark_for(job: Job, known: JobMark | None, now_us: int) -> JobMark:
    """Where to go on: the known mark, or now for a job that is new or was rewritten.

    A new expression does not look back: what it would have fired yesterday was never promised. A mark that
    lies ahead of the clock was made before it was set back, perhaps by years: planning goes on from now, and
    the ledger tells which firings of the time that passes again have been.
    """
    expression, zone = job.cron.expression, job.cron.zone.key
    if known is not None and (known.expression, known.zone) == (expression, zone) and known.evaluated_us <= now_us:
        return known
    return JobMark(job.name, expression, zone, now_us)


def plan(job: Job, mark: JobMark, now_us: int, grace_us: int) -> Firing | None:
    """The one firing that stands for everything due in (mark, now]; None where nothing is.

    Its outcome is PLANNED, or MISSED where the job's policy is to skip what is older than the grace.
    The next mark is the firing's planned time.
    """
    after, until = from_us(mark.evaluated_us), from_us(now_us)
    if until <= after:
        return None
    latest = latest_due(job.cron, after, until)
    if latest is None:
        return None
    planned_us = to_us(latest)
    earlier = len(due(job.cron, after, latest, MISSED_COUNT_LIMIT + 1)) - 1
    late = job.misfire is Misfire.SKIP and now_us - planned_us > grace_us
    return Firing(
        firing_identity(job.name, planned_us),
        job.name,
        planned_us,
        outcome=Outcome.MISSED if late else Outcome.PLANNED,
        missed=earlier,
    )


def take_over(later: Firing, waiting: Firing, now_us: int) -> tuple[Firing, Firing]:
    """The later firing of a job in the place of one that still waits, and what becomes of the earlier.

    The later one has waited since the earlier did: its latest time does not move away.
    """
    since_us = waiting.since_us or waiting.planned_us
    fresh = replace(later, since_us=since_us, missed=later.missed + waiting.missed + 1)
    gone = replace(waiting, outcome=Outcome.MISSED, finished_us=now_us, detail="A later firing took its place")
    return fresh, gone


def release(
    waiting: Iterable[Firing], running: Sequence[Firing], jobs: Mapping[str, Job], now_us: int, idle: bool
) -> list[Firing]:
    """The waiting firings that may go now, the most urgent first.

    At most one heavy job at a time and never a job beside itself; a firing by
    hand waits for neither time nor idleness.
    """
    busy = {firing.job for firing in running}
    heavy = any(jobs[name].resource is Resource.HEAVY for name in busy if name in jobs)
    chosen = []
    known = [firing for firing in waiting if firing.job in jobs]
    for firing in sorted(known, key=lambda one: (-jobs[one.job].priority, one.planned_us, one.job, one.firing_id)):
        job = jobs[firing.job]
        if firing.job in busy or (job.resource is Resource.HEAVY and heavy) or not _time_has_come(job, firing, now_us, idle):
            continue
        chosen.append(firing)
        busy.add(firing.job)
        heavy = heavy or job.resource is Resource.HEAVY
    return chosen


def overdue(running: Iterable[Firing], jobs: Mapping[str, Job], now_us: int) -> list[Firing]:
    """The running firings past their job's maximum duration (or whose job is gone).

    One that began far ahead of a clock that was set back counts as well: nobody knows how long it has run.
    """
    return [
        firing
        for firing in running
        if firing.job not in jobs or abs(now_us - firing.fired_us) > jobs[firing.job].max_duration * SECOND_US
    ]


def _time_has_come(job: Job, firing: Firing, now_us: int, idle: bool) -> bool:
    if firing.manual:
        return True
    since_us = firing.since_us or firing.planned_us
    if now_us < since_us + jitter_us(firing.firing_id, job.jitter):
        return False
    return not job.waits_for_idle or idle or now_us >= since_us + job.latest * SECOND_US
