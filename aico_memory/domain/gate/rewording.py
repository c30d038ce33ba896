"""A person's edit of an item: which value the new text gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.gate.statement import Known, Statement, key_of


def reworded(known: Known, text: str, formed: Sequence[FormedFact]) -> Known:
    """The item with another text, read anew; what cannot be read keeps subject and predicate, its value is the text.

    Where only the value was exchanged, the new one stands in its place. Else a
    single statement that the rules read from the text (`formed`) tells, if it speaks of the same.
    """
    if not known.predicate:
        return known
    value = _exchanged(known.memory.text, text, known.value)
    read = [one for one in formed if one.predicate == known.predicate and one.act in {"assert", "correct"}]
    if not value and len(read) == 1:
        return replace(known, value=read[0].value, object_key=read[0].object_key)
    if not value:
        return replace(known, value="", object_key=normalise_fact_key(text))
    return replace(known, value=value, object_key=normalise_fact_key(value))


def restated(statement: Statement, item: Known, text: str, at_us: int) -> Statement:
    """The statement that made an item, as the person wants it to have been said; believed like a word of their own."""
    fact = replace(
        statement.fact, text=text, value=item.value, object_key=item.object_key, act="assert", corrected="", explicit=True
    )
    return replace(
        statement, fact=fact, said_at_us=at_us, role="user", confidence=max(statement.confidence, item.memory.confidence)
    )


def key_for(item: Known, text: str) -> str:
    """The fact key of an item with this reading."""
    fact = FormedFact(text, item.memory.kind, item.subject, item.predicate, item.value, item.object_key, item.single_valued)
    return key_of(fact)


def _exchanged(old: str, new: str, value: str) -> str:
    """What stands in the new text where the value stood in the old one; empty where more was changed."""
    if not value or value not in old:
        return ""
    before, _, after = old.partition(value)
    fits = new.startswith(before) and new.endswith(after) and len(new) > len(before) + len(after)
    return new[len(before) : len(new) - len(after)].strip(" .") if fits else ""
