"""The ledger of runs in an encrypted database."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from aico_memory.domain.consolidation.decide import UserView
from aico_memory.domain.consolidation.run import Batch, PhaseRun, PhaseTotals, Run, Status, UserRun
from aico_memory.stores.sql import Connection, Database, SqlConsumerState, SqlTransaction

ID_BYTES = 16
_RUN = (
    "run_id, firing_id, status, shard, until_us, sequence, user_ids, phases, manual, planned_after, "
    "started_us, finished_us, error"
)
_ADD_RUN = f"INSERT INTO run ({_RUN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_PUT_RUN = """
UPDATE run SET firing_id = ?2, status = ?3, shard = ?4, until_us = ?5, sequence = ?6, user_ids = ?7, phases = ?8,
manual = ?9, planned_after = ?10, started_us = ?11, finished_us = ?12, error = ?13 WHERE run_id = ?1
"""
_ENDED = "('complete', 'cancelled', 'failed')"
_CURRENT = f"SELECT {_RUN} FROM run WHERE status NOT IN {_ENDED} ORDER BY sequence, run_id LIMIT 1"
_USER = "user_id, pending, status, phases, phase, started_us, finished_us"
_ADD_USER = f"INSERT INTO run_user (run_id, {_USER}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_PUT_USER = """
UPDATE run_user SET pending = ?3, status = ?4, phases = ?5, phase = ?6, started_us = ?7, finished_us = ?8
WHERE run_id = ?1 AND user_id = ?2
"""
_WAITING = f"SELECT {_USER} FROM run_user WHERE run_id = ? AND status = 'waiting' ORDER BY pending DESC, user_id LIMIT ?"
_AT_WORK = f"SELECT {_USER} FROM run_user WHERE run_id = ? AND status = 'active' ORDER BY user_id"
_STATE_OF_PHASE = """
SELECT count(*), min(CASE status WHEN 'waiting' THEN number END), coalesce(sum(status = 'active'), 0)
FROM run_batch WHERE run_id = ? AND user_id = ? AND phase = ?
"""
_PHASE = "user_id, phase, status, experiences, started_us, finished_us"
_PUT_PHASE = f"""
INSERT INTO run_phase (run_id, {_PHASE}) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id, user_id, phase) DO UPDATE SET status = excluded.status, experiences = excluded.experiences,
started_us = excluded.started_us, finished_us = excluded.finished_us
"""
_BATCH = "user_id, phase, number, event_ids, status, memories, unknown, sent_us, finished_us"
_PUT_BATCH = f"""
INSERT INTO run_batch (run_id, {_BATCH}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id, user_id, phase, number) DO UPDATE SET event_ids = excluded.event_ids, status = excluded.status,
memories = excluded.memories, unknown = excluded.unknown, sent_us = excluded.sent_us, finished_us = excluded.finished_us
"""
_PHASE_TOTALS = """
SELECT phase, count(*), sum(experiences), sum(CASE WHEN finished_us > 0 THEN finished_us - started_us ELSE 0 END)
FROM run_phase WHERE run_id = ? GROUP BY phase ORDER BY phase
"""
_BATCH_TOTALS = f"""
SELECT count(*), coalesce(sum(status = 'complete'), 0),
coalesce(sum(CASE status WHEN 'complete' THEN length(event_ids) / {ID_BYTES} ELSE 0 END), 0),
coalesce(sum(memories), 0), coalesce(sum(unknown), 0)
FROM run_batch WHERE run_id = ? AND phase = ?
"""
_BATCHES = f"""
SELECT run_id, {_BATCH} FROM run_batch WHERE (?1 = '' OR user_id = ?1) AND (user_id, run_id, phase, number) > (?2, ?3, ?4, ?5)
ORDER BY user_id, run_id, phase, number LIMIT ?6
"""
_BEFORE_ALL = ("", b"", "", -1)


class SqlConsolidationLedger:
    """The port `ConsolidationLedger` on a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add_run(self, run: Run) -> bool:
        return self._connection.execute(_ADD_RUN, _run_row(run)).rowcount == 1

    def put_run(self, run: Run) -> None:
        self._connection.execute(_PUT_RUN, _run_row(run))

    def run(self, run_id: uuid.UUID) -> Run | None:
        return self._one_run(f"SELECT {_RUN} FROM run WHERE run_id = ?", run_id.bytes)

    def run_of(self, firing_id: str) -> Run | None:
        return self._one_run(f"SELECT {_RUN} FROM run WHERE firing_id = ? ORDER BY sequence, run_id LIMIT 1", firing_id)

    def current(self) -> Run | None:
        return self._one_run(_CURRENT)

    def runs(self, limit: int) -> list[Run]:
        rows = self._connection.execute(f"SELECT {_RUN} FROM run ORDER BY sequence DESC, run_id DESC LIMIT ?", (limit,))
        return [_run(row) for row in rows]

    def add_users(self, run_id: uuid.UUID, parts: Sequence[UserRun]) -> None:
        self._connection.executemany(_ADD_USER, [(run_id.bytes, *_user_row(part)) for part in parts])

    def put_user(self, run_id: uuid.UUID, part: UserRun) -> None:
        self._connection.execute(_PUT_USER, (run_id.bytes, *_user_row(part)))

    def waiting(self, run_id: uuid.UUID, limit: int) -> list[UserRun]:
        return [_user(row) for row in self._connection.execute(_WAITING, (run_id.bytes, limit))]

    def views(self, run_id: uuid.UUID) -> list[UserView]:
        parts = [_user(row) for row in self._connection.execute(_AT_WORK, (run_id.bytes,)).fetchall()]
        return [self._view(run_id, part) for part in parts]

    def user_counts(self, run_id: uuid.UUID) -> dict[Status, int]:
        query = "SELECT status, count(*) FROM run_user WHERE run_id = ? GROUP BY status"
        return {Status(status): count for status, count in self._connection.execute(query, (run_id.bytes,))}

    def cut(self, run_id: uuid.UUID, phase: PhaseRun, batches: Sequence[Batch]) -> None:
        self.put_phase(run_id, phase)
        self._connection.executemany(_PUT_BATCH, [(run_id.bytes, *_batch_row(batch)) for batch in batches])

    def phase(self, run_id: uuid.UUID, user: str, phase: str) -> PhaseRun | None:
        query = f"SELECT {_PHASE} FROM run_phase WHERE run_id = ? AND user_id = ? AND phase = ?"
        row = self._connection.execute(query, (run_id.bytes, user, phase)).fetchone()
        return None if row is None else PhaseRun(row[0], row[1], Status(row[2]), *row[3:])

    def put_phase(self, run_id: uuid.UUID, phase: PhaseRun) -> None:
        values = (phase.user, phase.phase, phase.status.value, phase.experiences, phase.started_us, phase.finished_us)
        self._connection.execute(_PUT_PHASE, (run_id.bytes, *values))

    def batch(self, run_id: uuid.UUID, user: str, phase: str, number: int) -> Batch | None:
        query = f"SELECT {_BATCH} FROM run_batch WHERE run_id = ? AND user_id = ? AND phase = ? AND number = ?"
        row = self._connection.execute(query, (run_id.bytes, user, phase, number)).fetchone()
        return None if row is None else _batch(row)

    def put_batch(self, run_id: uuid.UUID, batch: Batch) -> None:
        self._connection.execute(_PUT_BATCH, (run_id.bytes, *_batch_row(batch)))

    def totals(self, run_id: uuid.UUID) -> list[PhaseTotals]:
        found = []
        for phase, users, experiences, spent in self._connection.execute(_PHASE_TOTALS, (run_id.bytes,)).fetchall():
            row = self._connection.execute(_BATCH_TOTALS, (run_id.bytes, phase)).fetchone()
            found.append(PhaseTotals(phase, users, row[0], row[1], row[2], experiences, row[3], row[4], spent))
        return found

    def batches(self, user: str, after: tuple[str, bytes, str, int] | None, limit: int) -> list[tuple[uuid.UUID, Batch]]:
        rows = self._connection.execute(_BATCHES, (user, *(after or _BEFORE_ALL), limit))
        return [(uuid.UUID(bytes=row[0]), _batch(row[1:])) for row in rows]

    def prune(self, before_us: int) -> int:
        return self._connection.execute(f"DELETE FROM run WHERE status IN {_ENDED} AND finished_us < ?", (before_us,)).rowcount

    def _one_run(self, query: str, *values: object) -> Run | None:
        row = self._connection.execute(query, values).fetchone()
        return None if row is None else _run(row)

    def _view(self, run_id: uuid.UUID, part: UserRun) -> UserView:
        name = part.phases[part.phase] if part.phase < len(part.phases) else ""
        row = self._connection.execute(_STATE_OF_PHASE, (run_id.bytes, part.user, name)).fetchone()
        is_cut = row[0] > 0 or self.phase(run_id, part.user, name) is not None
        return UserView(part, cut=is_cut, next_batch=-1 if row[1] is None else row[1], in_flight=row[2])


