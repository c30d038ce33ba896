"""Features, profiles and how weights are learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.domain.retrieval.bm25 import scored
from aico_memory.domain.retrieval.cues import DateCue
from aico_memory.domain.retrieval.evidence import Counts, Rows
from aico_memory.domain.retrieval.features import NAMES, Asked, Figures, features
from aico_memory.domain.retrieval.learning import Sample, learn
from aico_memory.domain.retrieval.ranking import Profile


def rows(number: int, **more: object) -> Rows:
    """Turns of one session, ten words each."""
    zeros = np.zeros(number, dtype=np.float32)
    no = np.zeros(number, dtype=np.bool_)
    made = Rows(
        words=zeros + 10, characters=zeros + 40, joined=np.arange(number) > 0, turns=number,
        said_at_us=np.zeros(number, dtype=np.int64), ends_asking=no, asks=no, tells_time=no, importance=zeros, utility=zeros,
        confidence=zeros, uses=zeros, visible=~no,
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]


def asked(often: list[list[float]], similarity: list[float]) -> tuple[Asked, np.ndarray]:
    counts = Counts(np.array(often, dtype=np.float32), np.ones(len(often), dtype=np.float32))
    nothing = Counts(np.zeros((0, len(similarity)), dtype=np.float32), np.zeros(0, dtype=np.float32))
    return Asked(counts, nothing, DateCue(), False, 10**15), np.array(similarity, dtype=np.float32)


def column(table: np.ndarray, name: str) -> list[float]:
    return [round(float(value), 5) for value in table[:, NAMES.index(name)]]


def test_a_turn_beside_the_matching_one_has_its_window_s_evidence():
    table = features(rows(5), *asked([[0, 1, 0, 0, 0]], [0.0] * 5), Figures())
    near, far = column(table, "window_1")[2], column(table, "window_1")[4]
    assert (column(table, "words")[2], far) == (0, 0)
    assert near > 0
    assert column(table, "words_before")[2] > 0 == column(table, "words_after")[2]


def test_a_long_text_does_not_need_its_neighbours():
    lengths = np.array([10, 10, 2000, 10], dtype=np.float32)
    table = features(rows(4, words=lengths), *asked([[0, 3, 0, 0]], [0.0] * 4), Figures())
    assert column(table, "window_1")[2] < 0.01 < column(table, "window_1")[0]


def test_what_is_not_to_be_seen_says_nothing_of_its_neighbours():
    hidden = np.array([True, False, True])
    table = features(rows(3, visible=hidden), *asked([[0, 5, 0]], [0.1, 0.9, 0.1]), Figures())
    assert column(table, "words") == column(table, "window_1") == [0, 0, 0]
    assert max(column(table, "session_similarity")) == pytest.approx(0.1, abs=1e-5)


def test_words_that_match_by_chance_count_less_than_those_that_hold_the_question():
    chance = [[1.0, 0, 0]] + [[0.0, 0, 0]] * 9
    strong = [[1.0, 0, 0]]
    weak, whole = (column(features(rows(3), *asked(often, [0.0] * 3), Figures()), "coverage")[0] for often in (chance, strong))
    assert weak < 0.1 * whole


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1, width=32), min_size=4, max_size=4), st.integers(0, 3), st.floats(0.015625, 1, width=32))
def test_more_similarity_never_lowers_a_score(similarity, place, more):
    profile = Profile("p", {"similarity": 2.0, "session_similarity": 1.0, "words": 1.0})
    raised = list(similarity)
    raised[place] = min(1.0, raised[place] + more)
    scores = [
        profile.totals(features(rows(4), *asked([[1, 0, 1, 0]], given_), Figures()))[place] for given_ in (similarity, raised)
    ]
    assert scores[1] >= scores[0] - 1e-5


@given(st.integers(1, 6), st.integers(1, 50))
def test_bm25_lies_between_nothing_and_a_little_above_one(often, length):
    counts = Counts(np.array([[often, 0, 0]], dtype=np.float32), np.ones(1, dtype=np.float32))
    found = scored(counts, np.array([length, 10, 10], dtype=np.float32), np.ones(3, dtype=np.bool_))
    assert 0 < found.bm25[0] <= 2.2
    assert found.coverage.tolist() == [1, 0, 0]


def test_shares_add_up_to_the_log_odds():
    profile = Profile("p", {"similarity": 3.0, "words": 2.0}, scale=1.5, offset=-1.0)
    row = features(rows(2), *asked([[1, 0]], [0.5, 0.1]), Figures())[0]
    total = float(profile.totals(row[None, :])[0])
    assert sum(profile.shares(row).values()) == pytest.approx(1.5 * total, rel=1e-5)
    assert profile.scores(np.array([total], dtype=np.float32))[0] == pytest.approx(
        1 / (1 + np.exp(1.0 - 1.5 * total)), rel=1e-5
    )


def test_a_profile_of_unknown_features_is_refused():
    with pytest.raises(ValueError, match="starlight"):
        Profile("p", {"starlight": 1.0})


def test_learning_finds_what_tells_right_from_wrong_and_keeps_evidence_from_counting_against():
    rng = np.random.default_rng(3)
    samples = []
    for _ in range(60):
        table = rng.random((20, len(NAMES))).astype(np.float32)
        right = int(np.argmax(table[:, NAMES.index("similarity")] - table[:, NAMES.index("words")]))
        samples.append(Sample(table, np.array([right]), np.zeros(20, dtype=np.float32)))
    found = learn(samples, ["similarity", "words", "asking"], 1e-3, 200)
    assert found.weights["similarity"] > 1
    assert found.weights["words"] == 0
    assert abs(found.weights["asking"]) < 0.3 * found.weights["similarity"]
    assert found.scale > 0
