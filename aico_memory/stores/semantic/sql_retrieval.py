"""What assembling a context asks of SQLCipher."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aico_memory.domain.memory import Evidence, Memory, Scope
from aico_memory.errors import KeyDestroyed, WrongKey
from aico_memory.stores.semantic import rows
from aico_memory.stores.semantic.item_port import Vector
from aico_memory.stores.semantic.retrieval_port import HotTier
from aico_memory.stores.semantic.sql_items import IN_LISTED, listed
from aico_memory.stores.sql import Database

_HOT = (
    "m.kind <> 'record' AND m.status = 'active' AND m.tier <> 'dormant' AND m.valid_from_us <= ? AND m.valid_until_us > ? "
    "AND (m.kind = 'constraint' AND m.pinned OR m.utility >= ? AND m.access_count >= ? "
    "AND max(m.updated_at_us, m.last_referenced_us) >= ?) "
    "ORDER BY m.kind = 'constraint' AND m.pinned DESC, m.utility DESC, m.access_count DESC, m.memory_id LIMIT ?"
)
_VECTORS = (
    "SELECT m.memory_id, v.half_floats FROM memory m JOIN vector v ON v.row_no = m.row_no AND v.version = m.version "
    "JOIN fingerprint f ON f.fingerprint_no = v.fingerprint_no AND f.fingerprint = ? "
    f"WHERE m.memory_id IN {IN_LISTED}"
)
_SOURCES = f"""
SELECT owner, memory_id, event_id, method, at_us, confidence, role, said_at_us, session_id, CASE place WHEN 1 THEN detail END
FROM (
    SELECT m.owner, e.*, row_number() OVER (PARTITION BY e.memory_id ORDER BY e.at_us, e.event_id, e.method) AS place
    FROM evidence e JOIN memory m ON m.memory_id = e.memory_id
    WHERE e.memory_id IN {IN_LISTED} AND e.method <> 'replay'
)
WHERE place <= ? ORDER BY memory_id, place
"""
_BESIDE = (
    "WHERE m.scope_no = (SELECT scope_no FROM scope WHERE kind = ? AND id = ?) AND m.session_id = ? "
    "AND m.kind = 'record' AND m.status = 'active' AND m.memory_id <> ? "
)
_BEFORE = f"{_BESIDE} AND m.said_at_us <= ? ORDER BY m.said_at_us DESC, m.row_no DESC LIMIT ?"
_AFTER = f"{_BESIDE} AND m.said_at_us > ? ORDER BY m.said_at_us, m.row_no LIMIT ?"


class SqlRetrieval:
    """The port `RetrievalReads` on the store's database."""

    def __init__(self, database: Database, sealers: rows.Sealers) -> None:
        self._database = database
        self._sealers = sealers

    def hot(self, scopes: Sequence[Scope], tier: HotTier, now_us: int) -> list[Memory]:
        scoped, values = rows.within(scopes)
        wanted = (now_us, now_us, tier.utility, tier.uses, tier.since_us, tier.limit)
        return self._memories_where(f"WHERE {scoped} AND {_HOT}", [*values, *wanted])

    def vectors_of(self, memory_ids: Sequence[bytes], fingerprint: str) -> dict[bytes, Vector]:
        with self._database.read() as connection:
            found = connection.execute(_VECTORS, (fingerprint, listed(memory_ids))).fetchall()
        return {memory_id: np.frombuffer(half, dtype="<f2").astype(np.float32) for memory_id, half in found}

    def sources_of(self, memory_ids: Sequence[bytes], most: int) -> dict[bytes, list[Evidence]]:
        found: dict[bytes, list[Evidence]] = {memory_id: [] for memory_id in memory_ids}
        with self._database.read() as connection:
            lines = connection.execute(_SOURCES, (listed(found), most)).fetchall()
        for owner, *line in lines:
            try:
                sealer = self._sealers.sealer(owner, create=False)
                found[line[0]].append(rows.open_evidence(line, sealer))
            except (KeyDestroyed, WrongKey):
                continue
        return found

    def around(self, memory: Memory, limit: int) -> tuple[list[Memory], list[Memory]]:
        values = [*memory.scope, memory.session_id, memory.memory_id, memory.said_at_us, limit]
        return self._memories_where(_BEFORE, values), self._memories_where(_AFTER, values)

    def _memories_where(self, clause: str, values: Sequence[object]) -> list[Memory]:
        with self._database.read() as connection:
            found = connection.execute(f"{rows.SELECT} {clause}", values).fetchall()
        opened = (rows.open_row(row, self._sealers) for row in found)
        return [one[1] for one in opened if one is not None]
