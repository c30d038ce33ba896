"""Relations between items: which there are, how they are found, and which go first where there are too many.

Specification 2, "Relations between items".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from aico_memory.errors import InvalidMessage
from aico_memory.settings.memory_model import GraphSettings

# These carry history or meaning that nothing else holds.
SUPERSEDES: Final = "supersedes"
ELABORATES: Final = "elaborates"
NEVER_PRUNED: Final = frozenset({SUPERSEDES, "contradicts", "causes"})
# The lowest goes first.
PRUNE_PRIORITY: Final = {"related_to": 0, "same_entity": 1, "elaborates": 2}
TYPES: Final = NEVER_PRUNED | PRUNE_PRIORITY.keys()
# Said of both sides alike: kept once, the lower id first.
SYMMETRIC: Final = frozenset({"contradicts", "same_entity", "related_to"})


class RelationKey(NamedTuple):
    """What makes two relations the same one."""

    subject: bytes
    type: str
    object: bytes


@dataclass(frozen=True, slots=True)
class Relation:
    """`subject type object`, between items of one scope."""

    subject: bytes
    type: str
    object: bytes
    confidence: float
    at_us: int

    @property
    def key(self) -> RelationKey:
        return RelationKey(self.subject, self.type, self.object)


@dataclass(frozen=True, slots=True)
class Sketch:
    """What the heuristics look at in an item; `words` are its normalised content words."""

    memory_id: bytes
    kind: str
    words: frozenset[str]
    entities: frozenset[str]


def require_relation(name: str) -> None:
    """InvalidMessage where there is no relation of this name."""
    if name not in TYPES:
        raise InvalidMessage(f"{name!r} is no relation between items", f"Use one of {', '.join(sorted(TYPES))}.")


def relate(subject: bytes, relation: str, object_: bytes, confidence: float, at_us: int) -> Relation:
    """A relation in its one form. Raises InvalidMessage for an unknown type, and for an item related to itself."""
    require_relation(relation)
    if subject == object_:
        raise InvalidMessage(f"The item {subject.hex()} cannot be related to itself")
    if relation in SYMMETRIC and object_ < subject:
        subject, object_ = object_, subject
    return Relation(subject, relation, object_, confidence, at_us)


def detect(new: Sketch, old: Sketch, at_us: int, figures: GraphSettings) -> Relation | None:
    """The first that applies: same_entity (entities), elaborates (an entity and words), related_to (kind and words)."""
    shared = len(new.entities & old.entities)
    overlap = word_overlap(new.words, old.words)
    if shared >= figures.same_entity_shared:
        return relate(new.memory_id, "same_entity", old.memory_id, figures.same_entity_confidence, at_us)
    if shared and overlap > figures.elaborates_overlap:
        return relate(new.memory_id, "elaborates", old.memory_id, figures.elaborates_confidence, at_us)
    if new.kind == old.kind and overlap > figures.related_overlap:
        return relate(new.memory_id, "related_to", old.memory_id, figures.related_confidence, at_us)
    return None


def word_overlap(left: frozenset[str], right: frozenset[str]) -> float:
    """Shared words as a part of all words of both (Jaccard 1912); 0 where there are none."""
    every = len(left | right)
    return len(left & right) / every if every else 0.0


def unknown_relations(new: Iterable[Relation], known: Iterable[RelationKey]) -> tuple[Relation, ...]:
    """Those that are not there yet, each once; of two alike the more confident."""
    seen = set(known)
    found: dict[RelationKey, Relation] = {}
    for relation in new:
        rival = found.get(relation.key)
        if relation.key not in seen and (rival is None or relation.confidence > rival.confidence):
            found[relation.key] = relation
    return tuple(found.values())


def due_for_pruning(relations: Sequence[Relation], figures: GraphSettings) -> tuple[RelationKey, ...]:
    """Which relations of a scope go: none below 1,000, else down to 900.

    The lowest priority first, in it the lowest confidence, then the oldest. What
    is never pruned stays even where it alone is more than that.
    """
    if len(relations) < figures.prune_from:
        return ()
    spare = [one for one in relations if one.type not in NEVER_PRUNED]
    spare.sort(key=lambda one: (PRUNE_PRIORITY[one.type], one.confidence, one.at_us, one.key))
    return tuple(one.key for one in spare[: len(relations) - figures.prune_to])
