"""What a skill is: a prompt template, the conditions under which it applies, and its style."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from aico_memory.domain.behavioral.dimensions import Vector
from aico_memory.errors import SkillNotFound


class SkillType(StrEnum):
    """Base skills are immutable and shipped as data; user-created ones can be edited and learn."""

    BASE = "base"
    USER_CREATED = "user_created"


@dataclass(frozen=True, slots=True)
class Trigger:
    """Conditions of a skill; an empty list states no condition. Lists mean membership."""

    intents: frozenset[str] = frozenset()
    times_of_day: frozenset[str] = frozenset()
    sentiments: frozenset[str] = frozenset()
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill; `dimensions` are its sixteen style values."""

    skill_id: str
    name: str
    template: str
    trigger: Trigger
    dimensions: Vector
    type: SkillType = SkillType.BASE


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The base skills of a deployment, by id, in their fixed order."""

    skills: Mapping[str, Skill] = field(default_factory=dict)

    @classmethod
    def of(cls, skills: Iterable[Skill]) -> Catalogue:
        """A catalogue sorted by skill id, so that every process walks it alike."""
        return cls({skill.skill_id: skill for skill in sorted(skills, key=lambda skill: skill.skill_id)})

    def __iter__(self) -> Iterator[Skill]:
        return iter(self.skills.values())

    def __len__(self) -> int:
        return len(self.skills)

    def __contains__(self, skill_id: object) -> bool:
        return skill_id in self.skills

    def get(self, skill_id: str) -> Skill:
        """The skill of an id; SkillNotFound where there is none."""
        try:
            return self.skills[skill_id]
        except KeyError:
            raise SkillNotFound(f"There is no skill {skill_id!r}") from None


def with_template(system_prompt: str, template: str) -> str:
    """The system prompt with a skill's words behind it, a paragraph of their own."""
    return "\n\n".join(part for part in (system_prompt.rstrip(), template.strip()) if part)
