"""What one thumb teaches: confidence, posterior, preference and counters, each as a pure step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from aico_memory.domain.behavioral.dimensions import NEUTRAL, Vector, clamp, pull
from aico_memory.errors import InvalidFeedback, InvalidReward

REWARDS: Final = (-1, 0, 1)
REASONS: Final = ("too_verbose", "too_brief", "wrong_tone", "not_helpful", "incorrect_info")


@dataclass(frozen=True, slots=True)
class LearningFigures:
    """Figures of the learning rules; the defaults are those of the specification."""

    target_base: float = 0.5
    target_span: float = 0.3
    fast_rate: float = 0.3
    slow_rate: float = 0.1
    # Uses below which the fast rate holds.
    fast_uses: int = 10
    confidence_low: float = 0.2
    confidence_high: float = 0.9
    preference_rate: float = 0.1


@dataclass(frozen=True, slots=True)
class SkillState:
    """What is known of one skill for one user. `uses` counts the uses that were judged by a thumb."""

    confidence: float = 0.5
    uses: int = 0
    positive: int = 0
    negative: int = 0
    selected: int = 0
    # Outcomes of exploration, counted apart (they are in the counts above as well).
    explored: int = 0
    explored_positive: int = 0
    explored_negative: int = 0
    last_used_us: int = 0


@dataclass(frozen=True, slots=True)
class Posterior:
    """Beta posterior of success of one skill in one bucket of one user."""

    alpha: float = 1.0
    beta: float = 1.0

    @property
    def mean(self) -> float:
        return self.alpha / (self.alpha + self.beta)


@dataclass(frozen=True, slots=True)
class Preference:
    """Preferred style of one user in one bucket."""

    dimensions: Vector = NEUTRAL
    updates: int = 0


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The three states that one feedback event touches."""

    state: SkillState
    posterior: Posterior
    preference: Preference


def check_feedback(reward: int, reason: str) -> None:
    """InvalidReward unless -1, 0 or 1; InvalidFeedback for a reason that is not listed."""
    if reward not in REWARDS:
        raise InvalidReward(f"The reward is {reward}")
    if reason and reason not in REASONS:
        raise InvalidFeedback(f"The reason {reason!r} is not known", f"Give one of {', '.join(REASONS)}, or leave it out.")


def step_confidence(confidence: float, uses: int, reward: int, figures: LearningFigures) -> float:
    """Adaptive moving average: c + a * (0.5 + 0.3 * reward - c), a = 0.3 below ten uses, else 0.1; clamped.

    From 0.5 the first positive step leads to 0.59. A reward of 0 changes nothing.
    """
    if reward == 0:
        return confidence
    rate = figures.fast_rate if uses < figures.fast_uses else figures.slow_rate
    target = figures.target_base + figures.target_span * reward
    return clamp(confidence + rate * (target - confidence), figures.confidence_low, figures.confidence_high)


def step_state(state: SkillState, reward: int, was_exploration: bool, figures: LearningFigures) -> SkillState:
    """Confidence and counters after one thumb."""
    if reward == 0:
        return state
    positive, negative = int(reward > 0), int(reward < 0)
    return replace(
        state,
        confidence=step_confidence(state.confidence, state.uses, reward, figures),
        uses=state.uses + 1,
        positive=state.positive + positive,
        negative=state.negative + negative,
        explored_positive=state.explored_positive + positive * was_exploration,
        explored_negative=state.explored_negative + negative * was_exploration,
    )


def step_posterior(posterior: Posterior, reward: int) -> Posterior:
    """One success or failure more."""
    return Posterior(posterior.alpha + (reward > 0), posterior.beta + (reward < 0))


def step_preference(preference: Preference, dimensions: Vector, reward: int, figures: LearningFigures) -> Preference:
    """The preferred style drawn towards, or away from, the judged skill's."""
    if reward == 0:
        return preference
    return Preference(pull(preference.dimensions, dimensions, reward, figures.preference_rate), preference.updates + 1)


def learn(known: Knowledge, dimensions: Vector, reward: int, was_exploration: bool, figures: LearningFigures) -> Knowledge:
    """All that one feedback event changes; with reward 0 the very same knowledge."""
    if reward == 0:
        return known
    return Knowledge(
        step_state(known.state, reward, was_exploration, figures),
        step_posterior(known.posterior, reward),
        step_preference(known.preference, dimensions, reward, figures),
    )


def note_selected(state: SkillState, is_exploration: bool, at_us: int) -> SkillState:
    """Counters after the skill was chosen; confidence and posterior wait for a thumb."""
    return replace(
        state,
        selected=state.selected + 1,
        explored=state.explored + is_exploration,
        last_used_us=max(state.last_used_us, at_us),
    )
