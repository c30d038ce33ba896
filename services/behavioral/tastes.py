"""People's posteriors, kept in memory as long as nothing new has been learned of them; the prior they start from."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from aico_memory.domain.behavioral.evidence import Evidence, bounded
from aico_memory.domain.behavioral.posterior import TastePosterior, taste_of
from aico_memory.domain.behavioral.prior import Prior, prior_from_data, styles_of
from aico_memory.domain.behavioral.records import UserState
from aico_memory.domain.behavioral.shelf import Shelf
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.domain.behavioral.style_space import StyleSpace
from aico_memory.settings.behavioral import BehavioralSettings
from aico_memory.stores.behavioral.port import BehavioralRows


@dataclass(frozen=True, slots=True)
class _Kept:
    # The last event that taught something of the person.
    revision: str
    posterior: TastePosterior
    # Of the person's skills, under one prior: it outlives the thumbs.
    space: StyleSpace
    own_revision: bytes


class Tastes:
    """One instance for the consumer's thread. What it keeps follows from the store alone: losing it loses nothing."""

    def __init__(self, catalogue: Catalogue, starting: Prior, settings: BehavioralSettings) -> None:
        self._settings = settings
        self._base = {skill.skill_id: skill.dimensions for skill in catalogue}
        self.starting = starting
        self._space = StyleSpace(self._base, starting)
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def prior(self, rows: BehavioralRows) -> Prior:
        """The prior in use: the one learned from people where there is one and the settings allow it."""
        return self.space(rows).prior

    def space(self, rows: BehavioralRows) -> StyleSpace:
        """The base skills under the prior in use."""
        learned = rows.active_prior() if self._settings.prior.source == "learned" else None
        version = learned.version if learned else self.starting.version
        if self._space.prior.version != version:
            self._space = StyleSpace(self._base, prior_from_data(learned.body) if learned else self.starting)
        return self._space

    def of(self, rows: BehavioralRows, user: str, state: UserState, shelf: Shelf) -> TastePosterior:
        """A person's posterior over the skills at hand, as of what the rows hold."""
        base = self.space(rows)
        kept = self._kept.get(user)
        space = base if not len(shelf.columns) else None
        if kept is not None and kept.own_revision == shelf.revision and kept.space.prior is base.prior:
            space = kept.space
            if kept.revision == state.revision:
                self._kept.move_to_end(user)
                return kept.posterior
        if space is None:
            styles = np.concatenate([base.styles, styles_of(shelf.columns.styles)])
            space = base.extended(shelf.place, styles, None if kept is None else kept.space)
        posterior = taste_of(self.evidence(rows, user), space)
        self._kept[user] = _Kept(state.revision, posterior, space, shelf.revision)
        self._kept.move_to_end(user)
        while len(self._kept) > self._settings.hierarchical.cached_users:
            self._kept.popitem(last=False)
        return posterior

    def evidence(self, rows: BehavioralRows, user: str) -> Evidence:
        """What a person's thumbs have taught, bounded, and what the person has said."""
        cells = bounded(rows.cells(user), self._settings.hierarchical.cells)
        return Evidence(cells, tuple(rows.wishes(user)), stated=tuple(rows.statements(user)))
