"""Skills of a user's own: limits, versions, archive and return; their words are sealed with the user's key."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from sys import intern
from typing import Any

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.dimensions import NEUTRAL, Vector, checked_vector, pull, with_style
from aico_memory.domain.behavioral.records import NO_CONSENT, Evolution, UserSkill
from aico_memory.domain.behavioral.situation import checked_time_of_day, label
from aico_memory.domain.behavioral.skill import Catalogue, Skill, SkillType, Trigger
from aico_memory.errors import InvalidMessage, KeyDestroyed, SkillNotFound, WrongKey
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.vault.sealer import Sealer
from services.behavioral.stating import STATED, UNDONE

# How ids begin that were given here, and not chosen by whoever made the skill.
PROPOSED_IDS = "proposed_"
GIVEN_IDS = ("own_", PROPOSED_IDS)
# Characters; as those of base skills.
LONGEST_TOPIC = 200
# Of each kind; no request names a longer one. So the most skills there can be are listed in one answer.
MOST_CONDITIONS, LONGEST_CONDITION = 32, 64
PROPOSED, ACCEPTED, REPLACED, ARCHIVED = "proposed", "accepted", "replaced", "archived"
# What is kept of what its user deleted, without a word: of a proposal the id, so that it is not made again; of a skill that was
# judged the styles of its versions, with which its thumbs are learned again.
DELETED = "deleted"
GONE = (REPLACED, DELETED)
# A skill stands otherwise than before. Values are places in STANDINGS.
STANDS = "stands"
STANDINGS = (PROPOSED, ACCEPTED, ARCHIVED)
# A version has the style of another one, as far as thumbs had moved it. Values are versions.
GOES_ON = "style_goes_on"


def current(rows: BehavioralRows, user: str) -> dict[str, UserSkill]:
    """The latest version of each of a user's skills, replaced and deleted ones left out."""
    return current_and_refused(rows, user)[0]


def current_and_refused(rows: BehavioralRows, user: str) -> tuple[dict[str, UserSkill], frozenset[str]]:
    """The same, and the ids of what was proposed to the user and deleted by them."""
    skills = rows.user_skills(user)
    refused = frozenset(one.skill_id for one in skills if one.status == DELETED)
    return {one.skill_id: one for one in skills if one.status not in GONE}, refused


def current_of(rows: BehavioralRows, user: str, skill_id: str) -> UserSkill | None:
    """The same of one skill; None where the user has none of this id."""
    standing = [one for one in rows.versions_of(user, skill_id) if one.status not in GONE]
    return standing[-1] if standing else None


def evidence_of(record: UserSkill, sealer: Sealer) -> str:
    """What speaks for a proposed skill; empty for one that its user made."""
    return str(opened_words(record.skill_id, record.version, record.sealed_definition, sealer).get("evidence", ""))


def opened(record: UserSkill, sealer: Sealer) -> Skill:
    """The skill with its words; empty words where the user's key is gone."""
    name, template, trigger = words_of(record.skill_id, record.version, record.sealed_definition, sealer)
    return Skill(record.skill_id, name, template, trigger, record.dimensions, SkillType.USER_CREATED)


def words_of(skill_id: str, version: int, sealed: bytes, sealer: Sealer) -> tuple[str, str, Trigger]:
    """Name, template and conditions of a skill; empty words where the user's key is gone."""
    words = opened_words(skill_id, version, sealed, sealer)
    trigger = Trigger(
        frozenset(map(intern, words.get("intents", ()))),
        frozenset(map(intern, words.get("times_of_day", ()))),
        frozenset(map(intern, words.get("sentiments", ()))),
        tuple(words.get("topics", ())),
    )
    return words.get("name", skill_id), words.get("template", ""), trigger


def opened_words(skill_id: str, version: int, sealed: bytes, sealer: Sealer) -> dict[str, Any]:
    """All that a sealed definition says; empty where the user's key is gone, or nothing is said (a deleted proposal)."""
    if not sealed:
        return {}
    try:
        words: dict[str, Any] = json.loads(sealer.open(sealed, context(skill_id, version)))
    except (KeyDestroyed, WrongKey):
        # Destroyed, and perhaps another one made since: what the old one sealed is gone.
        words = {}
    return words


def context(skill_id: str, version: int) -> bytes:
    """What a sealed definition is bound to."""
    return f"user_skill\0{skill_id}\0{version}".encode()


