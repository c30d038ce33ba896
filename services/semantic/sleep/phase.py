"""What a phase of sleep is to the worker: a name, and a step over a part of one scope.

A step decides by `Step.at_us` and by what the transaction reads, never by the
wall clock, so that a replayed stream sleeps as it slept. It touches at most
`Step.limit` items, because everything behind it waits. A step that is repeated
with the same argument finds nothing left to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from aico_memory.domain.memory import Scope
from aico_memory.stores.semantic.port import SemanticTransaction


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a phase over the items of one owner in one scope."""

    scope: Scope
    # Whose items: in a shared scope everybody's own are consolidated with their own run.
    owner: str
    # Where the step before it ended, in whatever form the phase chose; empty: at the beginning of the scope.
    after: str
    limit: int
    # The moment that everything is decided by, in Unix microseconds.
    at_us: int
    # The event that asked for it: ids of what is made derive from it, and changes name it as their cause.
    cause: UUID
    # Global sequence of that event, for the outbox of the indexes.
    sequence: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One decision with its reason, for the report."""

    memory_id: bytes
    decision: str
    rule: str
    detail: str = ""
    others: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step did."""

    # How many items it looked at and what became of them, by name ("seen", "promoted", "rested").
    counts: Mapping[str, int] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    # What changed, for the news: ids by action (updated, promoted, demoted, invalidated, superseded, reinforced, created).
    changed: Mapping[str, Sequence[bytes]] = field(default_factory=dict)
    # Where the next step of this scope begins; empty: the scope is done.
    after: str = ""


class SleepPhase(Protocol):
    """A phase; it writes through the transaction and announces through the caller."""

    name: str

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """Decide and apply one step; where it looked at nothing, the next scope is taken in the same step."""
