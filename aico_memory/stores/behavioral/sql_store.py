"""The behavioral store in an encrypted database."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from importlib.resources import files
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from aico_memory.domain.behavioral.learning import Posterior, Preference, SkillState
from aico_memory.domain.behavioral.records import Evolution, FeedbackRecord, SelectionRecord, Trajectory, UserState
from aico_memory.stores.behavioral import statements as sql
from aico_memory.stores.behavioral.packing import pack_knowledge, pack_vector, unpack_vector
from aico_memory.stores.behavioral.port import Key, Record
from aico_memory.stores.behavioral.sql_outcomes import SqlOutcomeRows
from aico_memory.stores.sql import Database, SqlConsumerState, SqlTransaction

FILE = "behavioral.db"
# The values in the order of the columns; `astuple` copies each, which takes twenty times as long.
_state_row = attrgetter(*(field.name for field in fields(SkillState)))


class SqlRows(SqlOutcomeRows):
    """The port `BehavioralRows` on one connection."""

    __slots__ = ()

    def user(self, user: str) -> UserState:
        row = self._one("SELECT behavioral, long_term, feedback_count, revision FROM users WHERE user_id = ?", user)
        return UserState() if row is None else sql.user_of(row)

    def put_user(self, user: str, state: UserState) -> None:
        row = (user, int(state.behavioral), int(state.long_term), state.feedback_count, state.revision)
        self._connection.execute(sql.PUT_USER, row)

    def skill_states(self, user: str) -> dict[str, SkillState]:
        query = f"SELECT skill_id, {sql.STATE} FROM skill_states WHERE user_id = ?"
        return {row[0]: SkillState(*row[1:]) for row in self._connection.execute(query, (user,))}

    def skill_state(self, user: str, skill_id: str) -> SkillState:
        row = self._one(f"SELECT {sql.STATE} FROM skill_states WHERE user_id = ? AND skill_id = ?", user, skill_id)
        return SkillState() if row is None else SkillState(*row)

    def put_skill_state(self, user: str, skill_id: str, state: SkillState) -> None:
        self._connection.execute(sql.PUT_STATE, (user, skill_id, *_state_row(state)))

    def posteriors(self, user: str, bucket: int) -> dict[str, Posterior]:
        query = "SELECT skill_id, alpha, beta FROM posteriors WHERE user_id = ? AND bucket = ?"
        return {row[0]: Posterior(row[1], row[2]) for row in self._connection.execute(query, (user, bucket))}

    def put_posterior(self, user: str, bucket: int, skill_id: str, posterior: Posterior, at_us: int) -> None:
        self._connection.execute(sql.PUT_POSTERIOR, (user, bucket, skill_id, posterior.alpha, posterior.beta, at_us))

    def preference(self, user: str, bucket: int) -> Preference:
        row = self._one("SELECT dimensions, updates FROM preferences WHERE user_id = ? AND bucket = ?", user, bucket)
        return self.stated_style(user) if row is None else Preference(unpack_vector(row[0]), row[1])

    def stated_style(self, user: str) -> Preference:
        row = self._one("SELECT dimensions FROM stated_styles WHERE user_id = ?", user)
        return Preference() if row is None else Preference(unpack_vector(row[0]))

    def put_stated_style(self, user: str, style: Preference) -> None:
        self._connection.execute(sql.PUT_STATED, (user, pack_vector(style.dimensions)))

    def preferences(self, user: str) -> dict[int, Preference]:
        query = "SELECT bucket, dimensions, updates FROM preferences WHERE user_id = ? ORDER BY bucket"
        return {row[0]: Preference(unpack_vector(row[1]), row[2]) for row in self._connection.execute(query, (user,))}

    def put_preference(self, user: str, bucket: int, preference: Preference, at_us: int) -> None:
        row = (user, bucket, pack_vector(preference.dimensions), preference.updates, at_us)
        self._connection.execute(sql.PUT_PREFERENCE, row)

    def selection(self, user: str, request_id: str) -> SelectionRecord | None:
        row = self._one(f"SELECT {sql.SELECTION} FROM selections WHERE user_id = ? AND request_id = ?", user, request_id)
        return None if row is None else sql.selection_of(row)

    def latest_selection(self, user: str, skill_id: str) -> SelectionRecord | None:
        row = self._one(sql.LATEST_SELECTION, user, skill_id)
        return None if row is None else sql.selection_of(row)

    def selections_of(self, user: str, skill_id: str, limit: int, after: str = "") -> list[SelectionRecord]:
        rows = self._connection.execute(sql.NEWEST_SELECTIONS, (user, skill_id, after, limit))
        return [sql.selection_of(row) for row in rows]

    def add_selection(self, record: SelectionRecord) -> None:
        self._insert("selections", sql.SELECTION, sql.selection_row(record))

    def feedback(self, event_id: uuid.UUID) -> FeedbackRecord | None:
        row = self._one(f"SELECT {sql.FEEDBACK} FROM feedback WHERE event_id = ?", event_id.bytes)
        return None if row is None else sql.feedback_of(row)

    def feedback_of(self, user: str) -> list[FeedbackRecord]:
        query = f"SELECT {sql.FEEDBACK} FROM feedback WHERE user_id = ? ORDER BY position"
        return [sql.feedback_of(row) for row in self._connection.execute(query, (user,))]

    def newest_feedback(self, user: str, limit: int, after: uuid.UUID | None = None) -> list[FeedbackRecord]:
        rows = self._connection.execute(sql.NEWEST_FEEDBACK, (user, None if after is None else after.bytes, limit))
        return [sql.feedback_of(row) for row in rows]

    def add_feedback(self, record: FeedbackRecord) -> None:
        self._insert("feedback", sql.FEEDBACK, sql.feedback_row(record))

    def next_turn(self, user: str, conversation_id: str) -> int:
        row = self._one("SELECT max(turn) FROM trajectories WHERE user_id = ? AND conversation_id = ?", user, conversation_id)
        return 1 + int(row[0] or 0)

    def add_trajectory(self, trajectory: Trajectory) -> None:
        self._insert("trajectories", sql.TRAJECTORY, sql.trajectory_row(trajectory))

    def trajectory(self, user: str, request_id: str) -> Trajectory | None:
        row = self._one(f"SELECT {sql.TRAJECTORY} FROM trajectories WHERE user_id = ? AND request_id = ?", user, request_id)
        return None if row is None else sql.trajectory_of(row)

    def reward_trajectory(self, user: str, request_id: str, reward: int | None) -> None:
        query = "UPDATE trajectories SET reward = ?, archived_us = NULL WHERE user_id = ? AND request_id = ?"
        self._connection.execute(query, (reward, user, request_id))

    def put_response(self, user: str, request_id: str, sealed_response: bytes | None) -> bool:
        query = "UPDATE trajectories SET sealed_response = ? WHERE user_id = ? AND request_id = ?"
        return self._connection.execute(query, (sealed_response, user, request_id)).rowcount > 0

    def archive_trajectories(self, before_us: int, at_us: int) -> int:
        return self._connection.execute(sql.ARCHIVE, (at_us, before_us)).rowcount

    def delete_archived(self, before_us: int) -> int:
        return self._connection.execute("DELETE FROM trajectories WHERE archived_us < ?", (before_us,)).rowcount

    def forget_history(self, before_us: int) -> tuple[int, int]:
        selections = self._connection.execute(sql.FORGET_SELECTIONS, (before_us,)).rowcount
        return selections, self._connection.execute(sql.FORGET_LEARNED, (before_us,)).rowcount

    def delete_selections(self, user: str, request_id: str, until_us: int) -> int:
        which, value = ("request_id = ?", request_id) if request_id else ("at_us <= ?", until_us)
        self._connection.execute(f"DELETE FROM trajectories WHERE user_id = ? AND {which}", (user, value))
        return self._connection.execute(f"DELETE FROM selections WHERE user_id = ? AND {which}", (user, value)).rowcount

    def add_evolution(self, record: Evolution) -> None:
        before = None if record.before is None else pack_knowledge(record.before)
        row = (
            record.user, record.cause.bytes, record.ordinal, record.what, record.subject, record.at_us, record.old_value,
            record.new_value, record.bucket, before,
        )  # fmt: skip
        self._insert("evolution", sql.EVOLUTION, row)

    def forget_evolution(self, user: str, what: str) -> None:
        self._connection.execute("DELETE FROM evolution WHERE user_id = ? AND what = ?", (user, what))

    def evolution_of(self, user: str) -> list[Evolution]:
        query = f"SELECT {sql.EVOLUTION} FROM evolution WHERE user_id = ? ORDER BY at_us, cause, ordinal"
        return [sql.evolution_of(row) for row in self._connection.execute(query, (user,))]

    def counts(self) -> dict[str, int]:
        return {name: int(self._one(f"SELECT count(*) FROM {name}")[0]) for name in sql.TABLES}

    def section(self, name: str, user: str, after: Key, limit: int) -> Iterable[tuple[Key, Record]]:
        query = sql.EXPORT[name]
        parameters = [*([user] if user else []), *after, limit]
        width = len(query.keys)
        for row in self._connection.execute(query.statement(bool(user), bool(after)), parameters):
            yield tuple(row[:width]), query.record_of(row[width:])

    def _one(self, query: str, *parameters: object) -> Any:
        return self._connection.execute(query, parameters).fetchone()

    def _insert(self, table: str, columns: str, row: tuple[object, ...]) -> None:
        self._connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({sql.placeholders(columns)})", row)


class SqlBehavioralStore:
    """The port `BehavioralStore` on one encrypted database file."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.state = SqlConsumerState(database)

    @classmethod
    def open(cls, folder: Path, key: bytes | None) -> Self:
        """Open or make the store in its folder; raises what Database.open raises."""
        return cls(Database.open(folder / FILE, key, files("aico_memory.stores.behavioral") / "migrations"))

    def within(self, transaction: SqlTransaction) -> SqlRows:
        return SqlRows(transaction.connection)

    @contextmanager
    def reading(self) -> Iterator[SqlRows]:
        with self._database.read() as connection:
            yield SqlRows(connection)

    def close(self) -> None:
        self._database.close()
