"""The index queue in the same database: outbox, vectors as half floats, models, maintenance."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from aico_memory.domain.memory import Facets, Memory, Scope
from aico_memory.stores.index.fts5 import Fts5TextIndex
from aico_memory.stores.index.vector_port import VectorEntry
from aico_memory.stores.semantic import rows
from aico_memory.stores.semantic.port import IndexJob, KeptVector, PendingEntry, Unembedded
from aico_memory.stores.semantic.sql_store import SqlSemanticStore
from aico_memory.stores.sql import Connection, Database
from aico_memory.stores.sql.latest import Latest

_FACETS = ", ".join(f"m.{name}" for name in Facets._fields)
_ENTRY = f"""
SELECT m.row_no, s.kind, s.id, v.half_floats, {_FACETS}
FROM vector v JOIN memory m USING (row_no) JOIN scope s ON s.scope_no = m.scope_no
WHERE v.fingerprint_no = ? AND v.version = m.version
"""
_NO_VECTOR = """
NOT EXISTS (SELECT 1 FROM vector v WHERE v.fingerprint_no = ? AND v.row_no = m.row_no AND v.version = m.version)
"""
_KEEP = """
INSERT INTO vector (fingerprint_no, row_no, scope_no, version, half_floats)
SELECT ?, row_no, scope_no, ?, ? FROM memory WHERE row_no = ?
ON CONFLICT (fingerprint_no, row_no) DO UPDATE SET version = excluded.version, half_floats = excluded.half_floats
WHERE vector.version <> (SELECT m.version FROM memory m WHERE m.row_no = vector.row_no)
"""
_NAME = """
INSERT INTO fingerprint (fingerprint, active)
VALUES (?, NOT EXISTS (SELECT 1 FROM fingerprint WHERE active = 1)) ON CONFLICT (fingerprint) DO NOTHING
"""


class SqlIndexQueue:
    """The port `IndexQueue` on the store's database."""

    def __init__(self, store: SqlSemanticStore) -> None:
        self._database = store.database
        self._sealers = store.sealers
        # Asked for by each question.
        self._oldest = Latest(self._database, _oldest)

    def fingerprint(self) -> str:
        with self._database.read() as connection:
            row = connection.execute("SELECT fingerprint FROM fingerprint WHERE active = 1").fetchone()
        return str(row[0]) if row else ""

    def vectors(self, fingerprint: str) -> SqlVectorSource:
        return SqlVectorSource(self._database, fingerprint)

    def pending(self, limit: int) -> list[PendingEntry]:
        with self._database.read() as connection:
            lines = connection.execute("SELECT entry, row_no FROM index_outbox ORDER BY entry LIMIT ?", (limit,))
            return [PendingEntry(*line) for line in lines]

    def oldest_pending(self) -> int:
        return self._oldest()

    def pending_count(self) -> int:
        with self._database.read() as connection:
            return int(connection.execute("SELECT count(*) FROM index_outbox").fetchone()[0])

    def unembedded(self, keys: Sequence[int], fingerprint: str) -> list[Unembedded]:
        clause = f"WHERE m.row_no IN (SELECT value FROM json_each(?)) AND {_NO_VECTOR} ORDER BY m.row_no"
        with self._database.read() as connection:
            number = _number(connection, fingerprint)
            found = []
            for row in connection.execute(f"{rows.SELECT} {clause}", (json.dumps(list(keys)), number)):
                opened = rows.open_row(row, self._sealers)
                found.append(Unembedded(row[0], 0, None) if opened is None else _unembedded(*opened))
        return found

    def missing(self, fingerprint: str, after: int, limit: int) -> list[int]:
        sql = f"SELECT m.row_no FROM memory m WHERE m.row_no > ? AND {_NO_VECTOR} ORDER BY m.row_no LIMIT ?"
        with self._database.read() as connection:
            number = _number(connection, fingerprint)
            return [row_no for (row_no,) in connection.execute(sql, (after, number, limit))]

    def keep(self, fingerprint: str, vectors: Sequence[KeptVector]) -> None:
        with self._database.write() as connection:
            connection.execute(_NAME, (fingerprint,))
            number = _number(connection, fingerprint)
            connection.executemany(
                _KEEP, [(number, one.version, one.vector.astype("<f2").tobytes(), one.key) for one in vectors]
            )

    def entries(self, fingerprint: str, keys: Sequence[int]) -> list[VectorEntry]:
        sql = f"{_ENTRY} AND v.row_no IN (SELECT value FROM json_each(?)) ORDER BY v.row_no"
        with self._database.read() as connection:
            number = _number(connection, fingerprint)
            return _entries(connection.execute(sql, (number, json.dumps(list(keys)))).fetchall())

    def settle(self, entries: Sequence[int]) -> None:
        if entries:
            with self._database.write() as connection:
                connection.executemany("DELETE FROM index_outbox WHERE entry = ?", [(entry,) for entry in entries])

    def activate(self, fingerprint: str) -> None:
        with self._database.write() as connection:
            connection.execute(_NAME, (fingerprint,))
            connection.execute("UPDATE fingerprint SET active = 0 WHERE active = 1")
            connection.execute("UPDATE fingerprint SET active = 1 WHERE fingerprint = ?", (fingerprint,))
            number = _number(connection, fingerprint)
            connection.execute("DELETE FROM vector WHERE fingerprint_no <> ?", (number,))
            connection.execute("DELETE FROM stated_vector WHERE fingerprint <> ?", (fingerprint,))
            connection.execute("DELETE FROM fingerprint WHERE active = 0")

    def rows_after(self, after: int, limit: int) -> list[tuple[int, Memory]]:
        with self._database.read() as connection:
            found = connection.execute(f"{rows.SELECT} WHERE m.row_no > ? ORDER BY m.row_no LIMIT ?", (after, limit))
            opened = [rows.open_row(row, self._sealers) for row in found]
        return [one for one in opened if one is not None]

    def put_tokens(self, texts: Sequence[tuple[int, Scope, Sequence[str]]]) -> None:
        with self._database.write() as connection:
            index = Fts5TextIndex(connection)
            for key, scope, tokens in texts:
                index.put(key, scope, tokens)

    def job(self) -> IndexJob | None:
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT event_id, firing_id, rebuild, stage, after_row FROM index_job ORDER BY position LIMIT 1"
            ).fetchone()
        return None if row is None else IndexJob(row[0], row[1], bool(row[2]), row[3], row[4])

    def advance_job(self, job: IndexJob) -> None:
        with self._database.write() as connection:
            connection.execute(
                "UPDATE index_job SET stage = ?, after_row = ? WHERE event_id = ?", (job.stage, job.after_row, job.event_id)
            )


