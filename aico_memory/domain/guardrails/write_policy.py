"""A proposal for the write policy from what people decided of items that waited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final

from aico_memory.domain.gate.policy import WritePolicy
from aico_memory.domain.guardrails.labels import ReviewLabel
from aico_memory.domain.guardrails.objectives import Score, Seen, Trial, Weights, weighed

ACTIVE, WAITS, DROPPED = "active", "waits", "refused"
# From what confidence on something is written; finer steps say nothing that reviews could tell.
STEPS: Final = tuple(step / 20 for step in range(8, 20))
# Of a kind so many reviews, and such a share of one mind, before it is taken on or off the list of those that wait.
KIND_REVIEWS: Final = 8
OF_ONE_MIND: Final = 0.9


def verdict(policy: WritePolicy, label: ReviewLabel) -> str:
    """What the policy does with such an item: active at once, waits for a person, or refused."""
    if label.confidence < policy.min_confidence:
        return DROPPED
    if policy.mode != "auto" or label.kind in policy.require_approval_kinds:
        return WAITS
    return ACTIVE


def score_of(policy: WritePolicy, labels: Sequence[ReviewLabel]) -> Score:
    """How far the policy does what people decided.

    A person who is asked decides rightly, but is asked: that is the latency. What is written costs room (an item a
    case); a violation is what stands at once though a person refused it.
    """
    if not labels:
        return Score()
    verdicts = [verdict(policy, label) for label in labels]
    pairs = list(zip(verdicts, labels, strict=True))
    right = sum(did == WAITS or (did == ACTIVE) == label.promoted for did, label in pairs)
    written = sum(did == ACTIVE or (did == WAITS and label.promoted) for did, label in pairs)
    wrong = sum(did == ACTIVE and not label.promoted for did, label in pairs)
    count = len(labels)
    return Score(right / count, verdicts.count(WAITS) / count, written / count, wrong / count, count)


def proposed(policy: WritePolicy, labels: Sequence[ReviewLabel], weights: Weights) -> WritePolicy:
    """The policy that does best on these labels: another least confidence, other kinds that wait; itself where none does."""
    kinds = _kinds(policy, labels)
    before = score_of(policy, labels)
    candidates = [policy] + [
        replace(policy, min_confidence=step, require_approval_kinds=of_kinds)
        for of_kinds in dict.fromkeys((policy.require_approval_kinds, kinds))
        for step in sorted({policy.min_confidence, *STEPS}, key=lambda step: abs(step - policy.min_confidence))
    ]
    # max takes the first of equals: the policy itself, then the nearest to it.
    return max(candidates, key=lambda one: round(weighed(score_of(one, labels), before, weights), 9))


def trial(before: WritePolicy, after: WritePolicy, labels: Sequence[ReviewLabel]) -> Trial:
    """Both policies on items that the proposal has not seen."""
    did = [[verdict(policy, label) for label in labels] for policy in (before, after)]
    return Trial(
        score_of(before, labels), score_of(after, labels), sum(one != other for one, other in zip(*did, strict=True)),
        _counted(did[0], labels), _counted(did[1], labels),
        tuple(f"{label.kind} at confidence {label.confidence:.2f}: {one} → {other}, a person {_word(label)}"
              for one, other, label in zip(*did, labels, strict=True) if one != other),
    )  # fmt: skip


def seen(policy: WritePolicy, labels: Sequence[ReviewLabel]) -> Seen:
    """How a policy agrees with people's decisions of a time, and what it does with such items."""
    if not labels:
        return Seen()
    return Seen(
        score_of(policy, labels).success, len(labels), _counted([verdict(policy, label) for label in labels], labels)
    )  # fmt: skip


def policy_as_data(policy: WritePolicy) -> dict[str, Any]:
    """The fields that a proposal may change."""
    return {"min_confidence": policy.min_confidence, "require_approval_kinds": sorted(policy.require_approval_kinds)}


def with_data(policy: WritePolicy, body: dict[str, Any]) -> WritePolicy:
    """The policy with those fields."""
    return replace(
        policy, min_confidence=body["min_confidence"], require_approval_kinds=frozenset(body["require_approval_kinds"])
    )


def policy_version(policy: WritePolicy) -> str:
    """A name that follows from the fields that a proposal may change alone."""
    body = repr(sorted(policy_as_data(policy).items())).encode()
    return f"policy-{blake2b(body, digest_size=6).hexdigest()}"


def _kinds(policy: WritePolicy, labels: Sequence[ReviewLabel]) -> frozenset[str]:
    kinds = set(policy.require_approval_kinds)
    for kind in sorted({label.kind for label in labels}):
        of_kind = [label.promoted for label in labels if label.kind == kind]
        if len(of_kind) < KIND_REVIEWS:
            continue
        share = sum(of_kind) / len(of_kind)
        if share >= OF_ONE_MIND:
            kinds.discard(kind)
        elif share <= 1 - OF_ONE_MIND:
            kinds.add(kind)
    return frozenset(kinds)


def _word(label: ReviewLabel) -> str:
    return "promoted it" if label.promoted else "rejected it"


def _counted(did: Sequence[str], labels: Sequence[ReviewLabel]) -> dict[str, dict[str, float]]:
    actions = Counter(did)
    kinds = Counter(label.kind for label, one in zip(labels, did, strict=True) if one != DROPPED)
    return {"actions": dict(actions), "kinds": dict(kinds)}
