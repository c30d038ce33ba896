"""The scheduler's ledger in an encrypted database."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from aico_memory.domain.scheduling.job import Firing, Outcome
from aico_memory.domain.scheduling.plan import JobMark
from aico_memory.stores.sql import Connection, Database, SqlConsumerState, SqlTransaction

_COLUMNS = "firing_id, job, planned_us, outcome, fired_us, finished_us, manual, missed, since_us, detail, user_ids, phases"
_PUT = f"INSERT OR REPLACE INTO firing ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_OPEN = f"SELECT {_COLUMNS} FROM firing WHERE outcome = ? AND finished_us = 0 ORDER BY planned_us, firing_id"
_HISTORY = f"SELECT {_COLUMNS} FROM firing ORDER BY planned_us DESC, firing_id DESC LIMIT ?"
_NEWEST = """
SELECT firing_id FROM firing AS newest WHERE newest.job = mark.job AND newest.outcome != 'planned'
ORDER BY newest.planned_us DESC, newest.firing_id DESC LIMIT 1
"""
_LAST = f"SELECT {_COLUMNS} FROM firing WHERE firing_id IN (SELECT ({_NEWEST}) FROM (SELECT DISTINCT job FROM firing) AS mark)"
_PRUNE = f"""
DELETE FROM firing WHERE planned_us < ? AND finished_us != 0
AND firing_id NOT IN (SELECT coalesce(({_NEWEST}), x'') FROM (SELECT DISTINCT job FROM firing) AS mark)
"""
_SET_MARK = "INSERT OR REPLACE INTO job_mark (job, expression, zone, evaluated_us) VALUES (?, ?, ?, ?)"


class SqlLedger:
    """The port `SchedulerLedger` on a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def marks(self) -> dict[str, JobMark]:
        rows = self._connection.execute("SELECT job, expression, zone, evaluated_us FROM job_mark")
        return {row[0]: JobMark(*row) for row in rows}

    def set_mark(self, mark: JobMark) -> None:
        self._connection.execute(_SET_MARK, (mark.job, mark.expression, mark.zone, mark.evaluated_us))

    def keep_marks(self, jobs: Collection[str]) -> None:
        gone = set(self.marks()) - set(jobs)
        self._connection.executemany("DELETE FROM job_mark WHERE job = ?", [(job,) for job in sorted(gone)])

    def put(self, firing: Firing) -> None:
        self._connection.execute(_PUT, _row(firing))

    def firing(self, firing_id: uuid.UUID) -> Firing | None:
        row = self._connection.execute(f"SELECT {_COLUMNS} FROM firing WHERE firing_id = ?", (firing_id.bytes,)).fetchone()
        return None if row is None else _firing(row)

    def waiting(self) -> list[Firing]:
        return [_firing(row) for row in self._connection.execute(_OPEN, (Outcome.PLANNED.value,))]

    def running(self) -> list[Firing]:
        return [_firing(row) for row in self._connection.execute(_OPEN, (Outcome.FIRED.value,))]

    def history(self, limit: int) -> list[Firing]:
        return [_firing(row) for row in self._connection.execute(_HISTORY, (limit,))]

    def last(self) -> dict[str, Firing]:
        found = (_firing(row) for row in self._connection.execute(_LAST))
        return {firing.job: firing for firing in found}

    def prune(self, before_us: int) -> int:
        return self._connection.execute(_PRUNE, (before_us,)).rowcount


class SqlSchedulerStore:
    """The port `SchedulerStore` on SQLCipher."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.state = SqlConsumerState(database)

    @classmethod
    def open(cls, path: Path, key: bytes | None) -> Self:
        """Open or make the store; `key` None means encryption is off."""
        return cls(Database.open(path, key, files("aico_memory.stores.scheduler") / "migrations"))

    def within(self, transaction: SqlTransaction) -> SqlLedger:
        return SqlLedger(transaction.connection)

    @contextmanager
    def reading(self) -> Iterator[SqlLedger]:
        with self._database.read() as connection:
            yield SqlLedger(connection)

    def close(self) -> None:
        self._database.close()


def _row(firing: Firing) -> tuple[object, ...]:
    return (
        firing.firing_id.bytes, firing.job, firing.planned_us, firing.outcome.value, firing.fired_us, firing.finished_us,
        int(firing.manual), firing.missed, firing.since_us, firing.detail,
        json.dumps(firing.user_ids), json.dumps(firing.phases),
    )  # fmt: skip


def _firing(row: Any) -> Firing:
    firing_id, job, planned_us, outcome, fired_us, finished_us, manual, missed, since_us, detail, user_ids, phases = row
    return Firing(
        uuid.UUID(bytes=firing_id), job, planned_us, Outcome(outcome), fired_us, finished_us,
        bool(manual), missed, since_us, detail, tuple(json.loads(user_ids)), tuple(json.loads(phases)),
    )  # fmt: skip
