"""What thumbs leave behind for the style posterior: counts by situation and skill, and wishes by dimension."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from aico_memory.domain.behavioral.dimensions import DIMENSIONS, NEUTRAL_VALUE, Vector
from aico_memory.domain.behavioral.situation import Situation

# A label that a merged cell no longer tells apart.
ANY: Final = "*"
# By reason: the dimensions of which less (-1) or more (+1) is wished.
WISHES: Final[Mapping[str, Mapping[str, int]]] = {
    "too_verbose": {"verbosity": -1, "explanation_depth": -1},
    "too_brief": {"verbosity": 1, "explanation_depth": 1},
}
# By reason: the dimensions that are wished away from where the judged skill has them.
AWAY: Final[Mapping[str, tuple[str, ...]]] = {"wrong_tone": ("formality", "emotional_expression")}
# A wish is read as a slope of this many prior standard deviations, told with an error of as many.
WISH_SLOPE: Final = 1.5
# The reason that says something of the content, and little of the style.
CONTENT: Final = "incorrect_info"


@dataclass(frozen=True, slots=True)
class Cell:
    """Thumbs on one skill in one kind of situation. `positive` and `negative` are weighted counts."""

    intent: str
    sentiment: str
    time_of_day: str
    skill_id: str
    positive: float = 0.0
    negative: float = 0.0

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.intent, self.sentiment, self.time_of_day, self.skill_id

    @property
    def total(self) -> float:
        return self.positive + self.negative


@dataclass(frozen=True, slots=True)
class Wish:
    """How often more and how often less of one style dimension was wished."""

    dimension: str
    more: float = 0.0
    less: float = 0.0


@dataclass(frozen=True, slots=True)
class Stated:
    """What a person has said of one dimension (0..1), in one bucket or (None) in all that have nothing of their own.

    `weight`: how much it weighs beside the wish of one thumb, from above 0.
    """

    dimension: str
    value: float
    weight: float
    bucket: int | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that one person's thumbs have taught and the person has said; `version` changes whenever it does."""

    cells: tuple[Cell, ...] = ()
    wishes: tuple[Wish, ...] = ()
    version: int = 0
    stated: tuple[Stated, ...] = ()


def kept_of(cell: Cell, dimensions: Vector, dimension: str) -> Cell:
    """What a cell still says after a statement: as much as the style of its skill is neutral in the stated dimension."""
    kept = 1.0 - abs(dimensions[DIMENSIONS.index(dimension)] - NEUTRAL_VALUE) / NEUTRAL_VALUE
    return replace(cell, positive=cell.positive * kept, negative=cell.negative * kept)


def with_thumb(cell: Cell, reward: int, weight: float = 1.0) -> Cell:
    """The cell after one thumb; a reward of 0 changes nothing."""
    return replace(cell, positive=cell.positive + weight * (reward > 0), negative=cell.negative + weight * (reward < 0))


def weight_of(reason: str, content_weight: float) -> float:
    """What a thumb with a reason counts for the style: `content_weight` where the reason is the content."""
    return content_weight if reason == CONTENT else 1.0


def cell_of(situation: Situation, skill_id: str) -> Cell:
    """The empty cell of a skill in a situation."""
    return Cell(situation.intent, situation.sentiment, situation.time_of_day, skill_id)


def wishes_of(reason: str, dimensions: Vector) -> dict[str, int]:
    """Which dimensions a reason (or a category of feedback text) wishes more (+1) or less (-1) of.

    "Away from the skill" says nothing where the skill is neutral itself.
    """
    found = dict(WISHES.get(reason, {}))
    for name in AWAY.get(reason, ()):
        value = dimensions[DIMENSIONS.index(name)]
        if value != NEUTRAL_VALUE:
            found[name] = -1 if value > NEUTRAL_VALUE else 1
    return found


def wished(standing: Mapping[str, Wish], reward: int, reason: str, dimensions: Vector) -> list[Wish]:
    """The wishes that one thumb changes, after it, by name of the dimension; a thumb up wishes nothing."""
    directions = wishes_of(reason, dimensions) if reward < 0 else {}
    return [with_wish(standing.get(name, Wish(name)), way) for name, way in sorted(directions.items())]


def named_by(reason: str) -> frozenset[str]:
    """The dimensions that a reason is about, whichever way."""
    return frozenset((*WISHES.get(reason, {}), *AWAY.get(reason, ())))


def wishes_of_text(categories: Iterable[str], reason_wishes: Mapping[str, int], dimensions: Vector) -> dict[str, int]:
    """What the categories of a text wish beyond the reason beside it: what the reason has said counts once.

    Categories that wish a dimension both ways say nothing of it.
    """
    sums: Counter[str] = Counter()
    for category in categories:
        sums.update(wishes_of(category, dimensions))
    directions = {name: (total > 0) - (total < 0) for name, total in sums.items()}
    return {name: way for name, way in directions.items() if way and reason_wishes.get(name) != way}


def with_wish(wish: Wish, direction: int, weight: float = 1.0) -> Wish:
    """The wish after one more word in a direction."""
    return replace(wish, more=wish.more + weight * (direction > 0), less=wish.less + weight * (direction < 0))


def bounded(cells: Sequence[Cell], limit: int) -> tuple[Cell, ...]:
    """At most `limit` cells, sorted by key: first the times of day are merged, then sentiments; then the fullest stay."""
    found = sorted(cells, key=lambda cell: cell.key)
    if len(found) > limit:
        found = _merged(replace(cell, time_of_day=ANY) for cell in found)
    if len(found) > limit:
        found = _merged(replace(cell, sentiment=ANY) for cell in found)
    if len(found) > limit:
        fullest = sorted(found, key=lambda cell: (-cell.total, cell.key))[:limit]
        found = sorted(fullest, key=lambda cell: cell.key)
    return tuple(found)


def _merged(cells: Iterable[Cell]) -> list[Cell]:
    positive: Counter[tuple[str, str, str, str]] = Counter()
    negative: Counter[tuple[str, str, str, str]] = Counter()
    for cell in cells:
        positive[cell.key] += cell.positive  # type: ignore[assignment]
        negative[cell.key] += cell.negative  # type: ignore[assignment]
    return [Cell(*key, positive[key], negative[key]) for key in sorted(positive)]
