"""What sleep reads and writes in SQLCipher: outlines by plain columns, whole-scope figures, pairs, tags and jobs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.gate.tagging import Pair
from aico_memory.domain.memory import OPEN, Condition, Memory, Scope
from aico_memory.domain.sleep.derived import DERIVED_KINDS
from aico_memory.domain.sleep.likeness import Floats
from aico_memory.errors import NotFound
from aico_memory.stores.semantic import rows
from aico_memory.stores.semantic.item_port import STRENGTHS
from aico_memory.stores.semantic.sleep_port import STANDING, Crowd, DuePlan, Rested, SleepJob, Tally
from aico_memory.stores.semantic.values import sleep_job_body, sleep_job_of
from aico_memory.stores.sql import Connection

_OF_SCOPE = "m.scope_no = (SELECT scope_no FROM scope WHERE kind = ? AND id = ?)"
_IN_USE = "m.status = 'active' AND m.kind <> 'record'"
_AWAKE = f"{_IN_USE} AND m.tier <> 'dormant'"
_OWNED = f"m.owner = ? AND {_OF_SCOPE} AND {_IN_USE}"
_UNANCHORED = "m.pinned = 0 AND m.immutable = 0"
_DERIVED_KINDS = ", ".join(f"'{kind}'" for kind in DERIVED_KINDS)
_OUTLINE = f"SELECT {', '.join('m.' + name for name in rows.PLAIN)} FROM memory m"
_OWNED_AWAKE = f"m.owner = ? AND {_OF_SCOPE} AND {_AWAKE}"
_RESTED = " AND NOT EXISTS (SELECT 1 FROM upkeep u WHERE u.memory_id = m.memory_id AND u.what = ? AND u.at_us > ?)"
_NEXT_OWNER = "SELECT min(owner) FROM memory WHERE owner > ?"
_TALLY = """
SELECT owner, kind, tier, status, count(*), max(created_at_us) FROM memory
WHERE owner IN (SELECT value FROM json_each(?)) GROUP BY owner, kind, tier, status ORDER BY owner, kind, tier, status
"""
_SCOPES = f"""
SELECT DISTINCT s.kind, s.id FROM memory m JOIN scope s USING (scope_no) WHERE m.owner = ? AND {_IN_USE} ORDER BY s.kind, s.id
"""
_WANING = f"""
{_OUTLINE} WHERE {_OWNED_AWAKE} AND m.stability > 0
AND ? - max(m.last_accessed_us, m.created_at_us) > m.stability * ?{_RESTED}
ORDER BY (? - max(m.last_accessed_us, m.created_at_us)) / m.stability DESC, m.memory_id LIMIT ?
"""
_APPLIED = f"""
SELECT count(*) FROM upkeep u JOIN memory m USING (memory_id) WHERE u.what = ? AND u.at_us > ? AND m.owner = ? AND {_OF_SCOPE}
"""
_SIBLINGS = f"""
WITH mention AS MATERIALIZED (
    SELECT e.entity, m.memory_id, m.tier FROM memory m CROSS JOIN entity_mention e ON e.row_no = m.row_no
    WHERE {_OWNED} AND {_UNANCHORED} AND m.kind NOT IN ({_DERIVED_KINDS})
    AND (m.tier = 'episodic' OR (m.tier = 'semantic' AND m.updated_at_us = ?))),
shared AS MATERIALIZED (SELECT entity FROM mention GROUP BY entity HAVING count(*) >= ?)
{_OUTLINE} WHERE m.memory_id IN (
    SELECT DISTINCT memory_id FROM mention WHERE tier = 'episodic' AND memory_id > ? AND +entity IN (SELECT entity FROM shared)
    ORDER BY memory_id LIMIT ?)
