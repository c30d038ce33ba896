"""From a question to ranked rows: features over all memories of the scopes, weighed by a profile.

The same code answers in the worker and in the benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from aico_memory.domain.memory import OPEN, Condition, View, conditions
from aico_memory.domain.retrieval.evidence import Counts, Flags, Floats, Positions, Rows
from aico_memory.domain.retrieval.features import EVERY, NAMES, Asked, Figures, Worded, completed, rows_of, worded
from aico_memory.domain.retrieval.question import NOWHEN, Question, QuestionTables, read_question
from aico_memory.domain.retrieval.ranking import Profile
from aico_memory.domain.retrieval.relative_time import AskedAt
from aico_memory.domain.sleep.derived import DERIVED_KINDS
from aico_memory.stores.index.facet_columns import mask
from aico_memory.stores.index.scope_columns import Order, place_of
from aico_memory.stores.index.scope_text import ScopeText
from aico_memory.stores.index.vector_port import Similarities

_Kind = TypeVar("_Kind", bound=np.generic)
# Of a hit that no row was weighed for.
_NO_ROW = -1
_NOTHING = np.zeros(len(NAMES), dtype=np.float32)
_DERIVED = (Condition("kind", "in", DERIVED_KINDS),)


class Found(NamedTuple):
    """A memory with its score, 0..1, and its features in the order of their names."""

    key: int
    score: float
    features: Floats
    # Row of the table.
    place: int


class Table(NamedTuple):
    """Every row of the scopes: its key, its features, and whether the question may have it."""

    keys: npt.NDArray[np.int64]
    # By name, shape (n,) each.
    features: Mapping[str, Floats]
    admitted: Flags
    # Those of the admitted that are of the kinds that are ranked once more.
    of_kinds: Flags
    # What sleep wrote of the others, where the question does not ask for its kinds: key and cosine, the closest first.
    derived: tuple[tuple[int, float], ...] = ()
    # The highest cosine of an admitted row.
    closest: float = 0.0


@dataclass(frozen=True, slots=True)
class Profiles:
    """Which weights apply: where the vectors speak the question's language, and where words decide."""

    fused: Profile
    lexical: Profile

    def of(self, question: Question, with_vectors: bool) -> Profile:
        """The profile for this question."""
        return self.fused if with_vectors and not question.foreign else self.lexical


def read(
    text: str, texts: Sequence[ScopeText], tables: QuestionTables, model_languages: Sequence[str], most: int,
    asked: AskedAt = NOWHEN,
) -> Question:  # fmt: skip
    """The question as these scopes understand it; `most` languages of theirs are looked up."""
    speakers = {speaker for scope in texts for speaker in scope.speakers}
    spoken: dict[str, int] = {}
    for scope in texts:
        for language, often in scope.languages.items():
            spoken[language] = spoken.get(language, 0) + often
    likely = sorted(spoken, key=lambda language: (-spoken[language], language))[:most]
    return read_question(text, tables, participants=speakers, spoken=likely, model_languages=model_languages, asked=asked)


@dataclass(frozen=True, slots=True)
class Surveyed:
    """One scope in one view, whatever is asked: which rows take part, in their order. Outlives changes of the scope."""

    # Its place among the scopes.
    place: int
    order: Order
    keys: npt.NDArray[np.int64]
    rows: Rows
    # What the question may have, and of that what is of the kinds that are ranked once more.
    shown: Flags
    of_kinds: Flags
    # What sleep wrote and the view admits: places in the order.
    derived: Positions
    # Keys of a vector index, and where among them the rows are.
    held: list[npt.NDArray[Any]] = field(default_factory=list)


def survey(texts: Sequence[ScopeText], view: View, kinds: Sequence[str] = ()) -> list[Surveyed]:
    """The scopes that hold anything, in their order. To be called while nobody changes them."""
    admitting = conditions(view)
    # What stands outside a filter is still a neighbour; what is not to be believed is not.
    believing = conditions(replace(view, kinds=(), tiers=(), session_id="", since_us=0, until_us=0))
    found = []
    for place, text in enumerate(texts):
        if not len(text):
            continue
        alive, facets = text.alive(), text.columns()
        visible = alive & mask(believing, facets)
        shown = visible.copy() if admitting == believing else alive & mask(admitting, facets)
        derived = np.empty(0, dtype=np.intp)
        if not view.kinds:
            # Summaries repeat the words of what they tell: they would weigh everything twice and stand before it.
            summing = mask(_DERIVED, facets)
            derived = np.flatnonzero(shown & summing)
            visible, shown = visible & ~summing, shown & ~summing
        of_kinds = shown & mask([Condition("kind", "in", tuple(kinds))], facets) if kinds else np.zeros_like(shown)
        order = text.order()
        found.append(Surveyed(
            place, order, text.keys()[order.places], text.rows(visible), shown[order.places], of_kinds[order.places],
            order.positions[derived],
        ))  # fmt: skip
    return found


def turning(texts: Sequence[ScopeText], view: View, read: Sequence[Question]) -> int:
    """The next moment at which something of the scopes begins or ceases to hold, or the questions' own dates are others.

    In Unix microseconds, 0 where none is ahead; until then the same questions find the same unless something is said. To be
    called while nobody changes the scopes.
    """
    soonest = min((question.turns_us for question in read if question.turns_us and not view.as_of_us), default=OPEN)
    for text in texts:
        alive, columns = text.alive(), text.columns()
        for name in ("valid_from_us", "valid_until_us"):
            column = columns[name]
            soonest = min(soonest, int(np.min(column, where=alive & (column > view.now_us), initial=OPEN)))
    return soonest if soonest < OPEN else 0


