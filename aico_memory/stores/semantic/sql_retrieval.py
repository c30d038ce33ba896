"""What assembling a context asks of SQLCipher."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any

from aico_memory.domain.memory import Memory, Scope, record_of
from aico_memory.domain.retrieval.outlived import Made
from aico_memory.errors import KeyDestroyed, WrongKey
from aico_memory.stores.semantic import rows
from aico_memory.stores.semantic.retrieval_port import NO_SOURCES, HotTier, Sources
from aico_memory.stores.semantic.sql_items import listed
from aico_memory.stores.semantic.sql_store import SqlSemanticStore

_HOT = (
    "m.kind <> 'record' AND m.status = 'active' AND m.tier <> 'dormant' AND m.valid_from_us <= ? AND m.valid_until_us > ? "
    "AND (m.kind = 'constraint' AND m.pinned OR m.utility >= ? AND m.access_count >= ? "
    "AND max(m.updated_at_us, m.last_referenced_us) >= ?) "
    "ORDER BY m.kind = 'constraint' AND m.pinned DESC, m.utility DESC, m.access_count DESC, m.memory_id LIMIT ?"
)
_SOURCES = """
SELECT e.at_us, e.event_id, e.method, e.memory_id, e.confidence, e.role, e.said_at_us, e.session_id, e.detail
FROM json_each(?) j CROSS JOIN evidence e ON e.memory_id = unhex(j.value) WHERE e.method <> 'replay'
"""
_MADE = """
SELECT e.event_id, m.status, m.said_at_us, m.valid_from_us, m.valid_until_us, m.memory_id
FROM json_each(?) j CROSS JOIN evidence e ON e.event_id = unhex(json_extract(j.value, '$[0]'))
    AND e.memory_id <> unhex(json_extract(j.value, '$[1]'))
