"""Other tellings of what the span reader learns from: values for others like them, and words left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import span_varying
from span_training import Example
from span_varying import NEAREST, Variations

from aico_memory.domain.recall.reading.passage import MARKS
from aico_memory.models.span_reader import Encoded
from tests.models.test_span_training import example

CLS, SEP, MASK = 1, 2, 3
# Pieces from 100 on are of one sort, those below are words around them.
PLACES = range(100, 100 + 2 * NEAREST)


def telling(value: int, other: int, language: str = "en") -> Example:
    """[CLS] 50 51 [SEP] 52 value 53 other value [SEP], where the value answers and the other one does not."""
    tokens = np.array([CLS, 50, 51, SEP, 52, value, 53, other, value, SEP])
    # Runs of one token each, and of two.
    made = example(len(tokens), [[8, 14]], 1)
    encoded = Encoded(tokens, np.zeros((len(tokens), len(MARKS)), dtype=np.int64), made.encoded.first, made.encoded.last)
    return replace(made, encoded=encoded, sample=replace(made.sample, language=language))


def variations(seed: int = 1) -> Variations:
    """Such that know the sort."""
    words = np.random.default_rng(0).normal(0, 1, (200, 8)).astype(np.float32)
    made = Variations(words, MASK, (CLS, SEP), seed)
    made.learn([telling(value, 60) for value in PLACES])
    return made


def test_the_telling_answers_by_a_value_of_the_same_sort_wherever_the_value_stood() -> None:
    mine, seen = telling(100, 60), set()
    vary = variations()
    for _ in range(60):
        tokens = vary.of(mine).encoded.tokens
        seen.add(int(tokens[5]))
        assert MASK in tokens or tokens[5] == tokens[8]
    assert len(seen) > NEAREST / 2
    assert seen <= {MASK, *PLACES}
    assert mine.encoded.tokens[5] == 100


def test_what_could_be_a_value_and_is_none_is_replaced_as_well() -> None:
    vary = variations()
    others = {int(vary.of(telling(100, 110)).encoded.tokens[7]) for _ in range(40)}
    assert others - {110, MASK} and others <= {MASK, *PLACES}


def test_words_are_left_out_but_never_what_parts_them() -> None:
    vary = variations()
    told = np.stack([vary.of(telling(100, 60)).encoded.tokens for _ in range(200)])
    assert (told[:, [0, 3, 9]] == [CLS, SEP, SEP]).all()
    assert 0 < (told[:, 1] == MASK).mean() < 2 * span_varying.THINNED * span_varying.LOST


def test_another_language_has_values_of_its_own() -> None:
    vary = variations()
    assert {int(vary.of(telling(100, 60, "tr")).encoded.tokens[5]) for _ in range(30)} <= {100, MASK}


def test_the_same_seed_tells_the_same() -> None:
    one, other = variations(4), variations(4)
    for _ in range(10):
        assert (one.of(telling(100, 60)).encoded.tokens == other.of(telling(100, 60)).encoded.tokens).all()
