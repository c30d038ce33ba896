"""Numbers over time: of a field of an item, and of what facts state."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from aico_memory.domain.gate.statement import Statement
from aico_memory.domain.memory import OPEN, Evolution
from aico_memory.domain.temporal.evolution import Step, series_of
from aico_memory.domain.temporal.trends import Point
from aico_memory.domain.temporal.versions import Version, at

_NUMBER: Final = re.compile(r"[-−]?\d+(?:[.,\s]\d{3}(?!\d))*(?:[.,]\d+)?")
_GROUPS: Final = re.compile(r"[.,\s](?=\d{3}(?!\d))")
_TOLD: Final = frozenset({"assert", "correct"})


def number_of(text: str) -> float | None:
    """The first number of a text. A point or comma before exactly three digits groups them, else it is decimal; None: none."""
    found = _NUMBER.search(text)
    if found is None:
        return None
    grouped, _, decimals = _split(found[0].replace("−", "-"))
    return float(f"{grouped}.{decimals}" if decimals else grouped)


def _split(number: str) -> tuple[str, str, str]:
    last = max(number.rfind("."), number.rfind(","))
    tail = number[last + 1 :]
    marks = {mark for mark in number if mark in ".,"}
    # "1.234,5" and "1,234.5": the last mark is decimal. "0.125" groups nothing, for a group never follows a zero alone.
    decimal = last >= 0 and (len(marks) == 2 or len(tail) != 3 or number[:last].lstrip("-") == "0")
    if decimal:
        return re.sub(r"[.,\s]", "", number[:last]), ".", tail
    return _GROUPS.sub("", number), "", ""


def stated_series(
    statements: Sequence[Statement], versions: Sequence[Version], confirmed: Iterable[tuple[Step, str]] = ()
) -> tuple[Point, ...]:
    """The numbers that statements gave to a fact, each at the moment from which it held, by that moment.

    What was corrected or taken back later is left out: a number counts only where the fact had that number then, as
    is believed today. Several at one moment: the one that was said last. `confirmed` are steps in which a version was
    stated anew, with its value: each gives the number once more when it was said. Of a run of plain repetitions the
    evidence alone tells, since the statements in its middle are not kept.
    """
    found: dict[int, tuple[tuple[int, int, bytes, int], float]] = {}
    for statement in statements:
        number = number_of(statement.fact.value)
        if number is None or statement.fact.act not in _TOLD:
            continue
        at_us = statement.fact.valid_from_us or statement.said_at_us
        held = at(versions, at_us, OPEN)
        if not any(number_of(version.value) == number or statement.fact.value in version.value for version in held):
            continue
        if at_us not in found or statement.order > found[at_us][0]:
            found[at_us] = (statement.order, number)
    points = {at_us: number for at_us, (_, number) in found.items()}
    kept = {one.event_id for one in statements}
    for step, value in confirmed:
        number = number_of(value)
        if number is None or step.cause in kept:
            continue
        if any(version.version_id == step.version_id for version in at(versions, step.known_at_us, OPEN)):
            points.setdefault(step.known_at_us, number)
    return tuple(Point(at_us, number) for at_us, number in sorted(points.items()))


def field_series(changes: Sequence[Evolution], what: str, present: float, created_at_us: int) -> tuple[Point, ...]:
    """A recorded field from its beginning: what it was before its first change, and every value since."""
    mine = sorted((one for one in changes if one.what == what), key=lambda one: one.at_us)
    first = float(mine[0].old_value) if mine else present
    return (Point(min(created_at_us, mine[0].at_us) if mine else created_at_us, first), *series_of(mine, what))
