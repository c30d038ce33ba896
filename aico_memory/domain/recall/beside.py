"""What was before or after a value that the question names: "Where did I live before Bath?"."""

from __future__ import annotations

from aico_memory.domain.recall.groups import Group
from aico_memory.domain.recall.matching import stems
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.timeline import THINGS, Held, at


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
