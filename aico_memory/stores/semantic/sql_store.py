"""L1 in SQLCipher: memories, evidence and history; words go into FTS5 in the same transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar

from aico_memory.domain.memory import Evidence, Evolution, Memory, Scope, View, admits, conditions, replaced_text
from aico_memory.errors import KeyDestroyed, NotFound, WrongKey
from aico_memory.stores.index.fts5 import Fts5TextIndex
from aico_memory.stores.index.text_port import TextHit
from aico_memory.stores.semantic import rows
from aico_memory.stores.semantic.labels import SqlLabels
from aico_memory.stores.semantic.port import IndexJob, Unread
from aico_memory.stores.semantic.recent import RECENT_BYTES, Recent
from aico_memory.stores.semantic.sql_bookkeeping import SqlBookReads
from aico_memory.stores.semantic.sql_graph import SqlGraphReads
from aico_memory.stores.semantic.sql_item_writes import SqlItemWrites
from aico_memory.stores.semantic.sql_items import SqlItemReads
from aico_memory.stores.semantic.sql_reading import QUEUE, queue_row
from aico_memory.stores.semantic.sql_sleep import SqlSleepReads, SqlSleepWrites
from aico_memory.stores.sql import Connection, Database, SqlConsumerState, SqlTransaction
from aico_memory.stores.sql.ledger import SqlLedger

MIGRATIONS = files("aico_memory.stores.semantic") / "migrations"
FILE = "semantic.db"
# Rows of the text index that are held against the view at a time.
_CHUNK = 128
_SCOPE = "INSERT INTO scope (kind, id) VALUES (?, ?) ON CONFLICT (kind, id) DO UPDATE SET id = excluded.id RETURNING scope_no"
_LANGUAGE = """
INSERT INTO scope_language (scope_no, language, memories) VALUES (?, ?, 1)
ON CONFLICT (scope_no, language) DO UPDATE SET memories = memories + 1
"""
_EVIDENCE = """
INSERT INTO evidence (memory_id, event_id, method, at_us, confidence, role, said_at_us, session_id, detail)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_USED = """
UPDATE memory SET access_count = access_count + 1, last_accessed_us = max(last_accessed_us, ?)
WHERE memory_id = ? AND status = 'active' AND scope_no = (SELECT scope_no FROM scope WHERE kind = ? AND id = ?)
"""
_JOB = """
INSERT INTO index_job (event_id, firing_id, rebuild, stage, after_row) VALUES (?, ?, ?, ?, ?) ON CONFLICT (event_id) DO NOTHING
"""
_EVIDENCE_OF = """
SELECT m.owner, e.memory_id, e.event_id, e.method, e.at_us, e.confidence, e.role, e.said_at_us, e.session_id, e.detail
FROM evidence e JOIN memory m USING (memory_id) WHERE e.memory_id IN ({}) ORDER BY e.at_us, e.event_id, e.method
"""
_EVOLUTION_OF = "SELECT memory_id, cause, what, at_us, detail FROM evolution WHERE memory_id = ? ORDER BY at_us, cause, what"
# Rows are numbered as they are made; 0 where there is no such memory.
_ROW_OF = "coalesce((SELECT row_no FROM memory WHERE memory_id = ?), 0)"
# The rows first: left to itself the planner may walk a whole scope.
_ROWS = "FROM json_each(?) j CROSS JOIN memory m ON m.row_no = j.value"
_BY_KEY, _SHOWN_BY_KEY = (sql.replace("FROM memory m", _ROWS) for sql in (rows.SELECT, rows.SELECT_SHOWN))
_OWNER = "SELECT owner FROM memory WHERE memory_id = ?"
Digest = Callable[[str], bytes]
_Line = TypeVar("_Line")


