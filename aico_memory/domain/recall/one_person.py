"""Names that people have declared to be one: what is told of either is told of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.graph.entities import Entity, Identities
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.timeline import Held

# The names of one entity, as subjects are written, that of the one who stands for all first.
Names = tuple[str, ...]


def names_of_one(entities: Iterable[Entity], identities: Identities) -> list[Names]:
    """The names of each entity that stands for others, theirs among them."""
    groups: dict[bytes, list[Entity]] = {}
    for one in entities:
        groups.setdefault(identities.canonical(one.entity_id), []).append(one)
    found = []
    for root, together in groups.items():
        if len(together) > 1:
            together.sort(key=lambda one: (one.entity_id != root, one.created_at_us, one.entity_id))
            found.append(tuple(dict.fromkeys(normalise_fact_key(name) for one in together for name in one.names)))
    return sorted(found)


def by_any_name(question: Question, groups: Iterable[Names]) -> Question:
    """The question with the other names of whom it names."""
    others = frozenset(name for names in groups if _named(question, names) for name in names)
    return replace(question, names=question.names | others) if others else question


def told_as_one(held: Sequence[Held], groups: Iterable[Names], question: Question) -> None:
    """Give what is told under any of the names one subject: as the question says it, else as it is told who that is."""
    values = {normalise_fact_key(one.fact.value) for one in held}
    for names in groups:
        told = [name for name in names if name in values]
        subject = next(iter([*_named(question, names), *told, *names]))
        for one in held:
            if normalise_fact_key(one.subject) in names:
                one.subject = subject


def _named(question: Question, names: Names) -> list[str]:
    return [name for name in names if set(name.split()) <= question.names | question.words]
