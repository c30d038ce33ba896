"""The ledger of runs in an encrypted database."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Self

from aico_memory.domain.consolidation.cycle import Cycle
from aico_memory.domain.consolidation.decide import UserView
from aico_memory.domain.consolidation.run import Amounts, Batch, Counts, Decision, PhaseRun, PhaseTotals, Run, Status, UserRun
from aico_memory.stores.consolidation.rows import (
    ID_BYTES,
    batch_of,
    batch_row,
    ids_of,
    phase_of,
    phase_row,
    run_of,
    run_row,
    samples_of,
    user_of,
    user_row,
)
from aico_memory.stores.sql import Connection, Database, SqlConsumerState, SqlTransaction

_RUN = (
    "run_id, firing_id, status, shard, until_us, sequence, user_ids, phases, manual, planned_after, "
    "started_us, finished_us, error, planned_stage"
)
_ADD_RUN = f"INSERT INTO run ({_RUN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_PUT_RUN = """
UPDATE run SET firing_id = ?2, status = ?3, shard = ?4, until_us = ?5, sequence = ?6, user_ids = ?7, phases = ?8,
manual = ?9, planned_after = ?10, started_us = ?11, finished_us = ?12, error = ?13, planned_stage = ?14
WHERE run_id = ?1
"""
_ENDED = "('complete', 'cancelled', 'failed')"
_CURRENT = f"SELECT {_RUN} FROM run WHERE status NOT IN {_ENDED} ORDER BY sequence, run_id LIMIT 1"
_USER = "user_id, pending, status, phases, phase, started_us, finished_us, counts_before, counts_after, overdue"
_ADD_USER = f"INSERT INTO run_user (run_id, {_USER}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_PUT_USER = """
UPDATE run_user SET pending = ?3, status = ?4, phases = ?5, phase = ?6, started_us = ?7, finished_us = ?8,
counts_before = ?9, counts_after = ?10, overdue = ?11 WHERE run_id = ?1 AND user_id = ?2
"""
_ORDER = "overdue DESC, pending DESC, user_id"
_WAITING = f"SELECT {_USER} FROM run_user WHERE run_id = ? AND status = 'waiting' ORDER BY {_ORDER} LIMIT ?"
_AT_WORK = f"SELECT {_USER} FROM run_user WHERE run_id = ? AND status = 'active' ORDER BY user_id"
_STATE_OF_PHASE = """
SELECT count(*), min(CASE status WHEN 'waiting' THEN number END), coalesce(sum(status = 'active'), 0),
coalesce(sum(length(event_ids)), 0) FROM run_batch WHERE run_id = ? AND user_id = ? AND phase = ?
"""
_AMOUNTS = f"""
SELECT count(*), coalesce(sum(length(event_ids)), 0) / {ID_BYTES}, coalesce(sum(status = 'complete'), 0),
coalesce(sum(CASE status WHEN 'complete' THEN length(event_ids) ELSE 0 END), 0) / {ID_BYTES}
FROM run_batch WHERE run_id = ? AND user_id = ? AND phase = ?
"""
_PHASE = "user_id, phase, status, experiences, started_us, finished_us, error"
_PUT_PHASE = f"""
INSERT INTO run_phase (run_id, {_PHASE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id, user_id, phase) DO UPDATE SET status = excluded.status, experiences = excluded.experiences,
started_us = excluded.started_us, finished_us = excluded.finished_us, error = excluded.error
"""
_SET_ORDER = "UPDATE run_phase SET ordered = ? WHERE run_id = ? AND user_id = ? AND phase = ?"
_ORDERED = f"""
SELECT substr(ordered, ?4 * {ID_BYTES} + 1, ?5 * {ID_BYTES}) FROM run_phase WHERE run_id = ?1 AND user_id = ?2 AND phase = ?3
"""
_BATCH = (
    "user_id, phase, number, event_ids, status, memories, unknown, sent_us, finished_us, begins_after, counts, samples, error"
)
_PUT_BATCH = f"""
INSERT INTO run_batch (run_id, {_BATCH}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id, user_id, phase, number) DO UPDATE SET event_ids = excluded.event_ids, status = excluded.status,
memories = excluded.memories, unknown = excluded.unknown, sent_us = excluded.sent_us, finished_us = excluded.finished_us,
begins_after = excluded.begins_after, counts = excluded.counts, samples = excluded.samples, error = excluded.error
"""
_PHASE_TOTALS = """
SELECT phase, count(*), sum(experiences), sum(CASE WHEN finished_us > 0 THEN finished_us - started_us ELSE 0 END),
sum(status = 'failed'), coalesce(max(CASE status WHEN 'failed' THEN error END), max(error), '')
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
_COUNTED = """
SELECT one.key, sum(one.value) FROM run_batch, json_each(run_batch.counts) AS one
WHERE run_id = ? AND phase = ? GROUP BY one.key ORDER BY one.key
"""
_HELD = """
SELECT one.key, sum(one.value) FROM run_user, json_each(run_user.{column}) AS one
WHERE run_id = ? AND status = 'complete' GROUP BY one.key ORDER BY one.key
"""
_SAMPLED = """
SELECT samples FROM run_batch WHERE run_id = ? AND phase = ? AND samples != '[]' ORDER BY user_id, number LIMIT ?
"""
_CYCLES = "SELECT user_id, seen_us, replayed_us, full_us FROM user_cycle WHERE user_id IN (SELECT value FROM json_each(?))"
_PUT_CYCLE = "INSERT OR REPLACE INTO user_cycle (user_id, seen_us, replayed_us, full_us) VALUES (?, ?, ?, ?)"
_BEFORE_ALL = ("", b"", "", -1)


class SqlConsolidationLedger:
    """The port `ConsolidationLedger` on a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add_run(self, run: Run) -> bool:
        return self._connection.execute(_ADD_RUN, run_row(run)).rowcount == 1

    def put_run(self, run: Run) -> None:
        self._connection.execute(_PUT_RUN, run_row(run))

    def run(self, run_id: uuid.UUID) -> Run | None:
        return self._one_run(f"SELECT {_RUN} FROM run WHERE run_id = ?", run_id.bytes)

    def run_of(self, firing_id: str) -> Run | None:
        return self._one_run(f"SELECT {_RUN} FROM run WHERE firing_id = ? ORDER BY sequence, run_id LIMIT 1", firing_id)

    def current(self) -> Run | None:
        return self._one_run(_CURRENT)

    def runs(self, limit: int) -> list[Run]:
        rows = self._connection.execute(f"SELECT {_RUN} FROM run ORDER BY sequence DESC, run_id DESC LIMIT ?", (limit,))
        return [run_of(row) for row in rows]

    def add_users(self, run_id: uuid.UUID, parts: Sequence[UserRun]) -> None:
        self._connection.executemany(_ADD_USER, [(run_id.bytes, *user_row(part)) for part in parts])

    def user(self, run_id: uuid.UUID, user: str) -> UserRun | None:
        query = f"SELECT {_USER} FROM run_user WHERE run_id = ? AND user_id = ?"
        row = self._connection.execute(query, (run_id.bytes, user)).fetchone()
        return None if row is None else user_of(row)

    def put_user(self, run_id: uuid.UUID, part: UserRun) -> None:
        self._connection.execute(_PUT_USER, (run_id.bytes, *user_row(part)))

    def waiting(self, run_id: uuid.UUID, limit: int) -> list[UserRun]:
        return [user_of(row) for row in self._connection.execute(_WAITING, (run_id.bytes, limit))]

    def views(self, run_id: uuid.UUID) -> list[UserView]:
        parts = [user_of(row) for row in self._connection.execute(_AT_WORK, (run_id.bytes,)).fetchall()]
        return [self.view(run_id, part) for part in parts]

    def view(self, run_id: uuid.UUID, part: UserRun) -> UserView:
        name = part.phases[part.phase] if part.phase < len(part.phases) else ""
        made, waiting, active, held = self._connection.execute(_STATE_OF_PHASE, (run_id.bytes, part.user, name)).fetchone()
        phase = self.phase(run_id, part.user, name)
        following = -1 if waiting is None else waiting
        if following < 0 and phase is not None and held // ID_BYTES < phase.experiences:
            following = made
        return UserView(part, open=phase is not None, next_batch=following, in_flight=active)

    def user_counts(self, run_id: uuid.UUID) -> dict[Status, int]:
        query = "SELECT status, count(*) FROM run_user WHERE run_id = ? GROUP BY status"
        return {Status(status): count for status, count in self._connection.execute(query, (run_id.bytes,))}

    def user_totals(self, run_id: uuid.UUID) -> tuple[Counts, Counts]:
        before, after = (
            dict(self._connection.execute(_HELD.format(column=column), (run_id.bytes,)).fetchall())
            for column in ("counts_before", "counts_after")
        )
        return before, after

    def open_phase(self, run_id: uuid.UUID, phase: PhaseRun, order: Sequence[bytes] = ()) -> None:
        self.put_phase(run_id, phase)
        if order:
            self._connection.execute(_SET_ORDER, (b"".join(order), run_id.bytes, phase.user, phase.phase))

    def ordered(self, run_id: uuid.UUID, user: str, phase: str, start: int, limit: int) -> tuple[bytes, ...]:
        row = self._connection.execute(_ORDERED, (run_id.bytes, user, phase, start, limit)).fetchone()
        return () if row is None else ids_of(row[0])

    def phase(self, run_id: uuid.UUID, user: str, phase: str) -> PhaseRun | None:
        query = f"SELECT {_PHASE} FROM run_phase WHERE run_id = ? AND user_id = ? AND phase = ?"
        row = self._connection.execute(query, (run_id.bytes, user, phase)).fetchone()
        return None if row is None else phase_of(row)

    def put_phase(self, run_id: uuid.UUID, phase: PhaseRun) -> None:
        self._connection.execute(_PUT_PHASE, (run_id.bytes, *phase_row(phase)))

    def batch(self, run_id: uuid.UUID, user: str, phase: str, number: int) -> Batch | None:
        query = f"SELECT {_BATCH} FROM run_batch WHERE run_id = ? AND user_id = ? AND phase = ? AND number = ?"
        row = self._connection.execute(query, (run_id.bytes, user, phase, number)).fetchone()
        return None if row is None else batch_of(row)

    def put_batch(self, run_id: uuid.UUID, batch: Batch) -> None:
        self._connection.execute(_PUT_BATCH, (run_id.bytes, *batch_row(batch)))

    def amounts(self, run_id: uuid.UUID, user: str, phase: str) -> Amounts:
        return Amounts(*self._connection.execute(_AMOUNTS, (run_id.bytes, user, phase)).fetchone())

    def totals(self, run_id: uuid.UUID) -> list[PhaseTotals]:
        found = []
        for phase, users, experiences, spent, failed, error in self._connection.execute(
            _PHASE_TOTALS, (run_id.bytes,)
        ).fetchall():
            row = self._connection.execute(_BATCH_TOTALS, (run_id.bytes, phase)).fetchone()
            counts = dict(self._connection.execute(_COUNTED, (run_id.bytes, phase)).fetchall())
            found.append(
                PhaseTotals(phase, users, row[0], row[1], row[2], experiences, row[3], row[4], spent, counts, failed, error)
            )
        return found

    def samples(self, run_id: uuid.UUID, phase: str, limit: int) -> list[Decision]:
        rows = self._connection.execute(_SAMPLED, (run_id.bytes, phase, limit))
        return [one for row in rows for one in samples_of(row[0])][:limit]

    def cycles(self, users: Sequence[str]) -> dict[str, Cycle]:
        return {row[0]: Cycle(*row) for row in self._connection.execute(_CYCLES, (json.dumps(list(users)),))}

    def put_cycle(self, cycle: Cycle) -> None:
        self._connection.execute(_PUT_CYCLE, (cycle.user, cycle.seen_us, cycle.replayed_us, cycle.full_us))

    def batches(self, user: str, after: tuple[str, bytes, str, int] | None, limit: int) -> list[tuple[uuid.UUID, Batch]]:
        rows = self._connection.execute(_BATCHES, (user, *(after or _BEFORE_ALL), limit))
        return [(uuid.UUID(bytes=row[0]), batch_of(row[1:])) for row in rows]

    def prune(self, before_us: int) -> int:
        return self._connection.execute(f"DELETE FROM run WHERE status IN {_ENDED} AND finished_us < ?", (before_us,)).rowcount

    def _one_run(self, query: str, *values: object) -> Run | None:
        row = self._connection.execute(query, values).fetchone()
        return None if row is None else run_of(row)


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
