"""Selection policies: from the skills that apply to the one that is used, with the shares of its score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.random import PCG64, Generator

from aico_memory.domain.behavioral.dimensions import alignment
from aico_memory.domain.behavioral.learning import Posterior, Preference, SkillState
from aico_memory.domain.behavioral.posterior import TastePosterior
from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.skill import Skill
from aico_memory.domain.behavioral.trigger import TOPIC, TriggerMatch
from aico_memory.ids import stable_hash64

HYBRID = "hybrid-40-30-30"
FIXED = "fixed-default"


class Randomness(Protocol):
    """What a policy draws from; `random.Random` has both. Always an argument, seeded by the caller."""

    def random(self) -> float:
        """Uniform in [0, 1)."""

    def betavariate(self, alpha: float, beta: float) -> float:
        """One draw from Beta(alpha, beta)."""

    def gauss(self, mu: float, sigma: float) -> float:
        """One draw from a normal distribution."""

    def getrandbits(self, k: int, /) -> int:
        """k random bits."""


@dataclass(frozen=True, slots=True)
class UserKnowledge:
    """What a policy may know of the user in the bucket at hand."""

    states: Mapping[str, SkillState] = field(default_factory=dict)
    posteriors: Mapping[str, Posterior] = field(default_factory=dict)
    preference: Preference = field(default_factory=Preference)
    # Thumbs up or down of this user so far, over all skills and buckets.
    feedback_count: int = 0
    situation: Situation = field(default_factory=Situation)
    # What the hierarchical policy draws from; the others leave it alone.
    taste: TastePosterior | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One applicable skill with its raw figures and their weighted shares."""

    skill: Skill
    trigger: float
    sample: float
    alignment: float
    confidence: float
    shares: Mapping[str, float]

    @property
    def score(self) -> float:
        """The sum of the shares."""
        return sum(self.shares.values())


@dataclass(frozen=True, slots=True)
class Choice:
    """What a policy decided: the chosen candidate (None where no skill may be used) and all it looked at."""

    policy: str
    chosen: Candidate | None
    is_exploration: bool = False
    # What would have been taken without exploration.
    preferred: Candidate | None = None
    candidates: tuple[Candidate, ...] = ()
    epsilon: float = 0.0
    # Chance (0..1) with which the policy takes this skill here, for judging another policy by what it would have
    # taken; 0 where it is not known.
    propensity: float = 0.0
    # What the policy's skill had of this person's selections so far (0: too few to say), and whether that was too much:
    # then the chosen one stands in for the preferred one.
    share: float = 0.0
    bounded: bool = False


class Policy(Protocol):
    """A way to choose among applicable skills; deterministic for equal arguments and an equally seeded `rng`."""

    @property
    def name(self) -> str:
        """The name that goes into answers and settings."""

    @property
    def sees_all(self) -> bool:
        """True: it is given all that apply and cuts equal triggers itself; else the best few by trigger and name."""

    def choose(self, matches: Sequence[TriggerMatch], known: UserKnowledge, rng: Randomness) -> Choice:
        """Choose among matches that come best first."""


@dataclass(frozen=True, slots=True)
class HybridFigures:
    """Weights of the three shares and the figures of exploration."""

    trigger_share: float = 0.40
    posterior_share: float = 0.30
    alignment_share: float = 0.30
    # Skills below this confidence are used by exploration only.
    confidence_floor: float = 0.3
    epsilon_start: float = 0.1
    epsilon_decay: float = 0.95
    epsilon_floor: float = 0.05
    # Draws by which the chance of the choice is counted; 0: it is not told.
    propensity_draws: int = 0


def exploration_rate(feedback_count: int, figures: HybridFigures) -> float:
    """max(0.05, 0.1 * 0.95^n): the floor is reached after 14 thumbs."""
    return max(figures.epsilon_floor, figures.epsilon_start * figures.epsilon_decay**feedback_count)


