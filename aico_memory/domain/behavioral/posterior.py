"""One person's posterior: from the common prior and the person's own thumbs to beliefs about the skills at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aico_memory.domain.behavioral.dimensions import DIMENSIONS
from aico_memory.domain.behavioral.evidence import WISH_SLOPE, Cell, Evidence
from aico_memory.domain.behavioral.prior import TYPICAL_LENGTH, Floats, Prior, pronounced
from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.stated_slopes import NOWHERE, Parts, StatedSlopes, buckets_of
from aico_memory.domain.behavioral.style_space import Codes, StyleSpace

Flags = NDArray[np.bool_]
# Another prior has to explain a person's thumbs this much better (natural logarithm of the likelihood), and of so many.
MARGIN = 1.0
LEAST_THUMBS = 5.0
# Rows from which a triangular matrix is inverted by halves.
LEAF = 48
_LOWER = np.tri(LEAF)


@dataclass(frozen=True, slots=True)
class Beliefs:
    """About some skills in one situation: expected chance of a thumb up, its parts, and the covariance."""

    mean: Floats
    # The part that the situation decides; that the liking of styles decides; that the skills' own record decides.
    situation: Floats
    alignment: Floats
    record: Floats
    covariance: Floats


@dataclass(frozen=True, slots=True)
class _Told:
    """Cells as arrays: place of the skill in the space, and codes of the labels."""

    skill: Codes
    intent: Codes
    sentiment: Codes
    time: Codes
    intents: Mapping[str, int]
    sentiments: Mapping[str, int]
    times: Mapping[str, int]

    # Share of thumbs up, weighted number of thumbs, and the prior mean of each.
    rate: Floats
    total: Floats
    mean: Floats

    @classmethod
    def of(cls, cells: Sequence[Cell], space: StyleSpace) -> _Told:
        intents: dict[str, int] = {}
        sentiments: dict[str, int] = {}
        times: dict[str, int] = {}
        place = space.place
        known = _counting(cells, space)
        rows = [
            (
                place[cell.skill_id],
                intents.setdefault(cell.intent, len(intents)),
                sentiments.setdefault(cell.sentiment, len(sentiments)),
                times.setdefault(cell.time_of_day, len(times)),
                cell.positive,
                cell.positive + cell.negative,
            )
            for cell in known
        ]
        table = np.array(rows, dtype=np.float64).reshape(len(rows), 6).T
        skill, intent, sentiment, time = table[:4].astype(np.int64)
        mean = _means(known, space)
        return cls(skill, intent, sentiment, time, intents, sentiments, times, table[4] / table[5], table[5], mean)

    def under(self, cells: Sequence[Cell], space: StyleSpace) -> _Told:
        """The same cells with the prior means of another space of the same skills."""
        return replace(self, mean=_means(_counting(cells, space), space))

    def alike(self, situation: Situation) -> tuple[Flags, Flags, Flags]:
        """Which cells share the intent of a situation, its sentiment, and all three labels."""
        intent = self.intent == self.intents.get(situation.intent, -1)
        sentiment = self.sentiment == self.sentiments.get(situation.sentiment, -1)
        return intent, sentiment, intent & sentiment & (self.time == self.times.get(situation.time_of_day, -1))


def _counting(cells: Sequence[Cell], space: StyleSpace) -> list[Cell]:
    return [cell for cell in cells if cell.skill_id in space.place and cell.positive + cell.negative > 0]


def _means(cells: Sequence[Cell], space: StyleSpace) -> Floats:
    return np.array([space.mean(cell.intent, cell.skill_id) for cell in cells], dtype=np.float64)


class TastePosterior:
    """The exact Gaussian posterior given a person's cells, wishes and statements; O(n^3) once for n cells, O(n^2) a question.

    Without statements it is to the bit what it was before there were any.
    Deterministic: equal evidence, space and order of cells give equal bits. Cells of skills that the space does not
    hold are left out (a deleted skill teaches nothing more).
    """

    def __init__(self, evidence: Evidence, space: StyleSpace, told: _Told | None = None) -> None:
        self._space = space
        self.version = evidence.version
        self._told = told = _Told.of(evidence.cells, space) if told is None else told
        wishes = [wish for wish in evidence.wishes if wish.more + wish.less > 0]
        wished = np.zeros((len(wishes), len(DIMENSIONS)))
        for row, wish in enumerate(wishes):
            wished[row, DIMENSIONS.index(wish.dimension)] = 1.0
        self._stated = stated = StatedSlopes(evidence.stated, space.prior)
        cells = _counting(evidence.cells, space) if stated else []
        self._cells = stated.parts(space.styles[told.skill], buckets_of(cells))
        self._wished = stated.parts(wished, [NOWHERE] * len(wishes))
        residual, errors = told.rate - told.mean, space.prior.spread.noise / told.total
        if stated:
            residual = residual - stated.shift(self._cells, [cell.intent for cell in cells])
        covariance = self._between_cells()
        if wishes:
            slopes = np.sqrt(self._slope_variance(wished).diagonal()) * WISH_SLOPE
            among = self._between_slopes(self._wished, self._wished)
            words = np.array([wish.more + wish.less for wish in wishes])
            balance = np.array([wish.more - wish.less for wish in wishes]) / words
            residual = np.concatenate([residual, balance * slopes - self._mean_slopes(self._wished)])
            errors = np.concatenate([errors, slopes**2 / words])
            across = self._between_slopes(self._cells, self._wished)
            covariance = np.block([[covariance, across], [across.T, among]])
        covariance.flat[:: len(covariance) + 1] += errors
        lower = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
        # The inverse of the lower Cholesky factor: of it are the precision and all that is asked.
        self._root = inverse_of_lower(lower)
        self._whitened = self._root @ residual
        self._weights = self._root.T @ self._whitened
        self._log_determinant = 2.0 * float(np.log(lower.diagonal()).sum())

    def under(self, evidence: Evidence, space: StyleSpace) -> TastePosterior:
        """That of the same evidence in another space of the same skills."""
        return TastePosterior(evidence, space, self._told.under(evidence.cells, space))

    def beliefs(self, situation: Situation, skill_ids: Sequence[str], triggers: Sequence[float]) -> Beliefs:
        """What to expect of these skills in this situation."""
        prior, space, told, spread = self._space.prior, self._space, self._told, self._space.prior.spread
        skills = np.array([space.place[one] for one in skill_ids], dtype=np.int64)
        intent, sentiment, bucket = told.alike(situation)
        kernel = space.kernel(skills, np.concatenate([told.skill, skills]))
        scale = self._scale(intent, sentiment)
        aligned = kernel[:, : told.skill.size] * scale
        mine = self._stated.parts(space.styles[skills], [situation.bucket if self._stated else NOWHERE] * skills.size)
        if self._stated:
            aligned += self._stated.covariance(mine, self._cells, scale)
        own = self._own(skills[:, None] == told.skill, intent, bucket)
        across = aligned + own
        if len(self._wished.styles):
            wishes = self._between_slopes(mine, self._wished)
            aligned, across = np.hstack([aligned, wishes]), np.hstack([across, wishes])
        liking = spread.taste + spread.taste_by_intent + spread.taste_by_sentiment
        itself = kernel[:, told.skill.size :] * liking
        if self._stated:
            itself += self._stated.covariance(mine, mine, liking)
        itself += spread.level
        itself[skills[:, None] == skills] += spread.skill + spread.skill_by_intent + spread.skill_by_bucket
        fit = prior.fit_of_situation(np.asarray(triggers, dtype=np.float64))
        alignment = prior.liking(situation.intent, skill_ids, space.styles[skills]) + aligned @ self._weights
        if self._stated:
            alignment = alignment + self._stated.shift(mine, [situation.intent] * skills.size)
        record = own @ self._weights[: told.skill.size]
        if skills.max(initial=-1) >= space.own_from:
            alignment = alignment + self._trust(skills, alignment + record, intent)
        explained = across @ self._root.T
        return Beliefs(fit + alignment + record, fit, alignment, record, itself - explained @ explained.T)

    def _trust(self, skills: Codes, liking: Floats, intent: Flags) -> Floats:
        """What is believed of a person's own skills beyond their record: 0 for the others.

        Who makes a skill, or accepts one, wants it where its conditions hold. So it counts as liked as the best of the
        others there, as far as its own thumbs with this intent do not speak against it: by the mean of Beta(1 + up, down).
        """
        own = skills >= self._space.own_from
        if own.all():
            return np.zeros(skills.size)
        mine = (skills[:, None] == self._told.skill) & intent
        total = mine @ self._told.total
        up = mine @ (self._told.rate * self._told.total)
        lacking = np.maximum(liking[~own].max() - liking, 0.0)
        found: Floats = np.where(own, lacking * (1.0 + up) / (1.0 + total), 0.0)
        return found

    def taste(self) -> tuple[Floats, Floats]:
        """The liking of each style dimension by itself, everywhere: slope per [-1, 1] unit, and standard deviation."""
        everywhere = self._stated.parts(np.eye(len(DIMENSIONS)), [NOWHERE] * len(DIMENSIONS))
        across = np.hstack([self._between_slopes(one, everywhere).T for one in (self._cells, self._wished)])
        mean = self._mean_slopes(everywhere) + across @ self._weights
        variance = self._between_slopes(everywhere, everywhere).diagonal() - ((across @ self._root.T) ** 2).sum(1)
        return mean, np.sqrt(np.maximum(variance, 0.0))

    @property
    def prior_taste(self) -> Floats:
        """The slopes that the prior alone expects."""
        return self._space.taste

    def pooled(self, groups: Codes, count: int) -> tuple[Floats, Floats]:
        """Of effects that cells of one group share: their precision (count x count) and weighted residuals.

        `groups` has the group (0..count-1) of each cell that counts. Generalised least squares: what the person's own
        deviations explain is no evidence of a common effect, and neither is that more was tried of what was liked.
        """
        member = (groups[:, None] == np.arange(count)).astype(np.float64)
        found: Floats = self._root[:, : self._told.skill.size] @ member
        return found.T @ found, found.T @ self._whitened

    @property
    def thumbs(self) -> float:
        """Of the cells that count."""
        return float(self._told.total.sum())

    def log_likelihood(self) -> float:
        """Of the evidence under the prior, up to a constant that no prior changes."""
        return -0.5 * (self._log_determinant + float(self._whitened @ self._whitened))

    def log_likelihood_if(self, other: Prior) -> float:
        """The same under a prior that differs from this one in moderation alone, which adds few directions to the covariance.

        Matrix determinant lemma and Woodbury's identity: O(n^2) for n cells.
        """
        prior, told = self._space.prior, self._told
        lengths = pronounced(self._space.styles[told.skill])
        by_label = [
            (prior.spread.taste, np.ones((1, told.skill.size))),
            (prior.spread.taste_by_intent, told.intent == np.arange(len(told.intents))[:, None]),
            (prior.spread.taste_by_sentiment, told.sentiment == np.arange(len(told.sentiments))[:, None]),
        ]
        added = np.vstack([np.sqrt(variance) * lengths * rows for variance, rows in by_label])
        added *= np.sqrt(other.spread.moderation - prior.spread.moderation)
        cells = self._root[:, : told.skill.size]
        directions = cells @ added.T
        whitened = self._whitened - cells @ ((other.moderation - prior.moderation) * lengths)
        inner = np.eye(len(added)) + directions.T @ directions
        projected = directions.T @ whitened
        quadratic = float(whitened @ whitened - projected @ np.linalg.solve(inner, projected))
        return -0.5 * (self._log_determinant + float(np.linalg.slogdet(inner)[1]) + quadratic)

    def _between_cells(self) -> Floats:
        told = self._told
        intent, sentiment = told.intent[:, None] == told.intent, told.sentiment[:, None] == told.sentiment
        bucket = intent & sentiment & (told.time[:, None] == told.time)
        kernel = self._space.kernel(told.skill, told.skill)
        scale = self._scale(intent, sentiment)
        found: Floats = kernel * scale
        if self._stated:
            found += self._stated.covariance(self._cells, self._cells, scale)
        found += self._own(told.skill[:, None] == told.skill, intent, bucket)
        return found

    def _scale(self, intent: Flags, sentiment: Flags) -> Floats:
        """Variance of the liking of style by what two situations share."""
        spread = self._space.prior.spread
        some = spread.taste + spread.taste_by_intent
        table = np.array(
            [spread.taste, some, spread.taste + spread.taste_by_sentiment, some + spread.taste_by_sentiment]
        )  # fmt: skip
        found: Floats = table[intent.view(np.uint8) + 2 * sentiment.view(np.uint8)]
        return found

    def _own(self, same: Flags, intent: Flags, bucket: Flags) -> Floats:
        """Covariance that style does not explain: of the level, and of one skill by what two situations share."""
        spread = self._space.prior.spread
        by_intent = spread.skill + spread.skill_by_intent
        table = spread.level + np.array([0.0, spread.skill, by_intent, by_intent + spread.skill_by_bucket])
        found: Floats = table[same * (1 + intent.view(np.uint8) + bucket.view(np.uint8))]
        return found

    def _slope_variance(self, left: Floats, right: Floats | None = None) -> Floats:
        spread = self._space.prior.spread
        scale = spread.taste * (1.0 - spread.nearness) / TYPICAL_LENGTH
        found: Floats = scale * (left * self._space.importance) @ (left if right is None else right).T
        return found

    def _between_slopes(self, one: Parts, other: Parts) -> Floats:
        """Covariance of the liking of styles where at least one side is that of no situation."""
        found = self._slope_variance(other.styles, one.styles).T
        return found + self._stated.covariance(one, other, self._space.prior.spread.taste) if self._stated else found

    def _mean_slopes(self, parts: Parts) -> Floats:
        """What the prior, and the statements that hold everywhere, say of them."""
        found: Floats = parts.styles @ self._space.taste
        return found + self._stated.shift(parts, ()) if self._stated else found


def inverse_of_lower(lower: Floats) -> Floats:
    """The inverse of a lower triangular matrix, by halves: products of blocks do nearly all of the work."""
    size = len(lower)
    if size <= LEAF:
        return np.linalg.inv(lower) * _LOWER[:size, :size] if size else lower
    half = size // 2
    found = np.zeros_like(lower)
    found[:half, :half] = first = inverse_of_lower(lower[:half, :half])
    found[half:, half:] = second = inverse_of_lower(lower[half:, half:])
    found[half:, :half] = -second @ (lower[half:, :half] @ first)
    return found


def taste_of(evidence: Evidence, space: StyleSpace) -> TastePosterior:
    """The posterior under the prior that explains a person's thumbs better: the common one, or that of moderate likings.

    The kind of prior is chosen by the marginal likelihood of this person's own thumbs (type II maximum likelihood,
    Rasmussen & Williams, 2006, chapter 5); the common one holds until the other is better by MARGIN.
    """
    common = TastePosterior(evidence, space)
    if common.thumbs < LEAST_THUMBS and sum(cell.total for cell in evidence.cells) < LEAST_THUMBS:
        return common
    other = common.log_likelihood_if(space.moderate_prior)
    if other - MARGIN <= common.log_likelihood():
        return common
    return common.under(evidence, space.moderate)
