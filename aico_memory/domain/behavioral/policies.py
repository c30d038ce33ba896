"""The policies that can be named in the settings, and what each is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aico_memory.domain.behavioral.hierarchical import HIERARCHICAL, HierarchicalFigures, HierarchicalPolicy
from aico_memory.domain.behavioral.policy import FIXED, HYBRID, HybridFigures, HybridPolicy, Policy

POLICIES: Final[Mapping[str, str]] = {
    HIERARCHICAL: (
        "Expected chance of a thumb up = fit of the situation (trigger) + liking of the skill's style (alignment) + the "
        "skill's own record and a draw within what is still uncertain (posterior); learned over all skills and buckets "
        "through the style dimensions, from the prior of the population."
    ),
    HYBRID: (
        "0.40 trigger + 0.30 Thompson sample of (user, bucket, skill) + 0.30 alignment with the bucket's preference; "
        "explores by chance."
    ),
}
WITHOUT_CONSENT: Final = FIXED


def policy_named(name: str, hybrid: HybridFigures, hierarchical: HierarchicalFigures) -> Policy | None:
    """The policy of a name; None where there is none of it."""
    if name == HYBRID:
        return HybridPolicy(hybrid)
    return HierarchicalPolicy(hierarchical) if name == HIERARCHICAL else None
