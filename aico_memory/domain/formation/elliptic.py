"""A correction that names nothing but its value ("No, I meant Thursday")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from aico_memory.domain.formation.acts import Speech
from aico_memory.domain.formation.attributes import ATTRIBUTE
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.judging import MAX_TEXT, bare, unsettled
from aico_memory.domain.formation.kinds_of_things import alike, same_words
from aico_memory.domain.formation.naming import object_key
from aico_memory.domain.formation.values import other_number
from aico_memory.domain.formation.wording import lower_in, squeeze


def elliptic(
    speech: Speech, earlier: Callable[[], Sequence[FormedFact]], grammar: Grammar, tables: FormationTables, said_at_us: int,
    sentence: str,
) -> list[FormedFact]:  # fmt: skip
    """ "No, I meant Thursday": the newest of the statements before it, with another value."""
    value = bare(speech.elliptic or speech.text, grammar)
    said = lower_in(speech.elliptic or speech.text, grammar.code)
    if said.startswith("no ") and grammar.parser == "english":
        # "No, no pets right now" names nothing in its place.
        return []
    if not value or len(value.split()) > 6 or lower_in(value, grammar.code) in grammar.words["asking"]:
        return []
    old = object_key(bare(speech.corrected, grammar), grammar) if speech.corrected else ""
    before = [
        fact
        for fact in earlier()
        if alike(fact.value, _without_noun(value, fact.predicate, grammar), tables, grammar)
        or (old and same_words(old, fact.object_key))
    ]
    meant = [fact for fact in before if old and (old in fact.object_key or fact.object_key in old)] or before
    if not meant:
        return [unsettled("correct", value, old, grammar, said_at_us, sentence)] if old else []
    fact = meant[-1]
    if speech.contrasted and old and not same_words(old, fact.object_key):
        # "Tacos for lunch. Fine, not great": what is denied was never told, and what it would be of only the store can know.
        return [unsettled("correct", value, old, grammar, said_at_us, sentence)]
    value = other_number(fact.value, value) or _without_noun(value, fact.predicate, grammar)
    return [
        replace(
            fact, value=value, object_key=object_key(value, grammar), act="correct", corrected=old or fact.object_key,
            text=squeeze(fact.text.replace(fact.value, value))[:MAX_TEXT], excerpt=sentence[:300], valid_from_us=said_at_us,
        )
    ]  # fmt: skip


def _without_noun(value: str, predicate: str, grammar: Grammar) -> str:
    """ "Size 43" of a shoe size: the number, without the noun that says what it is a number of."""
    first, _, number = value.partition(" ")
    noun = lower_in(first, grammar.code)
    named = noun.isalpha() and number[:1].isdigit() and predicate.startswith(ATTRIBUTE) and predicate.endswith(noun)
    return number if named else value
