"""Choosing by what is left out: groups, and the weights that follow."""

import hashlib

import numpy as np
import pytest

from aico_memory.domain.feedback.phrases import CATEGORIES, Phrase
from aico_memory.domain.feedback.validation import (
    THRESHOLDS,
    acting,
    calibrate,
    choose,
    cross_validate,
    figures,
    groups,
    spoken_mask,
    threshold_of,
    train,
)  # fmt: skip


def phrases(*texts, language="en"):
    return [Phrase(language, "none", text) for text in texts]


def test_what_is_spelled_alike_is_one_group_also_through_a_third():
    found = groups(phrases("This is far too long", "This is far too long!", "Thank you very much", "This is far too long!!"))
    assert found[0] == found[1] == found[3]
    assert found[0] != found[2]


def test_groups_are_found_across_blocks():
    texts = [f"sentence number {place} about {place * 7919}" for place in range(600)] + ["sentence number 3 about 23757"]
    found = groups(phrases(*texts))
    assert found[3] == found[600]


def test_the_voice_that_is_right_gets_a_share_and_the_one_that_is_wrong_none():
    truth = np.array([0, 1] * 20)
    right = np.eye(len(CATEGORIES), dtype=np.float32)[truth]
    blind = np.full_like(right, 1 / len(CATEGORIES))
    share, _, reached = choose(blind, right, truth)
    assert share > 0
    assert reached.accuracy == 1.0
    share, _, _ = choose(right, right[::-1].copy(), truth)
    assert share == 0.0


def test_figures_count_what_is_right_and_how_sure_it_is():
    scores = np.array([[1.0, 0, 0, 0, 0, 0], [1.0, 0, 0, 0, 0, 0]], dtype=np.float32)
    sure, unsure = figures(scores, 10.0, np.array([0, 1])), figures(scores, 1.0, np.array([0, 1]))
    assert sure.accuracy == unsure.accuracy == 0.5
    assert sure.loss > unsure.loss


@pytest.mark.parametrize("languages", [("en",), ()])
def test_a_model_is_trained_on_what_it_speaks_and_beside_it_on_what_it_does_not(languages):
    # The spelling says nothing, the vectors everything.
    every = [
        Phrase(language, category, hashlib.sha256(f"{language}{category}{place}".encode()).hexdigest())
        for language in ("en", "de")
        for category in CATEGORIES
        for place in range(4)
    ]
    vectors = np.eye(len(CATEGORIES), dtype=np.float32)[[CATEGORIES.index(one.category) for one in every]]
    crossed = cross_validate(every, vectors, languages, 0.3, 0.1)
    meaning, reached = train(every, vectors, crossed, "f|6|1", "tiny", languages, 0.1)
    assert reached["spoken"].accuracy > 0.9
    assert (meaning.foreign is None) == (languages == ())
    assert spoken_mask(every, languages).sum() == (24 if languages else 48)
    assert crossed.spelling.shape == (48, len(CATEGORIES))
    assert meaning.threshold is None
    kept, acted, held_out = calibrate(every, crossed, meaning, 0.8)
    assert kept.threshold == acted.threshold in THRESHOLDS
    assert acted.precision >= 0.8 and acted.reached > 0.9
    assert held_out.precision > 0.7
    assert (kept.spoken, kept.foreign) == (meaning.spoken, meaning.foreign)


def test_the_threshold_is_the_least_from_which_enough_of_what_is_acted_on_is_right():
    # too_verbose at .6 and .4 rightly, at .3 wrongly (nothing was complained of), at .2 of another complaint.
    chances = np.zeros((4, len(CATEGORIES)))
    chances[:, 0] = 0.6, 0.4, 0.3, 0.2
    truth = np.array([0, 0, CATEGORIES.index("none"), 1])
    assert threshold_of(chances, truth, 0.9) == 0.31
    assert threshold_of(chances, truth, 0.6) == 0.21
    assert threshold_of(chances, truth, 0.5) == THRESHOLDS[0]
    assert acting(chances, truth, 0.31).precision == 1.0
    assert acting(chances, truth, 0.31).reached == pytest.approx(2 / 3, abs=1e-4)
    assert threshold_of(np.full((1, len(CATEGORIES)), 0.9), np.array([CATEGORIES.index("none")]), 0.5) == THRESHOLDS[0]
