"""Port of the behavioral store: rows inside a transaction or of a reading, and the consumer's state beside them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from aico_memory.contracts.consumer_state import ConsumerState
from aico_memory.domain.advisor.records import OpenSuggestion, SealedOutcome, SealedProfile
from aico_memory.domain.behavioral.evidence import Cell, Stated, Wish
from aico_memory.domain.behavioral.learning import Posterior, Preference, SkillState
from aico_memory.domain.behavioral.records import (
    Evolution,
    FeedbackRecord,
    FormerFeedback,
    SelectionRecord,
    SkillStanding,
    Trajectory,
    UserSkill,
    UserState,
)
from aico_memory.stores.behavioral.port_learning import LearningRows
from aico_memory.stores.behavioral.port_outcomes import OutcomeRows

# Sections of the canonical export, in its order, with what identifies a row in each.
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "consent": ("user",),
    "evolution": ("user", "at_us", "cause", "ordinal"),
    "feedback": ("user", "event_id"),
    "former_feedback": ("user", "event_id", "edited_us", "cause"),
    "outcome": ("user", "number"),
    "outcome_profile": ("user",),
    "posterior": ("user", "bucket", "skill_id"),
    "preference": ("user", "bucket"),
    "selection": ("user", "request_id"),
    "skill": ("user", "skill_id"),
    "stated_style": ("user",),
    "statement": ("user", "bucket", "dimension"),
    "suggestion": ("user", "suggestion_id"),
    "taste": ("user", "intent", "sentiment", "time_of_day", "skill_id"),
    "trajectory": ("user", "request_id"),
    "user_skill": ("user", "skill_id", "version"),
    "wish": ("user", "dimension"),
}
Record = (
    UserState | SkillStanding | Posterior | Preference | SelectionRecord | FeedbackRecord | Trajectory | Evolution | Cell | Wish
    | Stated | FormerFeedback | UserSkill | SealedOutcome | SealedProfile | OpenSuggestion
)  # fmt: skip
Key = tuple[Any, ...]


class BehavioralRows(LearningRows, OutcomeRows, Protocol):
    """Reads see the transaction's own writes. What was never written has its starting value."""

    def user(self, user: str) -> UserState:
        """Consent and count of thumbs; without a row: no behavioral consent."""

    def put_user(self, user: str, state: UserState) -> None: ...

    def skill_states(self, user: str) -> dict[str, SkillState]:
        """All skills of which something is known for this user."""

    def skill_state(self, user: str, skill_id: str) -> SkillState:
        """The starting value where nothing is known."""

    def put_skill_state(self, user: str, skill_id: str, state: SkillState) -> None: ...

    def posteriors(self, user: str, bucket: int) -> dict[str, Posterior]:
        """By skill id; skills without a thumb in this bucket are absent."""

    def put_posterior(self, user: str, bucket: int, skill_id: str, posterior: Posterior, at_us: int) -> None: ...

    def preference(self, user: str, bucket: int) -> Preference:
        """Of a bucket without one: that which is stated for all situations."""

    def stated_style(self, user: str) -> Preference:
        """What the user has said of all situations; neutral where that is nothing."""

    def put_stated_style(self, user: str, style: Preference) -> None: ...

    def preferences(self, user: str) -> dict[int, Preference]:
        """By bucket, ascending; of those only that have one."""

    def put_preference(self, user: str, bucket: int, preference: Preference, at_us: int) -> None: ...

    def selection(self, user: str, request_id: str) -> SelectionRecord | None: ...

    def latest_selection(self, user: str, skill_id: str) -> SelectionRecord | None:
        """The one applied last that chose this skill."""

    def selections_of(self, user: str, skill_id: str, limit: int, after: str = "") -> list[SelectionRecord]:
        """Those applied last, newest first; with a skill id, of those that chose it.

        `after`: only what was applied before the selection of that request; nothing where there is none.
        """

    def add_selection(self, record: SelectionRecord) -> None: ...

    def feedback(self, event_id: uuid.UUID) -> FeedbackRecord | None: ...

    def feedback_of(self, user: str) -> list[FeedbackRecord]:
        """All of a user's, in the order they were applied."""

    def newest_feedback(self, user: str, limit: int, after: uuid.UUID | None = None) -> list[FeedbackRecord]:
        """What was given with consent, the one applied last first; `after`: only what was applied before that event."""

    def add_feedback(self, record: FeedbackRecord) -> None:
        """Raises where the event id stands already: an event has one effect."""

    def next_turn(self, user: str, conversation_id: str) -> int:
        """1 + the latest turn of the trajectories of this conversation that stand."""

    def add_trajectory(self, trajectory: Trajectory) -> None: ...

    def trajectory(self, user: str, request_id: str) -> Trajectory | None: ...

    def reward_trajectory(self, user: str, request_id: str, reward: int | None) -> None:
        """The latest thumb on it, None for no more; brings an archived one back. Nothing where there is none."""

    def put_response(self, user: str, request_id: str, sealed_response: bytes | None) -> bool:
        """Keep the answer of a trajectory, or (None) delete it; whether there is such a trajectory."""

    def archive_trajectories(self, before_us: int, at_us: int) -> int:
        """Archive those without a reward from before that time; how many."""

    def delete_archived(self, before_us: int) -> int:
        """Delete what was archived before that time; how many."""

    def forget_history(self, before_us: int) -> tuple[int, int]:
        """Delete selections of before that time without a trajectory, and what thumbs changed then; how many of each.

        Thumbs themselves, consent and what was stated stay.
        """

    def delete_selections(self, user: str, request_id: str, until_us: int) -> int:
        """Delete a user's selections with their trajectories: that of a request, else those up to that time; how many."""

    def add_evolution(self, record: Evolution) -> None: ...

    def forget_evolution(self, user: str, what: str) -> None:
        """Delete a user's changes of one kind."""

    def evolution_of(self, user: str) -> list[Evolution]:
        """All learned changes of a user, oldest first."""

    def counts(self) -> dict[str, int]:
        """Rows by kind."""

    def section(self, name: str, user: str, after: Key, limit: int) -> Iterable[tuple[Key, Record]]:
        """Rows of one export section behind the key `after` (() for the first), in the order of their keys.

        `user` "" means everybody's. Event ids are bytes in keys.
        """


class BehavioralStore(Protocol):
    """One worker's store."""

    @property
    def state(self) -> ConsumerState:
        """Cursor and outbox, in the same transactions as the rows."""

    def within(self, transaction: Any) -> BehavioralRows:
        """The rows inside a transaction of `state`."""

    def reading(self) -> AbstractContextManager[BehavioralRows]:
        """The rows as last committed; for reading only."""

    def close(self) -> None: ...


def pages(rows: BehavioralRows, user: str, after: tuple[str, Key], limit: int) -> Iterator[tuple[str, Key, Record]]:
    """Up to `limit` rows over all sections behind `after` (section, key), in export order."""
    start, key = after
    left = limit
    for section in sorted(SECTIONS):
        if section < start or left <= 0:
            continue
        for found, record in rows.section(section, user, key if section == start else (), left):
            yield section, found, record
            left -= 1
