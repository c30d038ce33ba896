"""Memory pressure: a user's least valuable skills go to the archive, from which they can return."""

from __future__ import annotations

from aico_memory.domain.behavioral.learning import SkillState
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.settings.behavioral import LibrarySettings
from aico_memory.stores.behavioral.port import BehavioralRows
from services.behavioral.own_skills import ACCEPTED, change_status, current


def relieve(
    rows: BehavioralRows, user: str, catalogue: Catalogue, settings: LibrarySettings, at_us: int, spared: str = ""
) -> list[str]:
    """Archive the least valuable skills where the learned data of a user are beyond the limit; which, least first.

    Order: confidence (base skills' times a factor), then the last use, own skills that were never used among them; a few
    at a time. At least one skill stays, and the one that is spared: it was made or taken up a moment ago.
    """
    if rows.size_of(user) <= settings.bytes_per_user:
        return []
    archived = rows.archived_skills(user)
    own = {skill_id for skill_id, one in current(rows, user).items() if one.status == ACCEPTED}
    states = rows.skill_states(user)
    # Of a base skill without a state nothing is kept that could be freed.
    at_hand = own.union(skill_id for skill_id in states if skill_id in catalogue and skill_id not in archived)

    def value(skill_id: str) -> tuple[float, int, str]:
        state = states.get(skill_id, SkillState())
        factor = settings.base_value if skill_id in catalogue else 1.0
        return state.confidence * factor, state.last_used_us, skill_id

    least = sorted(at_hand - {spared}, key=value)[: min(settings.archive_at_once, max(0, len(at_hand) - 1))]
    for skill_id in least:
        if skill_id in own:
            change_status(rows, user, skill_id, "archive", at_us)
        else:
            rows.archive_skill(user, skill_id, at_us)
    return least
