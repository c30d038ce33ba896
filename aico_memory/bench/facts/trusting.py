"""Cases from which to learn whom to believe: what rules and reader say of streams, and which of them is right.

Only streams from which the reader has not learned tell how sure it may be; `kept_out` of its recipe names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aico_memory.bench.facts.run import Vectoriser, pose, statements_of
from aico_memory.bench.facts.streams import Asked, Stream
from aico_memory.bench.facts.tally import answers
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.logistic import fit_logistic
from aico_memory.domain.recall.deciding import weigh
from aico_memory.domain.recall.reading.picking import Scorer
from aico_memory.domain.recall.reading.trust import OPTIONS, READ, RULES, SILENCE, Trust
from aico_memory.domain.recall.timeline import Held, resolve

# Log-odds of an option that was never there.
_NEVER = -9.0


@dataclass(frozen=True, slots=True)
class TrustCase:
    """A question on which rules and reader differ, and which options are there and right."""

    stream: str
    tense: str
    features: Mapping[str, float]
    # By option; an option that is not there is missing.
    right: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class Weighings:
    """The cases, and the questions on which rules and reader agree, with whether they are right: (stream, tense, right)."""

    cases: tuple[TrustCase, ...]
    agreed: tuple[tuple[str, str, bool], ...]


def weighings(streams: Sequence[Stream], tables: FormationTables, vectoriser: Vectoriser, read: Scorer) -> Weighings:
    """Every question of the streams, weighed."""
    cases: list[TrustCase] = []
    agreed: list[tuple[str, str, bool]] = []
    for stream in streams:
        held = resolve(statements_of(stream, tables))
        for asked in stream.asked:
            found = _weighed(stream, asked, held, tables, vectoriser, read)
            if isinstance(found, TrustCase):
                cases.append(found)
            else:
                agreed.append(found)
    return Weighings(tuple(cases), tuple(agreed))


def _weighed(
    stream: Stream, asked: Asked, held: Sequence[Held], tables: FormationTables, vectoriser: Vectoriser, read: Scorer
) -> TrustCase | tuple[str, str, bool]:
    tense, posed = pose(stream, asked, held, tables, vectoriser.to(asked.question))
    weighed = weigh(*posed, read)
    ruled = answers(weighed.ruled.values, asked.expected)
    if weighed.features is None:
        return stream.id, tense, ruled
    right = {RULES: ruled}
    if weighed.told.values:
        right[READ] = answers(weighed.told.values, asked.expected)
    if weighed.ruled.values:
        right[SILENCE] = not asked.expected
    return TrustCase(stream.id, tense, weighed.features, right)


def chosen(case: TrustCase, trust: Trust) -> str:
    """The option that would be taken."""
    chances = trust.chances(case.features)
    return max(case.right, key=lambda option: chances[option])


def fit_trust(cases: Sequence[TrustCase], weights: Sequence[float], penalty: float) -> dict[str, dict[str, float]]:
    """A logistic regression for each option on the cases that have it; `weights`: how much each case counts."""
    found: dict[str, dict[str, float]] = {}
    for option in OPTIONS:
        mine = [(case, weight) for case, weight in zip(cases, weights, strict=True) if option in case.right]
        if not mine:
            found[option] = {"one": _NEVER}
            continue
        names = sorted({name for case, _ in mine for name in case.features})
        rows = np.array([[case.features.get(name, 0.0) for name in names] for case, _ in mine], dtype=np.float64)
        right = np.array([case.right[option] for case, _ in mine], dtype=np.float64)
        counts = np.array([weight for _, weight in mine], dtype=np.float64)
        free = np.array([name != "one" for name in names], dtype=np.float64) * penalty
        found[option] = dict(zip(names, fit_logistic(rows, right, counts, free, np.zeros(len(names))).tolist(), strict=True))
    return found
