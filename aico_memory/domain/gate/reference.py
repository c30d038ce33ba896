"""What a statement refers to among what is stored: which subject, which predicate, which value in which form.

People say "I left X", "no, Thursday", "the meeting moved" without naming what kind
of thing X, Thursday or the meeting is; what is stored tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aico_memory.domain.formation.attributes import TIME
from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.formed import NEWEST, SPEAKER, FormedFact
from aico_memory.domain.gate.statement import CLOSING, Known, Statement
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.amounts import same_quantity
from aico_memory.domain.recall.days_kept import at_another_hour, names_a_day, without_day
from aico_memory.domain.recall.matching import clipped, equal_object, same_head, same_object
from aico_memory.domain.recall.timeline import THINGS
from aico_memory.domain.recall.what_ends import GIVEN_UP, MEMBERSHIPS
from aico_memory.domain.scopes import is_of_another

# Predicates so general that an end of them ("I sold the X") may mean any other with that object.
LOOSE: Final = frozenset({"owns", "uses"})
# Nobody leaves these for something of another kind.
_APART: Final = ("favourite:", "birthplace", "likes", "dislikes")
_BELIEVED: Final = frozenset({"active", "superseded", "expired"})


def referred(new: Statement, stored: Sequence[Known]) -> Statement:
    """The statement in terms of what is stored; unchanged where nothing stored is meant."""
    items = [one for one in stored if _may_be_meant(one, new)]
    fact = _in_full(_of_known_subject(new.fact, items), items)
    fact = _on_its_days(same_quantity(fact, lambda subject, predicate: _kept(subject, predicate, items)), items)
    if names_a_day(fact):
        fact = _day_fallen(fact, items)
    elif fact.act == "assert":
        fact = _left_behind(_of_pupil(fact, items), items)
    elif fact.act == "correct":
        fact = _corrected(fact, items, new.said_at_us)
    elif fact.act in CLOSING:
        fact = _closed(fact, items)
    return new if fact is new.fact else replace(new, fact=fact)


def _may_be_meant(one: Known, new: Statement) -> bool:
    memory = one.memory
    apart = memory.variant_of is not None or memory.version_of is not None or is_of_another(one.subject, memory, new.owner)
    return bool(one.predicate) and memory.scope == new.scope and memory.status in _BELIEVED and not apart


def _of_known_subject(fact: FormedFact, items: Sequence[Known]) -> FormedFact:
    """ "The meeting" is the team meeting, where there is no other."""
    if fact.subject == SPEAKER or fact.predicate not in THINGS:
        return fact
    known = {one.subject for one in items if one.predicate == fact.predicate and one.subject != SPEAKER}
    if fact.subject in known:
        return fact
    alike = [
        one for one in sorted(known)
        if same_object(one, fact.subject, fact.language) or same_head(one, fact.subject, fact.language)
    ] or [one for one in sorted(known) if clipped(fact.subject, one)]  # fmt: skip
    return replace(fact, subject=alike[0]) if len(alike) == 1 else fact


def _in_full(fact: FormedFact, items: Sequence[Known]) -> FormedFact:
    """ "My contract" is the mobile contract, where no other is known."""
    kind, _, noun = fact.predicate.partition(":")
    theirs = {one.predicate for one in items if one.subject == fact.subject}
    if not noun or " " in noun or fact.predicate in theirs:
        return fact
    longer = [one for one in theirs if one.startswith(f"{kind}:") and one.endswith(f" {noun}")]
    return replace(fact, predicate=longer[0]) if len(longer) == 1 else fact


def _kept(subject: str, predicate: str, items: Sequence[Known]) -> list[Known]:
    return [one for one in items if (one.subject, one.predicate) == (subject, predicate) and one.memory.status == "active"]


def _on_its_days(fact: FormedFact, items: Sequence[Known]) -> FormedFact:
    kept = _kept(fact.subject, fact.predicate, items) if fact.predicate == TIME and fact.act != "end" else []
    return at_another_hour(fact, _newest(kept).value) if kept else fact


def _day_fallen(fact: FormedFact, items: Sequence[Known]) -> FormedFact:
    """ "Thursdays there's no training any more": what is left of its days takes their place."""
    kept = _kept(fact.subject, fact.predicate, items)
    left = without_day(_newest(kept).value, fact.value) if kept else None
    if left is None:
        return fact
    if not left:
        return replace(fact, corrected=_newest(kept).object_key)
    return replace(fact, act="assert", value=left, object_key=normalise_fact_key(left), corrected=_newest(kept).object_key)


def _of_pupil(fact: FormedFact, items: Sequence[Known]) -> FormedFact:
    """ "Lily started at St Anne's": a school, where she goes to one and works nowhere."""
    if fact.predicate != "employer" or fact.subject == SPEAKER:
        return fact
    theirs = {one.predicate for one in items if one.subject == fact.subject and one.memory.valid_until_us == OPEN}
    return replace(fact, predicate="school") if "school" in theirs and "employer" not in theirs else fact


def _left_behind(fact: FormedFact, items: Sequence[Known]) -> FormedFact:
    """ "From X to Y": whatever X was, Y is now; X in the form in which it is stored."""
    if fact.corrected in ("", NEWEST):
        return fact
    # "I'm back to X" speaks of an X that is over.
    back = fact.corrected == fact.object_key
    own = _alike(_group(fact, items), fact.corrected, fact.language)
    if own and not back:
        return replace(fact, corrected=_newest(own).object_key)
    if fact.single_valued and any(one.memory.valid_until_us == OPEN for one in _group(fact, items)):
        # "I switched from Android to an iPhone 16": the phone is another one, whatever Android was.
        return fact
    # What ended at the same moment was ended by the same message ("I sold the Golf, I drive a Zoe now").
    meant = [
        one for one in items
        if one.subject == fact.subject and (back or one.memory.valid_until_us >= fact.valid_from_us)
        and not one.predicate.startswith(_APART)
    ]  # fmt: skip
    meant = _alike(meant, fact.corrected, fact.language)
    if not meant:
        return fact
    was = _newest(meant)
    left = "" if back else was.object_key
    return replace(fact, predicate=was.predicate, single_valued=was.single_valued, corrected=left)


def _corrected(fact: FormedFact, items: Sequence[Known], new_at_us: int) -> FormedFact:
    """The value that is corrected lends what the correction leaves unsaid."""
    named = "" if fact.corrected == NEWEST else fact.corrected
    targets = [
        one for one in _targets(fact, named, items)
        if one.object_key == fact.corrected or not same_object(one.object_key, fact.object_key, fact.language)
    ]  # fmt: skip
    if not targets:
        return fact
    was = _newest(targets)
    if not fact.predicate or (was.predicate != fact.predicate and not fact.single_valued):
        subject = fact.subject if fact.predicate else was.subject
        fact = replace(fact, subject=subject, predicate=was.predicate, single_valued=was.single_valued, kind=was.memory.kind)
    if was.predicate != fact.predicate:
        return fact
    if not fact.single_valued and fact.valid_from_us >= new_at_us:
        # What is corrected never held: the right value did, for as long.
        fact = replace(fact, valid_from_us=was.memory.valid_from_us)
    return replace(fact, corrected=was.object_key)


def _closed(fact: FormedFact, items: Sequence[Known]) -> FormedFact:
    """The value that is over or was never true."""
    named = fact.object_key or ("" if fact.corrected == NEWEST else fact.corrected)
    targets = _targets(fact, named, items)
    if not targets:
        return fact
    was = _newest(targets)
    return replace(
        fact, subject=was.subject, predicate=was.predicate, single_valued=was.single_valued, corrected=was.object_key
    )


def _targets(fact: FormedFact, named: str, items: Sequence[Known]) -> Sequence[Known]:
    if not fact.predicate:
        if fact.act == "end":
            items = [one for one in items if one.memory.status == "active"]
        return _alike(items, named, fact.language) if named else items
    mine = [one for one in items if one.subject == fact.subject]
    group = _group(fact, items)
    if not named:
        return [one for one in group if one.memory.status == "active"] or ([] if fact.act == "end" else group)
    found = _alike(group, named, fact.language)
    if not found and fact.act == "end" and fact.predicate in MEMBERSHIPS:
        # "I left X": whichever of these X was.
        found = [one for one in mine if one.predicate in MEMBERSHIPS | GIVEN_UP and _equal(one, named, fact.language)]
    if not found and (fact.predicate in LOOSE or fact.act != "end"):
        found = _alike(mine, named, fact.language)
    return found


def _group(fact: FormedFact, items: Sequence[Known]) -> list[Known]:
    return [one for one in items if (one.subject, one.predicate) == (fact.subject, fact.predicate)]


def _alike(items: Sequence[Known], named: str, language: str) -> list[Known]:
    exact = [one for one in items if one.object_key == named]
    return exact or [one for one in items if same_object(one.object_key, named, one.memory.language or language)]


def _equal(one: Known, named: str, language: str) -> bool:
    return one.object_key == named or equal_object(one.object_key, named, one.memory.language or language)


def _newest(items: Sequence[Known]) -> Known:
    """What holds before what is over, then what was said last."""
    return max(items, key=lambda one: (one.memory.status == "active", one.memory.said_order))
