"""Cells, wishes, priors, skills of users and hourly figures in the encrypted database."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterator, Mapping
from secrets import token_bytes
from typing import Any

from aico_memory.domain.behavioral.evidence import Cell, Stated, Wish
from aico_memory.domain.behavioral.records import FeedbackRecord, FormerFeedback, HourFigure, PriorRecord, UserSkill
from aico_memory.stores.behavioral import statements as sql
from aico_memory.stores.behavioral import undo_statements as undo
from aico_memory.stores.behavioral.packing import pack_vector
from aico_memory.stores.behavioral.port_learning import Definition
from aico_memory.stores.sql import Connection
from aico_memory.stores.sql.ledger import SqlLedger

# Enough that no two of a user's revisions are ever alike.
REVISION_BYTES = 12


class SqlLearningRows:
    """The port `LearningRows` on one connection."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def cells(self, user: str) -> list[Cell]:
        return [Cell(*row) for row in self._connection.execute(sql.CELLS, (user,))]

    def cell(self, user: str, empty: Cell) -> Cell:
        row = self._connection.execute(sql.ONE_CELL, (user, *empty.key)).fetchone()
        return empty if row is None else Cell(*empty.key, *row)

    def put_cell(self, user: str, cell: Cell) -> None:
        if cell.total > 0:
            self._connection.execute(sql.PUT_CELL, (user, *cell.key, cell.positive, cell.negative))
        else:
            self._connection.execute(sql.DELETE_CELL, (user, *cell.key))

    def wishes(self, user: str) -> list[Wish]:
        query = "SELECT dimension, more, less FROM wishes WHERE user_id = ? ORDER BY dimension"
        return [Wish(*row) for row in self._connection.execute(query, (user,))]

    def put_wish(self, user: str, wish: Wish) -> None:
        if wish.more + wish.less > 0:
            query = "INSERT OR REPLACE INTO wishes (user_id, dimension, more, less) VALUES (?, ?, ?, ?)"
            self._connection.execute(query, (user, wish.dimension, wish.more, wish.less))
        else:
            self._connection.execute("DELETE FROM wishes WHERE user_id = ? AND dimension = ?", (user, wish.dimension))

    def statements(self, user: str) -> list[Stated]:
        query = f"SELECT {sql.STATEMENT} FROM statements WHERE user_id = ? ORDER BY bucket, dimension"
        return [sql.stated_of(row) for row in self._connection.execute(query, (user,))]

    def put_statement(self, user: str, stated: Stated) -> None:
        key = (user, sql.EVERY_BUCKET if stated.bucket is None else stated.bucket, stated.dimension)
        if stated.weight > 0:
            query = "INSERT OR REPLACE INTO statements (user_id, bucket, dimension, value, weight) VALUES (?, ?, ?, ?, ?)"
            self._connection.execute(query, (*key, stated.value, stated.weight))
        else:
            self._connection.execute("DELETE FROM statements WHERE user_id = ? AND bucket = ? AND dimension = ?", key)

    def forget_learned(self, user: str) -> None:
        for table in ("taste_cells", "wishes", "statements", "posteriors", "preferences", "stated_styles"):
            self._connection.execute(f"DELETE FROM {table} WHERE user_id = ?", (user,))

    def taught_users(self) -> list[str]:
        return [row[0] for row in self._connection.execute(sql.TAUGHT)]

    def thumbs_since(self, position: int) -> tuple[int, int]:
        row = self._connection.execute(sql.THUMBS_SINCE, (position,)).fetchone()
        return int(row[0]), int(row[1] or position)

    def take_back(self, user: str, after_us: int, at_us: int) -> int:
        for query in (undo.TAKE_BACK_SIGNALS, undo.TAKE_BACK_TEXTS):
            self._connection.execute(query, (user, after_us))
        return self._connection.execute(undo.TAKE_BACK, (at_us, user, after_us)).rowcount

    def change_feedback(self, record: FeedbackRecord) -> None:
        query = f"UPDATE feedback SET ({sql.FEEDBACK}) = ({sql.placeholders(sql.FEEDBACK)}) WHERE event_id = ?"
        self._connection.execute(query, (*sql.feedback_row(record), record.event_id.bytes))

    def former_feedback(self, user: str, after_us: int) -> list[FormerFeedback]:
        return [undo.former_of(row) for row in self._connection.execute(undo.FORMER_SINCE, (user, after_us))]

    def add_former(self, former: FormerFeedback) -> None:
        query = f"INSERT INTO former_feedback ({undo.FORMER}) VALUES ({sql.placeholders(undo.FORMER)})"
        self._connection.execute(query, undo.former_row(former))

    def forget_former(self, user: str, after_us: int) -> None:
        self._connection.execute("DELETE FROM former_feedback WHERE user_id = ? AND edited_us > ?", (user, after_us))

    def delete_feedback(self, user: str, event_id: uuid.UUID) -> bool:
        self._connection.execute("DELETE FROM former_feedback WHERE user_id = ? AND event_id = ?", (user, event_id.bytes))
        query = "DELETE FROM feedback WHERE user_id = ? AND event_id = ?"
        return self._connection.execute(query, (user, event_id.bytes)).rowcount > 0

    def unsignalled(self, limit: int) -> list[FeedbackRecord]:
        return [sql.feedback_of(row) for row in self._connection.execute(sql.UNSIGNALLED, (limit,))]

    def signalled(self, event_id: uuid.UUID, at_us: int) -> None:
        self._connection.execute("UPDATE feedback SET signalled_us = ? WHERE event_id = ?", (at_us, event_id.bytes))

    def unclassified(self, limit: int) -> list[FeedbackRecord]:
        return [sql.feedback_of(row) for row in self._connection.execute(sql.UNCLASSIFIED, (limit,))]

    def count_unclassified(self) -> int:
        return int(self._connection.execute(sql.COUNT_UNCLASSIFIED).fetchone()[0])

    def classified(
        self, event_id: uuid.UUID, categories: Mapping[str, float], at_us: int, answered_by: str, threshold: float | None
    ) -> None:
        row = (undo.packed_categories(categories), at_us, answered_by, threshold, event_id.bytes)
        self._connection.execute(sql.CLASSIFIED, row)

    def batch_position(self) -> int:
        row = self._connection.execute("SELECT position FROM batches").fetchone()
        return 0 if row is None else int(row[0])

    def put_batch_position(self, position: int) -> None:
        self._connection.execute("INSERT OR REPLACE INTO batches (id, position) VALUES (1, ?)", (position,))

    def active_prior(self) -> PriorRecord | None:
        row = self._connection.execute(f"SELECT {sql.PRIOR} FROM priors WHERE status = 'active'").fetchone()
        return None if row is None else _prior_of(row)

    def priors(self) -> list[PriorRecord]:
        return [_prior_of(row) for row in self._connection.execute(f"SELECT {sql.PRIOR} FROM priors ORDER BY position")]

    def add_prior(self, record: PriorRecord) -> None:
        if self._connection.execute("SELECT 1 FROM priors WHERE version = ?", (record.version,)).fetchone():
            return
        if record.status == "active":
            self._connection.execute("UPDATE priors SET status = 'replaced' WHERE status = 'active'")
        row = (
            record.version, record.fitted_us, record.users, record.thumbs, record.status,
            json.dumps(record.body, sort_keys=True), json.dumps(record.evaluation, sort_keys=True),
        )  # fmt: skip
        self._connection.execute(f"INSERT INTO priors ({sql.PRIOR}) VALUES ({sql.placeholders(sql.PRIOR)})", row)

    def restore_prior(self, version: str) -> None:
        self._connection.execute("UPDATE priors SET status = 'replaced' WHERE status = 'active'")
        self._connection.execute("UPDATE priors SET status = 'active' WHERE version = ?", (version,))

    def ledger(self) -> SqlLedger:
        return SqlLedger(self._connection)

    def user_skills(self, user: str) -> list[UserSkill]:
        query = f"SELECT {sql.USER_SKILL} FROM user_skills WHERE user_id = ? ORDER BY skill_id, version"
        return [sql.user_skill_of(row) for row in self._connection.execute(query, (user,))]

    def accepted_skills(self, user: str) -> list[Definition]:
        latest = {row[0]: row for row in self._connection.execute(sql.DEFINITIONS, (user,))}
        return [Definition(*row[:4]) for row in latest.values() if row[4] == "accepted"]

    def versions_of(self, user: str, skill_id: str) -> list[UserSkill]:
        query = f"SELECT {sql.USER_SKILL} FROM user_skills WHERE user_id = ? AND skill_id = ? ORDER BY version"
        return [sql.user_skill_of(row) for row in self._connection.execute(query, (user, skill_id))]

    def own_revision(self, user: str) -> bytes:
        row = self._connection.execute("SELECT revision FROM own_revisions WHERE user_id = ?", (user,)).fetchone()
        return b"" if row is None else bytes(row[0])

    def put_user_skill(self, skill: UserSkill) -> None:
        row = (
            skill.user, skill.skill_id, skill.version, skill.sealed_definition, pack_vector(skill.dimensions), skill.status,
            skill.created_us, skill.updated_us, pack_vector(skill.given or skill.dimensions),
        )  # fmt: skip
        query = f"INSERT OR REPLACE INTO user_skills ({sql.USER_SKILL}) VALUES ({sql.placeholders(sql.USER_SKILL)})"
        self._connection.execute(query, row)
        self._revise_own(skill.user)

    def delete_user_skill(self, user: str, skill_id: str) -> int:
        self.forget_skill(user, skill_id)
        query = "DELETE FROM user_skills WHERE user_id = ? AND skill_id = ?"
        self._revise_own(user)
        return self._connection.execute(query, (user, skill_id)).rowcount

    def forget_skill(self, user: str, skill_id: str) -> None:
        for table in ("taste_cells", "posteriors", "skill_states"):
            self._connection.execute(f"DELETE FROM {table} WHERE user_id = ? AND skill_id = ?", (user, skill_id))

    def _revise_own(self, user: str) -> None:
        query = "INSERT OR REPLACE INTO own_revisions (user_id, revision) VALUES (?, ?)"
        self._connection.execute(query, (user, token_bytes(REVISION_BYTES)))

    def users_of_request(self, request_id: str) -> list[str]:
        query = "SELECT user_id FROM selections WHERE request_id = ? ORDER BY user_id LIMIT 2"
        return [row[0] for row in self._connection.execute(query, (request_id,))]

    def active_users(self, from_us: int, until_us: int) -> frozenset[str]:
        query = "SELECT DISTINCT user_id FROM selections WHERE at_us >= ? AND at_us < ?"
        return frozenset(row[0] for row in self._connection.execute(query, (from_us, until_us)))

    def feedback_since(self, position: int) -> list[FeedbackRecord]:
        return [sql.feedback_of(row) for row in self._connection.execute(sql.FEEDBACK_SINCE, (position,))]

    def archived_skills(self, user: str) -> frozenset[str]:
        query = "SELECT skill_id FROM skill_states WHERE user_id = ? AND archived_us IS NOT NULL"
        return frozenset(row[0] for row in self._connection.execute(query, (user,)))

    def archive_skill(self, user: str, skill_id: str, at_us: int | None) -> None:
        query = "UPDATE skill_states SET archived_us = ? WHERE user_id = ? AND skill_id = ?"
        self._connection.execute(query, (at_us, user, skill_id))

    def size_of(self, user: str) -> int:
        aside = self._connection.execute(f"{sql.ASIDE} LIMIT 1", (user,)).fetchone()
        return int(self._connection.execute(sql.SIZE if aside else sql.SIZE_WITH_ALL, (user,)).fetchone()[0])

    def count_hour(self, hour_us: int, skill_id: str, what: str, value: float) -> None:
        self._connection.execute(sql.COUNT_HOUR, (hour_us, skill_id, what, value, value))

    def gather_hours(self, known: Collection[str], name: str) -> int:
        kept = json.dumps(sorted({*known, name}))
        self._connection.execute(sql.GATHER_HOURS, (name, kept))
        return self._connection.execute(sql.FORGET_GATHERED, (kept,)).rowcount

    def forget_hours(self, before_us: int) -> int:
        return self._connection.execute("DELETE FROM hours WHERE hour_us < ?", (before_us,)).rowcount

    def hours(self, from_us: int, until_us: int) -> Iterator[HourFigure]:
        for row in self._connection.execute(sql.HOURS, (from_us, until_us)):
            yield HourFigure(*row)


def _prior_of(row: Any) -> PriorRecord:
    version, fitted_us, users, thumbs, status, body, evaluation = row
    return PriorRecord(version, fitted_us, users, thumbs, status, json.loads(body), json.loads(evaluation))
