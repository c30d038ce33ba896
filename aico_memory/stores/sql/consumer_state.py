"""Cursor, bus outbox and attempts of a durable consumer, in its own database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.stores.sql.database import Database
from aico_memory.stores.sql.dialect import Connection
from aico_memory.stores.sql.latest import Latest
from aico_memory.stores.sql.outgoing import OutgoingHead

_SET_CURSOR = """
INSERT INTO bus_cursor (one, epoch, global_sequence) VALUES (1, ?, ?)
ON CONFLICT (one) DO UPDATE SET epoch = excluded.epoch, global_sequence = excluded.global_sequence
"""
_EMIT = "INSERT INTO bus_outbox (event_id, topic, user_id, envelope) VALUES (?, ?, ?, ?) ON CONFLICT (event_id) DO NOTHING"
_OUTGOING = "SELECT event_id, topic, user_id, envelope FROM bus_outbox ORDER BY position LIMIT ?"
_FORGET = "DELETE FROM bus_outbox WHERE event_id = ?"
_ATTEMPT = """
INSERT INTO bus_attempts (event_id, attempts) VALUES (?, 1)
ON CONFLICT (event_id) DO UPDATE SET attempts = attempts + 1 RETURNING attempts
"""
# Settled records that stand in the table until the next transaction takes them out with it; more get one of their own.
_SETTLED_AT_ONCE = 512


class SqlTransaction:
    """One transaction of the store; effects go through `connection`."""

    __slots__ = ("connection", "emitted")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.emitted: list[OutgoingRecord] = []

    def set_cursor(self, epoch: int, global_sequence: int) -> None:
        self.connection.execute(_SET_CURSOR, (epoch.to_bytes(8, "big"), global_sequence))

    def emit(self, record: OutgoingRecord) -> None:
        if self.connection.execute(_EMIT, (record.event_id, record.topic, record.user, record.envelope)).rowcount > 0:
            self.emitted.append(record)


_Transaction = TypeVar("_Transaction", bound=SqlTransaction)


class SqlConsumerState:
    """The port `ConsumerState` on a Database.

    What is to be published is read from memory as far as this process has emitted it, and what was published leaves the
    table with the next transaction: a record costs one commit, not two, and no page is read for it. Whoever dies before
    that publishes it again under the same id.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        # Held over commit and note, so that records are known in the order in which they were committed.
        self._committing = threading.RLock()
        self._head = OutgoingHead()
        # Asked for by each question.
        self._cursor = Latest(database, _cursor)
        database.before_close(self.forget_settled)

    def cursor(self) -> tuple[int, int]:
        return self._cursor()

    @contextmanager
    def transaction(self) -> Iterator[SqlTransaction]:
        with self.committing(SqlTransaction) as transaction:
            yield transaction

    @contextmanager
    def committing(
        self, begin: Callable[[Connection], _Transaction], ended: Callable[[], None] | None = None
    ) -> Iterator[_Transaction]:
        """A transaction of a kind that a store adds its own writes to; `ended` as for `Database.write`."""
        with self._committing:
            with self._database.write(ended) as connection:
                settled = self._head.settled()
                if settled:
                    connection.executemany(_FORGET, [(one,) for one in settled])
                transaction = begin(connection)
                yield transaction
            self._head.committed(transaction.emitted, settled)

    def outgoing(self, limit: int) -> list[OutgoingRecord]:
        return self._head.oldest(limit, self._stored)

    def settle_outgoing(self, event_ids: Sequence[bytes]) -> None:
        if self._head.settle(event_ids) > _SETTLED_AT_ONCE:
            self.forget_settled()

    def forget_settled(self) -> None:
        if self._head.settled():
            with self.committing(SqlTransaction):
                pass

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

    def _stored(self, limit: int) -> list[OutgoingRecord]:
        with self._database.read() as connection:
            return [OutgoingRecord(*row) for row in connection.execute(_OUTGOING, (limit,))]


def _cursor(connection: Connection) -> tuple[int, int]:
    row = connection.execute("SELECT epoch, global_sequence FROM bus_cursor").fetchone()
    return (0, 0) if row is None else (int.from_bytes(row[0], "big"), row[1])
