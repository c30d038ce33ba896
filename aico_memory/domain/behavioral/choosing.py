"""From a situation to a choice: what applies, what goes on, what the policy takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from aico_memory.domain.behavioral.diversity import Diversity, diversified
from aico_memory.domain.behavioral.policy import Choice, FixedPolicy, Policy, Randomness, UserKnowledge
from aico_memory.domain.behavioral.skill import Skill
from aico_memory.domain.behavioral.trigger import TriggerWeights, rank_triggers


@dataclass(frozen=True, slots=True)
class Chooser:
    """The one path of every selection: the worker's and the simulation's."""

    weights: TriggerWeights
    threshold: float
    # Best triggers that go on to the policy.
    candidates: int
    diversity: Diversity = field(default_factory=Diversity)

    def choose(self, skills: Iterable[Skill], policy: Policy, known: UserKnowledge, rng: Randomness) -> Choice:
        """The choice in `known.situation` among these skills, in any order; deterministic for an equally seeded rng."""
        pool = list(skills)
        limit = len(pool) if policy.sees_all else self.candidates
        matches = rank_triggers(pool, known.situation, self.weights, self.threshold, limit)
        return diversified(policy.choose(matches, known, rng), known.states, self.diversity)

    def choose_fixed(self, skills: Iterable[Skill], known: UserKnowledge, rng: Randomness) -> Choice:
        """Without consent: the best trigger, and nothing learned."""
        return self.choose(skills, FixedPolicy(), known, rng)
