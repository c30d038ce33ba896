"""The skills that are at hand for one person, arranged so that a situation finds those that could apply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self, TypeVar

import numpy as np

from aico_memory.domain.behavioral.dimensions import DIMENSIONS
from aico_memory.domain.behavioral.prior import Floats
from aico_memory.domain.behavioral.situation import Situation
from aico_memory.domain.behavioral.skill import Skill, SkillType, Trigger
from aico_memory.domain.behavioral.trigger import TriggerWeights, could_reach, topic_could_decide

# Intents for which a shelf remembers what could apply: callers may name any word.
INTENTS = 64
_Key = tuple[str, TriggerWeights, float]
_Found = TypeVar("_Found")


def _no_styles() -> Floats:
    return np.zeros((0, len(DIMENSIONS)))


@dataclass(frozen=True, slots=True, eq=False)
class OwnSkills:
    """A person's own skills in columns, one place a skill: a third of what as many objects would take.

    `styles` has a row of sixteen values (0..1) a skill.
    """

    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    styles: Floats = field(default_factory=_no_styles)

    @classmethod
    def of(cls, skills: Sequence[Skill]) -> Self:
        """The columns of these."""
        return cls(
            tuple(skill.skill_id for skill in skills), tuple(skill.name for skill in skills),
            tuple(skill.template for skill in skills), tuple(skill.trigger for skill in skills),
            np.array([skill.dimensions for skill in skills]) if skills else _no_styles(),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, place: int) -> Skill:
        """The skill of a place."""
        style = tuple(self.styles[place].tolist())
        return Skill(
            self.ids[place], self.names[place], self.templates[place], self.triggers[place], style, SkillType.USER_CREATED
        )


class Shelf:
    """Base skills and accepted ones of the person's own; `revision` is another one whenever the own ones are."""

    def __init__(self, base: Sequence[Skill]) -> None:
        self._base = tuple(base)
        self.columns = OwnSkills()
        self.revision = b""
        # The shelf of the base skills alone, where there are others here.
        self._beneath: Shelf | None = None
        # By intent (and figures): places of own skills that could apply, and the base skills that could.
        self._likely: dict[_Key, tuple[int, ...]] = {}
        self._likely_base: dict[_Key, tuple[Skill, ...]] = {}
        # By intent (and figures): whether a topic could make a skill apply.
        self._topic_decides: dict[_Key, bool] = {}

    @classmethod
    def of(cls, base: Sequence[Skill], own: Sequence[Skill] = ()) -> Shelf:
        """A shelf of these; base skills come first."""
        return cls(base).extended(OwnSkills.of(own), b"")

    def extended(self, own: OwnSkills, revision: bytes) -> Shelf:
        """This shelf of base skills with a person's own ones behind them."""
        found = Shelf(self._base)
        found.columns, found.revision, found._beneath = own, revision, self
        return found

    @property
    def base(self) -> tuple[Skill, ...]:
        """The skills that everybody has."""
        return self._base

    @property
    def own(self) -> tuple[Skill, ...]:
        """The person's own ones, made anew with each call."""
        return tuple(self.columns.at(place) for place in range(len(self.columns)))

    @cached_property
    def place(self) -> dict[str, int]:
        """Where a skill stands, base skills first."""
        ids = [skill.skill_id for skill in self._base] + list(self.columns.ids)
        return {skill_id: place for place, skill_id in enumerate(ids)}

    def __iter__(self) -> Iterator[Skill]:
        yield from self._base
        yield from self.own

    def __len__(self) -> int:
        return len(self._base) + len(self.columns)

    def named(self, skill_id: str) -> Skill | None:
        """The skill of an id, where it is at hand."""
        place = self.place.get(skill_id)
        if place is None:
            return None
        return self._base[place] if place < len(self._base) else self.columns.at(place - len(self._base))

    @cached_property
    def own_topics(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The person's own skills that state topics: id and topics."""
        triggers = zip(self.columns.ids, self.columns.triggers, strict=True)
        return tuple((skill_id, trigger.topics) for skill_id, trigger in triggers if trigger.topics)

    @cached_property
    def has_topics(self) -> bool:
        """Whether any skill states a topic."""
        return bool(self.own_topics) or any(skill.trigger.topics for skill in self._base)

    def topic_could_decide(self, intent: str, weights: TriggerWeights, threshold: float) -> bool:
        """Whether some skill here could apply with this intent if its topic were met; worked out once for each intent."""
        if self._beneath is not None and self._beneath.topic_could_decide(intent, weights, threshold):
            return True
        key = (intent, weights, threshold)
        found = self._topic_decides.get(key)
        if found is None:
            own = (self.columns.at(place) for place, one in enumerate(self.columns.triggers) if one.topics)
            skills = self._base if self._beneath is None else own
            found = any(topic_could_decide(skill, intent, weights, threshold) for skill in skills)
            _remember(self._topic_decides, key, found)
        return found

    def likely(self, situation: Situation, weights: TriggerWeights, threshold: float) -> tuple[Skill, ...]:
        """All that could apply with this intent, in their order; which ones is worked out once for each intent."""
        if self._beneath is not None:
            base = self._beneath.likely(situation, weights, threshold)
            return (*base, *map(self.columns.at, self._places(situation, weights, threshold)))
        key = (situation.intent, weights, threshold)
        found = self._likely_base.get(key)
        if found is None:
            found = tuple(skill for skill in self._base if could_reach(skill.trigger, situation, weights, threshold))
            _remember(self._likely_base, key, found)
        return found

    def _places(self, situation: Situation, weights: TriggerWeights, threshold: float) -> tuple[int, ...]:
        key = (situation.intent, weights, threshold)
        found = self._likely.get(key)
        if found is None:
            triggers = enumerate(self.columns.triggers)
            found = tuple(place for place, one in triggers if could_reach(one, situation, weights, threshold))
            _remember(self._likely, key, found)
        return found


def _remember(kept: dict[_Key, _Found], key: _Key, found: _Found) -> None:
    if len(kept) >= INTENTS:
        kept.clear()
    kept[key] = found
