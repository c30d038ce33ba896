"""Port of the write path: items with their readings, what they rest on, and what the gate counts and remembers.

A transaction reads what it has itself written; the store reads what is committed.
Every read names its scope or its items; what lies in another scope is not there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from aico_memory.domain.gate.explain import Explanation
from aico_memory.domain.gate.policy import PolicyHistory, Usage
from aico_memory.domain.gate.statement import Known, Neighbour, Statement
from aico_memory.domain.gate.tagging import Pair, Tag
from aico_memory.domain.graph.edges import Edge
from aico_memory.domain.graph.entities import Entity, Merge
from aico_memory.domain.graph.relations import Relation, RelationKey
from aico_memory.domain.memory import Evolution, Memory, Scope

Vector = npt.NDArray[np.float32]
# kept: folded into the chain of its key; review: a candidate or shadow; sleep: not admitted yet;
# referring: as it was said, of what speaks of something said before (an end, a correction), which may still arrive;
# unproven: too few events have said it.
StatementState = Literal["kept", "review", "sleep", "referring", "unproven"]
# Decay of confidence, drift of utility, rehearsal, strengthening of flashbulbs, announcing of plans, spreading of activation.
Upkeep = Literal["decay", "drift", "rehearsal", "emotion", "due", "spread"]
# What use and time change of a memory, and no index holds.
STRENGTHS = (
    "confidence", "utility", "stability", "difficulty", "storage_strength", "access_count", "last_accessed_us",
    "reference_count", "last_referenced_us",
)  # fmt: skip
# Those of them that an answer changes of what it used.
RETENTION = ("stability", "storage_strength", "access_count", "last_accessed_us")


HOUR_US = 3_600_000_000


def spans(session_id: str, at_us: int) -> tuple[tuple[str, str], ...]:
    """What a fast-path write counts in, as (span, its name): the hour, and the session where there is one."""
    hour = ("hour", str(at_us // HOUR_US))
    return (("session", session_id), hour) if session_id else (hour,)


@dataclass(frozen=True, slots=True)
class Interaction:
    """A turn whose response reinforces what it used; kept for a while, so that the pass can be repeated."""

    scope: Scope
    owner: str
    interaction_id: str
    event_id: bytes
    at_us: int
    response: str
    summary: str = ""


class ItemReads(Protocol):
    """Reads that a transaction and the store have in common."""

    def known(self, memory_ids: Sequence[bytes], scopes: Sequence[Scope]) -> list[Known]:
        """Those of these items that lie in the scopes, whatever their status, in the order asked; records too."""

    def items(self, scopes: Sequence[Scope], statuses: Sequence[str], after: bytes, limit: int) -> list[Known]:
        """Items (no records) of these states, () for all, by ascending id beyond `after`."""

    def owned(self, scopes: Sequence[Scope], owners: Sequence[str], after: bytes, limit: int) -> list[bytes]:
        """What these owners have in the scopes, records too and whatever its status, by ascending id beyond `after`."""

    def by_key(self, scope: Scope, key: str) -> list[Known]:
        """All items under a fact key, variants and whatever is over among them, by ascending id."""

    def by_predicate(self, scope: Scope, subject: str, predicate: str, limit: int) -> list[Known]:
        """Items of that reading, whatever their status, what was said last first; subjects as the keys compare them."""

    def by_object(self, scope: Scope, object_key: str, limit: int) -> list[Known]:
        """Items with that object, whatever their status, what was said last first."""

    def newest(self, scope: Scope, limit: int) -> list[Known]:
        """Active items, what was said last first."""

    def variants(self, memory_ids: Sequence[bytes]) -> list[Known]:
        """What hangs on these items, whatever its status, by ascending id."""

    def nearest(self, scope: Scope, fingerprint: str, vector: Vector, limit: int) -> list[Neighbour]:
        """Active items but those that sleep wrote, by cosine similarity under that model, in hundredths, the closest first."""

    def similarities(self, memory_ids: Sequence[bytes], fingerprint: str, vector: Vector) -> dict[bytes, float]:
        """Cosine similarity, in hundredths, of those of these items that have a vector of that model."""

    def vectors_of(self, memory_ids: Sequence[bytes], fingerprint: str) -> dict[bytes, Vector]:
        """The vectors of these memories' present texts under that model; those without one are missing."""

    def former_vector(self, memory_id: bytes, fingerprint: str) -> Vector | None:
        """The vector of an item under that model, whichever of its texts it was made for."""

    def stated_vector(self, statement_id: bytes) -> tuple[str, Vector] | None:
        """The vector of what a stored statement says, behind the fingerprint of its model; None where none was kept."""

    def active_count(self, scope: Scope) -> int:
        """Active items of a scope that are not dormant."""

    def mean_access(self, scope: Scope) -> float:
        """Mean access count of the items that are active or superseded and not dormant; 0 where there are none."""

    def outlined(self, memory_ids: Sequence[bytes], scopes: Sequence[Scope]) -> list[Memory]:
        """The memories that `known` would give, without their words: all sealed fields are empty."""

    def active_outlines(self, scope: Scope) -> list[Memory]:
        """Active items that are not dormant, without their words: all sealed fields are empty. By ascending id."""

    def said_before(self, scope: Scope, session_id: str, said_at_us: int, limit: int) -> list[tuple[int, str]]:
        """The last records of a session up to that moment, when each was said and its text, the newest last; none that was
        deleted, and of an edited one what it says now.
        """

    def statements(self, scope: Scope, key: str, limit: int) -> list[Statement]:
        """Kept statements of a key, the newest `limit` of them, in the order of saying."""

    def unproven(self, scope: Scope, key: str, limit: int) -> list[Statement]:
        """What too few events have said under a key, the newest `limit`, in the order of saying."""

    def statement(self, statement_id: bytes) -> tuple[Statement, StatementState] | None:
        """A statement by its id, which is the id of the item it made or would make, and its state."""

    def referring(self, scope: Scope, after_us: int, limit: int) -> list[Statement]:
        """What refers to something said before, said after that moment, in the order of saying."""

    def waiting(self, owner: str, event_ids: Collection[bytes], limit: int) -> list[Statement]:
        """What waits for sleep of these events (empty: of any), the oldest first."""

    def evidence_counts(self, memory_ids: Sequence[bytes]) -> dict[bytes, int]:
        """Events that each item rests on, replays left out."""

    def items_of_event(self, event_id: bytes) -> list[bytes]:
        """Items and records that rest on an event, by ascending id."""

    def histories(self, memory_ids: Sequence[bytes], what: Collection[str] = ()) -> dict[bytes, list[Evolution]]:
        """The changes of each item, oldest first; `what`: of these fields only."""

    def relations(self, memory_ids: Sequence[bytes]) -> list[Relation]:
        """Relations that touch any of these items, by key."""

    def scope_relations(self, scope: Scope) -> list[Relation]:
        """All relations between items of a scope, by key."""

    def relation_count(self, scope: Scope) -> int:
        """How many relations there are between items of a scope."""

    def mentioning(self, scope: Scope, entities: Sequence[str], limit: int) -> list[Known]:
        """Active items that mention any of these entity URIs, the newest row first."""

    def entities(self, scope: Scope) -> list[Entity]:
        """The graph's entities of a scope, by ascending id."""

    def entities_named(self, scope: Scope, names: Sequence[str]) -> list[Entity]:
        """Entities that bear one of these names, as the keys compare names, by ascending id."""

    def merges(self, scope: Scope) -> list[Merge]:
        """All merges of a scope, undone ones too, by ascending id."""

    def edges(self, scope: Scope, touching: Sequence[bytes] | None = None) -> list[Edge]:
        """Edges of a scope, or those of them that touch one of these entities, by ascending id."""

    def edge_of(self, memory_id: bytes) -> Edge | None:
        """The edge that an item states; it bears the item's id."""

    def policy(self, scope: Scope) -> PolicyHistory | None:
        """The policy of a scope; None where none was ever set."""

    def paused_us(self, owner: str) -> int:
        """Since when the long-term memory of a person is paused; 0: it is not."""

    def usage(self, scope: Scope, session_id: str, at_us: int) -> Usage:
        """Fast-path writes of the session (none where there is no session), and of the hour that `at_us` lies in."""

    def tags(self, scope: Scope, session_id: str, at_us: int) -> list[Tag]:
        """Tags of a session that have not run out, by ascending id of their items."""

    def pair_counts(self, memory_ids: Sequence[bytes]) -> dict[Pair, int]:
        """How often two of these items were retrieved together, by pair."""

    def interaction(self, scope: Scope, interaction_id: str) -> Interaction | None:
        """A stored interaction."""

    def reinforced_by(self, scope: Scope, interaction_id: str) -> frozenset[bytes]:
        """Items that an interaction has reinforced."""

    def explanation(self, event_id: bytes, scopes: Sequence[Scope]) -> Explanation | None:
        """What the write path did with an event of these scopes."""

    def explanations(self, scopes: Sequence[Scope], since_us: int, until_us: int, limit: int) -> list[Explanation]:
        """What was done with events of these scopes in [since, until), the newest first."""

    def explained(self, event_id: bytes) -> bool:
        """Whether the write path has worked on an event."""

    def applied_at(self, what: Upkeep, memory_ids: Sequence[bytes]) -> dict[bytes, int]:
        """When it was last applied to these items; those to which it never was are missing."""

    def questions(self, scope: Scope, fingerprint: str, limit: int, before: int = 0) -> list[Vector]:
        """The last questions of a scope under that model, the newest last; `before` a place on the bus unless it is 0."""


