"""The default policy: Thompson sampling from the hierarchical posterior over the style dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.random import PCG64, Generator

from aico_memory.domain.behavioral.dimensions import alignment, clamp
from aico_memory.domain.behavioral.learning import SkillState
from aico_memory.domain.behavioral.policy import Candidate, Choice, Randomness, UserKnowledge
from aico_memory.domain.behavioral.posterior import Beliefs
from aico_memory.domain.behavioral.prior import Floats
from aico_memory.domain.behavioral.trigger import TriggerMatch, seated

HIERARCHICAL: Final = "hierarchical-thompson"
_JITTER: Final = 1e-9


@dataclass(frozen=True, slots=True)
class HierarchicalFigures:
    """How boldly it explores."""

    # Factor on the posterior's standard deviation when sampling; 0 takes the best expectation.
    temperature: float = 0.1
    # Best triggers among which the choice is made.
    candidates: int = 5
    # Draws by which the chance of the choice is counted.
    propensity_draws: int = 128


@dataclass(frozen=True, slots=True)
class HierarchicalPolicy:
    """One joint draw from the posterior of all that apply; the best draw among the best triggers is taken.

    Skills of equal trigger are told apart by their draw, never by their name. It is an exploration where another
    skill had the better expectation.
    """

    figures: HierarchicalFigures = field(default_factory=HierarchicalFigures)
    name: str = HIERARCHICAL
    sees_all: bool = True

    def choose(self, matches: Sequence[TriggerMatch], known: UserKnowledge, rng: Randomness) -> Choice:
        """Choose among matches that apply; takes one seed from `rng`; matches are drawn in the order of the skills' ids."""
        if not matches:
            return Choice(self.name, None)
        if known.taste is None:
            raise ValueError("the hierarchical policy needs the person's posterior")
        ordered = sorted(matches, key=lambda match: match.skill.skill_id)
        beliefs = known.taste.beliefs(known.situation, [m.skill.skill_id for m in ordered], [m.score for m in ordered])
        # The first row decides; the others count how often the same would be taken.
        draws = beliefs.mean + self.figures.temperature * _deviations(
            beliefs.covariance, 1 + self.figures.propensity_draws, rng
        )
        drawn = draws[0]
        # The best triggers, among equals the best draws; numpy's stable order leaves ties to the skill's id.
        triggers = np.array([match.score for match in ordered])
        places = {match.skill.skill_id: place for place, match in enumerate(ordered)}
        best_first = [ordered[int(place)] for place in np.lexsort((-drawn, -triggers))]
        kept = [places[match.skill.skill_id] for match in seated(best_first, self.figures.candidates)]
        shown = tuple(self._candidate(ordered[place], known, beliefs, drawn, place) for place in kept)
        best, taken = int(beliefs.mean[kept].argmax()), int(drawn[kept].argmax())
        rivals = draws[:, kept]
        propensity = float((rivals[:, taken] >= rivals.max(1)).mean())
        return Choice(self.name, shown[taken], taken != best, shown[best], shown, propensity=propensity)

    def _candidate(self, match: TriggerMatch, known: UserKnowledge, beliefs: Beliefs, drawn: Floats, place: int) -> Candidate:
        skill = match.skill
        situation, aligned = float(beliefs.situation[place]), float(beliefs.alignment[place])
        value = float(drawn[place])
        shares = {"trigger": situation, "posterior": value - situation - aligned, "alignment": aligned}
        return Candidate(
            skill,
            match.score,
            clamp(value),
            alignment(known.preference.dimensions, skill.dimensions),
            known.states.get(skill.skill_id, SkillState()).confidence,
            shares,
        )


def _deviations(covariance: Floats, count: int, rng: Randomness) -> Floats:
    """Joint draws around 0, one a row; the covariance may have lost its last digits, so it is made definite first."""
    size = len(covariance)
    root = np.linalg.cholesky(covariance + _JITTER * np.eye(size))
    normal = Generator(PCG64(rng.getrandbits(64))).standard_normal((count, size))
    found: Floats = normal @ root.T
    return found
