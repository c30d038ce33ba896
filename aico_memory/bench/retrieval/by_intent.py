"""Ablation: weights that differ by the kind of question, against one set for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from aico_memory.bench.retrieval.data import Collection
from aico_memory.bench.retrieval.learned import FAMILIES, learned_profile
from aico_memory.bench.retrieval.local import Tabulated, ranked
from aico_memory.bench.retrieval.scoring import DEPTH, Scores, by_category, score
from aico_memory.domain.context.routing import INTENTS, Routing
from aico_memory.domain.retrieval.learning import Sample
from aico_memory.domain.retrieval.ranking import Profile

# Questions of a kind from which on its weights are learned; of fewer those of all kinds hold.
LEAST_SAMPLES: Final = 60
# Factors on the weights of vectors and of words, as the specification weighs both by the kind of a question.
SPECIFIED: Final[Mapping[str, tuple[float, float]]] = {
    "factual": (1.2, 0.8), "temporal": (0.8, 1.2), "causal": (0.6, 0.6), "entity_profile": (1.0, 1.0),
    "preference": (1.0, 1.0), "general": (1.0, 1.0),
}  # fmt: skip
# Profile of a question of this kind in this conversation.
Choice = Callable[[str, str], Profile]


def learned_by_intent(
    samples: Mapping[str, Sequence[Sample]], intents: Mapping[str, Sequence[str]], pooled: Mapping[str, Profile]
) -> Choice:
    """Each conversation searched by weights that the questions of the same kind in the others teach."""
    found: dict[tuple[str, str], Profile] = {}
    for left_out in samples:
        for intent in INTENTS:
            own = [
                sample
                for name in samples
                if name != left_out
                for sample, kind in zip(samples[name], intents[name], strict=True)
                if kind == intent
            ]
            enough = len(own) >= LEAST_SAMPLES
            found[left_out, intent] = learned_profile(f"{intent}-without-{left_out}", own) if enough else pooled[left_out]
    return lambda name, intent: found[name, intent]


def specified_by_intent(pooled: Mapping[str, Profile]) -> Choice:
    """The learned weights of vectors and words times the specification's factors."""

    def choose(name: str, intent: str) -> Profile:
        profile, (vectors, words) = pooled[name], SPECIFIED[intent]
        factors = {**dict.fromkeys(FAMILIES["vectors"], vectors), **dict.fromkeys(FAMILIES["words"], words)}
        weights = {feature: weight * factors.get(feature, 1.0) for feature, weight in profile.weights.items()}
        return Profile(f"{intent}-{name}", weights, profile.scale, profile.offset)

    return choose


def scored_by_intent(
    collections: Sequence[Collection], entries: Mapping[str, Sequence[Tabulated]], routing: Routing, choice: Choice,
    together: Sequence[str],
) -> dict[str, Scores]:  # fmt: skip
    """Means by category, each question searched by the profile of its kind."""
    found: dict[str, list[Scores]] = {}
    for collection in collections:
        ids = [message.id for message in collection.messages]
        for question, entry in zip(collection.questions, entries[collection.name], strict=True):
            profile = choice(collection.name, routing.intent(question.text))
            found.setdefault(question.category, []).append(score(ranked(entry, profile, ids, DEPTH), question.gold))
    return by_category(found, together)
