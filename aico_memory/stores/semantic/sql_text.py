"""The truth of the in-memory text index: memories by scope, and which of them have changed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from aico_memory.domain.memory import Memory, Scope
from aico_memory.stores.index.text_source import Change
from aico_memory.stores.semantic import rows
from aico_memory.stores.semantic.sql_store import SqlSemanticStore
from aico_memory.stores.sql import Connection
from aico_memory.stores.sql.latest import Latest

# Every change of a memory leaves an entry in the outbox of the indexes; the indexer lets the text index see it first.
_POSITION = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'index_outbox'), 0)"
_CHANGES = """
SELECT o.entry, o.row_no, s.kind, s.id FROM index_outbox o JOIN memory m USING (row_no) JOIN scope s USING (scope_no)
WHERE o.entry > ? ORDER BY o.entry LIMIT ?
"""
_NEWEST = """
SELECT s.kind, s.id FROM (SELECT scope_no, row_no FROM memory ORDER BY row_no DESC LIMIT ?) m JOIN scope s USING (scope_no)
GROUP BY scope_no ORDER BY max(m.row_no) DESC
"""
_OF_SCOPE = "SELECT scope_no FROM scope WHERE kind = ? AND id = ?"


class SqlTextSource:
    """The port `TextSource` on the store's database."""

    def __init__(self, store: SqlSemanticStore) -> None:
        self._database = store.database
        self._sealers = store.sealers
        # Each question asks for what has changed: the number of the newest entry, which is told without looking.
        self._newest = Latest(self._database, _position)

    def position(self) -> int:
        return self._newest()

    def changes(self, after: int, limit: int) -> list[Change]:
        if self._newest() <= after:
            return []
        with self._database.read() as connection:
            found = connection.execute(_CHANGES, (after, limit)).fetchall()
        return [Change(entry, key, Scope(kind, name)) for entry, key, kind, name in found]

    def memories(self, scope: Scope, after: int, limit: int) -> list[tuple[int, Memory]]:
        clause = f"WHERE m.scope_no = ({_OF_SCOPE}) AND m.row_no > ? ORDER BY m.row_no LIMIT ?"
        with self._database.read() as connection:
            while True:
                lines = connection.execute(f"{rows.SELECT} {clause}", (*scope, after, limit)).fetchall()
                opened = [rows.open_row(line, self._sealers) for line in lines]
                found = [one for one in opened if one is not None]
                if found or not lines:
                    return found
                # A page that nobody can open any more is not the end.
                after = lines[-1][0]

    def newest(self, memories: int) -> list[Scope]:
        with self._database.read() as connection:
            return [Scope(kind, name) for kind, name in connection.execute(_NEWEST, (memories,))]

    def opened(self, keys: Sequence[int]) -> list[tuple[int, Memory]]:
        clause = "WHERE m.row_no IN (SELECT value FROM json_each(?)) ORDER BY m.row_no"
        with self._database.read() as connection:
            lines = connection.execute(f"{rows.SELECT} {clause}", (json.dumps(list(keys)),)).fetchall()
        opened = [rows.open_row(line, self._sealers) for line in lines]
        return [one for one in opened if one is not None]

    def size(self, scope: Scope) -> int:
        with self._database.read() as connection:
            sql = f"SELECT count(*) FROM memory m WHERE m.scope_no = ({_OF_SCOPE})"
            return int(connection.execute(sql, scope).fetchone()[0])


def _position(connection: Connection) -> int:
    return int(connection.execute(_POSITION).fetchone()[0])
