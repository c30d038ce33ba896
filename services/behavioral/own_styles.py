"""The styles of a person's own skills over time, learned again from thumbs in their order."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from aico_memory.domain.behavioral.dimensions import Vector, pull
from aico_memory.domain.behavioral.records import UserSkill
from aico_memory.stores.behavioral.port import BehavioralRows
from services.behavioral.own_skills import DELETED, GOES_ON, GONE


class OwnStyles:
    """Used for one folding: steps come in the order of their time, and `keep` ends it.

    A version begins with the style that it was given, or goes on with that of another one, and what thumbs had taught of
    it; deleted skills that were judged are among them.
    """

    def __init__(self, rows: BehavioralRows, user: str) -> None:
        self._rows = rows
        self._versions: dict[str, list[UserSkill]] = defaultdict(list)
        for one in rows.user_skills(user):
            self._versions[one.skill_id].append(one)
        # By skill and version: the version whose style it goes on with, itself where it began anew.
        self._begun: dict[tuple[str, int], UserSkill] = {}
        notes = [one for one in rows.evolution_of(user) if one.what == GOES_ON]
        gone_on = {(one.subject, int(one.new_value), one.at_us): int(one.old_value) for one in notes}
        for skill_id, versions in self._versions.items():
            start_us = 0
            for one in versions:
                # By its time, too: a skill of the same id may have been there before, and have left nothing else.
                before = self._begun.get((skill_id, gone_on.get((skill_id, one.version, start_us), 0)))
                self._begun[skill_id, one.version] = before or one
                start_us = one.updated_us
        # By skill and the version that a style began with.
        self._learned: dict[tuple[str, int], Vector] = {}

    @property
    def deletions(self) -> dict[str, list[int]]:
        """By skill: when one of this id was deleted."""
        ends: dict[tuple[str, int], int] = {}
        for skill_id, versions in self._versions.items():
            ends |= {(skill_id, one.created_us): one.updated_us for one in versions if one.status == DELETED}
        found: dict[str, list[int]] = defaultdict(list)
        for (skill_id, _), end_us in ends.items():
            found[skill_id].append(end_us)
        return found

    def at(self, skill_id: str, moment_us: int) -> Vector | None:
        """The style that a skill had then; None where there was none of this id any more."""
        found = self._in_use(skill_id, moment_us)
        return None if found is None else self._style_of(found)

    def like(self, skill_id: str, moment_us: int, preference: Vector, rate: float) -> None:
        """After a thumb up the style follows the preference it was liked under, as `learn_dimensions` has it."""
        found = self._in_use(skill_id, moment_us)
        if found is not None and rate > 0:
            begun = self._begun[skill_id, found.version]
            self._learned[skill_id, begun.version] = pull(self._style_of(found), preference, 1, rate)

    def keep(self) -> None:
        """Give every skill of now the style that was learned."""
        for versions in self._versions.values():
            for one in versions:
                style = self._style_of(one)
                if one.status not in GONE and one.dimensions != style:
                    self._rows.put_user_skill(replace(one, dimensions=style))

    def _in_use(self, skill_id: str, moment_us: int) -> UserSkill | None:
        """The version that was the latest one then; the first one also for thumbs that claim to be older than it."""
        versions = self._versions.get(skill_id, [])
        found = next((one for one in versions if one.status not in GONE or one.updated_us > moment_us), None)
        # After a deletion there was none of this id until another one was made.
        return None if found is not None and found is not versions[0] and found.created_us > moment_us else found

    def _style_of(self, version: UserSkill) -> Vector:
        begun = self._begun[version.skill_id, version.version]
        return self._learned.get((version.skill_id, begun.version), begun.given)
