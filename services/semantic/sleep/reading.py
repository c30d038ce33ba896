"""What a phase of knowledge decides over: the items of one owner in one scope as they stand in the transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.graph.relations import SUPERSEDES
from aico_memory.domain.memory import OPEN, Memory
from aico_memory.domain.sleep.clusters import Piece, may_be_clustered
from aico_memory.domain.sleep.derived import is_derived
from aico_memory.settings.knowledge import KnowledgeSettings
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.sleep.phase import Step
from services.semantic.tokens import FormationRules

_KEPT_WORDS = 4096


class Place(NamedTuple):
    """Where a phase stands in a scope: which batch of items, and what it dealt with last there."""

    batch: int = 0
    name: str = ""

    @classmethod
    def of(cls, after: str) -> Place:
        """From what a step before gave; the beginning where it is empty."""
        batch, _, name = after.partition("|")
        return cls(int(batch), name) if batch else cls()

    def __str__(self) -> str:
        return f"{self.batch}|{self.name}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A batch of a scope's items, what sleep wrote about the scope, and whether there are more batches."""

    pieces: tuple[Piece, ...]
    # Summaries and patterns that are active.
    derived: tuple[Known, ...]
    last: bool
    # Mean access count of the batch: what is used more than that is not touched.
    threshold: float


class SnapshotReader:
    """Reads batches by ascending id; what gave way to another still counts, so that a second look sees the same."""

    def __init__(self, rules: FormationRules, figures: KnowledgeSettings) -> None:
        self.rules = rules
        self._figures = figures
        # The same items are read by one phase after another.
        self._words = lru_cache(maxsize=_KEPT_WORDS)(self._cut)

    def read(self, transaction: SemanticTransaction, step: Step, batch: int, vectors: bool = True) -> Snapshot:
        """One batch of at most `cluster_items`."""
        outlines = [one for one in transaction.active_outlines(step.scope) if one.owner == step.owner]
        derived = [one.memory_id for one in outlines if is_derived(one)]
        written = frozenset(derived)
        active = {one.memory_id for one in outlines}
        ties = transaction.relations(sorted(active))
        held = [one for one in ties if one.type == SUPERSEDES and one.subject in active]
        stand_for = {one.object for one in held}
        resting = {one.object for one in held if one.subject in written}
        wanted = sorted({one.memory_id for one in outlines if may_be_clustered(one, step.at_us)} | stand_for)
        size = self._figures.cluster_items
        known = transaction.known(wanted[batch * size : (batch + 1) * size], [step.scope])
        items = [one for one in known if _counts(one.memory, active, resting, step)]
        pieces = self.pieces(transaction, items, vectors)
        threshold = sum(one.memory.access_count for one in items) / len(items) if items else 0.0
        return Snapshot(pieces, tuple(transaction.known(derived, [step.scope])), len(wanted) <= (batch + 1) * size, threshold)

    def pieces(self, transaction: SemanticTransaction, items: Sequence[Known], vectors: bool) -> tuple[Piece, ...]:
        """Items with their words and, where they are asked for, their vectors."""
        fingerprint = transaction.active_fingerprint() if vectors else ""
        found = transaction.vectors_of([one.memory.memory_id for one in items], fingerprint) if fingerprint else {}
        # Words are compared only where there is no vector; cutting them takes longer than all the rest.
        return tuple(
            Piece(
                one,
                frozenset() if vector is not None or not vectors else self._words(one.memory.text, one.memory.language),
                vector,
            )
            for one in items
            for vector in (found.get(one.memory.memory_id),)
        )

    def _cut(self, text: str, language: str) -> frozenset[str]:
        return frozenset(self.rules.content_words_of(text, language))

    def words_of(self, memory: Memory) -> Callable[[str], frozenset[str]]:
        """How the words of a text in that memory's language are cut."""
        return lambda text: self._words(text, memory.language)


def _counts(memory: Memory, active: Collection[bytes], resting: Collection[bytes], step: Step) -> bool:
    """What is awake, and what gave way to a summary or to an item that says the same, or rests behind one: still true."""
    if memory.owner != step.owner or not may_be_clustered(memory, step.at_us):
        return False
    if memory.status == "active":
        return memory.tier != "dormant" or memory.memory_id in resting
    return memory.status == "superseded" and memory.superseded_by in active and memory.valid_until_us == OPEN
