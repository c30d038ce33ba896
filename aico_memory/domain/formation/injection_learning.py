"""Learning the rule of a language from texts that try to give orders to the memory and from ordinary ones.

Ridge regression on 0 and 1 over runs that stand in several texts, each weighed by its rarity (idf); of these the ones are
kept that move scores most. The threshold is read off texts of hands that a rule has not seen: whoever wrote a text writes
the next one alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from aico_memory.domain.formation.injection import InjectionRule, amounts
from aico_memory.domain.text_regression.grams import Columns, Floats, Rows, idf, rows_of
from aico_memory.domain.text_regression.ridge import sparse_ridge

# Texts that a run has to stand in; runs that are kept; what weights are held down by.
LEAST_TEXTS: Final = 3
KEPT_RUNS: Final = 8000
PENALTY: Final = 1.0
# Scale of the rows, so that idf leaves their length below 1 (sparse_ridge counts what is missing to it as unknown).
_SCALE: Final = 1 / 3


class Text(NamedTuple):
    """A text, whether it is an attempt, and whose hand wrote it; "" for ordinary messages."""

    words: str
    attempt: bool
    hand: str


def learned(texts: Sequence[Text], threshold: float = 0.5, kept: int = KEPT_RUNS) -> InjectionRule:
    """The rule of these texts, of which some are attempts and some are not."""
    found = [amounts(one.words) for one in texts]
    standing = Counter(run for row in found for run in row)
    known = sorted(run for run, times in standing.items() if times >= LEAST_TEXTS)
    rarity = np.array([idf(standing[run], len(texts)) for run in known], dtype=np.float32)
    truth = np.array([one.attempt for one in texts], dtype=np.float32)
    base = float(truth.mean())
    solved = sparse_ridge(_rows(found, known, rarity), (truth - truth.mean())[:, np.newaxis], PENALTY)[:, 0]
    weights = solved * rarity * _SCALE
    moving = np.abs(weights) * np.sqrt([standing[run] for run in known])
    chosen = sorted(np.argsort(-moving, kind="stable")[:kept])
    return InjectionRule({known[place]: float(weights[place]) for place in chosen}, base, threshold)


def unseen_scores(texts: Sequence[Text]) -> Floats:
    """Scores of the texts of hands, in their order, each by the rule of all the other hands and the ordinary messages."""
    hands = sorted({one.hand for one in texts if one.hand})
    rules = {hand: learned([one for one in texts if one.hand != hand]) for hand in hands}
    return np.array([rules[one.hand].score(one.words) for one in texts if one.hand], dtype=np.float32)


def threshold_of(scores: Floats, attempts: Sequence[bool], most_wrong: float) -> float:
    """The least threshold at which at most this share of the ordinary texts is taken for attempts."""
    ordinary = np.sort(scores[~np.array(attempts, dtype=bool)])[::-1]
    allowed = int(most_wrong * len(ordinary))
    return float(np.nextafter(ordinary[allowed], np.float32(np.inf))) if allowed < len(ordinary) else float(ordinary[-1])


def _rows(found: Sequence[Mapping[str, float]], known: Sequence[str], rarity: Floats) -> Rows:
    place_of = {run: place for place, run in enumerate(known)}

    def row(of: Mapping[str, float]) -> tuple[Columns, Floats]:
        places = {place_of[run]: amount for run, amount in of.items() if run in place_of}
        values = [amount * float(rarity[place]) * _SCALE for place, amount in places.items()]
        return np.array(list(places), dtype=np.int32), np.array(values, dtype=np.float32)

    return rows_of(map(row, found), len(known))