class ItemWrites(ItemReads, Protocol):
    """What a transaction changes; each adds to what the consumer's cursor commits."""

    def attempt(self) -> AbstractContextManager[None]:
        """What is written within is undone where it raises; what was written before stays. InvalidMessage where rows clash."""

    def put_item(self, item: Known, tokens: Sequence[str] | None, sequence: int) -> bool:
        """Store an item as it is now, with its reading; True where it is new. `tokens` where its text is new."""

    def set_strength(self, memory: Memory) -> None:
        """Strengths and counts of use of a memory as they are now; no index holds any of them."""

    def set_retention(self, memories: Sequence[Memory]) -> None:
        """Stability, storage strength and accesses of these memories: what no index holds and no context shows."""

    def keep_vector(self, memory_id: bytes, fingerprint: str, vector: Vector) -> None:
        """The vector of an item's present text, so that the indexer need not ask for it."""

    def keep_statement(self, statement: Statement, state: StatementState) -> None:
        """Store a statement, or move it into another state."""

    def keep_stated_vector(self, statement_id: bytes, fingerprint: str, vector: Vector) -> None:
        """The vector of what a stored statement says; it goes with the statement, or when another model takes over."""

    def drop_statement(self, statement_id: bytes) -> None:
        """It waits no longer, or repeats what another says."""

    def move_evidence(self, event_id: bytes, before: bytes, after: bytes) -> None:
        """What this event proved of one item proves another."""

    def put_history(self, memory_id: bytes, causes: Collection[bytes], changes: Sequence[Evolution]) -> None:
        """Replace what events `causes` did to status and validity of an item by `changes`; other records stay."""

    def add_relations(self, relations: Sequence[Relation]) -> int:
        """Store those that are not there yet; how many were new."""

    def drop_relations(self, keys: Sequence[RelationKey]) -> None:
        """They were pruned."""

    def put_entity(self, entity: Entity, owner: str) -> None:
        """Store an entity of the graph as it is now."""

    def put_merge(self, merge: Merge, scope: Scope) -> None:
        """Store a merge as it is now."""

    def put_edge(self, edge: Edge, owner: str) -> None:
        """Store an edge as it is now."""

    def set_policy(self, scope: Scope, history: PolicyHistory) -> None:
        """The policy of a scope, with the versions that are kept."""

    def pause(self, owner: str, since_us: int) -> None:
        """The long-term memory of a person is paused since then; 0: it goes on."""

    def count_write(self, scope: Scope, session_id: str, at_us: int) -> None:
        """One fast-path write more in the session, if there is one, and in the hour of `at_us`."""

    def put_tag(self, tag: Tag) -> None:
        """Store a tag as it is now."""

    def count_pairs(self, pairs: Sequence[Pair]) -> None:
        """These were retrieved together once more; pairs with an item that is not there are left out."""

    def keep_interaction(self, interaction: Interaction) -> bool:
        """Store an interaction; False where its id is known in the scope."""

    def note_reinforced(self, scope: Scope, interaction_id: str, memory_ids: Sequence[bytes]) -> None:
        """The interaction has reinforced these items."""

    def explain(self, explanation: Explanation, scope: Scope, owner: str, at_us: int) -> None:
        """What was done with an event; what was said of the same event before is replaced."""

    def note_applied(self, what: Upkeep, applied: Mapping[bytes, int]) -> None:
        """It was applied to these items at these moments."""

    def note_question(self, scope: Scope, fingerprint: str, vector: Vector, at_us: int, kept: int, sequence: int = 0) -> None:
        """A question was asked of a scope, at that place on the bus; only the last `kept` stay."""

    def forget_before(self, at_us: int, tags_at_us: int) -> None:
        """Explanations, interactions and usage from before `at_us` go, and tags that ran out before `tags_at_us`."""
