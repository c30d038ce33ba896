"""Writing items in SQLCipher: readings, statements, moved evidence, histories, relations, vectors."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from sqlcipher3 import dbapi2

from aico_memory.domain.gate.statement import Known, Statement
from aico_memory.domain.graph.relations import Relation, RelationKey
from aico_memory.domain.memory import Evidence, Evolution, Memory
from aico_memory.domain.temporal.versions import STATUS, VALID_FROM, VALID_UNTIL
from aico_memory.errors import InvalidMessage
from aico_memory.stores.semantic import rows
from aico_memory.stores.semantic.item_port import RETENTION, STRENGTHS, StatementState, Vector
from aico_memory.stores.semantic.sql_bookkeeping import SqlBookWrites
from aico_memory.stores.semantic.sql_graph import SqlGraphWrites
from aico_memory.stores.semantic.sql_items import IN_LISTED, SqlItemReads, predicate_text
from aico_memory.stores.semantic.values import statement_body

_READ_AS = "UPDATE memory SET reading = ?, single_valued = ?, predicate_digest = ?, object_digest = ? WHERE memory_id = ?"
_RETAIN = f"UPDATE memory SET {', '.join(f'{name} = ?' for name in RETENTION)} WHERE memory_id = ?"
_KEEP = """
INSERT INTO statement (statement_id, scope_no, owner, key_digest, state, event_id, said_at_us, heard, place, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (statement_id) DO UPDATE SET key_digest = excluded.key_digest, state = excluded.state, body = excluded.body
"""
_NAME_MODEL = """
INSERT INTO fingerprint (fingerprint, active)
VALUES (?, NOT EXISTS (SELECT 1 FROM fingerprint WHERE active = 1)) ON CONFLICT (fingerprint) DO NOTHING
"""
_KEEP_VECTOR = """
INSERT INTO vector (fingerprint_no, row_no, scope_no, version, half_floats)
SELECT f.fingerprint_no, m.row_no, m.scope_no, m.version, ? FROM memory m, fingerprint f
WHERE m.memory_id = ? AND f.fingerprint = ?
ON CONFLICT (fingerprint_no, row_no) DO UPDATE SET version = excluded.version, half_floats = excluded.half_floats
"""
_KEEP_STATED = """
INSERT INTO stated_vector (statement_id, fingerprint, half_floats)
SELECT statement_id, ?, ? FROM statement WHERE statement_id = ?
ON CONFLICT (statement_id) DO UPDATE SET fingerprint = excluded.fingerprint, half_floats = excluded.half_floats
"""
_FORGET_CHANGES = f"""
DELETE FROM evolution WHERE memory_id = ? AND what IN ('{STATUS}', '{VALID_FROM}', '{VALID_UNTIL}')
AND cause IN {IN_LISTED}
"""
_RELATE = "INSERT INTO relation (subject, type, object, confidence, at_us) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"


class SqlItemWrites(SqlItemReads, SqlGraphWrites, SqlBookWrites):
    """The port `ItemWrites`, for a transaction that stores memories."""

    __slots__ = ()
    _changing: Callable[[bytes, bool], None]

    def memory(self, memory_id: bytes) -> Memory | None:
        raise NotImplementedError

    def add(self, memory: Memory, evidence: Sequence[Evidence], tokens: Sequence[str], sequence: int) -> bool:
        raise NotImplementedError

    def replace(self, memory: Memory, tokens: Sequence[str] | None, sequence: int) -> None:
        raise NotImplementedError

    def add_evolution(self, evolution: Evolution) -> None:
        raise NotImplementedError

    @contextmanager
    def attempt(self) -> Iterator[None]:
        self.connection.execute("SAVEPOINT attempt")
        try:
            yield
        except BaseException as error:
            self.connection.execute("ROLLBACK TO attempt")
            self.connection.execute("RELEASE attempt")
            if isinstance(error, dbapi2.IntegrityError):
                raise InvalidMessage(f"What was to be written clashes with what is stored: {error}") from error
            raise
        self.connection.execute("RELEASE attempt")

    def put_item(self, item: Known, tokens: Sequence[str] | None, sequence: int) -> bool:
        memory = item.memory
        stands = self.connection.execute("SELECT 1 FROM memory WHERE memory_id = ?", (memory.memory_id,)).fetchone()
        if stands:
            self.replace(memory, tokens, sequence)
        else:
            self.add(memory, (), tokens or (), sequence)
        reading = rows.seal_reading(item, self._unsealing().sealer(memory.owner))
        predicate = self._digested(predicate_text(item.subject, item.predicate)) if item.predicate else None
        object_ = self._digested(f"object\0{item.object_key}") if item.object_key else None
        self.connection.execute(_READ_AS, (reading, int(item.single_valued), predicate, object_, memory.memory_id))
        return not stands

    def set_strength(self, memory: Memory) -> None:
        values = [getattr(memory, name) for name in STRENGTHS]
        assigned = ", ".join(f"{name} = ?" for name in STRENGTHS)
        self._changing(memory.memory_id, False)
        self.connection.execute(f"UPDATE memory SET {assigned} WHERE memory_id = ?", (*values, memory.memory_id))

    def set_retention(self, memories: Sequence[Memory]) -> None:
        values = [(*(getattr(one, name) for name in RETENTION), one.memory_id) for one in memories]
        self.connection.executemany(_RETAIN, values)

    def keep_vector(self, memory_id: bytes, fingerprint: str, vector: Vector) -> None:
        self.connection.execute(_NAME_MODEL, (fingerprint,))
        self.connection.execute(_KEEP_VECTOR, (vector.astype("<f2").tobytes(), memory_id, fingerprint))

    def keep_statement(self, statement: Statement, state: StatementState) -> None:
        sealer = self._unsealing().sealer(statement.owner)
        body = sealer.seal(statement_body(statement), b"statement\0" + statement.statement_id)
        digest = self._digested(f"fact\0{statement.key}")
        values = (statement.statement_id, self._scope_no(statement.scope), statement.owner, digest, state,
                  statement.event_id, statement.said_at_us, statement.heard, statement.place, body)  # fmt: skip
        self.connection.execute(_KEEP, values)

    def keep_stated_vector(self, statement_id: bytes, fingerprint: str, vector: Vector) -> None:
        self.connection.execute(_KEEP_STATED, (fingerprint, vector.astype("<f2").tobytes(), statement_id))

    def drop_statement(self, statement_id: bytes) -> None:
        self.connection.execute("DELETE FROM statement WHERE statement_id = ?", (statement_id,))

    def move_evidence(self, event_id: bytes, before: bytes, after: bytes) -> None:
        sealer = None
        self._changing(before, True)
        self._changing(after, True)
        found = self.connection.execute(
            "SELECT m.owner, e.memory_id, e.event_id, e.method, e.at_us, e.confidence, e.role, e.said_at_us, e.session_id, "
            "e.detail FROM evidence e JOIN memory m USING (memory_id) WHERE e.memory_id = ? AND e.event_id = ?",
            (before, event_id),
        ).fetchall()
        for owner, *line in found:
            sealer = sealer or self._unsealing().sealer(owner)
            moved = rows.moved_to(rows.open_evidence(line, sealer), after)
            values = (after, event_id, moved.method, moved.at_us, moved.confidence, moved.role, moved.said_at_us,
                      moved.session_id, rows.seal_evidence(moved, sealer))  # fmt: skip
            self.connection.execute("INSERT OR IGNORE INTO evidence VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        self.connection.execute("DELETE FROM evidence WHERE memory_id = ? AND event_id = ?", (before, event_id))

    def put_history(self, memory_id: bytes, causes: Collection[bytes], changes: Sequence[Evolution]) -> None:
        self.connection.execute(_FORGET_CHANGES, (memory_id, json.dumps([cause.hex() for cause in causes])))
        for change in changes:
            self.add_evolution(change)

    def add_relations(self, relations: Sequence[Relation]) -> int:
        found = 0
        for one in relations:
            values = (one.subject, one.type, one.object, one.confidence, one.at_us)
            found += self.connection.execute(_RELATE, values).rowcount > 0
        return found

    def drop_relations(self, keys: Sequence[RelationKey]) -> None:
        self.connection.executemany("DELETE FROM relation WHERE subject = ? AND type = ? AND object = ?", keys)
