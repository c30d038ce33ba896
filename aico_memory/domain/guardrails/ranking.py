"""A proposal for the ranking profile from what people said had helped them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from aico_memory.domain.guardrails.labels import RankingLabel
from aico_memory.domain.guardrails.objectives import Score, Seen, Trial
from aico_memory.domain.retrieval.evidence import Floats
from aico_memory.domain.retrieval.features import NAMES
from aico_memory.domain.retrieval.learning import Sample, learn
from aico_memory.domain.retrieval.ranking import Profile, profile_of

# How far the weights go from the profile in use towards what the labels alone would teach: few labels are noisy.
PARTS: Final = (0.1, 0.25, 0.5)
SHOWN: Final = 5
_RIDGE: Final = 1e-2
_ROUNDS: Final = 60
_DIGITS: Final = 6


def score_of(profile: Profile, labels: Sequence[RankingLabel]) -> Score:
    """Mean reciprocal rank of the first row that helped; a violation is a question whose first row was refused.

    Latency is the number of features that have to be made; what is shown, and so the cost, does not change with the order.
    """
    if not labels:
        return Score()
    orders = [_order(profile, label) for label in labels]
    ranks = [_first(order, label.helped) for order, label in zip(orders, labels, strict=True)]
    refused = sum(bool(order) and order[0] in label.refused for order, label in zip(orders, labels, strict=True))
    made = float(sum(weight != 0 for weight in profile.weights.values()))
    count = len(labels)
    return Score(sum(ranks) / count, made, 0.0, refused / count, count)


def proposed(profile: Profile, labels: Sequence[RankingLabel], name: str) -> Profile:
    """The profile part of the way towards what these labels teach, as far as serves them best; itself where nothing does."""
    samples = [_sample(label) for label in labels if 0 < len(label.helped) < len(label.rows)]
    names = [feature for feature in NAMES if profile.weights.get(feature)]
    if not samples or not names:
        return profile
    columns = [NAMES.index(one) for one in names]
    values = np.concatenate([sample.features[:, columns] for sample in samples]).astype(np.float64)
    spread = values.std(axis=0)
    own = profile.scale * np.array([profile.weights[one] for one in names])
    learned = learn(samples, names, _RIDGE, _ROUNDS).weights
    towards = np.array([learned[one] for one in names])
    length = float(np.linalg.norm(towards * spread))
    if not length:
        return profile
    # As steep as the profile in use, and as high on the mean: scores mean what they meant, only the order is another.
    towards *= float(np.linalg.norm(own * spread)) / length
    candidates = [profile]
    for part in PARTS:
        moved = (1 - part) * own + part * towards
        offset = profile.offset + float((values @ (own - moved)).mean())
        weights = {one: round(float(weight), _DIGITS) for one, weight in zip(names, moved, strict=True)}
        provenance = {"kind": "refitted from use", "labels": len(labels), "part": part}
        candidates.append(Profile(name, weights, 1.0, round(offset, _DIGITS), provenance))
    return max(candidates, key=lambda one: round(score_of(one, labels).success, 9))


def trial(before: Profile, after: Profile, labels: Sequence[RankingLabel]) -> Trial:
    """Both profiles on questions that the proposal has not seen."""
    orders = [[_order(profile, label)[:SHOWN] for label in labels] for profile in (before, after)]
    changed = [
        f"rows {one} → {other}, what helped: {sorted(label.helped)}"
        for one, other, label in zip(*orders, labels, strict=True) if one != other
    ]  # fmt: skip
    return Trial(
        score_of(before, labels), score_of(after, labels), len(changed), _shown(orders[0], labels), _shown(orders[1], labels),
        tuple(changed),
    )  # fmt: skip


def seen(profile: Profile, labels: Sequence[RankingLabel]) -> Seen:
    """How a profile did on the questions of a time, and what it put first."""
    if not labels:
        return Seen()
    orders = [_order(profile, label)[:SHOWN] for label in labels]
    return Seen(score_of(profile, labels).success, len(labels), _shown(orders, labels))


def profile_as_data(profile: Profile) -> dict[str, Any]:
    """As the file of a profile holds it: `profile_from_data` reads it again."""
    return {
        "weights": dict(profile.weights), "scale": profile.scale, "offset": profile.offset,
        "provenance": dict(profile.provenance),
    }  # fmt: skip


def profile_from_data(name: str, body: dict[str, Any]) -> Profile:
    """The profile again, under a name."""
    return profile_of(name, body)


def profile_version(profile: Profile) -> str:
    """A name that follows from weights, scale and offset alone."""
    body = repr((sorted(profile.weights.items()), profile.scale, profile.offset)).encode()
    return f"ranking-{blake2b(body, digest_size=6).hexdigest()}"


def merged(known: RankingLabel | None, label: RankingLabel) -> RankingLabel:
    """What both say of the same question: the later word on a row counts."""
    if known is None:
        return label
    said = {*label.helped, *label.refused}
    return replace(
        label, rows=known.rows, names=known.names,
        helped=tuple(sorted({*label.helped, *(set(known.helped) - said)})),
        refused=tuple(sorted({*label.refused, *(set(known.refused) - said)})),
    )  # fmt: skip


def _features(label: RankingLabel) -> Floats:
    """Shape (rows, features), in the order of NAMES; what the label does not know is 0."""
    values = np.zeros((len(label.rows), len(NAMES)), dtype=np.float32)
    given = np.asarray(label.rows, dtype=np.float32).reshape(len(label.rows), -1)
    for place, name in enumerate(label.names):
        if name in NAMES:
            values[:, NAMES.index(name)] = given[:, place]
    return values


def _sample(label: RankingLabel) -> Sample:
    offsets = np.zeros(len(label.rows), dtype=np.float32)
    return Sample(_features(label), np.asarray(label.helped, dtype=np.intp), offsets)


def _order(profile: Profile, label: RankingLabel) -> list[int]:
    if not label.rows:
        return []
    totals = profile.totals(_features(label))
    return [int(place) for place in np.lexsort((np.arange(len(totals)), -totals))]


def _first(order: Sequence[int], helped: Sequence[int]) -> float:
    ranks = [1.0 / (place + 1) for place, row in enumerate(order) if row in helped]
    return ranks[0] if ranks else 0.0


def _shown(orders: Sequence[Sequence[int]], labels: Sequence[RankingLabel]) -> dict[str, dict[str, float]]:
    kinds: Counter[str] = Counter()
    tiers: Counter[str] = Counter()
    for order, label in zip(orders, labels, strict=True):
        kinds.update(label.kinds[row] for row in order if row < len(label.kinds))
        tiers.update(label.tiers[row] for row in order if row < len(label.tiers))
    return {"kinds": dict(kinds), "tiers": dict(tiers)}
