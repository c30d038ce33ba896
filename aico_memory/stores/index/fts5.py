"""The text index in the store's own encrypted database: FTS5, written in the transaction of the memory itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from aico_memory.domain.memory import Scope
from aico_memory.ids import stable_hash64
from aico_memory.stores.index.text_port import TextHit

_PUT = "INSERT OR REPLACE INTO memory_text(rowid, scope, words) VALUES (?, ?, ?)"
_REMOVE = "DELETE FROM memory_text WHERE rowid = ?"
# `rank` is configured in the schema as bm25 with weight 0 for the scope; lower is better there.
_RANKED = "SELECT rowid, -rank FROM memory_text WHERE memory_text MATCH ? ORDER BY rank, rowid"
_COUNT = "SELECT count(*) FROM memory_text_docsize"
_CHUNK = 64


class Fts5TextIndex:
    """BM25 over the table `memory_text` of a connection, whose transaction is the caller's."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def put(self, key: int, scope: Scope, tokens: Sequence[str]) -> None:
        self._connection.execute(_PUT, (key, scope_token(scope), " ".join(tokens)))

    def remove(self, keys: Iterable[int]) -> None:
        self._connection.executemany(_REMOVE, [(key,) for key in keys])

    def ranked(self, tokens: Sequence[str], scopes: Sequence[Scope]) -> Iterator[TextHit]:
        if not tokens or not scopes:
            return
        named = " OR ".join(f'"{scope_token(scope)}"' for scope in scopes)
        words = " OR ".join(f'"{token}"' for token in dict.fromkeys(tokens))
        cursor = self._connection.execute(_RANKED, (f"scope:({named}) AND words:({words})",))
        while rows := cursor.fetchmany(_CHUNK):
            yield from (TextHit(key, score) for key, score in rows)

    def count(self) -> int:
        return int(self._connection.execute(_COUNT).fetchone()[0])


def scope_token(scope: Scope) -> str:
    """The token that stands for a scope: no user id can be mistaken for another's word."""
    return f"s{stable_hash64(scope.key):016x}"
