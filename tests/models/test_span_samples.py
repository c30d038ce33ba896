"""Samples that are made once and kept, and which of them are shown next."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from span_samples import Samples, Shown, by_file, make, read_all, weight_of
from train_span_reader import mean_of

from aico_memory.bench.facts.passages import WHOLE
from aico_memory.bench.facts.streams import LEARN, Asked, Said, Stream

DAY_US = 86_400_000_000


def stream(number: int, file: str = "en-learn-1") -> Stream:
    said = (
        Said(DAY_US, f"I live in Town{number}."), Said(9 * DAY_US, f"My dentist is Dr Name{number}."),
    )  # fmt: skip
    asked = (Asked(None, "Where do I live?", (f"Town{number}",)), Asked(None, "Who is my dentist?", (f"Dr Name{number}",)))
    return Stream(f"{file}-{number:03d}", "en", LEARN, 20 * DAY_US, said, asked)


def test_what_was_shown_less_comes_first() -> None:
    shown = Shown([1.0] * 40, np.random.default_rng(1))
    drawn = np.concatenate([shown.draw(10) for _ in range(16)])
    counts = np.bincount(drawn, minlength=40)
    assert counts.sum() == 160
    # Drawn alike, some would be shown not once and others ten times.
    assert counts.min() >= 2
    assert counts.max() <= 7


def test_weightier_samples_are_shown_more_and_each_once_in_a_draw() -> None:
    shown = Shown([1.0] * 50 + [8.0] * 50, np.random.default_rng(1))
    drawn = [shown.draw(20) for _ in range(10)]
    assert all(len(set(one.tolist())) == 20 for one in drawn)
    counts = np.bincount(np.concatenate(drawn), minlength=100)
    assert counts[50:].sum() > 1.5 * counts[:50].sum()
    assert len(shown.draw(1000)) == 100


def test_a_file_has_the_weight_of_the_first_pattern_that_it_begins_with() -> None:
    weights = {"tr-learn-3": 2.0, "..-learn": 0.5}
    assert [weight_of(name, weights) for name in ("tr-learn-31", "de-learn-31", "de-fresh")] == [2.0, 0.5, 1.0]


def test_samples_are_made_once_for_the_streams_that_they_are_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    streams = [stream(number) for number in range(3)] + [stream(4, "en-learn-2")]
    make(streams, tmp_path, seed=1, processes=1)
    assert "2 of 2 files" in capsys.readouterr().out
    found = list(read_all(streams, tmp_path, seed=1))
    whole = [one for one in found if one.variant == WHOLE]
    assert [one.expected for one in whole] == [one.expected for each in streams for one in each.asked]
    assert all(one.gold and one.ruled_right for one in whole)
    make(streams, tmp_path, seed=1, processes=1)
    assert capsys.readouterr().out == ""
    # Of another seed, and of a stream that was changed, nothing was made yet.
    samples, groups = Samples(tmp_path, 1), by_file(streams)
    assert all(samples.has(name, mine) for name, mine in groups.items())
    assert not samples.has("en-learn-2", [stream(5, "en-learn-2")])
    with pytest.raises(FileNotFoundError):
        list(read_all(streams, tmp_path, seed=2))


def test_a_share_of_the_weights_of_before_stays() -> None:
    mean = mean_of({"a": torch.zeros(2)}, {"a": torch.ones(2)}, 0.25)
    assert torch.allclose(mean["a"], torch.full((2,), 0.75))