class SqlSemanticTransaction(SqlItemWrites, SqlSleepWrites, SqlTransaction):
    """One transaction of the store."""

    __slots__ = ("_changing", "_digest", "_sealers")

    def __init__(
        self, connection: Connection, sealers: rows.Sealers, digest: Digest, changing: Callable[[bytes, bool], None]
    ) -> None:
        super().__init__(connection)
        self._sealers = sealers
        self._digest = digest
        # Told before anything of a memory changes, and whether what it rests on does.
        self._changing = changing

    def ledger(self) -> SqlLedger:
        return SqlLedger(self.connection)

    def labels(self) -> SqlLabels:
        return SqlLabels(self.connection)

    def memory(self, memory_id: bytes) -> Memory | None:
        row = self.connection.execute(f"{rows.SELECT} WHERE m.memory_id = ?", (memory_id,)).fetchone()
        opened = None if row is None else rows.open_row(row, self._sealers)
        return None if opened is None else opened[1]

    def add(self, memory: Memory, evidence: Sequence[Evidence], tokens: Sequence[str], sequence: int) -> bool:
        scope_no = self._scope_no(memory.scope)
        sealed = rows.seal_body(memory, self._sealers.sealer(memory.owner))
        values = (scope_no, sealed, self._key_digest(memory), *rows.plain_values(memory))
        cursor = self.connection.execute(rows.INSERT, values)
        if cursor.rowcount < 1 or cursor.lastrowid is None:
            return False
        row_no = cursor.lastrowid
        for one in evidence:
            self.add_evidence(one)
        if memory.language:
            self.connection.execute(_LANGUAGE, (scope_no, memory.language))
        self._index(row_no, memory, tokens, sequence)
        return True

    def replace(self, memory: Memory, tokens: Sequence[str] | None, sequence: int) -> None:
        sealed = rows.seal_body(memory, self._sealers.sealer(memory.owner))
        values = (sealed, self._key_digest(memory), *rows.plain_values(memory), memory.memory_id)
        self._changing(memory.memory_id, False)
        found = self.connection.execute(rows.UPDATE, values).fetchall()
        if not found:
            raise NotFound(f"No memory {memory.memory_id.hex()}")
        self._index(found[0][0], memory, tokens, sequence)

    def add_evidence(self, evidence: Evidence) -> bool:
        detail = None
        if evidence.name or evidence.metadata_json or evidence.excerpt:
            owner = self.connection.execute(_OWNER, (evidence.memory_id,)).fetchone()
            if owner is None:
                raise NotFound(f"No memory {evidence.memory_id.hex()}")
            detail = rows.seal_evidence(evidence, self._sealers.sealer(owner[0]))
        self._changing(evidence.memory_id, True)
        values = (evidence.memory_id, evidence.event_id, evidence.method, evidence.at_us, evidence.confidence,
                  evidence.role, evidence.said_at_us, evidence.session_id, detail)  # fmt: skip
        return self.connection.execute(_EVIDENCE, values).rowcount > 0

    def evidence(self, memory_id: bytes) -> list[Evidence]:
        return _evidence(self.connection, [memory_id], self._sealers)[memory_id]

    def add_evolution(self, evolution: Evolution) -> None:
        (owner,) = self.connection.execute(_OWNER, (evolution.memory_id,)).fetchone()
        detail = rows.seal_evolution(evolution, self._sealers.sealer(owner))
        self.connection.execute(
            "INSERT INTO evolution (memory_id, cause, what, at_us, detail) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (evolution.memory_id, evolution.cause, evolution.what, evolution.at_us, detail),
        )

    def note_use(self, memory_ids: Sequence[bytes], scope: Scope, at_us: int) -> int:
        return sum(self.connection.execute(_USED, (at_us, memory_id, *scope)).rowcount for memory_id in memory_ids)

    def read_later(self, unread: Unread) -> None:
        self.connection.execute(QUEUE, queue_row(unread))

    def add_job(self, job: IndexJob) -> None:
        self.connection.execute(_JOB, (job.event_id, job.firing_id, int(job.rebuild), job.stage, job.after_row))

    def finish_job(self, event_id: bytes) -> None:
        self.connection.execute("DELETE FROM index_job WHERE event_id = ?", (event_id,))

    def _reading(self) -> AbstractContextManager[Connection]:
        return nullcontext(self.connection)

    def _unsealing(self) -> rows.Sealers:
        return self._sealers

    def _digested(self, text: str) -> bytes:
        return self._digest(text)

    def _index(self, row_no: int, memory: Memory, tokens: Sequence[str] | None, sequence: int) -> None:
        if tokens is not None:
            Fts5TextIndex(self.connection).put(row_no, memory.scope, tokens)
            self.connection.execute("DELETE FROM entity_mention WHERE row_no = ?", (row_no,))
            self.connection.executemany(
                "INSERT OR IGNORE INTO entity_mention (entity, row_no) VALUES (?, ?)",
                [(self._digest(f"{memory.scope.key}\0{uri}"), row_no) for uri in memory.entities],
            )
        self.connection.execute("INSERT INTO index_outbox (row_no, global_sequence) VALUES (?, ?)", (row_no, sequence))

    def _scope_no(self, scope: Scope) -> int:
        found = self.connection.execute("SELECT scope_no FROM scope WHERE kind = ? AND id = ?", scope).fetchone()
        return int(found[0] if found else self.connection.execute(_SCOPE, scope).fetchall()[0][0])

    def _key_digest(self, memory: Memory) -> bytes | None:
        return self._digest(f"fact\0{memory.fact_key}") if memory.fact_key else None