@dataclass(frozen=True, slots=True)
class HybridPolicy:
    """The named baseline: 0.40 trigger + 0.30 Thompson sample + 0.30 preference alignment, epsilon-explored."""

    figures: HybridFigures = field(default_factory=HybridFigures)
    name: str = HYBRID
    sees_all: bool = False

    def choose(self, matches: Sequence[TriggerMatch], known: UserKnowledge, rng: Randomness) -> Choice:
        """The best score among confident skills; with probability epsilon another one that is no more confident.

        Draws in a fixed order: one sample per match, then whether to explore, then which, then a seed for `propensity`.
        """
        candidates = tuple(self._weigh(match, known, rng) for match in matches)
        epsilon = exploration_rate(known.feedback_count, self.figures)
        explores = rng.random() < epsilon
        pick = rng.random()
        confident = [one for one in candidates if one.confidence >= self.figures.confidence_floor]
        # max() keeps the first of equals: the better trigger, then the name.
        preferred = max(confident, key=lambda one: one.score, default=None)
        if explores:
            others = [one for one in candidates if _may_be_explored(one, preferred)]
            if others:
                taken = others[int(pick * len(others))]
                chance = self._propensity(taken, candidates, known, epsilon, rng)
                return Choice(self.name, taken, True, preferred, candidates, epsilon, chance)
        chance = self._propensity(preferred, candidates, known, epsilon, rng)
        return Choice(self.name, preferred, False, preferred, candidates, epsilon, chance)

    def _propensity(
        self, taken: Candidate | None, candidates: Sequence[Candidate], known: UserKnowledge, epsilon: float, rng: Randomness
    ) -> float:
        """The chance (0..1) with which this one is taken here; 0 where it is not asked for, or none is taken.

        Which one is preferred depends on the samples, and is counted over the one that was drawn and
        `propensity_draws` more; what follows from it, explored or not, has an exact chance.
        """
        if taken is None or not self.figures.propensity_draws:
            return 0.0
        beliefs = [known.posteriors.get(one.skill.skill_id, Posterior()) for one in candidates]
        alpha, beta = np.array([one.alpha for one in beliefs]), np.array([one.beta for one in beliefs])
        drawn = Generator(PCG64(rng.getrandbits(64))).beta(alpha, beta, (self.figures.propensity_draws, len(candidates)))
        samples = np.vstack([[one.sample for one in candidates], drawn])
        fixed = np.array([one.shares["trigger"] + one.shares["alignment"] for one in candidates])
        confident = np.array([one.confidence >= self.figures.confidence_floor for one in candidates])
        if not confident.any():
            return epsilon / len(candidates)
        scores = np.where(confident, fixed + self.figures.posterior_share * samples, -np.inf)
        # As max() does, the first of equals.
        often = np.bincount(scores.argmax(1), minlength=len(candidates)) / len(scores)
        return float(
            sum(
                share * _chance_of(taken, preferred, candidates, epsilon)
                for share, preferred in zip(often, candidates, strict=True) if share
            )
        )  # fmt: skip

    def _weigh(self, match: TriggerMatch, known: UserKnowledge, rng: Randomness) -> Candidate:
        skill = match.skill
        posterior = known.posteriors.get(skill.skill_id, Posterior())
        sample = rng.betavariate(posterior.alpha, posterior.beta)
        fit = alignment(known.preference.dimensions, skill.dimensions)
        confidence = known.states.get(skill.skill_id, SkillState()).confidence
        shares = {
            "trigger": self.figures.trigger_share * match.score,
            "posterior": self.figures.posterior_share * sample,
            "alignment": self.figures.alignment_share * fit,
        }
        return Candidate(skill, match.score, sample, fit, confidence, shares)


def _chance_of(taken: Candidate, preferred: Candidate, candidates: Sequence[Candidate], epsilon: float) -> float:
    """Of taking one where another is preferred, or where it is that one."""
    others = [one for one in candidates if _may_be_explored(one, preferred)]
    if not others:
        return float(taken is preferred)
    if taken is preferred:
        return 1.0 - epsilon
    return epsilon / len(others) if any(one is taken for one in others) else 0.0


def _may_be_explored(one: Candidate, preferred: Candidate | None) -> bool:
    return preferred is None or (one is not preferred and one.confidence <= preferred.confidence)


@dataclass(frozen=True, slots=True)
class FixedPolicy:
    """For users without consent: of what applies, that which is made for the situation; nothing learned, nothing drawn."""

    name: str = FIXED
    sees_all: bool = True

    def choose(self, matches: Sequence[TriggerMatch], known: UserKnowledge, rng: Randomness) -> Choice:
        """The first match; all of its score is the trigger's share."""
        candidates = tuple(
            Candidate(
                match.skill,
                match.score,
                0.0,
                alignment(Preference().dimensions, match.skill.dimensions),
                SkillState().confidence,
                {"trigger": match.score, "posterior": 0.0, "alignment": 0.0},
            )
            for match in sorted(matches, key=_made_for)
        )
        first = candidates[0] if candidates else None
        return Choice(self.name, first, False, first, candidates)


def _made_for(match: TriggerMatch) -> tuple[int, float, int, float, str, str]:
    """What the situation denies nothing of, first; then fewest intents, most other conditions, best trigger, the name.

    A topic is a matter of degree, and denies nothing.
    """
    trigger = match.skill.trigger
    denied = sum(not part for name, part in match.parts if name != TOPIC)
    others = (len(trigger.sentiments) > 0) + (len(trigger.times_of_day) > 0)
    return denied, len(trigger.intents) or math.inf, -others, -match.score, match.skill.name, match.skill.skill_id


def seed_of(deployment_seed: int, request_id: str) -> int:
    """The seed of one request's draws: the same request replayed gives the same choice, in every process."""
    return stable_hash64(f"{deployment_seed}|{request_id}")
