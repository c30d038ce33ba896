"""Port of sleep: what its phases read of a scope, mostly without anybody's words, and what they alone write.

An *outline* is a memory whose sealed fields (text, entities, key, speaker, zone) are
empty: reading it opens nothing. Items in use are active; among them the awake
are not dormant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.gate.tagging import Pair
from aico_memory.domain.memory import Condition, Memory, Scope
from aico_memory.domain.sleep.likeness import Floats
from aico_memory.stores.semantic.item_port import Upkeep

# What sleep changes of a memory beside its strengths; naming no more keeps most of its indexes untouched.
STANDING = ("tier", "sub_tier", "status", "valid_until_us", "invalidated_at_us", "superseded_by", "updated_at_us")


class Tally(NamedTuple):
    """How many memories an owner has of this kind, tier and status, and when the last of them was made."""

    owner: str
    kind: str
    tier: str
    status: str
    memories: int
    last_us: int


class Rested(NamedTuple):
    """Only items to which `what` was not applied after `since_us`."""

    what: Upkeep
    since_us: int


class DuePlan(NamedTuple):
    """A plan whose time has come; Unix microseconds."""

    memory_id: bytes
    owner: str
    due_us: int


class Crowd(NamedTuple):
    """Awake items of an owner in a scope, and how often the items in use were retrieved on average."""

    awake: int
    mean_accesses: float


@dataclass(frozen=True, slots=True)
class SleepJob:
    """A job over all owners; `counts` add up what its steps report."""

    event_id: bytes
    # rehearse | evolve | cleanup
    job: str
    firing_id: str
    at_us: int
    only_user: str = ""
    users: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    # A few decisions, told without words: (decision, rule, id of the item).
    samples: tuple[tuple[str, str, str], ...] = ()
    errors: tuple[str, ...] = ()


class SleepReads(Protocol):
    """What the phases look at."""

    def owners(self, after: str, limit: int) -> list[str]:
        """Who has any memory, by name, beyond `after`."""

    def tallies(self, owners: Sequence[str]) -> list[Tally]:
        """What these have, records too; by owner, kind, tier and status."""

    def owned_scopes(self, owner: str) -> list[Scope]:
        """Scopes with items of the owner in use, ordered."""

    def outlines(
        self, scope: Scope, owner: str, wanted: Sequence[Condition], after: bytes, limit: int, rested: Rested | None = None
    ) -> list[Memory]:
        """Outlines of the owner's items in use that fulfil the conditions (over plain fields), by ascending id."""

    def waning(self, scope: Scope, owner: str, at_us: int, us_per_stability: float, rested: Rested, limit: int) -> list[Memory]:
        """Outlines of those awake whose time since the last access is more than stability × factor, the weakest first."""

    def applied_count(self, rested: Rested, scope: Scope, owner: str) -> int:
        """To how many of the owner's items of the scope it was applied after that."""

    def siblings(self, scope: Scope, owner: str, at_least: int, moved_at_us: int, after: bytes, limit: int) -> list[Memory]:
        """Outlines of the owner's episodic items that share an entity with so many, itself counted, by ascending id.

        Counted are unanchored episodic items in use of the owner in the scope, and semantic ones that were
        changed at exactly `moved_at_us`: by the steps before, for the same decision. Summaries and patterns, which say
        again what others say, are not among them.
        """

    def pairs_due(self, scope: Scope, owner: str, at_least: int, limit: int) -> dict[Pair, int]:
        """Pairs of items in use, the first the owner's, retrieved together so often and oftener than replayed."""

    def plans_due(self, at_us: int, lead_us: int, limit: int) -> list[DuePlan]:
        """Plans and tasks in use, of everybody, whose time has come and was not announced; the earliest first, then by id.

        Their time is when they begin to hold, where that lies behind what was said; else, of plans with an end,
        `lead_us` before that.
        """

    def crowd(self, scope: Scope, owner: str) -> Crowd:
        """How many items the owner has in a scope."""

    def contradictions(self, scope: Scope, owner: str, after: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Pairs of awake items that contradict each other, one of them the owner's, by both ids.

        Neither is a variant of the other: that one is doubted was weighed when it was written.
        `after` are the ids of the last pair seen, one behind the other; empty: all.
        """

    def least_useful(
        self, scope: Scope, owner: str, most_accesses: float, made_before: Mapping[str, int], idle_since_us: int, limit: int
    ) -> list[Memory]:
        """Outlines of the owner's awake, unanchored items, the least useful first: by utility, last use and id.

        Only of these kinds and made by then, accessed at most so often, and not referred to after `idle_since_us`.
        """

    def active_fingerprint(self) -> str:
        """Of the embedding model in use; empty before the first vector."""

    def awake_vectors(self, scope: Scope, owner: str, fingerprint: str) -> tuple[list[bytes], Floats]:
        """The owner's awake items that have a vector of that model, by ascending id, and their vectors: shape (n, d)."""

    def restated(self, scope: Scope, owner: str, at_least: int, after: bytes, limit: int) -> list[Known]:
        """The owner's items in use whose key has so many kept statements, by ascending id."""

    def old_records(self, scope: Scope, owner: str, before_us: int, limit: int) -> list[Memory]:
        """Outlines of the owner's awake, unpinned records received and last retrieved before that, by ascending id."""

    def changed_statuses(self, scope: Scope, owner: str, kinds: Sequence[str], since_us: int, until_us: int) -> dict[str, int]:
        """Items of these kinds by status (superseded, expired, disabled) that ended, as was learned in [since, until)."""

    def sleep_job(self, event_id: bytes) -> SleepJob | None:
        """A job that is not finished."""

    def sleep_jobs(self) -> list[SleepJob]:
        """All of them, the oldest first."""


class SleepWrites(SleepReads, Protocol):
    """What only sleep writes."""

    def put_outline(self, memory: Memory, sequence: int) -> None:
        """Standing and strengths of a known memory as they are now; its place in the indexes follows."""

    def note_replayed(self, pairs: Mapping[Pair, int]) -> None:
        """These pairs were strengthened up to this count."""

    def drop_tags(self, scope: Scope, owner: str, before_us: int) -> int:
        """Tags of the owner's items that ran out before that go; how many."""

    def drop_evolution(self, owner: str, before_us: int, limit: int) -> int:
        """Records of changes of the owner's memories from before that go, so many at most; how many."""

    def put_sleep_job(self, job: SleepJob) -> None:
        """A job as it stands now."""

    def finish_sleep_job(self, event_id: bytes) -> None:
        """It is done."""
