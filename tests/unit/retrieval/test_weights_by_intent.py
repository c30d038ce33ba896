"""The ablation's weights by the kind of a question."""

from __future__ import annotations

import numpy as np

from aico_memory.bench.retrieval import by_intent
from aico_memory.bench.retrieval.by_intent import SPECIFIED, learned_by_intent, specified_by_intent
from aico_memory.domain.context.routing import INTENTS
from aico_memory.domain.retrieval.features import NAMES
from aico_memory.domain.retrieval.learning import Sample, thinned
from aico_memory.domain.retrieval.ranking import Profile

POOLED = {name: Profile(name, {"similarity": 1.0, "words": 1.0, "date": 1.0}, 2.0, -1.0) for name in ("a", "b")}


def sample(feature: str) -> Sample:
    """Ten rows; the right one is known by this feature alone."""
    features = np.zeros((10, len(NAMES)), dtype=np.float32)
    features[3, NAMES.index(feature)] = 1.0
    return thinned(features, (3,), np.arange(10), 0, np.random.default_rng(1))


def test_the_specification_s_factors_weigh_vectors_against_words() -> None:
    choose = specified_by_intent(POOLED)
    assert set(SPECIFIED) == set(INTENTS)
    weighed = choose("a", "temporal")
    assert weighed.weights == {"similarity": 0.8, "words": 1.2, "date": 1.0}
    assert (weighed.scale, weighed.offset) == (2.0, -1.0)
    assert choose("b", "general").weights == POOLED["b"].weights


def test_a_kind_learns_from_its_own_questions_in_other_conversations_where_there_are_enough(monkeypatch) -> None:
    monkeypatch.setattr(by_intent, "LEAST_SAMPLES", 2)
    samples = {"a": [sample("words")] * 3, "b": [sample("similarity"), sample("similarity"), sample("words")]}
    intents = {"a": ["causal"] * 3, "b": ["factual", "factual", "causal"]}
    choose = learned_by_intent(samples, intents, POOLED)
    factual = choose("a", "factual").weights
    assert factual["similarity"] > 0 and factual["words"] == 0
    # Of "causal" the other conversation has one question only, of "general" none.
    assert choose("a", "causal") is choose("a", "general") is POOLED["a"]
    assert choose("b", "causal").weights["words"] > 0