ORDER BY m.memory_id
"""
# The order of the join is told: from each item to its pairs, not over all pairs of items.
_PAIRS_DUE = f"""
SELECT c.first, c.second, c.together FROM memory m CROSS JOIN co_activation c ON c.first = m.memory_id
CROSS JOIN memory n ON n.memory_id = c.second AND n.status = 'active' AND n.kind <> 'record' AND +n.scope_no = m.scope_no
WHERE {_OWNED} AND c.together >= ? AND c.together > c.replayed ORDER BY c.first, c.second LIMIT ?
"""
_DUE = """
CASE WHEN m.valid_from_us > m.said_at_us THEN m.valid_from_us ELSE max(m.said_at_us, m.valid_until_us - ?) END
"""
_PLANS_DUE = f"""
SELECT memory_id, owner, due_us FROM (
    SELECT m.memory_id, m.owner, {_DUE} AS due_us FROM memory m
    WHERE {_IN_USE} AND m.kind IN ('plan', 'task_state')
    AND (m.valid_from_us > m.said_at_us OR (m.kind = 'plan' AND m.valid_until_us < {OPEN}))
    AND NOT EXISTS (SELECT 1 FROM upkeep u WHERE u.memory_id = m.memory_id AND u.what = 'due'))
WHERE due_us <= ? ORDER BY due_us, memory_id LIMIT ?
"""
_CROWD = f"SELECT count(*) FILTER (WHERE m.tier <> 'dormant'), avg(m.access_count) FROM memory m WHERE {_OWNED}"
_CONTRADICTIONS = f"""
SELECT r.subject, r.object FROM memory m JOIN relation r ON r.subject = m.memory_id AND r.type = 'contradicts'
JOIN memory n ON n.memory_id = r.object
WHERE {_OF_SCOPE} AND {_AWAKE} AND ? IN (m.owner, n.owner)
AND n.status = 'active' AND n.kind <> 'record' AND n.tier <> 'dormant'
AND n.scope_no = m.scope_no AND m.variant_of IS NOT n.memory_id AND n.variant_of IS NOT m.memory_id
AND (r.subject, r.object) > (?, ?) ORDER BY r.subject, r.object LIMIT ?
"""
_LEAST_USEFUL = f"""
{_OUTLINE} JOIN json_each(?) made ON made.key = m.kind
WHERE {_OWNED_AWAKE} AND {_UNANCHORED} AND m.access_count <= ? AND m.last_referenced_us <= ? AND m.created_at_us <= made.value
ORDER BY m.utility, max(m.last_accessed_us, m.last_referenced_us, m.created_at_us), m.memory_id LIMIT ?
"""
_VECTORS = f"""
SELECT m.memory_id, v.half_floats FROM memory m CROSS JOIN fingerprint f ON f.fingerprint = ?
CROSS JOIN vector v ON v.fingerprint_no = f.fingerprint_no AND v.row_no = m.row_no AND v.version = m.version
WHERE {_OWNED_AWAKE} ORDER BY m.memory_id
"""
_RESTATED = f"""
WHERE {_OWNED} AND m.memory_id > ? AND m.fact_key_digest IS NOT NULL AND m.variant_of IS NULL AND (
    SELECT count(*) FROM statement t WHERE t.scope_no = m.scope_no AND t.key_digest = m.fact_key_digest AND t.state = 'kept'
) >= ? ORDER BY m.memory_id LIMIT ?
"""
_OLD_RECORDS = f"""
{_OUTLINE} WHERE m.owner = ? AND {_OF_SCOPE} AND m.kind = 'record' AND m.status = 'active' AND m.tier <> 'dormant'
AND {_UNANCHORED} AND m.received_at_us < ? AND m.last_accessed_us < ? ORDER BY m.memory_id LIMIT ?
"""
_ENDED = f"""
SELECT m.status, count(*) FROM memory m WHERE m.owner = ? AND {_OF_SCOPE} AND m.status IN ('superseded', 'expired', 'disabled')
AND m.invalidated_at_us >= ? AND m.invalidated_at_us < ? AND m.kind IN (SELECT value FROM json_each(?))
GROUP BY m.status ORDER BY m.status
"""
_CHANGED = (*STANDING, *STRENGTHS)
_PUT_OUTLINE = f"UPDATE memory SET {', '.join(name + ' = ?' for name in _CHANGED)} WHERE memory_id = ? RETURNING row_no"
_DROP_TAGS = """
DELETE FROM tag WHERE scope_no = (SELECT scope_no FROM scope WHERE kind = ? AND id = ?) AND expires_at_us <= ?
AND ? = (SELECT m.owner FROM memory m WHERE m.memory_id = tag.memory_id)
"""
_DROP_EVOLUTION = """
DELETE FROM evolution WHERE rowid IN (
    SELECT e.rowid FROM memory m JOIN evolution e USING (memory_id) WHERE m.owner = ? AND e.at_us < ? LIMIT ?)
