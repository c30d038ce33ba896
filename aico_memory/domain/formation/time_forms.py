"""The forms of phrases of time as a language's file gives them, compiled: one expression for each form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from aico_memory.domain.formation.grammar import Calendar

_EDGES = ("end_words", "start_words", "middle_words")
_KINDS = ("since", "from", "until", "held", "lasting", "ago", "ahead", "at")
# Where a bound is told by an edge of a span, the language may have a shorter form ("until mid-April").
_BOUNDS = frozenset({"since", "from", "until"})


def expressions(calendar: Calendar) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """(kind, expression) of every form, in the order in which they are tried."""
    return _cached(_ByIdentity(calendar))


class _ByIdentity:
    """A calendar as a cache key: there is one a language, made once."""

    __slots__ = ("calendar",)

    def __init__(self, calendar: Calendar) -> None:
        self.calendar = calendar

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self.calendar is other.calendar

    def __hash__(self) -> int:
        return id(self.calendar)


@lru_cache(maxsize=32)
def _cached(frozen: _ByIdentity) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(_compiled(frozen.calendar))


def _compiled(calendar: Calendar) -> Iterator[tuple[str, re.Pattern[str]]]:
    def words(group: object) -> str:
        return "|".join(sorted(map(re.escape, group), key=len, reverse=True))  # type: ignore[call-overload]

    month = f"(?:{words(calendar.months)})"
    exact = [r"\d{4}-\d{2}-\d{2}", r"\d{1,2}[./]\d{1,2}[./]\d{4}", r"\d{1,2}\.\d{1,2}\.(?!\d)"]
    exact += [form.replace("{month}", month) for form in calendar.forms.get("exact", ())]
    step = f"(?:(?P<step_%s>{words(calendar.steps)}) )"
    edges = [word for group in _EDGES for word in calendar.forms.get(group, ())]
    joints = calendar.forms.get("edge", ())
    edge = f"(?P<edge>{words(edges)})"
    opening = f"(?:{edge}{joints[0]})?" if joints else ""
    bounding = f"(?:{edge}(?:{'|'.join(joints)}))?" if joints else ""
    # A season alone is no date ("summer house"): it is named by its step, or by the words around it in a form of its own.
    seasons = f"|{step % 'season'}(?P<season>{words(calendar.seasons)})" if calendar.seasons else ""
    date = (
        f"(?:(?P<exact>{'|'.join(exact)})|(?P<day>{words(calendar.days)})"
        f"|{step % 'day'}?(?P<weekday>{words(calendar.weekdays)})"
        f"|{step % 'month'}?(?P<month>{words(calendar.months)})(?: (?P<year_of>(?:19|20)\\d\\d))?"
        f"{seasons}"
        f"|{step % 'unit'}(?P<unit>{words(calendar.units)})"
        f"|(?P<weekend>{words([word for word, unit in calendar.units.items() if unit == 'weekend'])})"
        f"|(?P<bare>{words(calendar.units)})"
        r"|(?P<year>(?:19|20)\d\d))"
    )
    for kind in _KINDS:
        for form in calendar.forms.get(kind, ()):
            body = form.replace("{d}", (bounding if kind in _BOUNDS else opening) + date).replace(
                "{n}", rf"(?P<n>\d+|{words(calendar.numbers)})"
            )
            body = body.replace("{u}", f"(?P<u>{words(calendar.units)})").replace(
                "{s}", f"(?P<season>{words(calendar.seasons)})"
            )
            body = body.replace("{h}", f"(?P<holiday>{words(calendar.holidays)})")
            yield kind, re.compile(rf"(?<![\w']){body}(?![\w])")