CROSS JOIN memory m ON m.memory_id = e.memory_id
WHERE e.method <> 'replay' AND m.kind <> 'record' AND {} ORDER BY e.event_id, m.memory_id
"""
_ORDER = itemgetter(0, 1, 2)
_BESIDE = (
    "WHERE m.scope_no = (SELECT scope_no FROM scope WHERE kind = ? AND id = ?) AND m.session_id = ? "
    "AND m.kind = 'record' AND m.status = 'active' AND m.memory_id <> ? "
)
# What was said at one moment follows as it arrived; a memory that is not stored comes after all of its moment.
_OWN_ROW = "coalesce((SELECT row_no FROM memory WHERE memory_id = ?), 9223372036854775807)"
_BEFORE = f"{_BESIDE} AND (m.said_at_us, m.row_no) < (?, {_OWN_ROW}) ORDER BY m.said_at_us DESC, m.row_no DESC LIMIT ?"
_AFTER = f"{_BESIDE} AND (m.said_at_us, m.row_no) > (?, {_OWN_ROW}) ORDER BY m.said_at_us, m.row_no LIMIT ?"


class SqlRetrieval:
    """The port `RetrievalReads` on the store's database."""

    def __init__(self, store: SqlSemanticStore) -> None:
        self._store = store
        self._database = store.database
        self._sealers = store.sealers
        self._recent = store.recent

    def hot(self, scopes: Sequence[Scope], tier: HotTier, now_us: int) -> list[Memory]:
        scoped, values = rows.within(scopes)
        wanted = (now_us, now_us, tier.utility, tier.uses, tier.since_us, tier.limit)
        return self._memories_where(f"WHERE {scoped} AND {_HOT}", [*values, *wanted])

    def sources_of(self, owners: Mapping[bytes, str], most: int) -> dict[bytes, Sources]:
        since, found = self._recent.since(), dict.fromkeys(owners, NO_SOURCES)
        held = self._recent.sources(owners, most)
        missing = {memory_id: owner for memory_id, owner in owners.items() if memory_id not in held}
        read = self._sources(missing) if missing else {}
        self._recent.keep_sources(since, read, missing)
        found.update(held)
        found.update(
            (memory_id, one if len(one.event_ids) <= most else one._replace(event_ids=one.event_ids[:most]))
            for memory_id, one in read.items()
        )
        return found

    def made_of(self, event_ids: Collection[bytes], scopes: Sequence[Scope]) -> dict[bytes, list[Made]]:
        scoped, values = rows.within(scopes)
        found: dict[bytes, list[Made]] = {}
        # Nearly every message has its record alone, whose row need not be read to be left out.
        pairs = json.dumps([(one.hex(), record_of(one).hex()) for one in event_ids])
        with self._database.read() as connection:
            for event_id, *item in connection.execute(_MADE.format(scoped), (pairs, *values)):
                found.setdefault(event_id, []).append(Made(*item))
        return found

    def hold(self, keys: Sequence[int]) -> None:
        found = self._store.shown(keys).values()
        self.sources_of({memory.memory_id: memory.owner for memory in found if not memory.version_of}, 1)

    def told(
        self, memories: Sequence[Memory], sources: Mapping[bytes, Sources], tell: Callable[[Memory, Sources], bytes]
    ) -> list[bytes]:
        # Another version of a memory stands beside it and is told anew.
        rests = [sources[memory.version_of or memory.memory_id] for memory in memories]
        held = self._recent.told(zip(memories, rests, strict=True))
        found, made = [], []
        for memory, its in zip(memories, rests, strict=True):
            content = held.get(memory.memory_id)
            if content is None:
                content = tell(memory, its)
                made.append((memory, its, content))
            found.append(content)
        self._recent.keep_told([one for one in made if not one[0].version_of])
        return found

    def _sources(self, owners: Mapping[bytes, str]) -> dict[bytes, Sources]:
        """Whole, of those that have any and can be opened."""
        found: dict[bytes, Sources] = {}
        with self._database.read() as connection:
            lines = connection.execute(_SOURCES, (listed(owners),)).fetchall()
        by_memory: dict[bytes, list[Any]] = {}
        for line in lines:
            by_memory.setdefault(line[3], []).append(line)
        for memory_id, told in by_memory.items():
            # By time, event and method; which no two have in common.
            told.sort(key=_ORDER)
            at_us, event_id, method, _, *rest = told[0]
            try:
                sealer = self._sealers.sealer(owners[memory_id], create=False)
                first = rows.open_evidence((memory_id, event_id, method, at_us, *rest), sealer)
            except (KeyDestroyed, WrongKey):
                continue
            found[memory_id] = Sources(first, tuple(line[1] for line in told))
        return found

    def forget_destroyed(self) -> None:
        self._recent.forget_destroyed()

    def around(self, memory: Memory, limit: int) -> tuple[list[Memory], list[Memory]]:
        values = [*memory.scope, memory.session_id, memory.memory_id, memory.said_at_us, memory.memory_id, limit]
        return self._memories_where(_BEFORE, values), self._memories_where(_AFTER, values)

    def withdrawn(self, scopes: Sequence[Scope], limit: int) -> list[bytes]:
        scoped, values = rows.within(scopes)
        clause = (
            f"WHERE {scoped} AND m.status = 'invalid' AND m.kind = 'record' ORDER BY m.received_at_us DESC, m.memory_id LIMIT ?"
        )
        with self._database.read() as connection:
            return [row[0] for row in connection.execute(f"SELECT m.memory_id FROM memory m {clause}", [*values, limit])]

    def edited(self, scopes: Sequence[Scope], limit: int) -> list[Memory]:
        scoped, values = rows.within(scopes)
        # Of records only former versions are superseded.
        former = f"SELECT m.version_of FROM memory m WHERE {scoped} AND m.status = 'superseded' AND m.kind = 'record'"
        clause = f"WHERE m.memory_id IN ({former}) AND m.status = 'active' ORDER BY m.received_at_us DESC, m.memory_id LIMIT ?"
        return self._memories_where(clause, [*values, limit])

    def _memories_where(self, clause: str, values: Sequence[object]) -> list[Memory]:
        with self._database.read() as connection:
            found = connection.execute(f"{rows.SELECT} {clause}", values).fetchall()
        opened = (rows.open_row(row, self._sealers) for row in found)
        return [one[1] for one in opened if one is not None]
