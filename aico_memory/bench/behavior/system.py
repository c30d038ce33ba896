"""The real code at play: trigger matching, policy, learning and prior as the worker has them, for many people at once."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from aico_memory.bench.behavior.baselines import Chosen, Thumbs
from aico_memory.bench.behavior.worlds import World
from aico_memory.domain.behavioral.choosing import Chooser
from aico_memory.domain.behavioral.evidence import Cell, Evidence, bounded, cell_of, with_thumb
from aico_memory.domain.behavioral.learning import (
    Knowledge,
    LearningFigures,
    Posterior,
    Preference,
    SkillState,
    learn,
    note_selected,
)
from aico_memory.domain.behavioral.policy import Policy, UserKnowledge, seed_of
from aico_memory.domain.behavioral.posterior import TastePosterior, taste_of
from aico_memory.domain.behavioral.prior import Prior
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.domain.behavioral.style_space import StyleSpace


@dataclass(frozen=True, slots=True)
class Rules:
    """What the worker is configured with."""

    catalogue: Catalogue
    chooser: Chooser
    learning: LearningFigures
    cells: int


class _Person:
    """What the store keeps of one person, and the cached posterior."""

    def __init__(self) -> None:
        self.states: dict[str, SkillState] = {}
        self.posteriors: dict[int, dict[str, Posterior]] = {}
        self.preferences: dict[int, Preference] = {}
        self.cells: dict[tuple[str, str, str, str], Cell] = {}
        self.thumbs = 0
        self.taste: TastePosterior | None = None


class RealSystem:
    """A player (see `baselines.Player`) that has one policy of the real code choose, and its rules learn."""

    def __init__(self, world: World, rules: Rules, policy: Policy, prior: Prior, seed: int) -> None:
        self._world = world
        self._rules = rules
        self._policy = policy
        self._space = StyleSpace({skill.skill_id: skill.dimensions for skill in rules.catalogue}, prior)
        self._people = [_Person() for _ in world.visits]
        self._seed = seed

    def choose(self, step: int) -> Chosen:
        """One skill for each person."""
        chosen = np.zeros(len(self._people), dtype=np.int64)
        for number, person in enumerate(self._people):
            situation = self._world.situations[self._world.visits[number, step]]
            if self._policy.sees_all and person.taste is None:
                person.taste = taste_of(self.evidence(number), self._space)
            bucket = situation.bucket
            known = UserKnowledge(
                person.states,
                person.posteriors.get(bucket, {}),
                person.preferences.get(bucket, Preference()),
                person.thumbs,
                situation,
                person.taste,
            )
            rng = random.Random(seed_of(self._seed, f"{number}/{step}"))
            choice = self._rules.chooser.choose(self._rules.catalogue, self._policy, known, rng)
            # All may be below the confidence that a policy asks for; a real answer has to be given some way or other.
            taken = choice.chosen or max(choice.candidates, key=lambda one: one.trigger)
            chosen[number] = self._space.place[taken.skill.skill_id]
            state = person.states.get(taken.skill.skill_id, SkillState())
            person.states[taken.skill.skill_id] = note_selected(state, choice.is_exploration, step)
        return chosen

    def learn(self, step: int, chosen: Chosen, thumbs: Thumbs, given: Thumbs) -> None:
        """Every given thumb by the rules of one feedback event."""
        for number in np.flatnonzero(given):
            person, skill_id = self._people[number], self._space.ids[chosen[number]]
            situation = self._world.situations[self._world.visits[number, step]]
            reward = 1 if thumbs[number] else -1
            bucket = situation.bucket
            posteriors = person.posteriors.setdefault(bucket, {})
            before = Knowledge(
                person.states.get(skill_id, SkillState()),
                posteriors.get(skill_id, Posterior()),
                person.preferences.get(bucket, Preference()),
            )
            after = learn(before, self._rules.catalogue.get(skill_id).dimensions, reward, False, self._rules.learning)
            person.states[skill_id] = after.state
            posteriors[skill_id] = after.posterior
            person.preferences[bucket] = after.preference
            cell = cell_of(situation, skill_id)
            person.cells[cell.key] = with_thumb(person.cells.get(cell.key, cell), reward)
            person.thumbs += 1
            person.taste = None

    def evidence(self, number: int) -> Evidence:
        """What one person's thumbs have taught so far."""
        return Evidence(bounded(list(self._people[number].cells.values()), self._rules.cells))

    def everybody(self) -> list[Evidence]:
        """The same of all, for a prior that is learned from them."""
        return [self.evidence(number) for number in range(len(self._people))]
