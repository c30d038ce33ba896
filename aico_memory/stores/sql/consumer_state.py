"""Cursor, bus outbox and attempts of a durable consumer, in its own database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.stores.sql.database import Database
from aico_memory.stores.sql.dialect import Connection

_SET_CURSOR = """
INSERT INTO bus_cursor (one, epoch, global_sequence) VALUES (1, ?, ?)
ON CONFLICT (one) DO UPDATE SET epoch = excluded.epoch, global_sequence = excluded.global_sequence
"""
_EMIT = "INSERT INTO bus_outbox (event_id, topic, user_id, envelope) VALUES (?, ?, ?, ?) ON CONFLICT (event_id) DO NOTHING"
_OUTGOING = "SELECT event_id, topic, user_id, envelope FROM bus_outbox ORDER BY position LIMIT ?"
_ATTEMPT = """
INSERT INTO bus_attempts (event_id, attempts) VALUES (?, 1)
ON CONFLICT (event_id) DO UPDATE SET attempts = attempts + 1 RETURNING attempts
"""


class SqlTransaction:
    """One transaction of the store; effects go through `connection`."""

    __slots__ = ("connection",)

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def set_cursor(self, epoch: int, global_sequence: int) -> None:
        self.connection.execute(_SET_CURSOR, (epoch.to_bytes(8, "big"), global_sequence))

    def emit(self, record: OutgoingRecord) -> None:
        self.connection.execute(_EMIT, (record.event_id, record.topic, record.user, record.envelope))


class SqlConsumerState:
    """The port `ConsumerState` on a Database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def cursor(self) -> tuple[int, int]:
        with self._database.read() as connection:
            row = connection.execute("SELECT epoch, global_sequence FROM bus_cursor").fetchone()
        return (0, 0) if row is None else (int.from_bytes(row[0], "big"), row[1])

    @contextmanager
    def transaction(self) -> Iterator[SqlTransaction]:
        with self._database.write() as connection:
            yield SqlTransaction(connection)

    def outgoing(self, limit: int) -> list[OutgoingRecord]:
        with self._database.read() as connection:
            return [OutgoingRecord(*row) for row in connection.execute(_OUTGOING, (limit,))]

    def settle_outgoing(self, event_ids: Sequence[bytes]) -> None:
        if event_ids:
            with self._database.write() as connection:
                connection.executemany("DELETE FROM bus_outbox WHERE event_id = ?", [(one,) for one in event_ids])

    def note_attempt(self, event_id: bytes) -> int:
        with self._database.write() as connection:
            return int(connection.execute(_ATTEMPT, (event_id,)).fetchall()[0][0])

    def forget_attempts(self, event_id: bytes) -> None:
        with self._database.read() as connection:
            noted = connection.execute("SELECT 1 FROM bus_attempts WHERE event_id = ?", (event_id,)).fetchone()
        # Nearly always nothing was noted, and then nothing is written.
        if noted:
            with self._database.write() as connection:
                connection.execute("DELETE FROM bus_attempts WHERE event_id = ?", (event_id,))