class SqlVectorSource:
    """The port `VectorSource` on the store's database."""

    def __init__(self, database: Database, fingerprint: str) -> None:
        self._database = database
        self._fingerprint = fingerprint

    def size(self, scope: Scope | None = None) -> int:
        sql = "SELECT count(*) FROM vector v JOIN memory m USING (row_no) WHERE v.fingerprint_no = ? AND v.version = m.version"
        with self._database.read() as connection:
            clause, values = _of_scope(connection, scope)
            number = _number(connection, self._fingerprint)
            return int(connection.execute(sql + clause, (number, *values)).fetchone()[0])

    def batches(self, scope: Scope | None, limit: int) -> Iterator[Sequence[VectorEntry]]:
        after = 0
        while True:
            with self._database.read() as connection:
                clause, values = _of_scope(connection, scope)
                number = _number(connection, self._fingerprint)
                sql = f"{_ENTRY}{clause} AND v.row_no > ? ORDER BY v.row_no LIMIT ?"
                found = _entries(connection.execute(sql, (number, *values, after, limit)).fetchall())
            if not found:
                return
            yield found
            after = found[-1].key


def _of_scope(connection: Connection, scope: Scope | None) -> tuple[str, tuple[int, ...]]:
    if scope is None:
        return "", ()
    row = connection.execute("SELECT scope_no FROM scope WHERE kind = ? AND id = ?", scope).fetchone()
    return " AND v.scope_no = ?", (row[0] if row else -1,)


def _number(connection: Connection, fingerprint: str) -> int:
    row = connection.execute("SELECT fingerprint_no FROM fingerprint WHERE fingerprint = ?", (fingerprint,)).fetchone()
    return int(row[0]) if row else -1


def _entries(found: Sequence[Sequence[Any]]) -> list[VectorEntry]:
    if not found:
        return []
    halves = np.frombuffer(b"".join(row[3] for row in found), dtype="<f2")
    vectors = halves.reshape(len(found), -1).astype(np.float32)
    scopes = {(row[1], row[2]): Scope(row[1], row[2]) for row in found}
    return [
        VectorEntry(row[0], scopes[row[1], row[2]], Facets(*row[4:]), vector)
        for row, vector in zip(found, vectors, strict=True)
    ]


def _unembedded(key: int, memory: Memory) -> Unembedded:
    return Unembedded(key, memory.version, memory.text)


def _oldest(connection: Connection) -> int:
    return int(connection.execute("SELECT coalesce(min(global_sequence), 0) FROM index_outbox").fetchone()[0])
