"""Skills of a user's own: limits, versions, archive and return; their words are sealed with the user's key."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.dimensions import NEUTRAL, checked_vector, pull
from aico_memory.domain.behavioral.records import UserSkill
from aico_memory.domain.behavioral.situation import checked_time_of_day, label
from aico_memory.domain.behavioral.skill import Catalogue, Skill, SkillType, Trigger
from aico_memory.errors import InvalidMessage, KeyDestroyed, SkillNotFound
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.vault.sealer import Sealer

PROPOSED, ACCEPTED, REPLACED, ARCHIVED = "proposed", "accepted", "replaced", "archived"


def current(rows: BehavioralRows, user: str) -> dict[str, UserSkill]:
    """The latest version of each of a user's skills, replaced ones left out."""
    return {one.skill_id: one for one in rows.user_skills(user) if one.status != REPLACED}


def usable(rows: BehavioralRows, user: str, sealer: Sealer) -> list[Skill]:
    """The accepted ones, as skills to choose among."""
    return [opened(one, sealer) for one in current(rows, user).values() if one.status == ACCEPTED]


def evidence_of(record: UserSkill, sealer: Sealer) -> str:
    """What speaks for a proposed skill; empty for one that its user made."""
    return str(_opened_words(record, sealer).get("evidence", ""))


def opened(record: UserSkill, sealer: Sealer) -> Skill:
    """The skill with its words; empty words where the user's key is gone."""
    words = _opened_words(record, sealer)
    trigger = Trigger(
        frozenset(words.get("intents", ())),
        frozenset(words.get("times_of_day", ())),
        frozenset(words.get("sentiments", ())),
        tuple(words.get("topics", ())),
    )
    name, template = words.get("name", record.skill_id), words.get("template", "")
    return Skill(record.skill_id, name, template, trigger, record.dimensions, SkillType.USER_CREATED)


def _opened_words(record: UserSkill, sealer: Sealer) -> dict[str, Any]:
    try:
        words: dict[str, Any] = json.loads(sealer.open(record.sealed_definition, context(record)))
    except KeyDestroyed:
        words = {}
    return words


def context(record: UserSkill) -> bytes:
    """What a sealed definition is bound to."""
    return f"user_skill\0{record.skill_id}\0{record.version}".encode()


def put(
    rows: BehavioralRows, message: behavioral_pb2.PutSkill, catalogue: Catalogue, limit: int, sealer: Sealer, at_us: int,
    own_id: str,
) -> UserSkill:  # fmt: skip
    """Create a skill, or a new version of one; the version before stays for undo. InvalidMessage names what is wrong."""
    user = message.user_id
    skill_id = message.skill_id or own_id
    if skill_id in catalogue:
        raise InvalidMessage(f"{skill_id} is a base skill", "Base skills are fixed; create a skill of your own.")
    standing = current(rows, user)
    before = standing.get(skill_id)
    if before is None and len(standing) >= limit:
        raise InvalidMessage(f"There are {len(standing)} skills of this user's own already", f"{limit} are allowed.")
    words = _words(message, skill_id)
    dimensions = checked_vector(list(message.dimensions)) if message.dimensions else before.dimensions if before else NEUTRAL
    version = 1 + max((one.version for one in rows.user_skills(user) if one.skill_id == skill_id), default=0)
    if before is not None:
        rows.put_user_skill(replace(before, status=REPLACED, updated_us=at_us))
    record = UserSkill(user, skill_id, version, b"", dimensions, ACCEPTED, before.created_us if before else at_us, at_us)
    sealed = sealer.seal(json.dumps(words, sort_keys=True, ensure_ascii=False).encode(), context(record))
    record = replace(record, sealed_definition=sealed)
    rows.put_user_skill(record)
    return record


def change_status(rows: BehavioralRows, user: str, skill_id: str, action: str, at_us: int) -> UserSkill | None:
    """accept, archive, restore or delete; the record as it is then, None where it was deleted."""
    found = current(rows, user).get(skill_id)
    if found is None:
        raise SkillNotFound(f"This user has no skill {skill_id!r} of their own")
    if action == "delete":
        rows.delete_user_skill(user, skill_id)
        return None
    if action not in {"accept", "archive", "restore"}:
        raise InvalidMessage(f"action is {action!r}", "Give accept, archive, restore or delete.")
    changed = replace(found, status=ARCHIVED if action == "archive" else ACCEPTED, updated_us=at_us)
    rows.put_user_skill(changed)
    return changed


def learn_dimensions(rows: BehavioralRows, user: str, skill_id: str, preference: tuple[float, ...], rate: float) -> None:
    """After a thumb up an own skill's style follows the preference it was liked under a little."""
    found = current(rows, user).get(skill_id)
    if found is not None and rate > 0:
        rows.put_user_skill(replace(found, dimensions=pull(found.dimensions, preference, 1, rate)))


def _words(message: behavioral_pb2.PutSkill, skill_id: str) -> dict[str, Any]:
    if not message.template.strip():
        raise InvalidMessage("The template is empty", "Say how to answer with this skill.")
    if not (message.intents or message.times_of_day or message.sentiments):
        # The topics of own skills are kept, and not embedded: alone they would never apply.
        raise InvalidMessage("The skill states no condition", "Name an intent, a time of day or a sentiment.")
    return {
        "name": message.name.strip() or skill_id,
        "template": message.template.strip(),
        "intents": sorted({label(one) for one in message.intents}),
        "times_of_day": sorted({checked_time_of_day(one) for one in message.times_of_day}),
        "sentiments": sorted({label(one) for one in message.sentiments}),
        "topics": list(message.topics),
    }
