"""The queue of messages for a language model, in the same database: committed with their records, gone when read."""

from __future__ import annotations

from aico_memory.domain.memory import Scope
from aico_memory.stores.semantic.port import Unread
from aico_memory.stores.sql import Database

_COLUMNS = "event_id, owner, scope_kind, scope_id, zone, queued_at_us, next_at_us, tries"
QUEUE = f"INSERT INTO unread_message ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (event_id) DO NOTHING"
_DUE = f"""
SELECT {_COLUMNS} FROM unread_message WHERE next_at_us <= ? ORDER BY next_at_us, queued_at_us, event_id LIMIT 1
"""


def queue_row(unread: Unread) -> tuple[object, ...]:
    """The values of a row, in the order of the columns."""
    return (
        unread.event_id, unread.owner, *unread.scope, unread.zone, unread.queued_at_us, unread.next_at_us, unread.tries,
    )  # fmt: skip


class SqlReadingQueue:
    """The port `ReadingQueue` on the store's database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def due(self, now_us: int) -> Unread | None:
        with self._database.read() as connection:
            row = connection.execute(_DUE, (now_us,)).fetchone()
        return None if row is None else Unread(row[0], row[1], Scope(row[2], row[3]), *row[4:])

    def postpone(self, unread: Unread) -> None:
        with self._database.write() as connection:
            connection.execute(
                "UPDATE unread_message SET next_at_us = ?, tries = ? WHERE event_id = ?",
                (unread.next_at_us, unread.tries, unread.event_id),
            )

    def settle(self, event_id: bytes) -> None:
        with self._database.write() as connection:
            connection.execute("DELETE FROM unread_message WHERE event_id = ?", (event_id,))

    def count(self) -> int:
        with self._database.read() as connection:
            return int(connection.execute("SELECT count(*) FROM unread_message").fetchone()[0])
