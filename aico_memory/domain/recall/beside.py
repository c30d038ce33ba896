"""What a value that the question names leads to: "Where did I live before Bath?", "When did I live in Bath?"."""

from __future__ import annotations

from aico_memory.domain.recall.groups import Group
from aico_memory.domain.recall.matching import stems
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.since import SINCE, UNTIL
from aico_memory.domain.recall.timeline import THINGS, Held, at
from aico_memory.domain.recall.yes_no import names

# What a question asks for that wants the time of the value it names.
_OF_TIME = frozenset({"when", SINCE, UNTIL})


def by_value_named(group: Group, question: Question, at_us: int) -> list[Held] | None:
    """What stood beside the value that the question names, or that value itself where its time is asked for.

    None: the question names no value of the group, or for another reason.
    """
    beside = beside_named(group, question, at_us)
    return when_named(group, question, at_us) if beside is None else beside


def when_named(group: Group, question: Question, at_us: int) -> list[Held] | None:
    """The named value, though another one may hold at `at_us`: the stretch of then, else the newest that was known then."""
    if question.asks not in _OF_TIME or question.yes_no or group.predicate in THINGS:
        return None
    named = [one for one in group.held if one.fact.single_valued and not one.invalid and names(one, question)]
    if not named:
        return None
    known = [one for one in named if min(one.from_us, one.statement.said_at_us) <= at_us]
    return at(named, at_us) or sorted(known, key=lambda one: (one.from_us, one.until_us))[-1:]


def beside_named(group: Group, question: Question, at_us: int) -> list[Held] | None:
    """The value next to the named one, as it stood at `at_us`; empty where there was none. None: it asks for none such.

    Only of what has one value at a time, and not of times, which "before" and "after" belong to.
    """
    what = question.before or question.after
    if not what or question.asks == "when" or group.predicate in THINGS:
        return None
    told = stems(what, question.language)
    held = sorted((one for one in group.held if not one.invalid and one.fact.single_valued), key=lambda one: one.from_us)
    named = [one for one in held if (words := stems(one.fact.value, question.language)) and words <= told]
    if not named:
        return None
    if question.before:
        first = named[0]
        earlier = [one for one in held if one.from_us < first.from_us and one not in named]
        return at(earlier, first.from_us - 1) or sorted(earlier, key=lambda one: (one.until_us, one.from_us))[-1:]
    last = named[-1]
    later = [one for one in held if last.from_us < one.from_us <= at_us and one not in named]
    return later[:1]
