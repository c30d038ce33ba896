"""A person's edit of an item: which value the new text gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.gate.statement import Known, Statement, key_of

_TELLS: Final = frozenset({"assert", "correct"})


def reworded(known: Known, text: str, formed: Sequence[FormedFact]) -> Known:
    """The item with another text, read anew by what the rules read from it (`formed`).

    Where only the value was exchanged, the new one stands in its place. Else a single statement tells that speaks of the
    same, or where none does a single one of something else, which the item is about from then on. What cannot be read keeps
    subject and predicate, its value is the text; what tells nothing but an end, or several other things, has no reading.
    """
    if not known.predicate:
        return known
    told = [one for one in formed if one.act in _TELLS and one.predicate]
    same = [one for one in told if one.predicate == known.predicate]
    over = not same and any(one.act not in _TELLS and one.predicate == known.predicate for one in formed)
    value = "" if over else _exchanged(known.memory.text, text, known.value)
    if value:
        return replace(known, value=value, object_key=normalise_fact_key(value))
    if len(same) == 1:
        return replace(known, value=same[0].value, object_key=same[0].object_key)
    if same or not (told or over):
        return replace(known, value="", object_key=normalise_fact_key(text))
    if len(told) > 1 or over:
        return replace(known, subject="", predicate="", object_key="", single_valued=False, value="")
    (other,) = told
    return replace(
        known, memory=replace(known.memory, kind=other.kind), subject=other.subject, predicate=other.predicate,
        object_key=other.object_key, single_valued=other.single_valued, value=other.value,
    )  # fmt: skip


def restated(statement: Statement, item: Known, text: str, at_us: int) -> Statement:
    """The statement that made an item, as the person wants it to have been said; believed like a word of their own."""
    fact = replace(
        statement.fact, text=text, kind=item.memory.kind, subject=item.subject, predicate=item.predicate, value=item.value,
        object_key=item.object_key, single_valued=item.single_valued, act="assert", corrected="", explicit=True,
    )  # fmt: skip
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
