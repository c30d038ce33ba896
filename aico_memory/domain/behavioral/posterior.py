"""One person's posterior: from the common prior and the person's own thumbs to beliefs about the skills at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aico_memory.domain.behavioral.dimensions import DIMENSIONS, Vector
from aico_memory.domain.behavioral.evidence import Evidence
from aico_memory.domain.behavioral.prior import TYPICAL_LENGTH, Floats, Prior, style_kernel, style_of
from aico_memory.domain.behavioral.situation import Situation

Codes = NDArray[np.int64]
# A wish is read as a slope of this many prior standard deviations, told with an error of as many.
WISH_SLOPE = 1.5


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
class _Points:
    """Cells or candidates as arrays: place of the skill in the space, and codes of the labels."""

    skill: Codes
    intent: Codes
    sentiment: Codes
    bucket: Codes


class StyleSpace:
    """Skills with their styles and the kernel between them under one prior; shared by all who have the same skills."""

    def __init__(self, styles: Mapping[str, Vector], prior: Prior) -> None:
        self.prior = prior
        self.vectors = dict(styles)
        self.place = {skill_id: index for index, skill_id in enumerate(styles)}
        self.ids = list(styles)
        self.styles = np.array([style_of(vector) for vector in styles.values()]).reshape(len(styles), len(DIMENSIONS))
        self.importance = np.asarray(prior.importance, dtype=np.float64)
        self._means: dict[str, list[float]] = {}
        self.kernel = style_kernel(self.styles, self.styles, self.importance, prior.spread)

    def means(self, intent: str) -> list[float]:
        """The prior mean of each skill with an intent, its trigger taken as full.

        The trigger of past situations is not kept: the skill was among the best that applied.
        """
        found = self._means.get(intent)
        if found is None:
            mean = self.prior.mean(intent, self.ids, self.styles, np.ones(len(self.ids)))
            found = self._means[intent] = [float(value) for value in mean]
        return found

    @classmethod
    def like(cls, other: StyleSpace, prior: Prior) -> StyleSpace:
        """The same skills under another prior."""
        return cls(other.vectors, prior)

    def __contains__(self, skill_id: object) -> bool:
        return skill_id in self.place


class TastePosterior:
    """The exact Gaussian posterior given a person's cells and wishes; O(n^3) once for n cells, O(n^2) a question.

    Deterministic: equal evidence, space and order of cells give equal bits. Cells of skills that the space does not
    hold are left out (a deleted skill teaches nothing more).
    """

    def __init__(self, evidence: Evidence, space: StyleSpace) -> None:
        self._space = space
        self._codes: dict[str, int] = {}
        self.version = evidence.version
        cells = [cell for cell in evidence.cells if cell.skill_id in space and cell.total > 0]
        self._points = self._coded([(cell.skill_id, cell.intent, cell.sentiment, cell.time_of_day) for cell in cells])
        prior, spread = space.prior, space.prior.spread
        totals = np.array([cell.total for cell in cells], dtype=np.float64)
        rates = np.array([cell.positive for cell in cells], dtype=np.float64) / totals
        means = np.array([space.means(cell.intent)[space.place[cell.skill_id]] for cell in cells])
        wishes = [wish for wish in evidence.wishes if wish.more + wish.less > 0]
        self._wished = np.zeros((len(wishes), len(DIMENSIONS)))
        for row, wish in enumerate(wishes):
            self._wished[row, DIMENSIONS.index(wish.dimension)] = 1.0
        slopes = np.sqrt(self._slope_variance(self._wished).diagonal()) * WISH_SLOPE
        told = np.array([wish.more + wish.less for wish in wishes])
        balance = np.array([wish.more - wish.less for wish in wishes]) / told if wishes else told
        expected = self._wished @ np.asarray(prior.taste, dtype=np.float64)
        residual = np.concatenate([rates - means, balance * slopes - expected])
        errors = np.concatenate([spread.noise / totals, slopes**2 / told]) if residual.size else residual
        covariance = self._with_wishes(self._points, self._points)
        self._precision = np.linalg.inv(covariance + np.diag(errors)) if residual.size else covariance
        self._weights = self._precision @ residual
        self._residual = residual

    def beliefs(self, situation: Situation, skill_ids: Sequence[str], triggers: Sequence[float]) -> Beliefs:
        """What to expect of these skills in this situation."""
        prior, space = self._space.prior, self._space
        points = self._coded([(one, situation.intent, situation.sentiment, situation.time_of_day) for one in skill_ids])
        styled, own = self._parts(points, self._points)
        wishes = self._style_to_wishes(points)
        aligned = np.hstack([styled, wishes])
        across = np.hstack([styled + own, wishes])
        itself_styled, itself_own = self._parts(points, points)
        fit = prior.fit_of_situation(np.asarray(triggers, dtype=np.float64))
        common = prior.liking(situation.intent, skill_ids, space.styles[points.skill])
        alignment = common + aligned @ self._weights
        record = (across - aligned) @ self._weights
        covariance = itself_styled + itself_own - across @ self._precision @ across.T
        return Beliefs(fit + alignment + record, fit, alignment, record, covariance)

    def taste(self) -> tuple[Floats, Floats]:
        """The liking of each style dimension by itself, everywhere: slope per [-1, 1] unit, and standard deviation."""
        everywhere = np.eye(len(DIMENSIONS))
        across = np.hstack(
            [self._slope_to_skills(everywhere)[:, self._points.skill], self._slope_variance(everywhere, self._wished)]
        )
        mean = np.asarray(self._space.prior.taste, dtype=np.float64) + across @ self._weights
        variance = self._slope_variance(everywhere).diagonal() - np.einsum("ij,jk,ik->i", across, self._precision, across)
        return mean, np.sqrt(np.maximum(variance, 0.0))

    def log_likelihood(self) -> float:
        """Of the evidence under the prior, up to a constant that no prior changes."""
        if not self._residual.size:
            return 0.0
        log_determinant = float(np.linalg.slogdet(self._precision)[1])
        return 0.5 * (log_determinant - float(self._residual @ self._weights))

    def _coded(self, rows: Sequence[tuple[str, str, str, str]]) -> _Points:
        code, place = self._codes, self._space.place
        table = np.array(
            [
                (
                    place[skill],
                    code.setdefault(f"i{intent}", len(code)),
                    code.setdefault(f"s{sentiment}", len(code)),
                    code.setdefault(f"{intent}|{sentiment}|{time}", len(code)),
                )
                for skill, intent, sentiment, time in rows
            ],
            dtype=np.int64,
        ).reshape(len(rows), 4)
        return _Points(table[:, 0], table[:, 1], table[:, 2], table[:, 3])

    def _parts(self, left: _Points, right: _Points) -> tuple[Floats, Floats]:
        """Covariance by the liking of styles, and all of it that is not."""
        spread = self._space.prior.spread
        intent = left.intent[:, None] == right.intent[None]
        sentiment = left.sentiment[:, None] == right.sentiment[None]
        same = left.skill[:, None] == right.skill[None]
        bucket = left.bucket[:, None] == right.bucket[None]
        scale = spread.taste + spread.taste_by_intent * intent + spread.taste_by_sentiment * sentiment
        styled = self._space.kernel[np.ix_(left.skill, right.skill)] * scale
        own = same * (spread.skill + spread.skill_by_intent * intent + spread.skill_by_bucket * bucket)
        return styled, spread.level + own

    def _slope_variance(self, left: Floats, right: Floats | None = None) -> Floats:
        spread = self._space.prior.spread
        scale = spread.taste * (1.0 - spread.nearness) / TYPICAL_LENGTH
        found: Floats = scale * (left * self._space.importance) @ (left if right is None else right).T
        return found

    def _slope_to_skills(self, directions: Floats) -> Floats:
        return self._slope_variance(directions, self._space.styles)

    def _style_to_wishes(self, points: _Points) -> Floats:
        found: Floats = self._slope_to_skills(self._wished)[:, points.skill].T
        return found

    def _with_wishes(self, left: _Points, right: _Points) -> Floats:
        styled, own = self._parts(left, right)
        wishes = self._style_to_wishes(left)
        return np.block([[styled + own, wishes], [wishes.T, self._slope_variance(self._wished)]])
