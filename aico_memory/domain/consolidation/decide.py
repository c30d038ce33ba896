"""What a run does next, decided from what its store says and nothing else.

The same rules lead on after a kill: a step that was decided and not stored is
decided again, and carries the same ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aico_memory.domain.consolidation.run import Status, UserRun

SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class UserView:
    """One user at work and the batches of the phase that is at work."""

    part: UserRun
    # False: the phase has not begun yet.
    open: bool
    # Number of the next batch or step to send; -1 where there is none.
    next_batch: int
    # Batches or steps sent whose end has not been announced.
    in_flight: int


@dataclass(frozen=True, slots=True)
class StartUser:
    """Take the next waiting user."""

    user: str


@dataclass(frozen=True, slots=True)
class OpenPhase:
    """Begin a phase: put the user's pending experiences into their order, or make the first step of another phase."""

    user: str
    phase: str


@dataclass(frozen=True, slots=True)
class SendBatch:
    """Hand one batch or step to its owner."""

    user: str
    phase: str
    number: int


@dataclass(frozen=True, slots=True)
class NextPhase:
    """All of the phase is applied, or it has ended early."""

    user: str
    # Index of the phase that follows.
    phase: int


@dataclass(frozen=True, slots=True)
class FinishUser:
    """All phases of the user are done."""

    user: str


@dataclass(frozen=True, slots=True)
class FinishRun:
    """The run has ended."""

    status: Status
    error: str = ""


Step = StartUser | OpenPhase | SendBatch | NextPhase | FinishUser | FinishRun


def decide(
    active: Sequence[UserView], waiting: Sequence[str], most_at_once: int, started_us: int, now_us: int, budget_seconds: int
) -> list[Step]:
    """The steps that may be taken now; empty where the run waits for an answer.

    `active` are the users at work, `waiting` the next ones in their order. Never
    more than `most_at_once` users are at work, and no user has two batches in flight.
    """
    if now_us - started_us > budget_seconds * SECOND_US:
        return [FinishRun(Status.FAILED, f"The time budget of {budget_seconds} s is used up; the rest waits for the next run")]
    if not active and not waiting:
        return [FinishRun(Status.DONE)]
    steps: list[Step] = []
    for view in active:
        step = next_of(view)
        if step is not None:
            steps.append(step)
    steps.extend(StartUser(user) for user in waiting[: max(0, most_at_once - len(active))])
    return steps


def next_of(view: UserView) -> Step | None:
    """What a user at work does next; None where an answer is under way."""
    part = view.part
    if part.phase >= len(part.phases):
        return FinishUser(part.user)
    phase = part.phases[part.phase]
    if not view.open:
        return OpenPhase(part.user, phase)
    if view.in_flight:
        return None
    if view.next_batch >= 0:
        return SendBatch(part.user, phase, view.next_batch)
    return NextPhase(part.user, part.phase + 1)
