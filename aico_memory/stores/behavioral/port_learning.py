"""The part of the port that learning over skills and people needs."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, Protocol

from aico_memory.domain.behavioral.evidence import Cell, Stated, Wish
from aico_memory.domain.behavioral.records import FeedbackRecord, FormerFeedback, HourFigure, PriorRecord, UserSkill
from aico_memory.stores.sql.ledger import Ledger


class Definition(NamedTuple):
    """An own skill as it is read to be chosen from; `style` is a packed vector."""

    skill_id: str
    version: int
    sealed: bytes
    style: bytes


class LearningRows(Protocol):
    """Reads see the transaction's own writes."""

    def cells(self, user: str) -> list[Cell]:
        """All of a user's, sorted by key."""

    def cell(self, user: str, empty: Cell) -> Cell:
        """What stands under the key of `empty`, else `empty` itself."""

    def put_cell(self, user: str, cell: Cell) -> None:
        """An empty one is deleted."""

    def wishes(self, user: str) -> list[Wish]:
        """Sorted by dimension."""

    def put_wish(self, user: str, wish: Wish) -> None:
        """An empty one is deleted."""

    def statements(self, user: str) -> list[Stated]:
        """What stands of what a user has said; of all situations first, then by bucket, sorted by dimension."""

    def put_statement(self, user: str, stated: Stated) -> None:
        """In the place of what was said of the same bucket and dimension; one without a weight is deleted."""

    def forget_learned(self, user: str) -> None:
        """Delete cells, wishes, statements, posteriors, preferences and the stated style of a user; states of skills stay."""

    def taught_users(self) -> list[str]:
        """Those with consent and at least one cell, sorted."""

    def thumbs_since(self, position: int) -> tuple[int, int]:
        """How many thumbs up or down were learned behind a position of the feedback, and the last position."""

    def take_back(self, user: str, after_us: int, at_us: int) -> int:
        """Mark what was given after that time as undone, how many were not yet; and what the night made later of the rest."""

    def change_feedback(self, record: FeedbackRecord) -> None:
        """Put another record in the place of the one that stands under its event id; its order stays."""

    def former_feedback(self, user: str, after_us: int) -> list[FormerFeedback]:
        """What a user's feedback said before edits of after that time, in the order of the edits."""

    def add_former(self, former: FormerFeedback) -> None: ...

    def forget_former(self, user: str, after_us: int) -> None:
        """Delete what `former_feedback` tells."""

    def delete_feedback(self, user: str, event_id: uuid.UUID) -> bool:
        """With what it said before; whether there was one."""

    def unsignalled(self, limit: int) -> list[FeedbackRecord]:
        """Feedback with a reason that has not yet moved preferences, of people with consent, in the order it was applied."""

    def signalled(self, event_id: uuid.UUID, at_us: int) -> None:
        """It has now."""

    def unclassified(self, limit: int) -> list[FeedbackRecord]:
        """Feedback with a text that was not sorted yet, of people with consent, in the order it was applied."""

    def count_unclassified(self) -> int:
        """How many of them there are."""

    def classified(
        self, event_id: uuid.UUID, categories: Mapping[str, float], at_us: int, answered_by: str, threshold: float | None
    ) -> None:
        """Keep what its text says, and from which chance on that counts; it is sorted now."""

    def batch_position(self) -> int:
        """Up to which feedback the last nightly batch looked; 0 before the first one."""

    def put_batch_position(self, position: int) -> None: ...

    def active_prior(self) -> PriorRecord | None:
        """The one that is used; None: the shipped one is."""

    def priors(self) -> list[PriorRecord]:
        """All that were learned, oldest first."""

    def add_prior(self, record: PriorRecord) -> None:
        """An active one replaces the one before; nothing where the version stands already."""

    def restore_prior(self, version: str) -> None:
        """Let a learned prior be used again instead of the active one; "" or an unknown one: the shipped one is."""

    def ledger(self) -> Ledger:
        """Self-adjustments."""

    def user_skills(self, user: str) -> list[UserSkill]:
        """All versions, by skill and version."""

    def accepted_skills(self, user: str) -> list[Definition]:
        """What a shelf is made of: the accepted ones among the latest versions of a user's skills, by skill."""

    def versions_of(self, user: str, skill_id: str) -> list[UserSkill]:
        """All versions of one skill, oldest first."""

    def own_revision(self, user: str) -> bytes:
        """Another value after every change of a user's own skills, and never one that was there before."""

    def put_user_skill(self, skill: UserSkill) -> None: ...

    def delete_user_skill(self, user: str, skill_id: str) -> int:
        """Delete every version and what is known of the skill; how many versions there were."""

    def forget_skill(self, user: str, skill_id: str) -> None:
        """Delete what is known of a skill: cells, posteriors and its state; its versions stay."""

    def users_of_request(self, request_id: str) -> list[str]:
        """Whose selections stand under a request id, sorted; two at most."""

    def active_users(self, from_us: int, until_us: int) -> frozenset[str]:
        """Whoever had a skill selected in [from, until)."""

    def feedback_since(self, position: int) -> list[FeedbackRecord]:
        """Thumbs up or down that were learned behind a position of the feedback, in the order they were applied."""

    def archived_skills(self, user: str) -> frozenset[str]:
        """Base skills put aside for this user: never chosen until they return."""

    def archive_skill(self, user: str, skill_id: str, at_us: int | None) -> None:
        """Put a skill of which something is known aside, or (None) back."""

    def size_of(self, user: str) -> int:
        """Bytes of what is learned of a user, about: cells, states, posteriors, preferences, own skills.

        Neither skills that are put aside count, with what is known of them, nor versions of before.
        """

    def count_hour(self, hour_us: int, skill_id: str, what: str, value: float) -> None:
        """Add one value to a figure of an hour."""

    def gather_hours(self, known: Collection[str], name: str) -> int:
        """Count figures of skills that are not among the known ones under that name instead; how many there were."""

    def forget_hours(self, before_us: int) -> int:
        """Delete the figures of hours that began before that time; how many."""

    def hours(self, from_us: int, until_us: int) -> Iterator[HourFigure]:
        """Figures of [from, until), by hour, skill and name."""
