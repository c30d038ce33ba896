"""A person's edit of an item: which value the new text gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.gate.statement import Known, Statement, key_of
from aico_memory.domain.memory import OPEN, Memory

_TELLS: Final = frozenset({"assert", "correct"})


def reworded(known: Known, edited: Memory, formed: Sequence[FormedFact], before: FormedFact | None, *, akin: bool) -> Known:
    """The item with another text (`edited`, when it was updated), read anew by what the rules read from it (`formed`).

    A single statement that speaks of the same tells whose it is, which value it has and when it holds. Where none is read,
    or several are that bound nothing, and only the value was exchanged, the new one stands in its place. Else a single
    statement of something else tells what the item is about from then on. What cannot be read keeps subject and predicate
    where it is `akin` to the old text (shares a word with it), its value is the text; what is not akin, tells nothing but an
    end, or several other things, has no reading. `before` is the item's statement so far; None: it has none.
    """
    item, text = replace(known, memory=edited), edited.text
    if not known.predicate:
        return item
    told = [one for one in formed if one.act in _TELLS and one.predicate]
    same = [one for one in told if one.predicate == known.predicate]
    over = not same and any(one.act not in _TELLS and one.predicate == known.predicate for one in formed)
    one = _single(same, known.subject)
    if one is not None:
        return replace(
            item, memory=_timed(edited, one, before), subject=one.subject, value=one.value, object_key=one.object_key
        )
    plain = all(fact.act == "assert" and not _is_timed(fact, edited) for fact in same)
    value = _exchanged(known.memory.text, text, known.value) if plain and not over else ""
    if value:
        return replace(item, value=value, object_key=normalise_fact_key(value))
    if same or (akin and not (told or over)):
        return replace(item, value="", object_key=normalise_fact_key(text))
    if len(told) != 1 or over:
        return replace(item, subject="", predicate="", object_key="", single_valued=False, value="")
    (other,) = told
    memory = replace(_timed(edited, other, before), kind=other.kind)
    return replace(
        item, memory=memory, subject=other.subject, predicate=other.predicate, object_key=other.object_key,
        single_valued=other.single_valued, value=other.value,
    )  # fmt: skip


def restated(statement: Statement, item: Known, before: Memory) -> Statement:
    """The statement that made an item, as the person wants it to have been said; believed like a word of their own.

    `before`: the item as it was before the edit.
    """
    memory = item.memory
    fact = replace(
        statement.fact, text=memory.text, kind=memory.kind, subject=item.subject, predicate=item.predicate, value=item.value,
        object_key=item.object_key, single_valued=item.single_valued, act="assert", corrected="", explicit=True,
    )  # fmt: skip
    if (memory.valid_from_us, memory.valid_until_us) != (before.valid_from_us, before.valid_until_us):
        # What follows in its chain ends it there again; its own words did not.
        until_us = memory.valid_until_us if memory.temporal_type == "time_bounded" else OPEN
        fact = replace(fact, valid_from_us=memory.valid_from_us, valid_until_us=until_us, temporal_type=memory.temporal_type)
    return replace(
        statement, fact=fact, said_at_us=memory.updated_at_us, role="user",
        confidence=max(statement.confidence, memory.confidence),
    )  # fmt: skip


def key_for(item: Known, text: str) -> str:
    """The fact key of an item with this reading."""
    fact = FormedFact(text, item.memory.kind, item.subject, item.predicate, item.value, item.object_key, item.single_valued)
    return key_of(fact)


def _single(same: Sequence[FormedFact], subject: str) -> FormedFact | None:
    """The one statement, of several the one about whom it was about; None where there is no such."""
    of_it = same if len(same) == 1 else [one for one in same if one.subject == subject]
    return of_it[0] if len(of_it) == 1 else None


def _is_timed(fact: FormedFact, memory: Memory) -> bool:
    """Whether its words say since when or until when it holds; without such it holds from when it was said."""
    return fact.valid_until_us < OPEN or fact.valid_from_us != memory.said_at_us


def _timed(memory: Memory, fact: FormedFact, before: FormedFact | None) -> Memory:
    """The item with the validity that its new words tell.

    What the rules read of time in the old ones goes with them; what was learned otherwise (a later end) stays.
    """
    from_us, until_us = memory.valid_from_us, memory.valid_until_us
    if before is not None and before.source == "rule":
        from_us = memory.said_at_us if from_us == before.valid_from_us else from_us
        until_us = OPEN if until_us == before.valid_until_us else until_us
    if fact.valid_from_us != memory.said_at_us:
        from_us = fact.valid_from_us
    bounded = fact.valid_until_us < OPEN
    if bounded:
        until_us = fact.valid_until_us
    type_ = "time_bounded" if bounded else "persistent" if until_us == OPEN else memory.temporal_type
    timed = replace(memory, valid_from_us=from_us if from_us < until_us else 0, valid_until_us=until_us, temporal_type=type_)
    if memory.status != "active" or until_us > memory.updated_at_us:
        return timed
    return replace(timed, status="expired", invalidated_at_us=memory.updated_at_us)


def _exchanged(old: str, new: str, value: str) -> str:
    """What stands in the new text where the value stood in the old one; empty where more was changed."""
    if not value or value not in old:
        return ""
    before, _, after = old.partition(value)
    fits = new.startswith(before) and new.endswith(after) and len(new) > len(before) + len(after)
    return new[len(before) : len(new) - len(after)].strip(" .") if fits else ""
