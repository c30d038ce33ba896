"""How people's skills stand (proposed, in use, put aside), what changed that, and how they stood before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.records import Evolution, UserSkill
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.errors import InvalidMessage
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.vault.sealer import Sealer
from services.behavioral.own_skills import (
    ACCEPTED,
    ARCHIVED,
    GOES_ON,
    STANDINGS,
    STANDS,
    current_of,
    opened,
    opened_words,
    renewed,
    revert,
)
from services.behavioral.refining import change
from services.behavioral.selection import own_skill_message, skill_message

# A refinement became this version of what it refines. Values are versions.
REFINED = "refined"
# Ordinals of what is noted of an undo here: behind those that it has anyway.
_NOTES = 2


def change_skill(rows: BehavioralRows, event: Event, catalogue: Catalogue, sealer: Sealer) -> behavioral_pb2.Skill:
    """Archive, restore, accept, revert or delete a skill, and note how it stood; the skill as it is then.

    InvalidMessage or SkillNotFound; nothing has changed then.
    """
    user, skill_id, action = event.user, event.message.skill_id, event.message.action
    if skill_id in catalogue:
        return _change_base(rows, event, catalogue)
    if action == "revert":
        return own_message(rows, revert(rows, user, skill_id, sealer, event.occurred_us), sealer)
    before = current_of(rows, user, skill_id)
    versions = {one.skill_id: one.version for one in rows.user_skills(user) if one.status == ACCEPTED}
    record = change(rows, user, skill_id, action, sealer, event.occurred_us)
    if record is None:
        return behavioral_pb2.Skill(skill_id=skill_id, status="deleted")
    if record.skill_id != skill_id:
        _note(rows, event, REFINED, record.skill_id, versions[record.skill_id], record.version)
    elif before is not None and before.status != record.status:
        _note(rows, event, STANDS, skill_id, STANDINGS.index(before.status), STANDINGS.index(record.status))
    return own_message(rows, record, sealer)


def stand_again(rows: BehavioralRows, event: Event, catalogue: Catalogue, sealer_of: Callable[[str], Sealer]) -> int:
    """Let skills stand as they stood when an `UndoLearning` says; how many stand otherwise now.

    What was put aside for want of room returns, too.

    A proposal that was accepted since is one again, and a refined skill has its words and its style of before; where its
    user has written a version of their own since, that one stays. What was deleted is gone.
    """
    user, until_us, at_us = event.user, event.message.until_us, event.occurred_us
    first: dict[tuple[str, bool], Evolution] = {}
    last: dict[str, Evolution] = {}
    for one in rows.evolution_of(user):
        if one.at_us > until_us and one.what in (STANDS, REFINED, ARCHIVED):
            first.setdefault((one.subject, one.what == REFINED), one)
            last[one.subject] = one if one.what == REFINED else last.get(one.subject, one)
    moved = 0
    for place, ((skill_id, refined), one) in enumerate(sorted(first.items())):
        if refined:
            again = _unrefine(rows, one, int(last[skill_id].new_value), sealer_of(user), at_us)
            if again is not None:
                old, new = one.old_value, float(again.version)
                rows.add_evolution(Evolution(user, event.event_id, _NOTES + place, GOES_ON, skill_id, at_us, old, new))
                moved += 1
        else:
            status = ACCEPTED if one.what == ARCHIVED else STANDINGS[int(one.old_value)]
            moved += _stand(rows, user, skill_id, status, catalogue, at_us)
    return moved


def own_message(rows: BehavioralRows, record: UserSkill, sealer: Sealer) -> behavioral_pb2.Skill:
    """A skill of a user's own as they see it."""
    return own_skill_message(record, opened(record, sealer), rows.skill_state(record.user, record.skill_id))


def _change_base(rows: BehavioralRows, event: Event, catalogue: Catalogue) -> behavioral_pb2.Skill:
    user, skill_id, action = event.user, event.message.skill_id, event.message.action
    if action not in {"archive", "restore"}:
        raise InvalidMessage(f"{skill_id} is a base skill", "Base skills can be archived and restored only.")
    state, aside = rows.skill_state(user, skill_id), action == "archive"
    rows.put_skill_state(user, skill_id, state)
    if aside is not (skill_id in rows.archived_skills(user)):
        _note(rows, event, STANDS, skill_id, STANDINGS.index(_base_status(not aside)), STANDINGS.index(_base_status(aside)))
    rows.archive_skill(user, skill_id, event.occurred_us if aside else None)
    return skill_message(catalogue.get(skill_id), state, "archived" if aside else "")


def _base_status(aside: bool) -> str:
    return ARCHIVED if aside else ACCEPTED


def _note(rows: BehavioralRows, event: Event, what: str, subject: str, old: float, new: float) -> None:
    rows.add_evolution(Evolution(event.user, event.event_id, 0, what, subject, event.occurred_us, float(old), float(new)))


def _stand(rows: BehavioralRows, user: str, skill_id: str, status: str, catalogue: Catalogue, at_us: int) -> bool:
    if skill_id in catalogue:
        moved = (skill_id in rows.archived_skills(user)) is not (status == ARCHIVED)
        if moved:
            rows.archive_skill(user, skill_id, at_us if status == ARCHIVED else None)
        return moved
    found = current_of(rows, user, skill_id)
    if found is None or found.status == status:
        return False
    rows.put_user_skill(replace(found, status=status, updated_us=at_us))
    return True


def _unrefine(rows: BehavioralRows, first: Evolution, newest: int, sealer: Sealer, at_us: int) -> UserSkill | None:
    user, skill_id = first.user, first.subject
    found = current_of(rows, user, skill_id)
    before = next((one for one in rows.versions_of(user, skill_id) if one.version == int(first.old_value)), None)
    if found is None or before is None or found.version != newest:
        return None
    words = opened_words(skill_id, before.version, before.sealed_definition, sealer)
    return renewed(rows, user, skill_id, found, words, before.dimensions, sealer, at_us, before.given)