def put(
    rows: BehavioralRows, event: Event, catalogue: Catalogue, limit: int, sealer: Sealer, own_id: str
) -> UserSkill:  # fmt: skip
    """Create a skill, or a new version of one; the version before stays for undo. InvalidMessage names what is wrong.

    A version that says no style goes on with that of the one before, as far as it is learned; of one that says some
    dimensions the others stay where they are by then. What was put aside stays aside, and a proposal stays
    one, with what speaks for it: other words accept nothing.
    """
    message: behavioral_pb2.PutSkill = event.message
    user, at_us = event.user, event.occurred_us
    skill_id = message.skill_id or own_id
    if skill_id in catalogue:
        raise InvalidMessage(f"{skill_id} is a base skill", "Base skills are fixed; create a skill of your own.")
    before = current_of(rows, user, skill_id)
    if before is None and message.skill_id.startswith(GIVEN_IDS):
        # An id that only the system gives: nobody means a new skill by it.
        raise SkillNotFound(f"This user has no skill {skill_id!r} of their own")
    if before is None and (count := len(current(rows, user))) >= limit:
        mend = f"Delete one first: {limit} are allowed, those put aside among them."
        raise InvalidMessage(f"There are {count} skills of this user's own already", mend)
    known = opened_words(skill_id, before.version, before.sealed_definition, sealer) if before else {}
    words = _words(message, skill_id, known)
    if before is not None and before.status == PROPOSED:
        words = known | words
    if message.dimensions or message.style or before is None:
        dimensions = _style(message, NEUTRAL if before is None else before.dimensions)
        return renewed(rows, user, skill_id, before, words, dimensions, sealer, at_us)
    record = renewed(rows, user, skill_id, before, words, before.dimensions, sealer, at_us, before.given)
    old, new = float(before.version), float(record.version)
    rows.add_evolution(Evolution(user, event.event_id, 0, GOES_ON, skill_id, at_us, old, new))
    return record


def _style(message: behavioral_pb2.PutSkill, before: Vector) -> Vector:
    if message.dimensions and message.style:
        raise InvalidMessage("The skill says its style twice", "Give `dimensions` or `style`, not both.")
    return checked_vector(list(message.dimensions)) if message.dimensions else with_style(before, message.style)


def revert(rows: BehavioralRows, user: str, skill_id: str, sealer: Sealer, at_us: int) -> UserSkill:
    """Make the version before, words, conditions and style as it was made with, the newest one.

    Doing it again goes back and forth between the two. InvalidMessage where there is none before.
    """
    found = own(rows, user, skill_id)
    before = max(
        (one for one in rows.versions_of(user, skill_id) if one.status == REPLACED), key=lambda one: one.version, default=None
    )
    if before is None:
        raise InvalidMessage(f"There is no version of {skill_id} before this one", "`skill-put --skill-id` makes another.")
    words = opened_words(skill_id, before.version, before.sealed_definition, sealer)
    return renewed(rows, user, skill_id, found, words, before.given, sealer, at_us)


def renewed(
    rows: BehavioralRows, user: str, skill_id: str, before: UserSkill | None, words: dict[str, Any], dimensions: Vector,
    sealer: Sealer, at_us: int, given: Vector = (),
) -> UserSkill:  # fmt: skip
    """Store a version behind all others, as the one before stands (proposed, in use, put aside), which stays for undo."""
    version = 1 + max((one.version for one in rows.versions_of(user, skill_id)), default=0)
    if before is not None:
        rows.put_user_skill(replace(before, status=REPLACED, updated_us=at_us))
    sealed = sealer.seal(json.dumps(words, sort_keys=True, ensure_ascii=False).encode(), context(skill_id, version))
    created_us, status = (before.created_us, before.status) if before else (at_us, ACCEPTED)
    record = UserSkill(user, skill_id, version, sealed, dimensions, status, created_us, at_us, given)
    rows.put_user_skill(record)
    return record


def own(rows: BehavioralRows, user: str, skill_id: str) -> UserSkill:
    """A user's own skill; SkillNotFound where they have none of this id."""
    found = current_of(rows, user, skill_id)
    if found is None:
        raise SkillNotFound(f"This user has no skill {skill_id!r} of their own")
    return found


def change_status(rows: BehavioralRows, user: str, skill_id: str, action: str, at_us: int) -> UserSkill | None:
    """accept, archive, restore or delete; the record as it is then, None where it was deleted.

    What is restored stands as it stood when it was put aside.
    """
    found = own(rows, user, skill_id)
    if action == "delete":
        remove(rows, found, at_us)
        if skill_id.startswith(PROPOSED_IDS) and not rows.versions_of(user, skill_id):
            rows.put_user_skill(UserSkill(user, skill_id, 1, b"", NEUTRAL, DELETED, at_us, at_us))
        return None
    if action not in {"accept", "archive", "restore"}:
        raise InvalidMessage(f"action is {action!r}", "Give accept, archive, restore, revert or delete.")
    if action == "restore" and found.status != ARCHIVED:
        raise InvalidMessage(f"{skill_id} is {found.status}, not archived", "Only what was archived comes back by `restore`.")
    if action == "restore":
        status = before_archiving(rows.evolution_of(user), skill_id)
    else:
        status = ARCHIVED if action == "archive" else ACCEPTED
    changed = replace(found, status=status, updated_us=at_us)
    rows.put_user_skill(changed)
    return changed


