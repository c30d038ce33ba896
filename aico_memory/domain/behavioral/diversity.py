"""No skill may answer nearly everything of a person while another would do about as well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from aico_memory.domain.behavioral.learning import SkillState
from aico_memory.domain.behavioral.policy import Candidate, Choice


@dataclass(frozen=True, slots=True)
class Diversity:
    """The bound on one skill's share of a person's selections (0..1), and when another one counts as valid."""

    share: float = 0.9
    # So many selections of a person before a share says anything.
    least: int = 50
    # How far the other may score below (on the scale of a chance of a thumb up), and the confidence it must have.
    margin: float = 0.05
    confidence: float = 0.3


def share_of(skill_id: str, states: Mapping[str, SkillState], least: int) -> float:
    """The skill's share of what was chosen for this person so far; 0 while that is too little to say."""
    chosen = sum(state.selected for state in states.values())
    if chosen < max(1, least) or skill_id not in states:
        return 0.0
    return states[skill_id].selected / chosen


def diversified(choice: Choice, states: Mapping[str, SkillState], bound: Diversity) -> Choice:
    """The choice with its skill's share; the best valid alternative in its place where that share is above the bound."""
    if choice.chosen is None:
        return choice
    share = share_of(choice.chosen.skill.skill_id, states, bound.least)
    shown = replace(choice, share=share)
    if share <= bound.share:
        return shown
    others = [one for one in choice.candidates if _valid(one, choice.chosen, bound)]
    if not others:
        return shown
    taken = max(others, key=lambda one: one.score)
    # The policy's own chance of taking it is not the chance with which it was taken now: none is told.
    return replace(shown, chosen=taken, preferred=choice.chosen, is_exploration=False, propensity=0.0, bounded=True)


def _valid(one: Candidate, chosen: Candidate, bound: Diversity) -> bool:
    other = one.skill.skill_id != chosen.skill.skill_id
    return other and one.confidence >= bound.confidence and one.score >= chosen.score - bound.margin