class SqlSemanticStore(SqlItemReads, SqlGraphReads, SqlBookReads, SqlSleepReads, SqlConsumerState):
    """The port `SemanticStore` on SQLCipher."""

    def __init__(self, database: Database, sealers: rows.Sealers, digest: Digest, recent_bytes: int) -> None:
        super().__init__(database)
        self.database = database
        self.sealers = sealers
        self._digest = digest
        self.recent = Recent(sealers, recent_bytes)

    @classmethod
    def open(
        cls, folder: Path, key: bytes | None, sealers: rows.Sealers, digest: Digest, recent_bytes: int = RECENT_BYTES
    ) -> Self:
        """Open or make the database in this folder; errors as those of `Database.open`."""
        return cls(Database.open(folder / FILE, key, MIGRATIONS), sealers, digest, recent_bytes)

    @contextmanager
    def transaction(self) -> Iterator[SqlSemanticTransaction]:
        def begin(connection: Connection) -> SqlSemanticTransaction:
            return SqlSemanticTransaction(connection, self.sealers, self._digest, self.recent.changing)

        # The end is told while nobody else can write yet; nothing may be kept in between.
        with self.committing(begin, self.recent.ended) as transaction:
            yield transaction

    @contextmanager
    def reading_ledger(self) -> Iterator[SqlLedger]:
        with self.database.read() as connection:
            yield SqlLedger(connection)

    @contextmanager
    def reading_labels(self) -> Iterator[SqlLabels]:
        with self.database.read() as connection:
            yield SqlLabels(connection)

    def get(self, memory_ids: Sequence[bytes], scopes: Sequence[Scope]) -> list[Memory]:
        scoped, values = rows.within(scopes)
        found = []
        with self.database.read() as connection:
            for memory_id in dict.fromkeys(memory_ids):
                found += self._memories(connection, f"WHERE m.memory_id = ? AND {scoped}", [memory_id, *values])
        return [memory for _, memory in found]

    def page(self, view: View, after: bytes, limit: int) -> list[Memory]:
        scoped, values = rows.within(view.scopes)
        filtered, more = rows.seen(view)
        clause = f"WHERE {scoped}{filtered} AND m.row_no > {_ROW_OF} ORDER BY m.row_no LIMIT ?"
        with self.database.read() as connection:
            return [memory for _, memory in self._memories(connection, clause, [*values, *more, after, limit])]

    def admitted(self, keys: Sequence[int], view: View, *, shown: bool = False) -> dict[int, Memory]:
        if not shown:
            return self._admitted(_BY_KEY, rows.open_row, keys, view)
        wanted, since = conditions(view), self.recent.since()
        held = self.recent.memories(keys)
        missing = [key for key in keys if key not in held]
        found = {
            key: one for key, one in held.items()
            if one.scope in view.scopes and admits(wanted, one) and not replaced_text(one, view)
        }  # fmt: skip
        if missing:
            read = self._admitted(_SHOWN_BY_KEY, rows.open_shown, missing, view)
            self.recent.keep_memories(since, read)
            found.update(read)
        return {key: found[key] for key in keys if key in found}

    def shown(self, keys: Sequence[int]) -> dict[int, Memory]:
        """These rows as contexts show them, whoever may see them; kept at hand."""
        since, held = self.recent.since(), self.recent.memories(keys)
        missing = [key for key in keys if key not in held]
        if missing:
            with self.database.read() as connection:
                lines = connection.execute(_SHOWN_BY_KEY, [json.dumps(missing)]).fetchall()
            read = dict(one for line in lines if (one := rows.open_shown(line, self.sealers)) is not None)
            self.recent.keep_memories(since, read)
            held.update(read)
        return held

    def search_text(self, tokens: Sequence[str], view: View, limit: int) -> list[TextHit]:
        found: list[TextHit] = []
        with self.database.read() as connection:
            ranked = Fts5TextIndex(connection).ranked(tokens, view.scopes)
            while len(found) < limit and (chunk := list(islice(ranked, _CHUNK))):
                numbers = _admitted(connection, [hit.key for hit in chunk], view)
                found += (hit for hit in chunk if hit.key in numbers)
        return found[:limit]

    def evidence(self, memory_ids: Sequence[bytes]) -> dict[bytes, list[Evidence]]:
        with self.database.read() as connection:
            return _evidence(connection, memory_ids, self.sealers)

    def evolution(self, memory_id: bytes) -> list[Evolution]:
        with self.database.read() as connection:
            owner = connection.execute(_OWNER, (memory_id,)).fetchone()
            if owner is None:
                return []
            lines = connection.execute(_EVOLUTION_OF, (memory_id,)).fetchall()
        return _unsealed(self.sealers, owner[0], lines, rows.open_evolution)

    def languages(self, scopes: Sequence[Scope], limit: int) -> list[str]:
        scoped, values = rows.within(scopes)
        sql = (
            f"SELECT language FROM scope_language m WHERE {scoped} "
            "GROUP BY language ORDER BY sum(memories) DESC, language LIMIT ?"
        )
        with self.database.read() as connection:
            return [language for (language,) in connection.execute(sql, [*values, limit])]

    def export(self, owner: str, after: bytes, limit: int) -> list[Memory]:
        chosen, values = ("m.owner = ? AND ", [owner]) if owner else ("", [])
        with self.database.read() as connection:
            clause = f"WHERE {chosen}m.memory_id > ? ORDER BY m.memory_id LIMIT ?"
            return [memory for _, memory in self._memories(connection, clause, [*values, after, limit])]

    def count(self) -> int:
        with self.database.read() as connection:
            return int(connection.execute("SELECT count(*) FROM memory").fetchone()[0])

    def close(self) -> None:
        self.database.close()

    def _reading(self) -> AbstractContextManager[Connection]:
        return self.database.read()

    def _unsealing(self) -> rows.Sealers:
        return self.sealers

    def _digested(self, text: str) -> bytes:
        return self._digest(text)

    def _admitted(
        self, select: str, opener: Callable[[Sequence[Any], rows.Sealers], tuple[int, Memory] | None], keys: Sequence[int],
        view: View,
    ) -> dict[int, Memory]:  # fmt: skip
        scoped, values = rows.within(view.scopes)
        filtered, more = rows.seen(view)
        with self.database.read() as connection:
            sql = f"{select} WHERE {scoped}{filtered}"
            found = connection.execute(sql, [json.dumps(list(keys)), *values, *more]).fetchall()
        return dict(one for row in found if (one := opener(row, self.sealers)) is not None)

    def _memories(self, connection: Connection, clause: str, values: Sequence[Any]) -> list[tuple[int, Memory]]:
        opened = (rows.open_row(row, self.sealers) for row in connection.execute(f"{rows.SELECT} {clause}", values))
        return [one for one in opened if one is not None]


