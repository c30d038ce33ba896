"""Which items belong together: by an entity that they share, else by kind, importance and likeness.

Specification 5, phase 9: entity overlap ≥ 1, or the same kind and importance
within 0.3; at least three members. Taken alone the second condition would join
nearly everything of a kind, so it is a bound and likeness decides within it: an
item joins the oldest one that it resembles. An entity goes first, the one that
most items share; every item belongs to one cluster at most. A name that one item
is known to mention counts in others that write it, too: at the beginning of a
sentence every word is capitalised, and says nothing of itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from aico_memory.domain.formation.entities import slug
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.graph.relations import word_overlap
from aico_memory.domain.memory import RECORD, Memory
from aico_memory.domain.retrieval.evidence import Floats
from aico_memory.domain.sleep.derived import DERIVED_KINDS, is_derived
from aico_memory.settings.knowledge import KnowledgeSettings

ALIKE = "alike:"
_NAME = "entity://name/"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """An item as clustering sees it. `vector` has length 1, shape (d,); None where there is none yet."""

    known: Known
    # Its normalised content words.
    words: frozenset[str]
    vector: Floats | None = None

    @property
    def memory(self) -> Memory:
        return self.known.memory

    @property
    def order(self) -> tuple[int, str, bytes]:
        """The order of saying; what one message said is in that of its words, because ids differ from run to run."""
        return self.memory.said_at_us, self.memory.text, self.memory.memory_id


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """Items that belong together, in the order of saying."""

    # The entity, or the oldest member where likeness joined them: stays the same while the cluster grows.
    name: str
    # entity | alike
    rule: str
    pieces: tuple[Piece, ...]
    # The URI that they share; empty where likeness joined them.
    entity: str = ""


def may_be_clustered(memory: Memory, at_us: int) -> bool:
    """Statements that are believed and still true; summaries are not summed up again, whoever wrote them."""
    if memory.kind == RECORD or memory.kind in DERIVED_KINDS or is_derived(memory):
        return False
    return memory.variant_of is None and memory.valid_until_us > at_us


def clusters(pieces: Iterable[Piece], figures: KnowledgeSettings) -> tuple[Cluster, ...]:
    """All clusters, the largest first. Deterministic: neither order nor number of calls changes them."""
    left = sorted(pieces, key=lambda one: one.order)
    found, left = _by_entity(left, mentioned(left), figures)
    found += _alike(left, figures)
    return tuple(sorted(found, key=lambda one: (-len(one.pieces), one.name)))


def mentioned(pieces: Sequence[Piece]) -> dict[bytes, frozenset[str]]:
    """URIs by item: those it is known to mention, and names that others are known to mention and it writes."""
    names: dict[str, list[tuple[str, ...]]] = {}
    for uri in {uri for one in pieces for uri in one.memory.entities if uri.startswith(_NAME)}:
        words = tuple(uri.removeprefix(_NAME).split("-"))
        names.setdefault(words[0], []).append(words)
    return {
        one.memory.memory_id: frozenset(one.memory.entities) | {f"{_NAME}{'-'.join(name)}" for name in _written(one, names)}
        for one in pieces
    }


def _written(one: Piece, names: Mapping[str, Sequence[tuple[str, ...]]]) -> Iterator[tuple[str, ...]]:
    words = _WORD.findall(one.memory.text)
    slugs = [slug(word) for word in words]
    for place, word in enumerate(words):
        for name in names.get(slugs[place], ()):
            if not word[0].islower() and tuple(slugs[place : place + len(name)]) == name:
                yield name


def _by_entity(
    left: list[Piece], shared_by: Mapping[bytes, frozenset[str]], figures: KnowledgeSettings
) -> tuple[list[Cluster], list[Piece]]:
    found: list[Cluster] = []
    while left:
        shared = Counter(uri for one in left for uri in shared_by[one.memory.memory_id])
        name = min(shared, key=lambda uri: (-shared[uri], uri), default="")
        if shared[name] < figures.cluster_members:
            break
        inside = [one for one in left if name in shared_by[one.memory.memory_id]]
        found.append(Cluster(name, "entity", tuple(inside), name))
        left = [one for one in left if name not in shared_by[one.memory.memory_id]]
    return found, left


def _alike(left: Sequence[Piece], figures: KnowledgeSettings) -> list[Cluster]:
    groups: list[list[Piece]] = []
    for one in left:
        home = max(
            (group for group in groups if _near(group[0], one, figures)),
            key=lambda group: (_likeness(group[0], one), -group[0].memory.said_at_us, group[0].memory.memory_id),
            default=None,
        )
        if home is None:
            groups.append([one])
        else:
            home.append(one)
    return [
        Cluster(f"{ALIKE}{group[0].memory.memory_id.hex()}", "alike", tuple(group))
        for group in groups
        if len(group) >= figures.cluster_members
    ]


def _near(leader: Piece, one: Piece, figures: KnowledgeSettings) -> bool:
    left, right = leader.memory, one.memory
    if left.kind != right.kind or round(abs(left.importance - right.importance), 6) > figures.cluster_importance:
        return False
    by_vector = leader.vector is not None and one.vector is not None
    return _likeness(leader, one) >= (figures.cluster_similarity if by_vector else figures.cluster_overlap)


def _likeness(leader: Piece, one: Piece) -> float:
    if leader.vector is not None and one.vector is not None:
        # Hundredths: the last bits of an embedding depend on which texts it was computed with.
        return round(float(leader.vector @ one.vector), 2)
    return word_overlap(leader.words, one.words)
