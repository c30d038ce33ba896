"""Reading the base skills from their YAML file; every fault is named with its file and key path."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aico_memory.domain.behavioral.dimensions import vector_of
from aico_memory.domain.behavioral.situation import TIMES_OF_DAY, label
from aico_memory.domain.behavioral.skill import Catalogue, Skill, SkillType, Trigger
from aico_memory.errors import ConfigurationInvalid, InvalidMessage

FILE = "behavioral_skills.yaml"
LEAST_SKILLS = 12

_Name = Annotated[str, Field(min_length=1, max_length=128)]
_Label = Annotated[str, Field(min_length=1, max_length=64)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _TriggerEntry(_Strict):
    intents: list[_Label] = []
    times_of_day: list[_Label] = []
    sentiments: list[_Label] = []
    topics: list[Annotated[str, Field(min_length=1, max_length=200)]] = []


class _SkillEntry(_Strict):
    skill_id: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,128}$")]
    name: _Name
    trigger: _TriggerEntry
    template: Annotated[str, Field(min_length=1, max_length=4000)]
    dimensions: dict[str, float]


class _SkillFile(_Strict):
    version: Annotated[int, Field(ge=1, le=1)]
    skills: list[_SkillEntry]


def load_skills(path: Path, least: int = LEAST_SKILLS) -> Catalogue:
    """The catalogue of base skills; ConfigurationInvalid names the file and the key that is wrong."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationInvalid(f"{path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationInvalid(f"{path} is no valid YAML: {error}") from error
    try:
        entries = _SkillFile.model_validate(content).skills
    except ValidationError as error:
        first = error.errors()[0]
        raise _fault(path, ".".join(str(part) for part in first["loc"]) or "the file", first["msg"]) from error
    skills = [_skill(path, f"skills.{index}", entry) for index, entry in enumerate(entries)]
    seen: dict[str, int] = {}
    for index, skill in enumerate(skills):
        if skill.skill_id in seen:
            raise _fault(path, f"skills.{index}.skill_id", f"{skill.skill_id} stands at skills.{seen[skill.skill_id]} already")
        seen[skill.skill_id] = index
    if len(skills) < least:
        raise _fault(path, "skills", f"there are {len(skills)} base skills; at least {least} are needed")
    return Catalogue.of(skills)


def _skill(path: Path, where: str, entry: _SkillEntry) -> Skill:
    stated = entry.trigger
    times = frozenset(label(time) for time in stated.times_of_day)
    if unknown := sorted(times - set(TIMES_OF_DAY)):
        raise _fault(path, f"{where}.trigger.times_of_day", f"{unknown[0]!r} is none of {', '.join(TIMES_OF_DAY)}")
    if not (stated.intents or stated.times_of_day or stated.sentiments or stated.topics):
        raise _fault(path, f"{where}.trigger", "it states no condition, so the skill would never apply")
    try:
        dimensions = vector_of(entry.dimensions)
    except InvalidMessage as error:
        raise _fault(path, f"{where}.dimensions", error.detail) from error
    return Skill(
        skill_id=entry.skill_id,
        name=entry.name,
        template=entry.template.strip(),
        trigger=Trigger(
            intents=frozenset(label(intent) for intent in stated.intents),
            times_of_day=times,
            sentiments=frozenset(label(sentiment) for sentiment in stated.sentiments),
            topics=tuple(stated.topics),
        ),
        dimensions=dimensions,
        type=SkillType.BASE,
    )


def _fault(path: Path, key: str, what: Any) -> ConfigurationInvalid:
    return ConfigurationInvalid(f"{path}: {key}: {what}", "Correct the entry that is named; the file's head explains the keys.")