def reading(
    question: Question, texts: Sequence[ScopeText], surveyed: Sequence[Surveyed], now_us: int, figures: Figures,
    characters: bool, wanted: Collection[str] = EVERY,
) -> list[Worded]:  # fmt: skip
    """What the question's words say of each surveyed scope. To be called while nobody changes the scopes.

    Runs of characters are looked at where `characters` says so; they help where no vector speaks the language.
    Only the `wanted` features are computed.
    """
    found = []
    for one in surveyed:
        text = texts[one.place]
        runs = text.count_characters(question.words, one.order) if characters else _no_counts(len(one.rows))
        words = text.count_words(question.words, one.order)
        asked = Asked(words, runs, question.date, question.wants_time, now_us)
        found.append(worded(one.rows, asked, figures, wanted))
    return found


def table_of(
    surveyed: Sequence[Surveyed], read: Sequence[Worded], similarities: Callable[[int], Similarities | None],
    with_kinds: bool = True,
) -> Table:  # fmt: skip
    """The features of all rows; `similarities(i)` are those of the i-th scope, None where there are no vectors."""
    if not surveyed:
        nobody = np.zeros(0, np.bool_)
        return Table(np.zeros(0, np.int64), {}, nobody, nobody)
    columns: list[Mapping[str, Floats]] = []
    derived: list[tuple[int, float]] = []
    closest = 0.0
    for one, said in zip(surveyed, read, strict=True):
        near = _aligned(similarities(one.place), one)
        derived += [(int(one.keys[row]), float(near[row])) for row in one.derived]
        closest = max(closest, float(near.max(where=one.shown, initial=0.0)))
        columns.append(completed(said, near))
    derived.sort(key=lambda one: (-one[1], one[0]))
    shown = _joined([one.shown for one in surveyed])
    of_kinds = _joined([one.of_kinds for one in surveyed]) if with_kinds else np.zeros_like(shown)
    names = dict.fromkeys(name for one in columns for name in one)
    features = columns[0] if len(columns) == 1 else {
        name: _joined([one[name] if name in one else np.zeros(len(at.keys), np.float32)
                       for one, at in zip(columns, surveyed, strict=True)])
        for name in names
    }  # fmt: skip
    return Table(_joined([one.keys for one in surveyed]), features, shown, of_kinds, tuple(derived), closest)


def tabulate(
    question: Question,
    texts: Sequence[ScopeText],
    view: View,
    similarities: Callable[[int], Similarities | None],
    figures: Figures,
    characters: bool,
    wanted: Collection[str] = EVERY,
    kinds: Sequence[str] = (),
) -> Table:
    """The table of one question by itself. To be called while nobody changes the scopes; the table outlives that."""
    surveyed = survey(texts, view, kinds)
    return table_of(surveyed, reading(question, texts, surveyed, view.now_us, figures, characters, wanted), similarities)


def _joined(parts: Sequence[npt.NDArray[_Kind]]) -> npt.NDArray[_Kind]:
    """One scope is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def best(table: Table, profile: Profile, limit: int, *, of_kinds: bool = False) -> list[Found]:
    """The `limit` best admitted rows, or of the kinds among them, best first; equal ones by age."""
    places = np.flatnonzero(table.of_kinds if of_kinds else table.admitted)
    totals = profile.weighed(table.features, len(table.keys))[places]
    if 0 < limit < len(places):
        # With all that is as good as the last one: which of them has the place is decided by age.
        chosen = np.flatnonzero(totals >= np.partition(totals, len(totals) - limit)[len(totals) - limit])
        places, totals = places[chosen], totals[chosen]
    order = np.lexsort((table.keys[places], -totals))[:limit]
    scores = profile.scores(totals)
    chosen = places[order]
    values = zip(
        table.keys[chosen].tolist(), scores[order].tolist(), rows_of(table.features, chosen), chosen.tolist(), strict=True
    )
    return [Found(*one) for one in values]


def with_derived(found: Sequence[Found], table: Table, limit: int) -> list[Found]:
    """The hits with what sleep wrote of them behind them, where there is room.

    Where there is none the closest takes the last place, if by its vector it is closer
    to the question than every single memory: then the whole is asked for. So nothing
    that was said stands lower than it would without sleep, but for that last one.
    """
    kept = list(found[:limit])
    score = kept[-1].score if kept else 0.0
    behind = [Found(key, score, _NOTHING, _NO_ROW) for key, _ in table.derived]
    if len(kept) == limit and kept and behind and table.derived[0][1] > table.closest:
        return [*kept[:-1], behind[0]]
    return [*kept, *behind][:limit]


def _no_counts(rows: int) -> Counts:
    return Counts(np.zeros((0, rows), dtype=np.float32), np.zeros(0, dtype=np.float32))


def _aligned(found: Similarities | None, surveyed: Surveyed) -> Floats:
    """The cosine of each row, in the order of the rows; 0 where there is no vector."""
    if found is None or not len(found[0]):
        return np.zeros(len(surveyed.keys), dtype=np.float32)
    keys, cosines = found
    # All parts of a question have the same keys: where their rows are is found out once.
    if not surveyed.held or surveyed.held[0] is not keys:
        order = surveyed.order
        surveyed.held[:] = [keys, place_of(keys, surveyed.keys[order.positions])[order.places]]
    at = surveyed.held[1]
    return np.where(at >= 0, cosines[at], np.float32(0)).astype(np.float32, copy=False)
