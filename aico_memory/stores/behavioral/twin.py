"""The in-memory twin of the behavioral store: same port, same suite, nothing on disk."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from aico_memory.domain.behavioral.learning import Posterior, Preference, SkillState
from aico_memory.domain.behavioral.records import (
    NO_CONSENT,
    Evolution,
    FeedbackRecord,
    SelectionRecord,
    SkillStanding,
    Trajectory,
    UserState,
)
from aico_memory.stores.behavioral.port import Key, Record
from aico_memory.stores.behavioral.twin_learning import Tables
from aico_memory.stores.behavioral.twin_outcomes import MemoryOutcomeRows
from aico_memory.stores.sql import MemoryTransaction
from aico_memory.stores.tables import TableState

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")


class MemoryRows(MemoryOutcomeRows):
    """The port `BehavioralRows` on dictionaries."""

    def user(self, user: str) -> UserState:
        return self._tables.users.get(user, UserState())

    def put_user(self, user: str, state: UserState) -> None:
        self._tables.users[user] = state

    def skill_states(self, user: str) -> dict[str, SkillState]:
        return {skill: state for (owner, skill), state in self._tables.states.items() if owner == user}

    def skill_state(self, user: str, skill_id: str) -> SkillState:
        return self._tables.states.get((user, skill_id), SkillState())

    def put_skill_state(self, user: str, skill_id: str, state: SkillState) -> None:
        self._tables.states[user, skill_id] = state

    def posteriors(self, user: str, bucket: int) -> dict[str, Posterior]:
        rows = self._tables.posteriors.items()
        return {skill: found for (owner, place, skill), found in rows if (owner, place) == (user, bucket)}

    def put_posterior(self, user: str, bucket: int, skill_id: str, posterior: Posterior, at_us: int) -> None:
        self._tables.posteriors[user, bucket, skill_id] = posterior

    def preference(self, user: str, bucket: int) -> Preference:
        return self._tables.preferences.get((user, bucket), self.stated_style(user))

    def stated_style(self, user: str) -> Preference:
        return self._tables.stated.get(user, Preference())

    def put_stated_style(self, user: str, style: Preference) -> None:
        self._tables.stated[user] = style

    def preferences(self, user: str) -> dict[int, Preference]:
        rows = sorted(self._tables.preferences.items())
        return {bucket: found for (owner, bucket), found in rows if owner == user}

    def put_preference(self, user: str, bucket: int, preference: Preference, at_us: int) -> None:
        self._tables.preferences[user, bucket] = preference

    def selection(self, user: str, request_id: str) -> SelectionRecord | None:
        return self._tables.selections.get((user, request_id))

    def latest_selection(self, user: str, skill_id: str) -> SelectionRecord | None:
        newest_first = reversed(self._tables.selections.values())
        return next((one for one in newest_first if (one.user, one.skill_id) == (user, skill_id)), None)

    def selections_of(self, user: str, skill_id: str, limit: int, after: str = "") -> list[SelectionRecord]:
        newest_first = [one for one in reversed(self._tables.selections.values()) if one.user == user]
        behind = _behind(newest_first, [one.request_id for one in newest_first], after or None)
        return [one for one in behind if skill_id in ("", one.skill_id)][:limit]

    def add_selection(self, record: SelectionRecord) -> None:
        _add(self._tables.selections, (record.user, record.request_id), record)

    def feedback(self, event_id: uuid.UUID) -> FeedbackRecord | None:
        return self._tables.feedback.get(event_id)

    def feedback_of(self, user: str) -> list[FeedbackRecord]:
        return [one for one in self._tables.feedback.values() if one.user == user]

    def newest_feedback(self, user: str, limit: int, after: uuid.UUID | None = None) -> list[FeedbackRecord]:
        newest_first = self.feedback_of(user)[::-1]
        behind = _behind(newest_first, [one.event_id for one in newest_first], after)
        return [one for one in behind if one.status != NO_CONSENT][:limit]

    def add_feedback(self, record: FeedbackRecord) -> None:
        _add(self._tables.feedback, record.event_id, record)

    def next_turn(self, user: str, conversation_id: str) -> int:
        rows = self._tables.trajectories.values()
        here = (one.turn for one in rows if (one.user, one.conversation_id) == (user, conversation_id))
        return 1 + max(here, default=0)

    def add_trajectory(self, trajectory: Trajectory) -> None:
        _add(self._tables.trajectories, (trajectory.user, trajectory.request_id), trajectory)

    def trajectory(self, user: str, request_id: str) -> Trajectory | None:
        return self._tables.trajectories.get((user, request_id))

    def reward_trajectory(self, user: str, request_id: str, reward: int | None) -> None:
        found = self.trajectory(user, request_id)
        if found is not None:
            self._tables.trajectories[user, request_id] = replace(found, reward=reward, archived_us=None)

    def put_response(self, user: str, request_id: str, sealed_response: bytes | None) -> bool:
        found = self.trajectory(user, request_id)
        if found is not None:
            self._tables.trajectories[user, request_id] = replace(found, sealed_response=sealed_response)
        return found is not None

    def archive_trajectories(self, before_us: int, at_us: int) -> int:
        found = [
            (key, one)
            for key, one in self._tables.trajectories.items()
            if one.reward is None and one.archived_us is None and one.at_us < before_us
        ]
        for key, one in found:
            self._tables.trajectories[key] = replace(one, archived_us=at_us)
        return len(found)

    def delete_archived(self, before_us: int) -> int:
        rows = self._tables.trajectories.items()
        found = [key for key, one in rows if one.archived_us is not None and one.archived_us < before_us]
        for key in found:
            del self._tables.trajectories[key]
        return len(found)

    def forget_history(self, before_us: int) -> tuple[int, int]:
        tables = self._tables
        kept = {key: one for key, one in tables.selections.items() if one.at_us >= before_us or key in tables.trajectories}
        left = {key: one for key, one in tables.evolution.items() if one.at_us >= before_us or one.what != "learned"}
        gone = len(tables.selections) - len(kept), len(tables.evolution) - len(left)
        tables.selections, tables.evolution = kept, left
        return gone

    def delete_selections(self, user: str, request_id: str, until_us: int) -> int:
        def goes(key: tuple[str, str], at_us: int) -> bool:
            return key[0] == user and (key[1] == request_id if request_id else at_us <= until_us)

        tables = self._tables
        tables.trajectories = {key: one for key, one in tables.trajectories.items() if not goes(key, one.at_us)}
        kept = {key: one for key, one in tables.selections.items() if not goes(key, one.at_us)}
        gone = len(tables.selections) - len(kept)
        tables.selections = kept
        return gone

    def add_evolution(self, record: Evolution) -> None:
        _add(self._tables.evolution, (record.user, record.at_us, record.cause.bytes, record.ordinal), record)

    def forget_evolution(self, user: str, what: str) -> None:
        kept = {key: one for key, one in self._tables.evolution.items() if (one.user, one.what) != (user, what)}
        self._tables.evolution = kept

    def evolution_of(self, user: str) -> list[Evolution]:
        return [one for key, one in sorted(self._tables.evolution.items(), key=lambda item: item[0]) if key[0] == user]

    def counts(self) -> dict[str, int]:
        tables = self._tables
        return {
            "users": len(tables.users), "user_skills": len(tables.user_skills), "skill_states": len(tables.states),
            "posteriors": len(tables.posteriors), "preferences": len(tables.preferences), "stated_styles": len(tables.stated),
            "selections": len(tables.selections), "feedback": len(tables.feedback),
            "former_feedback": len(tables.former), "trajectories": len(tables.trajectories), "evolution": len(tables.evolution),
            "taste_cells": len(tables.cells), "wishes": len(tables.wishes), "statements": len(tables.statements),
            "priors": len(tables.priors), "hours": len(tables.hours), "outcomes": len(tables.outcomes),
            "outcome_profiles": len(tables.profiles),
            "open_suggestions": len(tables.suggestions), "insights": len(tables.insights),
        }  # fmt: skip

    def section(self, name: str, user: str, after: Key, limit: int) -> Iterable[tuple[Key, Record]]:
        rows = sorted(self._keyed(name), key=lambda row: row[0])
        return [row for row in rows if (not user or row[0][0] == user) and row[0] > after][:limit]

    def _keyed(self, name: str) -> Iterator[tuple[Key, Record]]:
        tables = self._tables
        keyed: Mapping[str, Iterable[tuple[Key, Record]]] = {
            "consent": (((user,), one) for user, one in tables.users.items()),
            "evolution": tables.evolution.items(),
            "feedback": (((one.user, one.event_id.bytes), one) for one in tables.feedback.values()),
            "former_feedback": tables.former.items(),
            "outcome": tables.outcomes.items(),
            "outcome_profile": (((user,), one) for user, one in tables.profiles.items()),
            "posterior": tables.posteriors.items(),
            "preference": tables.preferences.items(),
            "selection": tables.selections.items(),
            "skill": ((key, SkillStanding(one, key in tables.archived)) for key, one in tables.states.items()),
            "stated_style": (((user,), one) for user, one in tables.stated.items()),
            "statement": tables.statements.items(),
            "suggestion": tables.suggestions.items(),
            "taste": tables.cells.items(),
            "trajectory": tables.trajectories.items(),
            "user_skill": tables.user_skills.items(),
            "wish": tables.wishes.items(),
        }
        yield from keyed[name]


class MemoryBehavioralStore:
    """The port `BehavioralStore` in plain Python."""

    def __init__(self) -> None:
        self.state = TableState(Tables())

    def within(self, transaction: MemoryTransaction) -> MemoryRows:
        return MemoryRows(self.state.draft())

    @contextmanager
    def reading(self) -> Iterator[MemoryRows]:
        yield MemoryRows(self.state.tables)

    def close(self) -> None:
        """Nothing to let go."""


def _behind(rows: list[R], keys: list[K], after: K | None) -> list[R]:
    """The rows behind the one of a key; all without one, none where it is gone."""
    if after is None:
        return rows
    return rows[keys.index(after) + 1 :] if after in keys else []


def _add(table: dict[K, V], key: K, value: V) -> None:
    if key in table:
        raise ValueError(f"{key} stands already")
    table[key] = value
