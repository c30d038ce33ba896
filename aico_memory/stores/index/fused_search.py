"""From a question to ranked rows: features over all memories of the scopes, weighed by a profile.

The same code answers in the worker and in the benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aico_memory.domain.memory import View, conditions
from aico_memory.domain.retrieval.evidence import Counts, Flags, Floats
from aico_memory.domain.retrieval.features import Asked, Figures, features
from aico_memory.domain.retrieval.question import Question, QuestionTables, read_question
from aico_memory.domain.retrieval.ranking import Profile
from aico_memory.stores.index.facet_columns import mask
from aico_memory.stores.index.scope_text import ScopeText, place_of
from aico_memory.stores.index.vector_port import Similarities


class Found(NamedTuple):
    """A memory with its score, 0..1, and what each feature added to its log-odds."""

    key: int
    score: float
    shares: dict[str, float]


class Table(NamedTuple):
    """Every row of the scopes: its key, its features, and whether the question may have it."""

    keys: npt.NDArray[np.int64]
    features: Floats
    admitted: Flags


@dataclass(frozen=True, slots=True)
class Profiles:
    """Which weights apply: where the vectors speak the question's language, and where words decide."""

    fused: Profile
    lexical: Profile

    def of(self, question: Question, with_vectors: bool) -> Profile:
        """The profile for this question."""
        return self.fused if with_vectors and not question.foreign else self.lexical


def read(text: str, texts: Sequence[ScopeText], tables: QuestionTables, model_languages: Sequence[str], most: int) -> Question:
    """The question as these scopes understand it; `most` languages of theirs are looked up."""
    speakers = {speaker for scope in texts for speaker in scope.speakers}
    spoken: dict[str, int] = {}
    for scope in texts:
        for language, often in scope.languages.items():
            spoken[language] = spoken.get(language, 0) + often
    likely = sorted(spoken, key=lambda language: (-spoken[language], language))[:most]
    return read_question(text, tables, participants=speakers, spoken=likely, model_languages=model_languages)


def tabulate(
    question: Question,
    texts: Sequence[ScopeText],
    view: View,
    similarities: Callable[[int], Similarities | None],
    figures: Figures,
    characters: bool,
) -> Table:
    """The features of all rows; `similarities(i)` are those of the i-th scope, None where there are no vectors.

    Runs of characters are looked at where `characters` says so; they help where no vector speaks the language.
    """
    admitting = conditions(view)
    # What stands outside a filter is still a neighbour; what is not to be believed is not.
    believing = conditions(replace(view, kinds=(), tiers=(), session_id="", since_us=0, until_us=0))
    keys, columns, admitted = [], [], []
    for place, text in enumerate(texts):
        alive, facets = text.alive(), text.columns()
        visible = alive & mask(believing, facets)
        keys.append(text.keys().copy())
        admitted.append(alive & mask(admitting, facets))
        rows = text.rows(visible)
        runs = text.count_characters(question.words) if characters else _no_counts(len(rows))
        asked = Asked(
            text.count_words(question.words), runs, _aligned(similarities(place), keys[-1]), question.date,
            question.wants_time, view.now_us,
        )  # fmt: skip
        columns.append(features(rows, asked, figures))
    return Table(np.concatenate(keys), np.concatenate(columns), np.concatenate(admitted))


def best(table: Table, profile: Profile, limit: int) -> list[Found]:
    """The `limit` best admitted rows, best first; equal ones by age."""
    places = np.flatnonzero(table.admitted)
    totals = profile.totals(table.features[places])
    if limit < len(places):
        chosen = np.argpartition(-totals, limit - 1)[:limit] if limit > 0 else np.empty(0, dtype=np.intp)
        places, totals = places[chosen], totals[chosen]
    order = np.lexsort((table.keys[places], -totals))
    scores = profile.scores(totals)
    return [Found(int(table.keys[places[at]]), float(scores[at]), profile.shares(table.features[places[at]])) for at in order]


def _no_counts(rows: int) -> Counts:
    return Counts(np.zeros((0, rows), dtype=np.float32), np.zeros(0, dtype=np.float32))


def _aligned(found: Similarities | None, keys: npt.NDArray[np.int64]) -> Floats:
    values = np.zeros(len(keys), dtype=np.float32)
    if found is not None and len(found[0]):
        at = place_of(found[0], keys)
        values = np.where(at >= 0, found[1][at], np.float32(0)).astype(np.float32)
    return values
