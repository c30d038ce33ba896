"""What the behavioral store keeps of events: selections, feedback, trajectories and how knowledge evolved."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from aico_memory.domain.behavioral.dimensions import Vector
from aico_memory.domain.behavioral.learning import Knowledge, SkillState

APPLIED: Final = "applied"
NO_SKILL: Final = "no_applicable_skill"
NO_CONSENT: Final = "no_consent"
# The time of what the night made of a feedback event and an undo took back.
TAKEN_BACK_US: Final = 0
SUCCESS: Final = "success"
UNCHANGED: Final = "unchanged"


@dataclass(frozen=True, slots=True)
class UserState:
    """Consent of one user, and how many thumbs have been learned from."""

    behavioral: bool = False
    long_term: bool = True
    feedback_count: int = 0
    # The event that changed what is known of this user last; what was derived before it is stale.
    revision: str = ""


@dataclass(frozen=True, slots=True)
class SkillStanding:
    """What is known of a skill and a user, and whether that user has put a base skill aside."""

    state: SkillState
    archived: bool


@dataclass(frozen=True, slots=True)
class SelectionRecord:
    """One answered request, with all that explains it. `skill_id` is empty where none was chosen."""

    user: str
    request_id: str
    event_id: uuid.UUID
    at_us: int
    bucket: int
    intent: str
    sentiment: str
    time_of_day: str
    # applied | no_applicable_skill | no_consent
    outcome: str
    policy: str
    skill_id: str = ""
    is_exploration: bool = False
    confidence: float = 0.0
    alignment: float = 0.0
    score: float = 0.0
    shares: Mapping[str, float] = field(default_factory=dict)
    explanation: str = ""
    question: str = ""
    answered_by: str = ""
    # Chance with which the policy takes this skill here; 0 where it is not known.
    propensity: float = 0.0


@dataclass(frozen=True, slots=True)
class FeedbackRecord:
    """One feedback event and the answer it got; `sealed_text` is sealed with the user's key."""

    user: str
    event_id: uuid.UUID
    message_id: str
    skill_id: str
    reward: int
    at_us: int
    bucket: int
    # success | unchanged | no_consent
    status: str
    skill_updated: bool
    new_confidence: float
    reason: str = ""
    sealed_text: bytes | None = None
    request_id: str = ""
    is_exploration: bool = False
    # The situation it was learned in, "" where no selection is known.
    intent: str = ""
    sentiment: str = ""
    time_of_day: str = ""
    # Since when it teaches nothing any more.
    undone_us: int | None = None
    # When the nightly batch moved the preference by its reason; 0: that was taken back, and no night does it again.
    signalled_us: int | None = None
    # What the text says (category -> 0..1), when it was sorted and moved the preference (0: taken back, too), and which
    # models sorted it.
    categories: Mapping[str, float] | None = None
    classified_us: int | None = None
    classified_by: str = ""
    # From which chance on a category counts: that of the model which sorted the text.
    text_threshold: float | None = None


@dataclass(frozen=True, slots=True)
class FormerFeedback:
    """What a feedback event said before the edit `cause`; of its text no word, only what it was sorted as."""

    user: str
    event_id: uuid.UUID
    edited_us: int
    cause: uuid.UUID
    # The edit left the text alone.
    same_text: bool
    reward: int
    status: str
    new_confidence: float
    reason: str
    signalled_us: int | None
    categories: Mapping[str, float] | None
    classified_us: int | None
    classified_by: str
    text_threshold: float | None


def counting_from(record: FeedbackRecord, otherwise: float) -> float:
    """The chance from which on what the text says counts; `otherwise` where none is kept."""
    return otherwise if record.text_threshold is None else record.text_threshold


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One use of a skill in a conversation; the texts are sealed with the user's key."""

    user: str
    request_id: str
    conversation_id: str
    # Place among the user's uses of skills in this conversation, from 1.
    turn: int
    skill_id: str
    is_exploration: bool
    at_us: int
    sealed_input: bytes
    sealed_response: bytes | None = None
    reward: int | None = None
    archived_us: int | None = None


@dataclass(frozen=True, slots=True)
class Evolution:
    """One learned change, with its cause and what stood before, so that it can be undone."""

    user: str
    cause: uuid.UUID
    ordinal: int
    # learned | consent
    what: str
    # Skill id, or the name of the consent.
    subject: str
    at_us: int
    old_value: float
    new_value: float
    bucket: int | None = None
    before: Knowledge | None = None


@dataclass(frozen=True, slots=True)
class UserSkill:
    """One version of a skill of a user's own; name, template and trigger are sealed with the user's key."""

    user: str
    skill_id: str
    version: int
    sealed_definition: bytes
    dimensions: Vector
    # proposed | accepted | replaced | archived | deleted
    status: str
    created_us: int
    updated_us: int
    # The style that was given to this version, or to the one whose style it goes on with, before thumbs moved it; (): the
    # same as `dimensions`.
    given: Vector = ()


@dataclass(frozen=True, slots=True)
class PriorRecord:
    """A prior that was learned from people, with how it did in the evaluation before it was used."""

    version: str
    fitted_us: int
    users: int
    thumbs: int
    # active | replaced | refused
    status: str
    body: Mapping[str, Any]
    evaluation: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HourFigure:
    """A named figure of one skill in one hour: how often, the sum, and the largest."""

    hour_us: int
    skill_id: str
    what: str
    count: int
    total: float
    largest: float
