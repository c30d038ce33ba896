"""What a run does next."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.consolidation.decide import (
    FinishRun,
    FinishUser,
    NextPhase,
    OpenPhase,
    SendBatch,
    StartUser,
    UserView,
    decide,
)  # fmt: skip
from aico_memory.domain.consolidation.run import FINAL, Status, UserRun, require_transition, run_identity
from aico_memory.errors import RefusedTransition

AT_WORK = UserRun("alice", 3, Status.ACTIVE, ("replay", "summaries"))
VIEW = UserView(AT_WORK, open=True, next_batch=-1, in_flight=0)
FIRING = "01a0c450-6c00-71ea-9e1c-4ea3ac0874a7"


def steps(*active: UserView, waiting: tuple[str, ...] = (), now_us: int = 0) -> list[object]:
    return list(decide(active, waiting, 4, 0, now_us, 3600))


def test_a_users_steps_follow_one_another() -> None:
    assert steps(replace(VIEW, open=False)) == [OpenPhase("alice", "replay")]
    assert steps(replace(VIEW, next_batch=3)) == [SendBatch("alice", "replay", 3)]
    assert steps(replace(VIEW, next_batch=4, in_flight=1)) == []
    assert steps(VIEW) == [NextPhase("alice", 1)]
    assert steps(replace(VIEW, part=replace(AT_WORK, phase=2))) == [FinishUser("alice")]


def test_a_run_without_users_left_is_complete() -> None:
    assert steps() == [FinishRun(Status.DONE)]


def test_a_run_past_its_time_budget_ends_and_says_so() -> None:
    (end,) = steps(VIEW, waiting=("bob",), now_us=3_600_000_001)
    assert isinstance(end, FinishRun)
    assert end.status is Status.FAILED
    assert "3600 s" in end.error


@given(st.integers(1, 9), st.integers(0, 9), st.integers(0, 30))
def test_never_more_than_the_limit_of_users_are_at_work(limit: int, active: int, waiting: int) -> None:
    at_work = [replace(VIEW, part=replace(AT_WORK, user=f"a{number}"), in_flight=1) for number in range(min(active, limit))]
    names = [f"w{number}" for number in range(waiting)]
    started = [step for step in decide(at_work, names, limit, 0, 0, 3600) if isinstance(step, StartUser)]
    assert len(started) == min(waiting, limit - len(at_work))
    assert [step.user for step in started] == names[: len(started)]


@given(
    st.dictionaries(st.text("abcdefgh", min_size=1, max_size=3), st.integers(0, 5), max_size=12),
    st.integers(1, 5),
    st.randoms(),
)
def test_any_order_of_answers_applies_every_batch_once_and_ends(sizes: dict[str, int], limit: int, rng: object) -> None:
    waiting, active = list(sizes), dict[str, UserView]()
    sent: list[tuple[str, int]] = []
    most = 0
    for _ in range(10_000):
        todo = decide(list(active.values()), waiting, limit, 0, 0, 3600)
        if any(isinstance(step, FinishRun) for step in todo):
            break
        if not todo:
            user = rng.choice([name for name, view in active.items() if view.in_flight])  # type: ignore[attr-defined]
            active[user] = replace(active[user], in_flight=0)
            continue
        step = rng.choice(todo)  # type: ignore[attr-defined]
        if isinstance(step, StartUser):
            waiting.remove(step.user)
            active[step.user] = replace(VIEW, part=replace(AT_WORK, user=step.user, phases=("replay",)), open=False)
        elif isinstance(step, OpenPhase):
            active[step.user] = replace(active[step.user], open=True, next_batch=0 if sizes[step.user] else -1)
        elif isinstance(step, SendBatch):
            sent.append((step.user, step.number))
            following = step.number + 1 if step.number + 1 < sizes[step.user] else -1
            active[step.user] = replace(active[step.user], next_batch=following, in_flight=1)
        elif isinstance(step, NextPhase):
            active[step.user] = replace(active[step.user], part=replace(active[step.user].part, phase=step.phase))
        elif isinstance(step, FinishUser):
            del active[step.user]
        most = max(most, len(active))
    assert not active and not waiting
    assert sorted(sent) == sorted((user, number) for user, size in sizes.items() for number in range(size))
    assert most <= limit


def test_one_firing_is_one_run_however_it_is_announced() -> None:
    first, second = uuid.UUID(int=1), uuid.UUID(int=2)
    assert run_identity(FIRING, first) == run_identity(FIRING, second)
    assert run_identity("by hand", first) == run_identity("by hand", second)
    assert run_identity("", first) != run_identity("", second)


def test_what_has_ended_does_not_begin_again() -> None:
    for status in FINAL:
        with pytest.raises(RefusedTransition, match=status.value):
            require_transition(status, Status.ACTIVE)
    require_transition(Status.WAITING, Status.PLANNING)