class SqlConsolidationStore:
    """The port `ConsolidationStore` on SQLCipher."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.state = SqlConsumerState(database)

    @classmethod
    def open(cls, path: Path, key: bytes | None) -> Self:
        """Open or make the store; `key` None means encryption is off."""
        return cls(Database.open(path, key, files("aico_memory.stores.consolidation") / "migrations"))

    def within(self, transaction: SqlTransaction) -> SqlConsolidationLedger:
        return SqlConsolidationLedger(transaction.connection)

    @contextmanager
    def reading(self) -> Iterator[SqlConsolidationLedger]:
        with self._database.read() as connection:
            yield SqlConsolidationLedger(connection)

    def close(self) -> None:
        self._database.close()


def _run_row(run: Run) -> tuple[object, ...]:
    return (
        run.run_id.bytes, run.firing_id, run.status.value, run.shard, run.until_us, run.sequence, json.dumps(run.user_ids),
        json.dumps(run.phases), int(run.manual), run.planned_after, run.started_us, run.finished_us, run.error,
    )  # fmt: skip


def _run(row: Any) -> Run:
    return Run(
        uuid.UUID(bytes=row[0]), row[1], Status(row[2]), row[3], row[4], row[5], tuple(json.loads(row[6])),
        tuple(json.loads(row[7])), bool(row[8]), row[9], row[10], row[11], row[12],
    )  # fmt: skip


def _user_row(part: UserRun) -> tuple[object, ...]:
    phases = json.dumps(part.phases)
    return (part.user, part.pending, part.status.value, phases, part.phase, part.started_us, part.finished_us)


def _user(row: Any) -> UserRun:
    return UserRun(row[0], row[1], Status(row[2]), tuple(json.loads(row[3])), *row[4:])


def _batch_row(batch: Batch) -> tuple[object, ...]:
    return (
        batch.user, batch.phase, batch.number, b"".join(batch.event_ids), batch.status.value, batch.memories, batch.unknown,
        batch.sent_us, batch.finished_us,
    )  # fmt: skip


def _batch(row: Any) -> Batch:
    joined = row[3]
    event_ids = tuple(joined[at : at + ID_BYTES] for at in range(0, len(joined), ID_BYTES))
    return Batch(row[0], row[1], row[2], event_ids, Status(row[4]), *row[5:])