"""
_JOBS = "SELECT event_id, job, firing_id, at_us, only_user, users, body FROM sleep_job"
_PUT_JOB = """
INSERT INTO sleep_job (event_id, job, firing_id, at_us, only_user, users, body) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (event_id) DO UPDATE SET users = excluded.users, body = excluded.body
"""


class SqlSleepReads:
    """The port `SleepReads`; whoever mixes it in says where to read."""

    __slots__ = ()

    def _reading(self) -> AbstractContextManager[Connection]:
        raise NotImplementedError

    def _rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        raise NotImplementedError

    def _opened(self, clause: str, values: Sequence[Any]) -> list[Known]:
        raise NotImplementedError

    def owners(self, after: str, limit: int) -> list[str]:
        found: list[str] = []
        with self._reading() as connection:
            while len(found) < limit:
                # One search of the index each: reading all rows for their owners would take long where there are many.
                (owner,) = connection.execute(_NEXT_OWNER, (found[-1] if found else after,)).fetchone()
                if owner is None:
                    break
                found.append(owner)
        return found

    def tallies(self, owners: Sequence[str]) -> list[Tally]:
        return [Tally(*row) for row in self._rows(_TALLY, (json.dumps(list(owners)),))]

    def owned_scopes(self, owner: str) -> list[Scope]:
        return [Scope(*row) for row in self._rows(_SCOPES, (owner,))]

    def outlines(
        self, scope: Scope, owner: str, wanted: Sequence[Condition], after: bytes, limit: int, rested: Rested | None = None
    ) -> list[Memory]:
        filtered, values = rows.where(wanted)
        sql = f"{_OUTLINE} WHERE {_OWNED} AND m.memory_id > ?{filtered}{_RESTED if rested else ''} ORDER BY m.memory_id LIMIT ?"
        return self._outlines(scope, sql, (owner, *scope, after, *values, *(rested or ()), limit))

    def waning(self, scope: Scope, owner: str, at_us: int, us_per_stability: float, rested: Rested, limit: int) -> list[Memory]:
        values = (owner, *scope, at_us, us_per_stability, *rested, float(at_us), limit)
        return self._outlines(scope, _WANING, values)

    def applied_count(self, rested: Rested, scope: Scope, owner: str) -> int:
        return int(self._rows(_APPLIED, (*rested, owner, *scope))[0][0])

    def siblings(self, scope: Scope, owner: str, at_least: int, moved_at_us: int, after: bytes, limit: int) -> list[Memory]:
        return self._outlines(scope, _SIBLINGS, (owner, *scope, moved_at_us, at_least, after, limit))

    def pairs_due(self, scope: Scope, owner: str, at_least: int, limit: int) -> dict[Pair, int]:
        found = self._rows(_PAIRS_DUE, (owner, *scope, at_least, limit))
        return {Pair(first, second): together for first, second, together in found}

    def plans_due(self, at_us: int, lead_us: int, limit: int) -> list[DuePlan]:
        return [DuePlan(*row) for row in self._rows(_PLANS_DUE, (lead_us, at_us, limit))]

    def crowd(self, scope: Scope, owner: str) -> Crowd:
        ((awake, mean),) = self._rows(_CROWD, (owner, *scope))
        return Crowd(awake, float(mean or 0.0))

    def contradictions(self, scope: Scope, owner: str, after: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        found = self._rows(_CONTRADICTIONS, (*scope, owner, after[:16], after[16:], limit))
        return [(first, second) for first, second in found]

    def least_useful(
        self, scope: Scope, owner: str, most_accesses: float, made_before: Mapping[str, int], idle_since_us: int, limit: int
    ) -> list[Memory]:
        values = (json.dumps(dict(made_before)), owner, *scope, most_accesses, idle_since_us, limit)
        return self._outlines(scope, _LEAST_USEFUL, values)

    def active_fingerprint(self) -> str:
        found = self._rows("SELECT fingerprint FROM fingerprint WHERE active = 1", ())
        return found[0][0] if found else ""

    def awake_vectors(self, scope: Scope, owner: str, fingerprint: str) -> tuple[list[bytes], Floats]:
        found = self._rows(_VECTORS, (fingerprint, owner, *scope))
        halves = np.frombuffer(b"".join(half for _, half in found), dtype="<f2").reshape(len(found), -1 if found else 0)
        return [memory_id for memory_id, _ in found], halves.astype(np.float32)

    def restated(self, scope: Scope, owner: str, at_least: int, after: bytes, limit: int) -> list[Known]:
        return self._opened(_RESTATED, (owner, *scope, after, at_least, limit))

    def old_records(self, scope: Scope, owner: str, before_us: int, limit: int) -> list[Memory]:
        return self._outlines(scope, _OLD_RECORDS, (owner, *scope, before_us, before_us, limit))

    def changed_statuses(self, scope: Scope, owner: str, kinds: Sequence[str], since_us: int, until_us: int) -> dict[str, int]:
        return dict(self._rows(_ENDED, (owner, *scope, since_us, until_us, json.dumps(list(kinds)))))

    def sleep_job(self, event_id: bytes) -> SleepJob | None:
        return next((sleep_job_of(row) for row in self._rows(f"{_JOBS} WHERE event_id = ?", (event_id,))), None)

    def sleep_jobs(self) -> list[SleepJob]:
        return [sleep_job_of(row) for row in self._rows(f"{_JOBS} ORDER BY position", ())]

    def _outlines(self, scope: Scope, sql: str, values: Sequence[Any]) -> list[Memory]:
        return [rows.outline(scope, row) for row in self._rows(sql, values)]


class SqlSleepWrites(SqlSleepReads):
    """The port `SleepWrites`."""

    __slots__ = ()
    connection: Connection
    _changing: Callable[[bytes, bool], None]

    def put_outline(self, memory: Memory, sequence: int) -> None:
        values = [getattr(memory, name) for name in _CHANGED]
        self._changing(memory.memory_id, False)
        found = self.connection.execute(_PUT_OUTLINE, (*values, memory.memory_id)).fetchall()
        if not found:
            raise NotFound(f"No memory {memory.memory_id.hex()}")
        self.connection.execute("INSERT INTO index_outbox (row_no, global_sequence) VALUES (?, ?)", (found[0][0], sequence))

    def note_replayed(self, pairs: Mapping[Pair, int]) -> None:
        self.connection.executemany(
            "UPDATE co_activation SET replayed = ? WHERE first = ? AND second = ?",
            [(together, *pair) for pair, together in pairs.items()],
        )

    def drop_tags(self, scope: Scope, owner: str, before_us: int) -> int:
        return int(self.connection.execute(_DROP_TAGS, (*scope, before_us, owner)).rowcount)

    def drop_evolution(self, owner: str, before_us: int, limit: int) -> int:
        return int(self.connection.execute(_DROP_EVOLUTION, (owner, before_us, limit)).rowcount)

    def put_sleep_job(self, job: SleepJob) -> None:
        values = (job.event_id, job.job, job.firing_id, job.at_us, job.only_user, job.users, sleep_job_body(job))
        self.connection.execute(_PUT_JOB, values)

    def finish_sleep_job(self, event_id: bytes) -> None:
        self.connection.execute("DELETE FROM sleep_job WHERE event_id = ?", (event_id,))