def before_archiving(changes: Iterable[Evolution], skill_id: str) -> str:
    """How a skill stood when it was put aside: a proposal is one again. In use where nothing of it is noted."""
    found: list[Evolution] = []
    for one in changes:
        if one.subject == skill_id and one.what == STANDS and one.new_value == STANDINGS.index(ARCHIVED):
            found.append(one)
        elif one.subject == skill_id and one.what == ARCHIVED:
            # For want of room, which only what was in use is put aside for.
            found.append(replace(one, old_value=float(STANDINGS.index(ACCEPTED))))
        elif one.what == UNDONE and one.subject == STATED:
            found = [standing for standing in found if standing.at_us <= one.old_value]
    return STANDINGS[int(found[-1].old_value)] if found else ACCEPTED


def remove(rows: BehavioralRows, found: UserSkill, at_us: int) -> None:
    """Delete a skill, its words and what is known of it; what its thumbs have taught of the person stays."""
    user, skill_id = found.user, found.skill_id
    versions = rows.versions_of(user, skill_id)
    rows.delete_user_skill(user, skill_id)
    if any(one.skill_id == skill_id and one.status != NO_CONSENT for one in rows.feedback_of(user)):
        for one in versions:
            ended_us = one.updated_us if one.status in GONE else at_us
            rows.put_user_skill(replace(one, sealed_definition=b"", status=DELETED, updated_us=ended_us))


def learn_dimensions(rows: BehavioralRows, user: str, skill_id: str, preference: tuple[float, ...], rate: float) -> None:
    """After a thumb up an own skill's style follows the preference it was liked under a little."""
    found = current_of(rows, user, skill_id)
    if found is not None and rate > 0:
        rows.put_user_skill(replace(found, dimensions=pull(found.dimensions, preference, 1, rate)))


def made_us(rows: BehavioralRows, user: str, skill_id: str) -> int:
    """When the version in use was made: thumbs of before were on another one. 0: there was none before it."""
    return max((one.updated_us for one in rows.versions_of(user, skill_id) if one.status in GONE), default=0)


def _words(message: behavioral_pb2.PutSkill, skill_id: str, before: Mapping[str, Any]) -> dict[str, Any]:
    """What the message says; its name and its conditions, where it has none, are those of the version before."""
    if not message.template.strip():
        raise InvalidMessage("The template is empty", "Say how to answer with this skill.")
    name = message.name.strip() or before.get("name") or skill_id
    if before and not (message.intents or message.times_of_day or message.sentiments or message.topics):
        kept = {key: before.get(key, []) for key in ("intents", "times_of_day", "sentiments", "topics")}
        return {"name": name, "template": message.template.strip(), **kept}
    for kind in ("intents", "times_of_day", "sentiments"):
        _check_conditions(getattr(message, kind), kind)
    topics = tidy_topics(message.topics)
    if wrong := next((one for one in topics if len(one) > LONGEST_TOPIC), ""):
        raise InvalidMessage(f"A topic has {len(wrong)} characters", f"{LONGEST_TOPIC} are allowed: a phrase, not a text.")
    intents, sentiments = _labels(message.intents), _labels(message.sentiments)
    times_of_day = sorted({checked_time_of_day(one) for one in message.times_of_day})
    if not (intents or times_of_day or sentiments or topics):
        raise InvalidMessage("The skill states no condition", "Name an intent, a time of day, a sentiment or a topic.")
    return {
        "name": name,
        "template": message.template.strip(),
        "intents": intents,
        "times_of_day": times_of_day,
        "sentiments": sentiments,
        "topics": topics,
    }


def _labels(names: Iterable[str]) -> list[str]:
    """As conditions are kept, each once; what holds no letter meets no situation and is left out."""
    return sorted({found for one in names if (found := label(one))})


def _check_conditions(names: Sequence[str], kind: str) -> None:
    if len(names) > MOST_CONDITIONS:
        raise InvalidMessage(f"There are {len(names)} {kind}", f"{MOST_CONDITIONS} are allowed.")
    if (longest := max((len(label(one)) for one in names), default=0)) > LONGEST_CONDITION:
        raise InvalidMessage(f"One of the {kind} has {longest} characters", f"{LONGEST_CONDITION} are allowed: a label.")


def tidy_topics(topics: Iterable[str]) -> list[str]:
    """Topics as they are kept and embedded: blanks tidied, each once, empty ones left out."""
    return [topic for topic in dict.fromkeys(" ".join(one.split()) for one in topics) if topic]
