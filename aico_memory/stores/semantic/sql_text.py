"""The truth of the in-memory text index: memories by scope, and which of them have changed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from aico_memory.domain.memory import Memory, Scope
from aico_memory.stores.index.text_source import Change
from aico_memory.stores.semantic import rows
from aico_memory.stores.semantic.sql_store import SqlSemanticStore

# Every change of a memory leaves an entry in the outbox of the indexes; the indexer lets the text index see it first.
_POSITION = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'index_outbox'), 0)"
_CHANGES = """
SELECT o.entry, o.row_no, s.kind, s.id FROM index_outbox o JOIN memory m USING (row_no) JOIN scope s USING (scope_no)
WHERE o.entry > ? ORDER BY o.entry LIMIT ?
"""
_OF_SCOPE = "SELECT scope_no FROM scope WHERE kind = ? AND id = ?"


class SqlTextSource:
    """The port `TextSource` on the store's database."""

    def __init__(self, store: SqlSemanticStore) -> None:
        self._database = store.database
        self._sealers = store.sealers

    def position(self) -> int:
        with self._database.read() as connection:
            return int(connection.execute(_POSITION).fetchone()[0])

    def changes(self, after: int, limit: int) -> list[Change]:
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
