"""People's skills, opened once and kept as long as none of a person's own has changed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aico_memory.domain.behavioral.dimensions import DIMENSIONS
from aico_memory.domain.behavioral.shelf import OwnSkills, Shelf
from aico_memory.domain.behavioral.skill import Catalogue, Trigger
from aico_memory.errors import KeyDestroyed
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.stores.behavioral.port_learning import Definition
from aico_memory.vault.sealer import Sealer
from services.behavioral.own_skills import words_of

# Conditions that many skills state are kept once; so many are known at a time.
_TRIGGERS = 4096


@dataclass(frozen=True, slots=True)
class _Kept:
    shelf: Shelf
    # The key they were opened with: another one stands where the person was forgotten meanwhile.
    sealer: Sealer
    # Stand for the sealed definitions: what is sealed as before says what it said before.
    seals: tuple[int, ...]


class Shelves:
    """One instance a thread. What it keeps follows from the store alone: losing it loses nothing."""

    def __init__(self, catalogue: Catalogue, reader_of: Callable[[str], Sealer], capacity: int) -> None:
        self._base = Shelf.of(tuple(catalogue))
        self._reader_of = reader_of
        self._capacity = capacity
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._triggers: dict[Trigger, Trigger] = {}

    @property
    def base(self) -> Shelf:
        """The base skills, which everybody has."""
        return self._base

    def of(self, rows: BehavioralRows, user: str) -> Shelf:
        """What is at hand for a person, as of what the rows hold; base skills alone where their key is destroyed."""
        revision = rows.own_revision(user)
        if not revision:
            return self._base
        try:
            sealer = self._reader_of(user)
        except KeyDestroyed:
            return self._base
        kept = self._kept.get(user)
        if kept is None or kept.shelf.revision != revision or kept.sealer is not sealer:
            definitions = rows.accepted_skills(user)
            columns = self._opened(definitions, sealer, kept if kept is not None and kept.sealer is sealer else None)
            seals = tuple(hash(one.sealed) for one in definitions)
            kept = self._kept[user] = _Kept(self._base.extended(columns, revision), sealer, seals)
            while len(self._kept) > self._capacity:
                self._kept.popitem(last=False)
        self._kept.move_to_end(user)
        return kept.shelf

    def _opened(self, definitions: Sequence[Definition], sealer: Sealer, before: _Kept | None) -> OwnSkills:
        """The columns; words that were opened before are taken over."""
        known: dict[tuple[str, int], tuple[str, str, Trigger]] = {}
        if before is not None:
            columns = before.shelf.columns
            words = zip(columns.names, columns.templates, columns.triggers, strict=True)
            known = dict(zip(zip(columns.ids, before.seals, strict=True), words, strict=True))
        found = [
            known.get((one.skill_id, hash(one.sealed))) or words_of(one.skill_id, one.version, one.sealed, sealer)
            for one in definitions
        ]
        styles = np.frombuffer(b"".join(one.style for one in definitions), dtype="<f8").reshape(-1, len(DIMENSIONS))
        return OwnSkills(
            tuple(one.skill_id for one in definitions), tuple(name for name, _, _ in found),
            tuple(template for _, template, _ in found), tuple(self._shared(trigger) for _, _, trigger in found), styles,
        )  # fmt: skip

    def _shared(self, trigger: Trigger) -> Trigger:
        if len(self._triggers) >= _TRIGGERS:
            self._triggers.clear()
        return self._triggers.setdefault(trigger, trigger)
