"""Refinements of people's own skills by the nightly batch: kept as candidates until their user accepts them."""

from __future__ import annotations

import json
from dataclasses import replace

from aico_memory.domain.behavioral.proposals import Fragments
from aico_memory.domain.behavioral.records import UserSkill
from aico_memory.domain.behavioral.refinement import RefinementFigures, refinement_of
from aico_memory.errors import InvalidMessage
from aico_memory.ids import stable_hash64
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.vault.sealer import Sealer
from services.behavioral.own_skills import (
    ACCEPTED,
    PROPOSED,
    PROPOSED_IDS,
    change_status,
    context,
    current_and_refused,
    current_of,
    made_us,
    opened,
    opened_words,
    own,
    remove,
    renewed,
)

# What a sealed definition says of the skill and version that it refines.
REFINES, OF_VERSION = "refines", "of_version"


def refine(
    rows: BehavioralRows, user: str, fragments: Fragments, figures: RefinementFigures, limit: int,
    sealer: Sealer, at_us: int,
) -> int:  # fmt: skip
    """Store what is to be proposed of a user's own skills and was not yet, once a version; how many."""
    standing, deleted = current_and_refused(rows, user)
    accepted = [one for one in standing.values() if one.status == ACCEPTED]
    if not accepted:
        return 0
    feedback, made = rows.feedback_of(user), 0
    for one in accepted:
        proposal_id = f"{PROPOSED_IDS}{stable_hash64(f'refines|{one.skill_id}|{one.version}'):016x}"
        if proposal_id in standing or proposal_id in deleted or len(standing) + made >= limit:
            continue
        since = made_us(rows, user, one.skill_id)
        judged = [record for record in feedback if record.skill_id == one.skill_id and record.at_us >= since]
        skill = opened(one, sealer)
        found = refinement_of(skill, judged, fragments, figures) if skill.template else None
        if found is None:
            continue
        words = opened_words(one.skill_id, one.version, one.sealed_definition, sealer) | {
            "name": f"{skill.name}, refined",
            "template": found.template,
            "evidence": f"It refines version {one.version} of {one.skill_id}: {found.evidence}",
            REFINES: one.skill_id,
            OF_VERSION: one.version,
        }
        record = UserSkill(user, proposal_id, 1, b"", found.dimensions, PROPOSED, at_us, at_us)
        text = json.dumps(words, sort_keys=True, ensure_ascii=False)
        rows.put_user_skill(replace(record, sealed_definition=sealer.seal(text.encode(), context(proposal_id, 1))))
        made += 1
    return made


def change(rows: BehavioralRows, user: str, skill_id: str, action: str, sealer: Sealer, at_us: int) -> UserSkill | None:
    """As `change_status`; but a refinement that is accepted becomes a new version of what it refines, and is gone.

    `revert` takes that version back. InvalidMessage where the refined skill is another one by now, or is not in use.
    """
    found = own(rows, user, skill_id)
    words = opened_words(skill_id, found.version, found.sealed_definition, sealer)
    refined = words.get(REFINES)
    if refined is None or action != "accept":
        return change_status(rows, user, skill_id, action, at_us)
    target = current_of(rows, user, refined)
    if target is None or target.status != ACCEPTED:
        raise InvalidMessage(f"{refined}, which it refines, is not in use", "Restore that skill first, or delete the proposal.")
    if target.version != words[OF_VERSION]:
        raise InvalidMessage(
            f"{refined} has version {target.version} by now, and this refines version {words[OF_VERSION]}",
            "Delete the proposal; feedback on the new version leads to another.",
        )
    before = opened_words(refined, target.version, target.sealed_definition, sealer)
    record = renewed(rows, user, refined, target, before | {"template": words["template"]}, found.dimensions, sealer, at_us)
    remove(rows, found, at_us)
    return record
