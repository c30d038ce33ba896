"""A run and its parts: run, user, phase, batch, and the transitions each may make."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from aico_memory.errors import RefusedTransition
from aico_memory.ids import derive_id

# The lists that planning goes through: who has pending experiences, then who has memories.
PENDING_STAGE = 0
SLEEPERS_STAGE = 1
# Name space of runs whose firing id is no UUID.
_FIRINGS = uuid.UUID("5f0d7a2e-6d0c-4b53-9f3a-0c6a1d3b7e11")

Counts = Mapping[str, int]


class Status(StrEnum):
    """Where a run, a user, a phase or a batch stands."""

    # A run: accepted, waits for the run before it. A user, phase or batch: not begun.
    WAITING = "waiting"
    # A run: collects its users.
    PLANNING = "planning"
    # A run or user: at work. A phase: its batches are cut. A batch: sent.
    ACTIVE = "active"
    DONE = "complete"
    CANCELLED = "cancelled"
    FAILED = "failed"


FINAL = frozenset({Status.DONE, Status.CANCELLED, Status.FAILED})

_TRANSITIONS: Mapping[Status, frozenset[Status]] = MappingProxyType(
    {
        Status.WAITING: frozenset({Status.PLANNING, Status.ACTIVE, Status.CANCELLED, Status.FAILED}),
        Status.PLANNING: frozenset({Status.ACTIVE, Status.CANCELLED, Status.FAILED}),
        Status.ACTIVE: frozenset({Status.DONE, Status.CANCELLED, Status.FAILED}),
        Status.DONE: frozenset(),
        Status.CANCELLED: frozenset(),
        Status.FAILED: frozenset(),
    }
)


@dataclass(frozen=True, slots=True)
class Run:
    """One run; times in Unix microseconds, 0 where it has not happened."""

    run_id: uuid.UUID
    # Empty where nobody gave one.
    firing_id: str
    status: Status
    shard: int
    # Experiences received after this wait for the next run.
    until_us: int
    # The start's place in the bus's global order: runs go one after the other, in this order.
    sequence: int
    user_ids: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    manual: bool = False
    # Users up to and including this one have been collected (planning goes by pages) ...
    planned_after: str = ""
    started_us: int = 0
    finished_us: int = 0
    error: str = ""
    # ... from this list.
    planned_stage: int = PENDING_STAGE


@dataclass(frozen=True, slots=True)
class UserRun:
    """One user's part of a run."""

    user: str
    # Experiences that were pending when the run was planned.
    pending: int
    status: Status = Status.WAITING
    phases: tuple[str, ...] = ()
    # Index of the phase at work.
    phase: int = 0
    started_us: int = 0
    finished_us: int = 0
    # What long-term memory held of the user before and after ("active", "dormant", "tier.episodic", ...).
    before: Counts = field(default_factory=dict)
    after: Counts = field(default_factory=dict)
    # Nights that the full night is too late: who waits longest goes first, then who has the most to replay.
    overdue: int = 0


@dataclass(frozen=True, slots=True)
class PhaseRun:
    """One phase of one user that has begun."""

    user: str
    phase: str
    status: Status = Status.ACTIVE
    # Experiences to replay; 0 for the other phases.
    experiences: int = 0
    started_us: int = 0
    finished_us: int = 0
    # Why a part of it was left as it is, a failure before all else; empty where all was gone through.
    error: str = ""


@dataclass(frozen=True, slots=True)
class PhaseTotals:
    """One phase of a run over all its users."""

    phase: str
    users: int = 0
    batches: int = 0
    batches_done: int = 0
    # In batches that are done; `experiences` counts all that were cut.
    replayed: int = 0
    experiences: int = 0
    memories: int = 0
    unknown: int = 0
    # Time at work, summed over the users.
    microseconds: int = 0
    # What the steps counted, summed ("seen", "promoted", ...).
    counts: Counts = field(default_factory=dict)
    # Users for whom a part of it failed, and why; `error` also tells of what was held (read-only, paused) where nothing failed.
    failed: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Amounts:
    """Batches of a user's phase that were made, the experiences in them, and both of those that are done."""

    batches: int = 0
    experiences: int = 0
    batches_done: int = 0
    experiences_done: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of a phase with its reason, as its owner told it."""

    # UUID text of the item.
    memory_id: str
    decision: str
    rule: str
    detail: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of a replay, or one step of another phase, of one user."""

    user: str
    phase: str
    number: int
    # The experiences of a replay's batch; a step's part shows in where it begins.
    event_ids: tuple[bytes, ...] = ()
    status: Status = Status.WAITING
    # What it led to, as the owner reported it.
    memories: int = 0
    unknown: int = 0
    sent_us: int = 0
    finished_us: int = 0
    # Of a step: where it begins (in the owner's own words), what it counted, decisions it explains, why it did nothing.
    begins_after: str = ""
    counts: Counts = field(default_factory=dict)
    samples: tuple[Decision, ...] = ()
    error: str = ""


def run_identity(firing_id: str, event_id: uuid.UUID) -> uuid.UUID:
    """The id of the run that a start leads to: one firing, one run, however often it is announced.

    A firing id is a UUID, or one behind a prefix such as `manual/`; anything else is digested.
    """
    if not firing_id:
        return derive_id(event_id, "run")
    try:
        cause = uuid.UUID(firing_id.rpartition("/")[2])
    except ValueError:
        cause = uuid.uuid5(_FIRINGS, firing_id)
    return derive_id(cause, "run")


def require_transition(current: Status, to: Status) -> None:
    """RefusedTransition, naming both, where the one does not lead to the other."""
    if to not in _TRANSITIONS[current]:
        raise RefusedTransition(f"{current.value} does not lead to {to.value}", "See the run with `aico-memory jobs`.")
