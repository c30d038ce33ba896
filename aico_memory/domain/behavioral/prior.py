"""Where everybody starts: what people like on the mean, and how far one person strays from it.

A person's chance of a thumb up is modelled as
    level + slope * (trigger - 1) + style . (taste + taste for the intent) + skill + skill for the intent
plus the person's own deviations from each, Gaussian with the variances below: a linear mixed model, whose covariance
over (situation, skill) is that of a Gaussian process (Rasmussen & Williams, 2006, chapter 2.7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from aico_memory.domain.behavioral.dimensions import DIMENSIONS, NEUTRAL_VALUE, Vector
from aico_memory.errors import InvalidMessage

Floats = NDArray[np.float64]
COLD: Final = "base-skills"
SIZE: Final = len(DIMENSIONS)


@dataclass(frozen=True, slots=True)
class Spread:
    """Variances of one person's deviations, on the scale of a probability (0..1)."""

    level: float = 0.005
    # Of the liking that follows style: everywhere, for one intent, for one sentiment.
    taste: float = 0.02
    taste_by_intent: float = 0.005
    taste_by_sentiment: float = 0.001
    # Of what style does not explain: of one skill everywhere, for one intent, in one bucket.
    skill: float = 0.003
    skill_by_intent: float = 0.001
    skill_by_bucket: float = 0.0005
    # Share of the liking by style that is nearness (a bump around a style) and not a direction.
    nearness: float = 0.2
    # Length scale of that nearness, in units of [-1, 1] per dimension.
    length: float = 2.5
    # Variance, as a share of those of taste, of the liking of how pronounced a style is, whatever its direction.
    moderation: float = 0.0
    # Of one thumb: p(1 - p) at p = 0.6, and what flipped thumbs add.
    noise: float = 0.24


@dataclass(frozen=True, slots=True)
class Prior:
    """The mean of people and their spread. Vectors run over the style dimensions, on the scale [-1, 1]."""

    version: str = COLD
    users: int = 0
    level: float = 0.62
    slope: float = 0.1
    taste: Sequence[float] = (0.0,) * SIZE
    taste_by_intent: Mapping[str, Sequence[float]] = field(default_factory=dict)
    skill: Mapping[str, float] = field(default_factory=dict)
    skill_by_intent: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # Relative variance of each dimension; the mean over the dimensions is 1.
    importance: Sequence[float] = (1.0,) * SIZE
    # What a style that is one step more pronounced adds to the chance of a thumb up.
    moderation: float = 0.0
    spread: Spread = field(default_factory=Spread)

    def mean(self, intent: str, skill_ids: Sequence[str], styles: Floats, triggers: Floats) -> Floats:
        """Expected chance of a thumb up of a person of whom nothing is known, one a skill."""
        return self.fit_of_situation(triggers) + self.liking(intent, skill_ids, styles)

    def fit_of_situation(self, triggers: Floats) -> Floats:
        """The part of the mean that only the situation decides."""
        found: Floats = self.level + self.slope * (triggers - 1.0)
        return found

    def liking(self, intent: str, skill_ids: Sequence[str], styles: Floats) -> Floats:
        """The part of the mean that people's common taste decides."""
        taste = np.asarray(self.taste, dtype=np.float64)
        special = self.taste_by_intent.get(intent)
        if special is not None:
            taste = taste + np.asarray(special, dtype=np.float64)
        of_intent = self.skill_by_intent.get(intent, {})
        skills = np.array([self.skill.get(one, 0.0) + of_intent.get(one, 0.0) for one in skill_ids])
        found: Floats = styles @ taste + skills
        if self.moderation:
            found = found + self.moderation * pronounced(styles)
        return found

    def moderate(self) -> Prior:
        """The same for a person whose liking has its peak in the middle: the more pronounced a style, the less of it.

        That is what an ideal point amid the styles looks like (Coombs, 1964): the squared distance to it is a direction
        plus the squared length of the style.
        """
        spread = replace(self.spread, moderation=self.spread.moderation + MODERATE_SPREAD)
        return replace(self, moderation=self.moderation + MODERATE, spread=spread)


def prior_as_data(prior: Prior) -> dict[str, Any]:
    """The prior as plain data, vectors by the names of their dimensions: `prior_from_data` reads it again."""
    body = asdict(prior)
    for name in ("taste", "importance"):
        body[name] = dict(zip(DIMENSIONS, body[name], strict=True))
    body["taste_by_intent"] = {
        intent: dict(zip(DIMENSIONS, vector, strict=True)) for intent, vector in prior.taste_by_intent.items()
    }
    return body


def prior_from_data(body: Mapping[str, Any]) -> Prior:
    """The prior of such data; InvalidMessage names what is wrong with it."""
    found = dict(body)
    try:
        for name in ("taste", "importance"):
            if name in found:
                found[name] = _vector(found[name])
        tastes = found.get("taste_by_intent", {})
        found["taste_by_intent"] = {intent: _vector(vector) for intent, vector in tastes.items()}
        found["spread"] = Spread(**found.get("spread", {}))
        return Prior(**found)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise InvalidMessage(f"A prior cannot be read: {error}") from error


def _vector(named: Mapping[str, float]) -> tuple[float, ...]:
    if unknown := sorted(set(named) - set(DIMENSIONS)):
        raise KeyError(f"unknown style dimension {unknown[0]}")
    return tuple(float(named.get(name, 0.0)) for name in DIMENSIONS)


def styles_of(dimensions: Floats) -> Floats:
    """Styles on the scale [-1, 1], 0 where neutral."""
    found: Floats = (dimensions - NEUTRAL_VALUE) / NEUTRAL_VALUE
    return found


def style_of(dimensions: Vector) -> Floats:
    """The same of one."""
    return styles_of(np.asarray(dimensions, dtype=np.float64))


# Mean squared length of a style that this library's skills have, so that `Spread.taste` is the variance of a typical skill.
TYPICAL_LENGTH: Final = 3.5


# Spread of the squared lengths, so that one step of `pronounced` is a common one.
_LENGTHS: Final = 1.5
# The prior of those who like what is moderate: the slope on `pronounced`, and its variance as a share of that of taste.
MODERATE: Final = -0.05
MODERATE_SPREAD: Final = 0.5


def pronounced(styles: Floats) -> Floats:
    """How far styles lie from neutral, all dimensions together: 0 for a typical one, about 1 for a strong one."""
    found: Floats = ((styles**2).sum(-1) - TYPICAL_LENGTH) / _LENGTHS
    return found


def half_squares(styles: Floats, importance: Floats, spread: Spread) -> Floats:
    """Half the squared lengths of styles on the length scale of nearness, each dimension by its importance."""
    found: Floats = styles**2 @ (importance / (2.0 * spread.length**2))
    return found


def style_kernel(
    left: Floats, right: Floats, importance: Floats, spread: Spread, left_squares: Floats, right_squares: Floats
) -> Floats:
    """Correlation (about 1 on the diagonal) of the liking of styles: linear, with a share of squared-exponential.

    The squares are `half_squares` of the same styles.
    """
    product = (left * importance) @ right.T
    distances = left_squares[:, None] + right_squares - product / spread.length**2
    near = np.exp(-np.maximum(distances, 0.0))
    found: Floats = product * ((1.0 - spread.nearness) / TYPICAL_LENGTH) + spread.nearness * near
    if spread.moderation:
        found = found + spread.moderation * np.outer(pronounced(left), pronounced(right))
    return found
