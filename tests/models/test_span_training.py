"""What the span reader learns from: the loss of a batch, and the optimiser that multiplies in 16 bits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from span_network import PAIR
from span_training import Example, Optimiser, Rates, batches, loss_of, pace, run, with_dropout
from torch.nn.functional import cross_entropy, softplus

from aico_memory.bench.facts.passages import HIDDEN, WHOLE, PassageSample
from aico_memory.domain.recall.reading.passage import MARKS, Passage
from aico_memory.models.span_reader import Encoded
from tests.models.test_span_network import network

COLUMNS = 2 + 2 * PAIR + 8 + 3


def example(tokens: int, gold: list[list[int]], seed: int, ends: int = 0, variant: str = HIDDEN) -> Example:
    """Of that many tokens, one a word, each a run by itself and with the next."""
    rng = np.random.default_rng(seed)
    begin = np.repeat(np.arange(1, tokens - 1), 2)
    finish = begin + np.tile(np.arange(2), tokens - 2)
    right = sorted({at for runs in gold for at in runs})
    wrong = np.array([at for at in range(len(begin)) if at not in right], dtype=np.int64)
    apart = np.array(
        [at for at in wrong if all(finish[at] < begin[one] or begin[at] > finish[one] for one in right)], dtype=np.int64
    )
    passage = Passage((), np.zeros(0, dtype=np.int64), np.zeros((0, len(MARKS)), dtype=np.int8), ())
    sample = PassageSample("en-learn-1-001", "now", variant, "en", passage, ("x",) * len(gold), (), ())
    encoded = Encoded(rng.integers(1, 99, tokens), np.zeros((tokens, len(MARKS)), dtype=np.int64), begin[:0], begin[:0])
    return Example(
        sample, encoded, begin, finish, tuple(np.array(runs) for runs in gold), wrong, apart,
        rng.integers(1, tokens, ends), rng.integers(0, 8, ends),
    )  # fmt: skip


EXAMPLES = [
    example(9, [[4]], 1), example(12, [[2], [9, 15]], 2, ends=3), example(6, [], 3), example(12, [[0, 1], [6], [18]], 4),
]  # fmt: skip


def alone(scores: torch.Tensor, one: Example) -> float:
    """The loss of one passage, value by value."""
    head = scores[0]
    lost = softplus(-head[-1] if one.gold else head[-1])
    if not one.gold:
        return one.weight * float(lost)
    margins = torch.stack([
        scores[first, 0] + scores[last, 1] + scores[first, 2 : 2 + PAIR] @ scores[last, 2 + PAIR : 2 + 2 * PAIR]
        for first, last in zip(one.begin, one.finish, strict=True)
    ])  # fmt: skip
    values = [torch.logsumexp(margins[runs], 0) for runs in one.gold]
    among = sum(softplus(torch.logsumexp(margins[one.wrong], 0) - value) for value in values) / len(values)
    above = sum(softplus(head[-2] - value) for value in values) / len(values)
    above = above + softplus(torch.logsumexp(margins[one.apart], 0) - head[-2])
    several = len(values) > 1
    lost = lost + among + (1.0 if several else 0.3) * above + 0.3 * softplus(-head[-3] if several else head[-3])
    if len(one.ends):
        lost = lost + 0.3 * cross_entropy(scores[one.ends, 2 + 2 * PAIR : -3], torch.from_numpy(one.cuts))
    return one.weight * float(lost)


def test_the_loss_of_a_batch_is_the_mean_of_what_each_passage_loses_value_by_value() -> None:
    scores = torch.randn((len(EXAMPLES), 12, COLUMNS), generator=torch.Generator().manual_seed(7))
    expected = np.mean([alone(row[: one.size], one) for row, one in zip(scores, EXAMPLES, strict=True)])
    assert float(loss_of(scores, EXAMPLES)) == pytest.approx(float(expected), rel=1e-5)


def test_a_batch_in_which_nothing_answers_has_a_loss() -> None:
    scores = torch.randn((1, 6, COLUMNS), generator=torch.Generator().manual_seed(7))
    assert float(loss_of(scores, [EXAMPLES[2]])) == pytest.approx(alone(scores[0], EXAMPLES[2]))


def test_silence_where_much_was_told_weighs_more() -> None:
    assert example(6, [], 3, variant=WHOLE).weight > example(6, [[1]], 3, variant=WHOLE).weight == 1.0


@pytest.mark.parametrize("half", [False, True])
def test_learning_lowers_the_loss_and_leaves_words_alone_that_no_batch_holds(half: bool) -> None:
    model = with_dropout(network(1), 0.1, seed=1)
    words = model.encoder.embeddings.word_embeddings.weight
    before = words.detach().clone()
    optimiser = Optimiser(model, Rates(1e-3, 1e-3, 1e-3, 1e-3, half))
    losses = [optimiser.step(EXAMPLES, step / 60) for step in range(60)]
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])
    held = sorted({int(token) for one in EXAMPLES for token in one.encoded.tokens} | {0})
    others = [token for token in range(100) if token not in held]
    assert torch.equal(words[others], before[others])
    assert not torch.equal(words[held], before[held])
    # The weights that are kept are those that were learned, whatever numbers did the work.
    with torch.no_grad():
        scores = run(model.eval(), [one.encoded for one in EXAMPLES])
    assert scores.dtype == torch.float32
    assert float(loss_of(scores, EXAMPLES)) < 0.5 * np.mean(losses[:5])


def test_the_rate_rises_and_falls_to_nothing() -> None:
    paces = [pace(done) for done in np.linspace(0, 1, 101)]
    highest = int(np.argmax(paces))
    assert paces[highest] == pytest.approx(1)
    assert paces[:highest] == sorted(paces[:highest])
    assert paces[highest:] == sorted(paces[highest:], reverse=True)
    assert paces[0] == paces[-1] == pace(1.5) == 0


def test_embeddings_of_words_may_stay() -> None:
    model = network(1)
    before = model.encoder.embeddings.word_embeddings.weight.detach().clone()
    optimiser = Optimiser(model, Rates(1e-3, 1e-3, 1e-3, 0.0, False))
    optimiser.step(EXAMPLES, 0.5)
    assert torch.equal(model.encoder.embeddings.word_embeddings.weight, before)


def test_dropout_leaves_out_its_share_in_training_only_and_nothing_of_attention() -> None:
    model = with_dropout(network(1), 0.25, seed=1)
    assert model.encoder.encoder.layer[0].attention.self.dropout.p == 0
    vectors = torch.ones((20, 50, 48))
    out = model.drop.train()(vectors)
    assert float((out == 0).float().mean()) == pytest.approx(0.25, abs=0.01)
    assert float(out.mean()) == pytest.approx(1, abs=0.02)
    assert torch.equal(model.drop.eval()(vectors), vectors)


def test_every_sample_is_in_one_batch_of_bounded_size() -> None:
    many = [example(size, [[0]], size) for size in range(5, 60)]
    found = batches(many, np.random.default_rng(1))
    assert sorted(at for batch in found for at in batch) == list(range(len(many)))
    assert all(len(batch) * max(many[at].size for at in batch) <= 3000 for batch in found)
