"""Planning and releasing firings."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from aico_memory.clock import from_us, to_us
from aico_memory.domain.scheduling.cron import due, parse_cron
from aico_memory.domain.scheduling.job import (
    Firing,
    Job,
    Misfire,
    Outcome,
    Resource,
    firing_identity,
    jitter_us,
    trigger_identity,
)  # fmt: skip
from aico_memory.domain.scheduling.plan import JobMark, mark_for, overdue, plan, release

ZONE = ZoneInfo("Europe/Berlin")
START = to_us(datetime(2026, 10, 24, 12, tzinfo=UTC))
MINUTE = 60_000_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def job(name: str = "nightly", cron: str = "0 2 * * *", **more: object) -> Job:
    return replace(Job(name, parse_cron(cron, ZONE), "memory/consolidation/start/v1/"), **more)  # type: ignore[arg-type]


def planned(one: Job, at_us: int = START, **more: object) -> Firing:
    return replace(Firing(firing_identity(one.name, at_us), one.name, at_us), **more)  # type: ignore[arg-type]


def test_a_firing_is_identified_by_job_and_scheduled_time() -> None:
    assert firing_identity("a", START) == firing_identity("a", START)
    assert len({firing_identity("a", START), firing_identity("b", START), firing_identity("a", START + MINUTE)}) == 3
    assert trigger_identity(firing_identity("a", START)) == trigger_identity(firing_identity("a", START))


def test_an_identity_does_not_change_between_versions() -> None:
    assert str(firing_identity("consolidation", 1_790_000_000_000_000)) == "01a0c450-6c00-71ea-9e1c-4ea3ac0874a7"


def test_a_machine_that_was_off_catches_up_once() -> None:
    one = job()
    firing = plan(one, mark_for(one, None, START), START + 10 * DAY, HOUR)
    assert firing is not None
    assert firing.outcome is Outcome.PLANNED
    assert firing.missed == 9
    assert from_us(firing.planned_us) == datetime(2026, 11, 3, 1, tzinfo=UTC)


def test_a_job_that_skips_misfires_fires_within_the_grace_only() -> None:
    one = job(misfire=Misfire.SKIP)
    mark = mark_for(one, None, START)
    first = due(one.cron, from_us(START), from_us(START + DAY))[0]
    soon, late = plan(one, mark, to_us(first) + MINUTE, HOUR), plan(one, mark, to_us(first) + 2 * HOUR, HOUR)
    assert soon is not None and soon.outcome is Outcome.PLANNED
    assert late is not None and late.outcome is Outcome.MISSED


def test_a_new_or_rewritten_job_does_not_look_back() -> None:
    old = JobMark("nightly", "0 1 * * *", ZONE.key, START - 40 * DAY)
    assert mark_for(job(), None, START).evaluated_us == START
    assert mark_for(job(), old, START).evaluated_us == START
    kept = mark_for(job(), replace(old, expression="0 2 * * *"), START)
    assert kept.evaluated_us == old.evaluated_us


def test_a_mark_ahead_of_the_clock_is_taken_back_to_now() -> None:
    ahead = JobMark("nightly", "0 2 * * *", ZONE.key, START + 90 * DAY)
    assert mark_for(job(), ahead, START).evaluated_us == START


def test_a_firing_that_began_far_ahead_of_the_clock_is_overdue() -> None:
    one = job(max_duration=3600)
    fired = planned(one, START + 90 * DAY, fired_us=START + 90 * DAY)
    assert overdue([fired], {one.name: one}, START) == [fired]
    assert overdue([replace(fired, fired_us=START + MINUTE)], {one.name: one}, START) == []


def test_a_clock_that_is_set_back_fires_nothing_again() -> None:
    one = job()
    mark = JobMark(one.name, one.cron.expression, ZONE.key, START)
    assert plan(one, mark, START - 3 * DAY, HOUR) is None


@given(st.sampled_from(["0 2 * * *", "30 2 * * *", "*/10 * * * *"]), st.lists(st.integers(0, 3 * 1440), max_size=30))
def test_restarts_at_any_moments_repeat_no_firing_and_leave_none_unaccounted(cron: str, looks: list[int]) -> None:
    one = job(cron=cron)
    mark = mark_for(one, None, START)
    fired: list[Firing] = []
    moments = sorted({START + look * MINUTE + 1 for look in looks})
    for moment in moments:
        # What survives a restart is the mark alone.
        firing = plan(one, mark, moment, HOUR)
        if firing is not None:
            mark = replace(mark, evaluated_us=firing.planned_us)
            fired.append(firing)
    assert len({firing.firing_id for firing in fired}) == len(fired)
    end = from_us(moments[-1]) if moments else from_us(START)
    assert sum(1 + firing.missed for firing in fired) == len(due(one.cron, from_us(START), end))


def test_two_heavy_jobs_never_run_at_once() -> None:
    jobs = {name: job(name, resource=Resource.HEAVY) for name in ("a", "b")} | {"light": job("light")}
    waiting = [planned(jobs["a"]), planned(jobs["b"]), planned(jobs["light"])]
    first = release(waiting, [], jobs, START + HOUR, idle=True)
    assert [firing.job for firing in first] == ["a", "light"]
    running = [replace(first[0], outcome=Outcome.FIRED, fired_us=START)]
    assert release([waiting[1]], running, jobs, START + HOUR, idle=True) == []
    assert release([waiting[1]], [], jobs, START + HOUR, idle=True) == [waiting[1]]


def test_the_more_urgent_heavy_job_goes_first_whatever_came_first() -> None:
    jobs = {"a": job("a", resource=Resource.HEAVY, priority=10), "b": job("b", resource=Resource.HEAVY, priority=90)}
    waiting = [planned(jobs["a"], START), planned(jobs["b"], START + MINUTE)]
    assert [firing.job for firing in release(waiting, [], jobs, START + HOUR, idle=True)] == ["b"]


def test_a_job_never_runs_beside_itself() -> None:
    one = job()
    earlier = planned(one, START, outcome=Outcome.FIRED, fired_us=START)
    assert release([planned(one, START + MINUTE)], [earlier], {one.name: one}, START + HOUR, idle=True) == []


def test_a_job_waits_for_idleness_until_its_latest_time() -> None:
    one = job(waits_for_idle=True, latest=3600)
    jobs, waiting = {one.name: one}, [planned(one)]
    assert release(waiting, [], jobs, START + HOUR - 1, idle=False) == []
    assert release(waiting, [], jobs, START + MINUTE, idle=True) == waiting
    assert release(waiting, [], jobs, START + HOUR, idle=False) == waiting


def test_a_firing_by_hand_waits_for_nothing_but_its_resource() -> None:
    one = job(waits_for_idle=True, latest=3600, jitter=600, resource=Resource.HEAVY)
    by_hand = planned(one, START, manual=True)
    other = job("other", resource=Resource.HEAVY)
    jobs = {one.name: one, "other": other}
    assert release([by_hand], [], jobs, START, idle=False) == [by_hand]
    assert release([by_hand], [planned(other, outcome=Outcome.FIRED, fired_us=START)], jobs, START, idle=False) == []


@given(st.uuids(), st.integers(0, 3600))
def test_jitter_is_fixed_by_the_firing_and_bounded(firing_id: uuid.UUID, seconds: int) -> None:
    assert jitter_us(firing_id, seconds) == jitter_us(firing_id, seconds)
    assert 0 <= jitter_us(firing_id, seconds) <= seconds * 1_000_000


def test_jitter_delays_the_firing_by_its_own_amount() -> None:
    one = job(jitter=600)
    waiting = [planned(one)]
    delay = jitter_us(waiting[0].firing_id, 600)
    assert delay > 0
    assert release(waiting, [], {one.name: one}, START + delay - 1, idle=False) == []
    assert release(waiting, [], {one.name: one}, START + delay, idle=False) == waiting


def test_a_firing_past_its_maximum_duration_is_overdue() -> None:
    one = job(max_duration=60)
    running = [planned(one, outcome=Outcome.FIRED, fired_us=START)]
    assert overdue(running, {one.name: one}, START + MINUTE) == []
    assert overdue(running, {one.name: one}, START + MINUTE + 1) == running
    assert overdue(running, {}, START) == running


def test_a_firing_knows_how_long_it_ran() -> None:
    assert planned(job(), fired_us=START, finished_us=START + timedelta(seconds=3) // timedelta(microseconds=1)).seconds == 3.0
    assert planned(job()).seconds == 0.0
