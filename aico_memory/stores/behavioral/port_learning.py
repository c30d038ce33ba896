"""The part of the port that learning over skills and people needs."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Protocol

from aico_memory.domain.behavioral.evidence import Cell, Wish
from aico_memory.domain.behavioral.records import FeedbackRecord, HourFigure, PriorRecord, UserSkill


class LearningRows(Protocol):
    """Reads see the transaction's own writes."""

    def cells(self, user: str) -> list[Cell]:
        """All of a user's, sorted by key."""

    def cell(self, user: str, empty: Cell) -> Cell:
        """What stands under the key of `empty`, else `empty` itself."""

    def put_cell(self, user: str, cell: Cell) -> None: ...

    def wishes(self, user: str) -> list[Wish]:
        """Sorted by dimension."""

    def put_wish(self, user: str, wish: Wish) -> None: ...

    def forget_learned(self, user: str) -> None:
        """Delete cells, wishes, posteriors and preferences of a user; states of skills stay."""

    def taught_users(self) -> list[str]:
        """Those with consent and at least one cell, sorted."""

    def thumbs_since(self, position: int) -> tuple[int, int]:
        """How many thumbs up or down were learned behind a position of the feedback, and the last position."""

    def take_back(self, user: str, after_us: int, at_us: int) -> int:
        """Mark what was given after that time as undone; how many were not yet."""

    def delete_feedback(self, user: str, event_id: uuid.UUID) -> bool:
        """Whether there was one."""

    def unsignalled(self, limit: int) -> list[FeedbackRecord]:
        """Feedback with a reason that has not yet moved preferences, in the order it was applied."""

    def signalled(self, event_id: uuid.UUID, at_us: int) -> None:
        """It has now."""

    def active_prior(self) -> PriorRecord | None:
        """The one that is used; None: the shipped one is."""

    def priors(self) -> list[PriorRecord]:
        """All that were learned, oldest first."""

    def add_prior(self, record: PriorRecord) -> None:
        """An active one replaces the one before; nothing where the version stands already."""

    def retire_prior(self) -> bool:
        """Back to the one before, else to the shipped one; whether there was one to retire."""

    def user_skills(self, user: str) -> list[UserSkill]:
        """All versions, by skill and version."""

    def put_user_skill(self, skill: UserSkill) -> None: ...

    def delete_user_skill(self, user: str, skill_id: str) -> int:
        """Delete every version and what is known of the skill; how many versions there were."""

    def users_of_request(self, request_id: str) -> list[str]:
        """Whose selections stand under a request id, sorted; two at most."""

    def archived_skills(self, user: str) -> frozenset[str]:
        """Base skills put aside for this user: never chosen until they return."""

    def archive_skill(self, user: str, skill_id: str, at_us: int | None) -> None:
        """Put a skill of which something is known aside, or (None) back."""

    def size_of(self, user: str) -> int:
        """Bytes of what is learned of a user, about: cells, states, posteriors, preferences, own skills."""

    def count_hour(self, hour_us: int, skill_id: str, what: str, value: float) -> None:
        """Add one value to a figure of an hour."""

    def hours(self, from_us: int, until_us: int) -> Iterator[HourFigure]:
        """Figures of [from, until), by hour, skill and name."""
