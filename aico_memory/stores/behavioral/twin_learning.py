"""Cells, wishes, priors, skills of users and hourly figures of the in-memory twin."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from secrets import token_bytes
from typing import TypeVar

from aico_memory.domain.advisor.insights import Insight
from aico_memory.domain.advisor.records import OpenSuggestion, SealedOutcome, SealedProfile, SealedVector
from aico_memory.domain.behavioral.evidence import Cell, Stated, Wish
from aico_memory.domain.behavioral.learning import Posterior, Preference, SkillState
from aico_memory.domain.behavioral.records import (
    NO_CONSENT,
    TAKEN_BACK_US,
    Evolution,
    FeedbackRecord,
    FormerFeedback,
    HourFigure,
    PriorRecord,
    SelectionRecord,
    Trajectory,
    UserSkill,
    UserState,
)
from aico_memory.domain.guardrails.adjustment import Adjustment
from aico_memory.stores.behavioral.packing import pack_vector
from aico_memory.stores.behavioral.port_learning import Definition
from aico_memory.stores.behavioral.sql_learning import REVISION_BYTES
from aico_memory.stores.behavioral.statements import EVERY_BUCKET, ROW
from aico_memory.stores.sql.ledger import MemoryLedger

_Key = TypeVar("_Key")
_Row = TypeVar("_Row")


@dataclass(slots=True)
class Tables:
    """One dictionary a table; insertion order is the order of application."""

    users: dict[str, UserState] = field(default_factory=dict)
    states: dict[tuple[str, str], SkillState] = field(default_factory=dict)
    posteriors: dict[tuple[str, int, str], Posterior] = field(default_factory=dict)
    preferences: dict[tuple[str, int], Preference] = field(default_factory=dict)
    stated: dict[str, Preference] = field(default_factory=dict)
    selections: dict[tuple[str, str], SelectionRecord] = field(default_factory=dict)
    feedback: dict[uuid.UUID, FeedbackRecord] = field(default_factory=dict)
    former: dict[tuple[str, bytes, int, bytes], FormerFeedback] = field(default_factory=dict)
    trajectories: dict[tuple[str, str], Trajectory] = field(default_factory=dict)
    evolution: dict[tuple[str, int, bytes, int], Evolution] = field(default_factory=dict)
    cells: dict[tuple[str, str, str, str, str], Cell] = field(default_factory=dict)
    wishes: dict[tuple[str, str], Wish] = field(default_factory=dict)
    statements: dict[tuple[str, int, str], Stated] = field(default_factory=dict)
    priors: dict[str, PriorRecord] = field(default_factory=dict)
    user_skills: dict[tuple[str, str, int], UserSkill] = field(default_factory=dict)
    own_revisions: dict[str, bytes] = field(default_factory=dict)
    hours: dict[tuple[int, str, str], HourFigure] = field(default_factory=dict)
    archived: dict[tuple[str, str], int] = field(default_factory=dict)
    outcomes: dict[tuple[str, int], SealedOutcome] = field(default_factory=dict)
    vectors: dict[tuple[str, int], SealedVector] = field(default_factory=dict)
    profiles: dict[str, SealedProfile] = field(default_factory=dict)
    suggestions: dict[tuple[str, str], OpenSuggestion] = field(default_factory=dict)
    insights: dict[str, Insight] = field(default_factory=dict)
    adjustments: dict[str, Adjustment] = field(default_factory=dict)
    batches: dict[int, int] = field(default_factory=dict)

    def copy(self) -> Tables:
        return Tables(*(dict(getattr(self, one.name)) for one in fields(self)))


class MemoryLearningRows:
    """The port `LearningRows` on dictionaries."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def cells(self, user: str) -> list[Cell]:
        return [cell for key, cell in sorted(self._tables.cells.items(), key=lambda item: item[0]) if key[0] == user]

    def cell(self, user: str, empty: Cell) -> Cell:
        return self._tables.cells.get((user, *empty.key), empty)

    def put_cell(self, user: str, cell: Cell) -> None:
        _put(self._tables.cells, (user, *cell.key), cell, cell.total)

    def wishes(self, user: str) -> list[Wish]:
        return [wish for key, wish in sorted(self._tables.wishes.items(), key=lambda item: item[0]) if key[0] == user]

    def put_wish(self, user: str, wish: Wish) -> None:
        _put(self._tables.wishes, (user, wish.dimension), wish, wish.more + wish.less)

    def statements(self, user: str) -> list[Stated]:
        return [one for key, one in sorted(self._tables.statements.items(), key=lambda item: item[0]) if key[0] == user]

    def put_statement(self, user: str, stated: Stated) -> None:
        key = (user, EVERY_BUCKET if stated.bucket is None else stated.bucket, stated.dimension)
        _put(self._tables.statements, key, stated, stated.weight)

    def forget_learned(self, user: str) -> None:
        tables = self._tables
        tables.cells = {key: one for key, one in tables.cells.items() if key[0] != user}
        tables.wishes = {key: one for key, one in tables.wishes.items() if key[0] != user}
        tables.statements = {key: one for key, one in tables.statements.items() if key[0] != user}
        tables.posteriors = {key: one for key, one in tables.posteriors.items() if key[0] != user}
        tables.preferences = {key: one for key, one in tables.preferences.items() if key[0] != user}
        tables.stated.pop(user, None)

    def taught_users(self) -> list[str]:
        taught = {key[0] for key in self._tables.cells}
        return sorted(user for user, state in self._tables.users.items() if state.behavioral and user in taught)

    def thumbs_since(self, position: int) -> tuple[int, int]:
        places = [
            place
            for place, one in enumerate(self._tables.feedback.values(), 1)
            if place > position and one.reward and one.skill_updated and one.undone_us is None
        ]
        return len(places), max(places, default=position)

    def take_back(self, user: str, after_us: int, at_us: int) -> int:
        self._take_back_moves(user, after_us)
        found = [
            key
            for key, one in self._tables.feedback.items()
            if one.user == user and one.at_us > after_us and one.undone_us is None and one.status != NO_CONSENT
        ]
        for key in found:
            self._tables.feedback[key] = replace(self._tables.feedback[key], undone_us=at_us)
        return len(found)

    def _take_back_moves(self, user: str, after_us: int) -> None:
        def kept(moment_us: int | None) -> int | None:
            return TAKEN_BACK_US if moment_us is not None and moment_us > after_us else moment_us

        for key, one in self._tables.feedback.items():
            if one.user == user:
                moves = replace(one, signalled_us=kept(one.signalled_us), classified_us=kept(one.classified_us))
                self._tables.feedback[key] = moves

    def change_feedback(self, record: FeedbackRecord) -> None:
        if record.event_id in self._tables.feedback:
            self._tables.feedback[record.event_id] = record

    def delete_feedback(self, user: str, event_id: uuid.UUID) -> bool:
        found = self._tables.feedback.get(event_id)
        if found is None or found.user != user:
            return False
        del self._tables.feedback[event_id]
        former = self._tables.former.items()
        self._tables.former = {key: one for key, one in former if one.event_id != event_id}
        return True

    def former_feedback(self, user: str, after_us: int) -> list[FormerFeedback]:
        found = [one for one in self._tables.former.values() if one.user == user and one.edited_us > after_us]
        return sorted(found, key=lambda one: one.edited_us)

    def add_former(self, former: FormerFeedback) -> None:
        key = (former.user, former.event_id.bytes, former.edited_us, former.cause.bytes)
        self._tables.former[key] = former

    def forget_former(self, user: str, after_us: int) -> None:
        former = self._tables.former.items()
        self._tables.former = {key: one for key, one in former if one.user != user or one.edited_us <= after_us}

    def unsignalled(self, limit: int) -> list[FeedbackRecord]:
        tables = self._tables
        waiting = (
            one
            for one in tables.feedback.values()
            if one.signalled_us is None and one.undone_us is None and one.reason
            and tables.users.get(one.user, UserState()).behavioral
        )  # fmt: skip
        return [one for one, _ in zip(waiting, range(limit), strict=False)]

    def signalled(self, event_id: uuid.UUID, at_us: int) -> None:
        self._tables.feedback[event_id] = replace(self._tables.feedback[event_id], signalled_us=at_us)

    def unclassified(self, limit: int) -> list[FeedbackRecord]:
        tables = self._tables
        waiting = (
            one
            for one in tables.feedback.values()
            if one.sealed_text is not None and one.categories is None and one.undone_us is None
            and tables.users.get(one.user, UserState()).behavioral
        )  # fmt: skip
        return [one for one, _ in zip(waiting, range(limit), strict=False)]

    def count_unclassified(self) -> int:
        return len(self.unclassified(len(self._tables.feedback)))

    def classified(
        self, event_id: uuid.UUID, categories: Mapping[str, float], at_us: int, answered_by: str, threshold: float | None
    ) -> None:
        standing = self._tables.feedback[event_id]
        after = replace(
            standing, categories=dict(categories), classified_us=at_us, classified_by=answered_by, text_threshold=threshold
        )
        self._tables.feedback[event_id] = after

    def batch_position(self) -> int:
        return self._tables.batches.get(1, 0)

    def put_batch_position(self, position: int) -> None:
        self._tables.batches[1] = position

    def active_prior(self) -> PriorRecord | None:
        return next((one for one in self._tables.priors.values() if one.status == "active"), None)

    def priors(self) -> list[PriorRecord]:
        return list(self._tables.priors.values())

    def add_prior(self, record: PriorRecord) -> None:
        priors = self._tables.priors
        if record.version in priors:
            return
        standing = self.active_prior()
        if record.status == "active" and standing is not None:
            priors[standing.version] = replace(standing, status="replaced")
        priors[record.version] = record

    def restore_prior(self, version: str) -> None:
        priors, standing = self._tables.priors, self.active_prior()
        if standing is not None:
            priors[standing.version] = replace(standing, status="replaced")
        if version in priors:
            priors[version] = replace(priors[version], status="active")

    def ledger(self) -> MemoryLedger:
        return MemoryLedger(self._tables.adjustments)

    def user_skills(self, user: str) -> list[UserSkill]:
        rows = sorted(self._tables.user_skills.items(), key=lambda item: item[0])
        return [one for key, one in rows if key[0] == user]

    def accepted_skills(self, user: str) -> list[Definition]:
        latest = {one.skill_id: one for one in self.user_skills(user) if one.status != "replaced"}
        return [
            Definition(one.skill_id, one.version, one.sealed_definition, pack_vector(one.dimensions))
            for one in latest.values() if one.status == "accepted"
        ]  # fmt: skip

    def versions_of(self, user: str, skill_id: str) -> list[UserSkill]:
        return [one for one in self.user_skills(user) if one.skill_id == skill_id]

    def own_revision(self, user: str) -> bytes:
        return self._tables.own_revisions.get(user, b"")

    def put_user_skill(self, skill: UserSkill) -> None:
        made_with = skill.given or skill.dimensions
        self._tables.user_skills[skill.user, skill.skill_id, skill.version] = replace(skill, given=made_with)
        self._tables.own_revisions[skill.user] = token_bytes(REVISION_BYTES)

    def delete_user_skill(self, user: str, skill_id: str) -> int:
        tables = self._tables
        self.forget_skill(user, skill_id)
        found = [key for key in tables.user_skills if key[:2] == (user, skill_id)]
        for key in found:
            del tables.user_skills[key]
        tables.own_revisions[user] = token_bytes(REVISION_BYTES)
        return len(found)

    def forget_skill(self, user: str, skill_id: str) -> None:
        tables = self._tables
        tables.cells = {key: one for key, one in tables.cells.items() if (key[0], key[4]) != (user, skill_id)}
        tables.posteriors = {key: one for key, one in tables.posteriors.items() if (key[0], key[2]) != (user, skill_id)}
        tables.states.pop((user, skill_id), None)

    def users_of_request(self, request_id: str) -> list[str]:
        return sorted(user for user, request in self._tables.selections if request == request_id)[:2]

    def active_users(self, from_us: int, until_us: int) -> frozenset[str]:
        return frozenset(one.user for one in self._tables.selections.values() if from_us <= one.at_us < until_us)

    def feedback_since(self, position: int) -> list[FeedbackRecord]:
        return [
            one
            for place, one in enumerate(self._tables.feedback.values(), 1)
            if place > position and one.reward and one.skill_updated and one.undone_us is None
        ]

    def archived_skills(self, user: str) -> frozenset[str]:
        return frozenset(skill for owner, skill in self._tables.archived if owner == user)

    def archive_skill(self, user: str, skill_id: str, at_us: int | None) -> None:
        if at_us is None:
            self._tables.archived.pop((user, skill_id), None)
        elif (user, skill_id) in self._tables.states:
            self._tables.archived[user, skill_id] = at_us

    def size_of(self, user: str) -> int:
        tables = self._tables
        versions = [one for one in tables.user_skills.values() if one.user == user]
        aside = self.archived_skills(user) | {one.skill_id for one in versions if one.status == "archived"}
        known = (key for table in (tables.cells, tables.states, tables.posteriors) for key in table)
        # The skill ends each key.
        rows = sum(key[0] == user and key[-1] not in aside for key in known)
        own = [one for one in versions if one.status in ("accepted", "proposed")]
        vectors = sum(key[0] == user for key in tables.preferences) + (user in tables.stated) + len(own)
        rows += sum(key[0] == user for key in tables.statements)
        return ROW * rows + (ROW + 128) * vectors + sum(len(one.sealed_definition) for one in own)

    def count_hour(self, hour_us: int, skill_id: str, what: str, value: float) -> None:
        key = (hour_us, skill_id, what)
        old = self._tables.hours.get(key, HourFigure(*key, 0, 0.0, value))
        self._tables.hours[key] = HourFigure(*key, old.count + 1, old.total + value, max(old.largest, value))

    def gather_hours(self, known: Collection[str], name: str) -> int:
        hours = self._tables.hours
        gathered = [hours.pop(key) for key in sorted(hours) if key[1] not in {*known, name}]
        for one in gathered:
            key = (one.hour_us, name, one.what)
            old = hours.get(key, HourFigure(*key, 0, 0.0, one.largest))
            hours[key] = HourFigure(*key, old.count + one.count, old.total + one.total, max(old.largest, one.largest))
        return len(gathered)

    def forget_hours(self, before_us: int) -> int:
        hours = self._tables.hours
        gone = [key for key in hours if key[0] < before_us]
        for key in gone:
            del hours[key]
        return len(gone)

    def hours(self, from_us: int, until_us: int) -> Iterator[HourFigure]:
        yield from (one for key, one in sorted(self._tables.hours.items(), key=lambda i: i[0]) if from_us <= key[0] < until_us)


def _put(table: dict[_Key, _Row], key: _Key, row: _Row, weight: float) -> None:
    """Keep the row; one that weighs nothing any more is not kept."""
    if weight > 0:
        table[key] = row
    else:
        table.pop(key, None)
