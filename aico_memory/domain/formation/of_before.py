"""What a sentence means beside what was told before it: taken over from somebody, left of an amount, at the same hour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from aico_memory.domain.formation.attributes import TIME
from aico_memory.domain.formation.earlier import Earlier
from aico_memory.domain.formation.formed import SPEAKER, FormedFact
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.naming import object_key
from aico_memory.domain.formation.succession import Statements
from aico_memory.domain.formation.weight import STATED
from aico_memory.domain.formation.wording import lower_in, squeeze
from aico_memory.domain.memory import OPEN

_TOLD = frozenset({"assert", "correct"})


def beside_what_was_told(
    result: Statements, start: int, sentence: str, earlier: Earlier, tables: FormationTables, grammar: Grammar, said_at_us: int
) -> None:
    """Puts what the facts of a sentence, from `start` on, mean in their place; `earlier`: the facts of the messages before,
    newest first."""
    _taken_over(result, start, earlier, tables, grammar)
    _left_of_it(result, start, sentence, earlier, grammar, said_at_us)
    _at_the_same_hour(result, start, sentence, earlier, grammar)


def _newest_first(result: Statements, until: int, earlier: Earlier) -> Iterator[FormedFact]:
    told = (fact for facts in chain([result.facts[:until]], earlier()) for fact in reversed(facts))
    return (fact for fact in told if fact.act in _TOLD and fact.value)


def _taken_over(result: Statements, start: int, earlier: Earlier, tables: FormationTables, grammar: Grammar) -> None:
    """ "Owen took over the choir": he does with it what another was told to do, who does not any more.

    Where nobody was told to do anything with it, what the same person does with something of the same sort is done.
    """
    for fact in [one for one in result.facts[start:] if one.predicate in grammar.words["takes_over"] and one.act == "assert"]:
        told = [one for one in _newest_first(result, start, earlier) if one.valid_until_us == OPEN]
        open_ones = [one for one in told if ":" not in one.predicate and one.predicate not in grammar.words["takes_over"]]
        was = next((one for one in open_ones if one.object_key == fact.object_key and one.subject != fact.subject), None)
        head = _last_word(fact.object_key)
        same_person = (one for one in open_ones if one.subject == fact.subject)
        # A value may be a sign alone, whose key is empty: it is like nothing.
        alike = was or next((one for one in same_person if head and _last_word(one.object_key) == head), None)
        if alike is None or (alike.predicate in tables.predicates and was is None):
            continue
        result.facts[result.facts.index(fact)] = replace(
            fact, predicate=alike.predicate, single_valued=alike.single_valued, kind=alike.kind, confidence_base=STATED,
            corrected="",
        )  # fmt: skip
        if was is not None:
            over = replace(was, act="end", corrected=was.object_key, valid_from_us=fact.valid_from_us, valid_until_us=OPEN)
            result.facts.append(replace(over, temporal_type="persistent", excerpt=fact.excerpt))


def _last_word(key: str) -> str:
    return key.rpartition(" ")[2]


def _left_of_it(result: Statements, start: int, sentence: str, earlier: Earlier, grammar: Grammar, said_at_us: int) -> None:
    """ "I paid some of it back, 350 pounds are left": of the amount that was told to be owed last."""
    left = next((found for mark in grammar.marks["left_over"] if (found := mark.search(sentence))), None)
    if left is None:
        return
    was = next((one for one in _newest_first(result, start, earlier) if _amount(one, grammar)), None)
    if was is None:
        return
    value = squeeze(was.value.replace(_amount(was, grammar), left["v"]))
    begins = min((fact.valid_from_us for fact in result.facts[start:] if left["v"] in fact.value and fact.valid_from_us),
                 default=said_at_us)  # fmt: skip
    del result.facts[start:]
    result.facts.append(
        replace(
            was, value=value, object_key=object_key(value, grammar), act="assert", text=sentence, excerpt=sentence[:300],
            corrected="" if was.single_valued else was.object_key, valid_from_us=begins, valid_until_us=OPEN,
            temporal_type="persistent", confidence_base=STATED,
        )
    )  # fmt: skip


def _amount(fact: FormedFact, grammar: Grammar) -> str:
    """The sum in what is told to be owed ("brother 900 pounds"); empty of anything else."""
    words = lower_in(f"{fact.predicate.replace('_', ' ').replace(':', ' ')} {fact.value}", grammar.code).split()
    if grammar.words["debts"].isdisjoint(words):
        return ""
    return next((found.group() for mark in grammar.marks["sum"] if (found := mark.search(fact.value))), "")


def _at_the_same_hour(result: Statements, start: int, sentence: str, earlier: Earlier, grammar: Grammar) -> None:
    """ "It has been moved to the 23rd, same time": on the 23rd at the hour that was told before."""
    if not any(mark.search(sentence) for mark in grammar.marks["same_hour"]):
        return
    mine = result.facts[start:] or result.facts[-1:]
    for fact in [one for one in mine if one.predicate == TIME and one.act in _TOLD and one.subject != SPEAKER]:
        place = result.facts.index(fact)
        day = next(
            (fact.value[: found.start()] for mark in grammar.marks["same_hour"] if (found := mark.search(fact.value))), ""
        )
        day = squeeze(day).rstrip(" ,;") or fact.value
        told = (one for one in _newest_first(result, place, earlier) if one.predicate == TIME and one.subject == fact.subject)
        hours = (found for one in told for mark in grammar.marks["hour_said"] if (found := mark.search(one.value)))
        hour = next(hours, None)
        if hour is None or any(mark.search(day) for mark in grammar.marks["hour_said"]):
            continue
        value = squeeze(f"{day} {hour.group()}")
        result.facts[place] = replace(fact, value=value, object_key=object_key(value, grammar))
