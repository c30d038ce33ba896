"""Proposed skills of the nightly batch: kept as candidates until their user accepts them."""

from __future__ import annotations

import json
from dataclasses import replace

from aico_memory.domain.behavioral.proposals import Fragments, ProposalFigures, proposals_of
from aico_memory.domain.behavioral.records import UserSkill
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.ids import stable_hash64
from aico_memory.stores.behavioral.port import BehavioralRows
from aico_memory.vault.sealer import Sealer
from services.behavioral.own_skills import ACCEPTED, PROPOSED, PROPOSED_IDS, context, current_and_refused, opened


def propose(
    rows: BehavioralRows, user: str, catalogue: Catalogue, fragments: Fragments, figures: ProposalFigures, limit: int,
    sealer: Sealer, at_us: int,
) -> int:  # fmt: skip
    """Store what is to be proposed to a user and was not yet, whatever became of it; how many.

    Only skills that can be chosen are at hand: neither what was put aside nor what waits for its user keeps one away.
    """
    preferences = rows.preferences(user)
    if not any(preference.updates >= figures.thumbs for preference in preferences.values()):
        return 0
    own, deleted = current_and_refused(rows, user)
    aside = rows.archived_skills(user)
    skills = [skill for skill in catalogue if skill.skill_id not in aside]
    skills += [opened(one, sealer) for one in own.values() if one.status == ACCEPTED]
    made = 0
    for proposal in proposals_of(preferences, rows.feedback_of(user), skills, fragments, figures):
        skill_id = f"{PROPOSED_IDS}{stable_hash64(f'{proposal.bucket}|{proposal.intent}'):016x}"
        if skill_id in own or skill_id in deleted or len(own) + made >= limit:
            continue
        words = {
            "name": f"Your own style: {proposal.intent}",
            "template": proposal.template,
            "intents": [proposal.intent],
            "times_of_day": [],
            "sentiments": [],
            "topics": [],
            "evidence": proposal.evidence,
        }
        record = UserSkill(user, skill_id, 1, b"", proposal.dimensions, PROPOSED, at_us, at_us)
        sealed = sealer.seal(
            json.dumps(words, sort_keys=True, ensure_ascii=False).encode(), context(record.skill_id, record.version)
        )
        rows.put_user_skill(replace(record, sealed_definition=sealed))
        made += 1
    return made
