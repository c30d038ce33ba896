"""Items with their readings in SQLCipher: reads by key, by reading, by likeness, and what they rest on."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.gate.statement import Known, Neighbour, Statement
from aico_memory.domain.graph.relations import Relation
from aico_memory.domain.memory import Evolution, Memory, Scope
from aico_memory.domain.sleep.derived import WRITTEN_BY
from aico_memory.errors import KeyDestroyed, WrongKey
from aico_memory.stores.semantic import rows
from aico_memory.stores.semantic.item_port import StatementState, Vector
from aico_memory.stores.semantic.opening import opened_once
from aico_memory.stores.semantic.values import statement_of
from aico_memory.stores.sql import Connection

_KNOWN = rows.SELECT.replace("SELECT ", "SELECT m.reading, m.single_valued, ", 1)
_OF_SCOPE = "m.scope_no = (SELECT scope_no FROM scope WHERE kind = ? AND id = ?)"
_ACTIVE = f"{_OF_SCOPE} AND m.status = 'active' AND m.tier <> 'dormant' AND m.kind <> 'record'"
IN_LISTED = "(SELECT unhex(value) FROM json_each(?))"
# The memories first: left to itself the planner walks all vectors of the model.
_VECTOR_OF_M = "CROSS JOIN vector v ON v.fingerprint_no = f.fingerprint_no AND v.row_no = m.row_no AND v.version = m.version"
_ACTIVE_VECTORS = (
    f"SELECT m.memory_id, v.half_floats FROM fingerprint f CROSS JOIN memory m {_VECTOR_OF_M} "
    # What sleep writes is no statement, and is embedded some time later.
    f"WHERE f.fingerprint = ? AND {_ACTIVE} AND m.write_source <> '{WRITTEN_BY}'"
)
_OUTLINES = (
    f"SELECT s.kind, s.id, {', '.join('m.' + name for name in rows.PLAIN)} FROM memory m JOIN scope s USING (scope_no) "
    f"WHERE m.memory_id IN {IN_LISTED}"
)
_VECTORS_OF = (
    "SELECT m.memory_id, v.half_floats FROM fingerprint f CROSS JOIN json_each(?) j "
    f"CROSS JOIN memory m ON m.memory_id = unhex(j.value) {_VECTOR_OF_M} WHERE f.fingerprint = ?"
)
_RELATIONS = "SELECT r.subject, r.type, r.object, r.confidence, r.at_us FROM relation r"
_EVOLUTION = (
    f"SELECT memory_id, cause, what, at_us, detail FROM evolution WHERE memory_id IN {IN_LISTED}{{}} "
    "ORDER BY at_us, cause, what"
)
_STATEMENT = "SELECT s.owner, s.statement_id, s.state, s.body FROM statement s"
_ORDER = "s.said_at_us DESC, s.heard DESC, s.event_id DESC, s.place DESC"


class SqlItemReads:
    """The part of the port `ItemReads` that speaks of items; whoever mixes it in says where to read."""

    __slots__ = ()

    def _reading(self) -> AbstractContextManager[Connection]:
        raise NotImplementedError

    def _digested(self, text: str) -> bytes:
        raise NotImplementedError

    def _unsealing(self) -> rows.Sealers:
        raise NotImplementedError

    def known(self, memory_ids: Sequence[bytes], scopes: Sequence[Scope]) -> list[Known]:
        scoped, values = rows.within(scopes)
        wanted = list(dict.fromkeys(memory_ids))
        found = self._opened(f"WHERE m.memory_id IN {IN_LISTED} AND {scoped}", [listed(wanted), *values])
        by_id = {one.memory.memory_id: one for one in found}
        return [by_id[memory_id] for memory_id in wanted if memory_id in by_id]

    def items(self, scopes: Sequence[Scope], statuses: Sequence[str], after: bytes, limit: int) -> list[Known]:
        scoped, values = rows.within(scopes)
        filtered = f" AND m.status IN ({', '.join('?' for _ in statuses)})" if statuses else ""
        clause = f"WHERE {scoped}{filtered} AND m.kind <> 'record' AND m.memory_id > ? ORDER BY m.memory_id LIMIT ?"
        return self._opened(clause, [*values, *statuses, after, limit])

    def owned(self, scopes: Sequence[Scope], owners: Sequence[str], after: bytes, limit: int) -> list[bytes]:
        scoped, values = rows.within(scopes)
        sql = (
            f"SELECT m.memory_id FROM memory m WHERE {scoped} AND m.owner IN (SELECT value FROM json_each(?)) "
            "AND m.memory_id > ? ORDER BY m.memory_id LIMIT ?"
        )
        with self._reading() as connection:
            return [one for (one,) in connection.execute(sql, [*values, json.dumps(list(owners)), after, limit])]

    def by_key(self, scope: Scope, key: str) -> list[Known]:
        clause = f"WHERE {_OF_SCOPE} AND m.fact_key_digest = ? ORDER BY m.memory_id"
        return self._opened(clause, [*scope, self._digested(f"fact\0{key}")]) if key else []

    def by_predicate(self, scope: Scope, subject: str, predicate: str, limit: int) -> list[Known]:
        digest = self._digested(predicate_text(subject, predicate))
        clause = (
            f"WHERE {_OF_SCOPE} AND m.predicate_digest = ? ORDER BY m.said_at_us DESC, m.heard DESC, m.memory_id DESC LIMIT ?"
        )
        return self._opened(clause, [*scope, digest, limit]) if predicate else []

    def by_object(self, scope: Scope, object_key: str, limit: int) -> list[Known]:
        clause = f"WHERE {_OF_SCOPE} AND m.object_digest = ? ORDER BY m.said_at_us DESC, m.heard DESC, m.memory_id DESC LIMIT ?"
        return self._opened(clause, [*scope, self._digested(f"object\0{object_key}"), limit]) if object_key else []

    def newest(self, scope: Scope, limit: int) -> list[Known]:
        return self._opened(
            f"WHERE {_ACTIVE} ORDER BY m.said_at_us DESC, m.heard DESC, m.memory_id DESC LIMIT ?", [*scope, limit]
        )

    def variants(self, memory_ids: Sequence[bytes]) -> list[Known]:
        if not memory_ids:
            return []
        return self._opened(f"WHERE m.variant_of IN {IN_LISTED} ORDER BY m.memory_id", [listed(memory_ids)])

    def mentioning(self, scope: Scope, entities: Sequence[str], limit: int) -> list[Known]:
        digests = [self._digested(f"{scope.key}\0{uri}") for uri in entities]
        clause = (
            f"WHERE m.row_no IN (SELECT row_no FROM entity_mention WHERE entity IN {IN_LISTED}) AND {_ACTIVE} "
            "ORDER BY m.row_no DESC LIMIT ?"
        )
        return self._opened(clause, [listed(digests), *scope, limit]) if digests else []

    def nearest(self, scope: Scope, fingerprint: str, vector: Vector, limit: int) -> list[Neighbour]:
        with self._reading() as connection:
            found = connection.execute(_ACTIVE_VECTORS, (fingerprint, *scope)).fetchall()
        similar = sorted(_similarities(found, vector).items(), key=lambda one: (-one[1], one[0]))[:limit]
        by_id = {one.memory.memory_id: one for one in self.known([memory_id for memory_id, _ in similar], [scope])}
        return [Neighbour(by_id[memory_id], near) for memory_id, near in similar if memory_id in by_id]

    def similarities(self, memory_ids: Sequence[bytes], fingerprint: str, vector: Vector) -> dict[bytes, float]:
        with self._reading() as connection:
            found = connection.execute(_VECTORS_OF, (listed(memory_ids), fingerprint)).fetchall()
        return _similarities(found, vector)

    def vectors_of(self, memory_ids: Sequence[bytes], fingerprint: str) -> dict[bytes, Vector]:
        with self._reading() as connection:
            found = connection.execute(_VECTORS_OF, (listed(memory_ids), fingerprint)).fetchall()
        return {memory_id: np.frombuffer(half, dtype="<f2").astype(np.float32) for memory_id, half in found}

    def former_vector(self, memory_id: bytes, fingerprint: str) -> Vector | None:
        sql = (
            "SELECT v.half_floats FROM memory m JOIN vector v USING (row_no) JOIN fingerprint f USING (fingerprint_no) "
            "WHERE m.memory_id = ? AND f.fingerprint = ?"
        )
        with self._reading() as connection:
            row = connection.execute(sql, (memory_id, fingerprint)).fetchone()
        return None if row is None else np.frombuffer(row[0], dtype="<f2").astype(np.float32)

    def stated_vector(self, statement_id: bytes) -> tuple[str, Vector] | None:
        sql = "SELECT fingerprint, half_floats FROM stated_vector WHERE statement_id = ?"
        with self._reading() as connection:
            row = connection.execute(sql, (statement_id,)).fetchone()
        return None if row is None else (str(row[0]), np.frombuffer(row[1], dtype="<f2").astype(np.float32))

    def active_count(self, scope: Scope) -> int:
        with self._reading() as connection:
            return int(connection.execute(f"SELECT count(*) FROM memory m WHERE {_ACTIVE}", scope).fetchone()[0])

    def mean_access(self, scope: Scope) -> float:
        believed = _ACTIVE.replace("m.status = 'active'", "m.status IN ('active', 'superseded')")
        with self._reading() as connection:
            found = connection.execute(f"SELECT avg(m.access_count) FROM memory m WHERE {believed}", scope).fetchone()[0]
        return float(found or 0.0)

    def outlined(self, memory_ids: Sequence[bytes], scopes: Sequence[Scope]) -> list[Memory]:
        scoped, values = rows.within(scopes)
        with self._reading() as connection:
            found = connection.execute(f"{_OUTLINES} AND {scoped}", [listed(memory_ids), *values]).fetchall()
        by_id = {one.memory_id: one for one in rows.outlines(found, self._unsealing())}
        return [by_id[memory_id] for memory_id in dict.fromkeys(memory_ids) if memory_id in by_id]

    def active_outlines(self, scope: Scope) -> list[Memory]:
        sql = f"SELECT {', '.join('m.' + name for name in rows.PLAIN)} FROM memory m WHERE {_ACTIVE} ORDER BY m.memory_id"
        with self._reading() as connection:
            return [rows.outline(scope, row) for row in connection.execute(sql, scope)]

    def said_before(self, scope: Scope, session_id: str, said_at_us: int, limit: int) -> list[tuple[int, str]]:
        clause = (
            f"WHERE {_OF_SCOPE} AND m.session_id = ? AND m.said_at_us <= ? AND m.kind = 'record' AND m.status = 'active' "
            "ORDER BY m.said_at_us DESC, m.row_no DESC LIMIT ?"
        )
        found = self._opened(clause, [*scope, session_id, said_at_us, limit])
        return [(one.memory.said_at_us, one.memory.text) for one in found][::-1]

    def statements(self, scope: Scope, key: str, limit: int) -> list[Statement]:
        return self._under_key(scope, key, "kept", limit)

    def unproven(self, scope: Scope, key: str, limit: int) -> list[Statement]:
        return self._under_key(scope, key, "unproven", limit)

    def _under_key(self, scope: Scope, key: str, state: StatementState, limit: int) -> list[Statement]:
        # The state stands in the text: only so the planner takes the index of that state.
        clause = (
            "WHERE s.scope_no = (SELECT scope_no FROM scope WHERE kind = ? AND id = ?) AND s.key_digest = ? "
            f"AND s.state = '{state}' ORDER BY {_ORDER} LIMIT ?"
        )
        return [one for one, _ in self._stated(clause, (*scope, self._digested(f"fact\0{key}"), limit))][::-1]

    def statement(self, statement_id: bytes) -> tuple[Statement, StatementState] | None:
        return next(iter(self._stated("WHERE s.statement_id = ?", (statement_id,))), None)

    def referring(self, scope: Scope, after_us: int, limit: int) -> list[Statement]:
        clause = (
            "WHERE s.scope_no = (SELECT scope_no FROM scope WHERE kind = ? AND id = ?) AND s.said_at_us > ? "
            "AND s.state = 'referring' ORDER BY s.said_at_us, s.heard, s.event_id, s.place LIMIT ?"
        )
        return [one for one, _ in self._stated(clause, (*scope, after_us, limit))]

    def waiting(self, owner: str, event_ids: Collection[bytes], limit: int) -> list[Statement]:
        chosen = f"AND s.event_id IN {IN_LISTED} " if event_ids else ""
        clause = f"WHERE s.owner = ? AND s.state = 'sleep' {chosen}ORDER BY s.said_at_us, s.heard, s.event_id, s.place LIMIT ?"
        values = (owner, *((listed(event_ids),) if event_ids else ()), limit)
        return [one for one, _ in self._stated(clause, values)]

    def evidence_counts(self, memory_ids: Sequence[bytes]) -> dict[bytes, int]:
        sql = (
            f"SELECT memory_id, count(DISTINCT event_id) FROM evidence WHERE memory_id IN {IN_LISTED} AND method <> 'replay' "
            "GROUP BY memory_id"
        )
        with self._reading() as connection:
            counted = dict(connection.execute(sql, (listed(memory_ids),)).fetchall())
        return {memory_id: counted.get(memory_id, 0) for memory_id in memory_ids}

    def items_of_event(self, event_id: bytes) -> list[bytes]:
        with self._reading() as connection:
            found = connection.execute("SELECT DISTINCT memory_id FROM evidence WHERE event_id = ? ORDER BY 1", (event_id,))
            return [memory_id for (memory_id,) in found]

    def histories(self, memory_ids: Sequence[bytes], what: Collection[str] = ()) -> dict[bytes, list[Evolution]]:
        chosen = f" AND what IN ({', '.join('?' for _ in what)})" if what else ""
        found: dict[bytes, list[Evolution]] = {memory_id: [] for memory_id in memory_ids}
        with self._reading() as connection:
            owners = dict(connection.execute(
                f"SELECT memory_id, owner FROM memory WHERE memory_id IN {IN_LISTED}", (listed(memory_ids),)
            ).fetchall())  # fmt: skip
            lines = connection.execute(_EVOLUTION.format(chosen), (listed(memory_ids), *what)).fetchall()
        for line in lines:
            try:
                found[line[0]].append(rows.open_evolution(line, self._unsealing().sealer(owners[line[0]], create=False)))
            except (KeyDestroyed, WrongKey):
                continue
        return found

    def relations(self, memory_ids: Sequence[bytes]) -> list[Relation]:
        wanted = listed(memory_ids)
        # Two searches by their own index; one OR would read the whole table.
        sql = f"{_RELATIONS} WHERE r.subject IN {IN_LISTED} UNION {_RELATIONS} WHERE r.object IN {IN_LISTED} ORDER BY 1, 2, 3"
        with self._reading() as connection:
            return [Relation(*line) for line in connection.execute(sql, (wanted, wanted))]

    def scope_relations(self, scope: Scope) -> list[Relation]:
        sql = f"{_RELATIONS} JOIN memory m ON m.memory_id = r.subject WHERE {_OF_SCOPE} ORDER BY 1, 2, 3"
        with self._reading() as connection:
            return [Relation(*line) for line in connection.execute(sql, scope)]

    def relation_count(self, scope: Scope) -> int:
        sql = (
            f"SELECT count(*) FROM memory m JOIN relation r ON r.subject = m.memory_id WHERE {_OF_SCOPE} AND m.kind <> 'record'"
        )
        with self._reading() as connection:
            return int(connection.execute(sql, scope).fetchone()[0])

    def _opened(self, clause: str, values: Sequence[Any]) -> list[Known]:
        with self._reading() as connection:
            found = connection.execute(f"{_KNOWN} {clause}", values).fetchall()
        opened = (rows.open_known(row, self._unsealing()) for row in found)
        return [one for one in opened if one is not None]

    def _stated(self, clause: str, values: Sequence[Any]) -> list[tuple[Statement, StatementState]]:
        with self._reading() as connection:
            lines = connection.execute(f"{_STATEMENT} {clause}", values).fetchall()
        found = []
        for owner, statement_id, state, body in lines:
            try:
                sealer = self._unsealing().sealer(owner, create=False)
                found.append((opened_once(statement_of, sealer, body, b"statement\0" + statement_id), state))
            except (KeyDestroyed, WrongKey):
                continue
        return found


def predicate_text(subject: str, predicate: str) -> str:
    """What is digested for (subject, predicate): the subject as the keys compare it."""
    return f"predicate\0{normalise_fact_key(subject)}\0{predicate}"


def listed(values: Iterable[bytes]) -> str:
    return json.dumps([value.hex() for value in values])


def _similarities(found: Sequence[tuple[bytes, bytes]], vector: Vector) -> dict[bytes, float]:
    if not found:
        return {}
    halves = np.frombuffer(b"".join(half for _, half in found), dtype="<f2").reshape(len(found), -1)
    near = halves.astype(np.float32) @ vector
    # Hundredths: the last bits of an embedding depend on which texts it was computed with.
    return {memory_id: round(float(similarity), 2) for (memory_id, _), similarity in zip(found, near, strict=True)}
