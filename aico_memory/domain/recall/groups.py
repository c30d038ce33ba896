"""What is held, by subject and predicate, and which groups speak of the same thing under longer or shorter names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.recall.matching import stems
from aico_memory.domain.recall.timeline import THINGS, Held


@dataclass(slots=True)
class Group:
    """Everything held under one subject and predicate, with the score of a question."""

    subject: str
    predicate: str
    held: list[Held]
    score: float = 0.0


def grouped(held: Sequence[Held]) -> list[Group]:
    """What was ever true, by subject and predicate."""
    groups: dict[tuple[str, str], Group] = {}
    for one in held:
        if not one.invalid:
            key = (one.subject, one.predicate)
            groups.setdefault(key, Group(*key, [])).held.append(one)
    return list(groups.values())


def kin(best: Group, groups: Sequence[Group], tables: FormationTables, near: bool = False) -> list[Held]:
    """What was kept of the same thing under a longer or shorter name ("locker code", "locker code at the pool").

    `near`: also under any name that holds the other, and of whatever it is a part ("the wifi password", "the house's").
    """
    noun = best.predicate.partition(":")[2]
    language = best.held[0].fact.language
    if best.predicate in THINGS and best.subject != SPEAKER:
        head = _last(best.subject, language, tables)
        return [
            one
            for group in groups
            if group.predicate == best.predicate and group.subject != SPEAKER
            and (group is best or (_within(group.subject, best.subject, language)
                 and _last(group.subject, language, tables) == head))
            for one in group.held
        ]  # fmt: skip
    if not noun or not best.held[0].fact.single_valued:
        return best.held
    words, core = stems(noun, language), stems(head_of(noun, language, tables), language)
    found = list(best.held)
    for group in groups:
        kind, _, other = group.predicate.partition(":")
        if (
            group is best
            or (group.subject != best.subject and not (near and best.subject == SPEAKER))
            or kind != best.predicate.partition(":")[0]
        ):
            continue
        if near or stems(head_of(other, language, tables), language) == core:
            theirs = stems(other, language)
            found += group.held if theirs <= words or words <= theirs else []
    return found


def _last(noun: str, language: str, tables: FormationTables) -> frozenset[str]:
    """The word that says what it is: rehearsal in "choir rehearsals in the hall"."""
    return stems(head_of(noun, language, tables).split()[-1], language)


def _within(one: str, other: str, language: str) -> bool:
    left, right = stems(one, language), stems(other, language)
    return left <= right or right <= left


def head_of(noun: str, language: str, tables: FormationTables) -> str:
    """A noun phrase without what stands behind its head ("the locker code at the pool")."""
    grammar = tables.grammars.get(language)
    words = noun.split()
    if grammar is None:
        return noun
    at = next((i for i, word in enumerate(words) if i and word in grammar.words["prepositions"] | {"der", "des"}), len(words))
    # "büro-türcode" is a türcode.
    return " ".join(words[:at]).split("-")[-1] if language == "de" else " ".join(words[:at])


@dataclass(frozen=True, slots=True)
class Recalled:
    """What answers, and all that is held of what was asked for; where that is nothing, nothing is known of it."""

    answer: list[Held]
    asked: Sequence[Held] = ()
