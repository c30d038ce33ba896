"""How the weights that tell whom to believe are learned."""

from __future__ import annotations

import numpy as np
import pytest

from aico_memory.bench.facts.run import Vectoriser
from aico_memory.bench.facts.streams import Asked, Said, Stream
from aico_memory.bench.facts.trusting import TrustCase, chosen, fit_trust, weighings
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.recall.reading.passage import Passage
from aico_memory.domain.recall.reading.picking import Reading, Run
from aico_memory.domain.recall.reading.trust import READ, RULES, SILENCE, Trust
from aico_memory.models.twin import HashedEmbedder

START, DAY = 1_772_000_000_000_000, 86_400_000_000


def last_word(read: Passage) -> Reading:
    """Takes the last word for the answer."""
    return Reading([Run(len(read.words) - 1, len(read.words) - 1, 0.8)], answers=0.8)


def test_questions_are_weighed_with_who_is_right(tables: FormationTables) -> None:
    said = (Said(START, "I live in Leeds."), Said(START + 9 * DAY, "I wrote to Graz."))
    asked = (
        Asked(None, "Where do I live?", ("Leeds",)), Asked(START + DAY, "Where did I live?", ("Leeds",)),
        Asked(None, "Which ferry do I take?", ()), Asked(None, "Where did I write to?", ("Graz",)),
    )  # fmt: skip
    found = weighings(
        [Stream("one", "en", "develop", START + 20 * DAY, said, asked)], tables, Vectoriser(HashedEmbedder()), last_word
    )
    lives, ferry = found.cases[0], next(case for case in found.cases if SILENCE not in case.right)
    assert lives.right == {RULES: True, READ: False, SILENCE: False}
    assert ferry.right == {RULES: True, READ: False}
    assert ("one", "now", True) in found.agreed, "both say Graz"
    assert len(found.cases) + len(found.agreed) == 4


def test_the_weights_follow_who_is_right() -> None:
    rng = np.random.default_rng(3)
    cases = []
    for number in range(600):
        sure, told = float(rng.normal()), float(rng.random() < 0.5)
        right = bool(rng.random() < 1 / (1 + np.exp(-(2 * sure - told))))
        options = {READ: right, RULES: bool(told and not right)} | ({SILENCE: False} if told else {})
        cases.append(TrustCase(f"s{number}", "now", {"one": 1.0, "read": sure, "told": told}, options))
    trust = Trust(fit_trust(cases, [1.0] * len(cases), 1.0))
    assert trust.weights[READ]["read"] == pytest.approx(2, abs=0.4)
    assert trust.weights[READ]["told"] == pytest.approx(-1, abs=0.5)
    doubtful = TrustCase("x", "now", {"one": 1.0, "read": -2.0, "told": 1.0}, {READ: False, RULES: True, SILENCE: False})
    assert chosen(doubtful, trust) == RULES
    assert trust.chances({"one": 1.0, "told": 1.0})[SILENCE] < 0.1
    ignored = fit_trust(cases, [0.0] * len(cases), 1.0)
    assert all(abs(value) < 1e-6 for value in ignored[READ].values()), "what counts nothing"
    without = fit_trust([TrustCase("s", "now", {"one": 1.0}, {READ: True, RULES: False})], [1.0], 1.0)
    assert Trust(without).chances({"one": 1.0})[SILENCE] < 0.001, "it was never there"
