"""Skills as points of style under a prior: their prior means, and the kernel between them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from aico_memory.domain.behavioral.dimensions import DIMENSIONS, Vector
from aico_memory.domain.behavioral.prior import Floats, Prior, half_squares, style_kernel, styles_of

Codes = NDArray[np.int64]
# Prior means that a space remembers: callers may name any intent.
MEANS = 4096


class StyleSpace:
    """Skills with their styles and the kernel between them under one prior; shared by all who have the same skills."""

    # Prior means by intent and skill; and those that `moderate` begins with.
    _means: dict[tuple[str, str], float]
    _moderate_means: dict[tuple[str, str], float]
    _whole: Floats | None
    _beneath: StyleSpace | None
    # Places from here on are those of a person's own skills.
    own_from: int

    def __init__(self, styles: Mapping[str, Vector], prior: Prior) -> None:
        place = {skill_id: index for index, skill_id in enumerate(styles)}
        self._fill(place, styles_of(np.array(list(styles.values())).reshape(len(styles), len(DIMENSIONS))), prior)
        # Of all with all, since many ask for the same ones.
        self._whole = self._kernel_of_all()

    def extended(self, place: Mapping[str, int], styles: Floats, before: StyleSpace | None = None) -> StyleSpace:
        """These skills and one person's own behind them: of the kernel only what is asked for is made.

        `place` names all skills, these first; `styles` has a row for each on the scale [-1, 1]. `before` is the space of
        the same person as it was: means of styles that have not moved are taken over, a thumb moves one of many.
        """
        found = StyleSpace.__new__(StyleSpace)
        found._fill(place, styles, self.prior)
        found._beneath = self
        found.own_from = len(self.place)
        if before is not None and before.prior is self.prior and before.ids == found.ids:
            same = {found.ids[row] for row in np.flatnonzero((before.styles == styles).all(1))}
            moderate = before.__dict__["moderate"]._means if "moderate" in before.__dict__ else before._moderate_means
            found._means = {key: mean for key, mean in before._means.items() if key[1] in same}
            found._moderate_means = {key: mean for key, mean in moderate.items() if key[1] in same}
        return found

    def _fill(self, place: Mapping[str, int], styles: Floats, prior: Prior) -> None:
        self.prior = prior
        self.place = place
        self.styles = styles
        self.importance = np.asarray(prior.importance, dtype=np.float64)
        self.taste = np.asarray(prior.taste, dtype=np.float64)
        self._squares = half_squares(styles, self.importance, prior.spread)
        self._means = {}
        self._moderate_means = {}
        self._whole = self._beneath = None
        self.own_from = len(place)

    @cached_property
    def ids(self) -> list[str]:
        """The skills in their places."""
        return list(self.place)

    def kernel(self, left: Codes, right: Codes) -> Floats:
        """Correlation of the liking between the skills at these places."""
        if self._whole is not None:
            return self._whole[left[:, None], right]
        return style_kernel(
            self.styles[left], self.styles[right], self.importance, self.prior.spread, self._squares[left], self._squares[right]
        )

    def _kernel_of_all(self) -> Floats:
        return style_kernel(self.styles, self.styles, self.importance, self.prior.spread, self._squares, self._squares)

    def mean(self, intent: str, skill_id: str) -> float:
        """The prior mean of a skill with an intent, its trigger taken as full.

        The trigger of past situations is not kept: the skill was among the best that applied.
        """
        if self._beneath is not None and skill_id in self._beneath:
            return self._beneath.mean(intent, skill_id)
        found = self._means.get((intent, skill_id))
        if found is None:
            style = self.styles[self.place[skill_id]][None]
            found = float(self.prior.mean(intent, [skill_id], style, np.ones(1))[0])
            if len(self._means) >= MEANS:
                self._means.clear()
            self._means[intent, skill_id] = found
        return found

    @classmethod
    def like(cls, other: StyleSpace, prior: Prior) -> StyleSpace:
        """The same skills under another prior."""
        found = cls.__new__(cls)
        found._fill(other.place, other.styles, prior)
        found.own_from = other.own_from
        if other._whole is not None:
            found._whole = found._kernel_of_all()
        return found

    @cached_property
    def moderate_prior(self) -> Prior:
        """That of a person who likes what is moderate."""
        return self.prior.moderate() if self._beneath is None else self._beneath.moderate_prior

    @cached_property
    def moderate(self) -> StyleSpace:
        """The same skills for such a person."""
        found = StyleSpace.like(self, self.moderate_prior)
        found._beneath = None if self._beneath is None else self._beneath.moderate
        found._means |= self._moderate_means
        return found

    def __contains__(self, skill_id: object) -> bool:
        return skill_id in self.place
