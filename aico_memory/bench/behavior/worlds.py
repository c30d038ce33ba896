"""The simulated worlds: what people like, how they thumb, in which situations they speak."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from aico_memory.domain.behavioral.prior import Prior
from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.domain.behavioral.trigger import TriggerWeights, rank_triggers

Floats = NDArray[np.float64]
FILE = "worlds.yaml"
WORLDS = ("population-led", "balanced", "idiosyncratic")
# Halvings of the slope's range (0 to 20) and of the offset's (-20 to 20), and people on whom they are solved.
_SLOPE_HALVINGS, _OFFSET_HALVINGS, _SOLVED_ON = 12, 15, 60


@dataclass(frozen=True, slots=True)
class WorldFigures:
    """The parameters of one world; worlds.yaml explains each."""

    personal_share: float
    oracle: float
    random: float
    flipped: float
    by_intent: float
    ideal_point: float
    off_style: float
    trigger: float
    foresight: float
    intents: tuple[str, ...]
    intent_skew: float
    sentiments: dict[str, float]
    times_of_day: dict[str, float]


def load_worlds(parameterisation: str = "main") -> dict[str, WorldFigures]:
    """The three worlds of a parameterisation; KeyError where there is none of the name."""
    content: dict[str, Any] = yaml.safe_load((files("aico_memory.bench.behavior") / FILE).read_text(encoding="utf-8"))
    worlds = content["parameterisations"][parameterisation]
    return {name: WorldFigures(**{**figures, "intents": tuple(figures["intents"])}) for name, figures in worlds.items()}


@dataclass(frozen=True, slots=True)
class World:
    """One drawn world: situations, what applies in them, and everybody's true P(thumb up)."""

    situations: tuple[Situation, ...]
    intent_of: NDArray[np.int64]
    # situations x skills: trigger score, NaN where the skill does not apply.
    triggers: Floats
    # users x situations x skills.
    truth: Floats
    # users x interactions: which situation comes when; uniform draws for thumb, flip and whether feedback is given.
    visits: NDArray[np.int64]
    thumbs: Floats
    flips: Floats
    given: Floats
    flipped: float

    @property
    def applies(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.triggers)

    def best(self) -> Floats:
        """users x situations: P of the best skill that applies."""
        found: Floats = np.where(self.applies[None], self.truth, -1.0).max(2)
        return found

    def likes(self, step: int, chosen: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Everybody's thumb at an interaction on the skill that each was given, flipped ones included."""
        users = np.arange(len(self.visits))
        honest = self.thumbs[:, step] < self.truth[users, self.visits[:, step], chosen]
        turned: NDArray[np.bool_] = honest ^ (self.flips[:, step] < self.flipped)
        return turned


def draw_world(
    figures: WorldFigures, catalogue: Catalogue, weights: TriggerWeights, threshold: float,
    users: int, interactions: int, seed: int, company: int = 0, shipped: Prior | None = None,
) -> World:  # fmt: skip
    """A world with its people; equal arguments give an equal world.

    Every company of a seed shares the common taste and nothing else: what is learned from one is of use to another
    only through it. `shipped` is the prior of which the common taste holds the share `foresight`.
    """
    common_draws, personal_draws = (np.random.default_rng([seed, stream]) for stream in (1, 2 + company))
    triples = list(product(figures.intents, figures.sentiments, figures.times_of_day))
    situations = tuple(Situation(*triple) for triple in triples)
    intent_of = np.array([figures.intents.index(triple[0]) for triple in triples])
    triggers = _triggers(situations, catalogue, weights, threshold)
    styles = 2.0 * np.array([skill.dimensions for skill in catalogue]) - 1.0
    likelihood = _likelihood(figures, triples, common_draws)
    drawn = _liking(figures, styles, 1, common_draws)
    foreseen = figures.foresight if shipped is not None else 0.0
    common = np.sqrt(1 - foreseen) * drawn
    if shipped is not None:
        common = common + np.sqrt(foreseen) * _foreseen(figures, shipped, styles, catalogue)
    personal = _liking(figures, styles, users, personal_draws)
    share = figures.personal_share
    by_intent = np.sqrt(1 - share) * common + np.sqrt(share) * personal
    liking = by_intent[:, intent_of, :] + figures.trigger * np.nan_to_num(triggers)[None]
    truth = _calibrated(liking, ~np.isnan(triggers), likelihood, figures)
    shape = (users, interactions)
    visits = personal_draws.choice(len(situations), shape, p=likelihood)
    thumbs, flips, given = (personal_draws.random(shape) for _ in range(3))
    return World(situations, intent_of, triggers, truth, visits, thumbs, flips, given, figures.flipped)


def _triggers(situations: tuple[Situation, ...], catalogue: Catalogue, weights: TriggerWeights, threshold: float) -> Floats:
    place = {skill.skill_id: index for index, skill in enumerate(catalogue)}
    found = np.full((len(situations), len(catalogue)), np.nan)
    for row, situation in enumerate(situations):
        for match in rank_triggers(catalogue, situation, weights, threshold, len(catalogue)):
            found[row, place[match.skill.skill_id]] = match.score
    return found


def _likelihood(figures: WorldFigures, triples: list[tuple[str, str, str]], draws: np.random.Generator) -> Floats:
    rank = {intent: number for number, intent in enumerate(draws.permutation(figures.intents), 1)}
    weights = np.array(
        [
            rank[intent] ** -figures.intent_skew * figures.sentiments[sentiment] * figures.times_of_day[time]
            for intent, sentiment, time in triples
        ]
    )
    whole: Floats = weights / weights.sum()
    return whole


def _liking(figures: WorldFigures, styles: Floats, people: int, draws: np.random.Generator) -> Floats:
    """people x intents x skills, each person's with variance 1 (+ off_style) over the skills."""
    skills, dimensions = styles.shape
    intents = len(figures.intents)
    general, special = draws.normal(size=(people, 1, dimensions)), draws.normal(size=(people, intents, dimensions))
    taste: Floats = np.sqrt(1 - figures.by_intent) * general + np.sqrt(figures.by_intent) * special
    along = _standardised(taste @ styles.T)
    ideal = np.tanh(taste)[:, :, None, :]
    near = _standardised(-np.linalg.norm(ideal - styles[None, None], axis=3))
    mixed: Floats = _standardised((1 - figures.ideal_point) * along + figures.ideal_point * near)
    off = draws.normal(size=(people, 1, skills))
    mixture: Floats = mixed + np.sqrt(figures.off_style) * off
    return mixture


def _foreseen(figures: WorldFigures, shipped: Prior, styles: Floats, catalogue: Catalogue) -> Floats:
    """1 x intents x skills: the liking that the shipped prior expects, standardised over the skills of each intent."""
    ids = [skill.skill_id for skill in catalogue]
    found = np.zeros((1, len(figures.intents), len(ids)))
    for row, intent in enumerate(figures.intents):
        liking = shipped.liking(intent, ids, styles)
        stated = liking[[intent in skill.trigger.intents for skill in catalogue]]
        if stated.size and stated.std() > 0:
            found[0, row] = (liking - stated.mean()) / stated.std()
    return found


def _standardised(values: Floats) -> Floats:
    whole: Floats = (values - values.mean(-1, keepdims=True)) / values.std(-1, keepdims=True)
    return whole


def _calibrated(liking: Floats, applies: NDArray[np.bool_], likelihood: Floats, figures: WorldFigures) -> Floats:
    """Offset and slope by nested bisection: either mean grows with its own figure."""
    count = applies.sum(1)
    some = liking[:: max(1, len(liking) // _SOLVED_ON)]

    def means(offset: float, slope: float) -> tuple[float, float]:
        chance = _sigmoid(offset + slope * some)
        at_random = np.where(applies[None], chance, 0.0).sum(2) / count
        at_best = np.where(applies[None], chance, 0.0).max(2)
        return float((at_random @ likelihood).mean()), float((at_best @ likelihood).mean())

    slope_low, slope_high, offset = 0.0, 20.0, 0.0
    for _ in range(_SLOPE_HALVINGS):
        slope = (slope_low + slope_high) / 2
        low, high = -20.0, 20.0
        for _ in range(_OFFSET_HALVINGS):
            offset = (low + high) / 2
            low, high = (offset, high) if means(offset, slope)[0] < figures.random else (low, offset)
        slope_low, slope_high = (slope, slope_high) if means(offset, slope)[1] < figures.oracle else (slope_low, slope)
    found: Floats = _sigmoid(offset + slope * liking)
    return found


def _sigmoid(values: Floats) -> Floats:
    found: Floats = 1.0 / (1.0 + np.exp(-values))
    return found