def _evidence(connection: Connection, memory_ids: Sequence[bytes], sealers: rows.Sealers) -> dict[bytes, list[Evidence]]:
    found: dict[bytes, list[Evidence]] = {memory_id: [] for memory_id in memory_ids}
    wanted = list(found)
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        for owner, *line in connection.execute(_EVIDENCE_OF.format(", ".join("?" for _ in chunk)), chunk):
            for evidence in _unsealed(sealers, owner, [line], rows.open_evidence):
                found[evidence.memory_id].append(evidence)
    return found


def _unsealed(
    sealers: rows.Sealers, owner: str, lines: Sequence[Any], opener: Callable[[Sequence[Any], Any], _Line]
) -> list[_Line]:
    try:
        sealer = sealers.sealer(owner, create=False)
        return [opener(line, sealer) for line in lines]
    except (KeyDestroyed, WrongKey):
        return []


def _admitted(connection: Connection, keys: Sequence[int], view: View) -> set[int]:
    scoped, values = rows.within(view.scopes)
    filtered, more = rows.seen(view)
    sql = f"SELECT m.row_no FROM memory m WHERE m.row_no IN (SELECT value FROM json_each(?)) AND {scoped}{filtered}"
    return {number for (number,) in connection.execute(sql, [json.dumps(list(keys)), *values, *more])}
