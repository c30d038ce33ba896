"""Working memory on LMDB: sealed values under time-ordered keys, cursor and effect in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Self

from aico_memory.contracts.v1.working_pb2 import StoredMessage
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.domain.working.buffer import BufferEntry
from aico_memory.errors import NotFound, WrongKey
from aico_memory.stores.ownership import OwnerLock, check_key, leave_proof
from aico_memory.stores.working.environment import Environment
from aico_memory.stores.working.layout import CURSOR, NEWEST, NUMBER, TABLES, USER_HEAD, Place, time_key, time_of
from aico_memory.stores.working.lmdb_transaction import EXPIRED, EXPIRED_UNREPLAYED, LmdbTransaction
from aico_memory.stores.working.port import BufferRule, Counts, PendingUser
from aico_memory.stores.working.sealing import Seals
from aico_memory.vault.master import Vault
from aico_memory.vault.permissions import make_private_folder

STORE = "working"
DATA_FILE = "data.mdb"


class LmdbWorkingStore:
    """The port `WorkingStore` on disk; one owner process."""

    def __init__(self, environment: Environment, seals: Seals, lock: OwnerLock) -> None:
        """Use `open`."""
        self._environment = environment
        self._table = environment.table
        self._seals = seals
        self._lock = lock
        self._unreadable = 0

    @classmethod
    def open(cls, folder: Path, vault: Vault, map_bytes: int) -> Self:
        """Open or make the store; WrongKey (nothing is touched), StoreLocked, StoreCorrupt."""
        make_private_folder(folder)
        lock = OwnerLock(folder / "store.lock")
        try:
            key = vault.store_key(STORE)
            if not check_key(folder / "store.proof", key) and key is not None:
                if (folder / DATA_FILE).exists():
                    raise WrongKey(
                        f"{folder} was made with encryption off", "Set security.encryption to off, or choose a fresh home."
                    )
                leave_proof(folder / "store.proof", key)
            environment = Environment(folder, TABLES, map_bytes)
            lock.sign()
        except BaseException:
            lock.release()
            raise
        return cls(environment, Seals(vault, STORE), lock)

    @contextmanager
    def transaction(self) -> Iterator[LmdbTransaction]:
        with self._environment.write() as raw:
            yield LmdbTransaction(raw, self._environment, self._seals)

    def cursor(self) -> tuple[int, int]:
        with self._environment.read() as raw:
            packed = raw.get(b"cursor", db=self._table("meta"))
        epoch, sequence = (0, 0) if packed is None else CURSOR.unpack(packed)
        return epoch, sequence

    def outgoing(self, limit: int) -> list[OutgoingRecord]:
        with self._environment.read() as raw, raw.cursor(db=self._table("outgoing")) as cursor:
            sealed = [(bytes(key), bytes(value)) for key, value in islice(cursor, limit)]
        opened = [(position, self._seals.open_outgoing(value)) for position, value in sealed]
        lost = [position for position, record in opened if record is None]
        if lost:
            self._drop_outgoing(lost)
        return [record for _, record in opened if record is not None]

    def settle_outgoing(self, event_ids: Sequence[bytes]) -> None:
        if event_ids:
            with self.transaction() as transaction:
                transaction.settle(event_ids)

    def forget_settled(self) -> None:
        """They left with the call that settled them."""

    def note_attempt(self, event_id: bytes) -> int:
        with self.transaction() as transaction:
            return transaction.attempt(event_id)

    def forget_attempts(self, event_id: bytes) -> None:
        with self._environment.read() as raw:
            noted = raw.get(event_id, db=self._table("attempts")) is not None
        if noted:
            with self.transaction() as transaction:
                transaction.forget_attempts(event_id)

    def read(self, user: str, session: str = "", limit: int = 100, before: bytes = b"") -> list[StoredMessage]:
        digest = self._seals.name(user)
        table, prefix = ("sessions", digest + self._seals.name(session)) if session else ("messages", digest)
        with self._environment.read() as raw:
            end = NEWEST
            if before:
                place = self._place(raw, digest, before)
                end = place.said + place.order
            with raw.cursor(db=self._table(table)) as cursor:
                keys = [digest + key[-16:] for key in islice(_backwards(cursor, prefix, end), limit)]
            messages = self._table("messages")
            found = [(key, raw.get(key, db=messages)) for key in reversed(keys)]
        return self._open(user, found)

    def experiences(self, user: str, limit: int, until_us: int = 0, after: bytes = b"") -> list[StoredMessage]:
        digest = self._seals.name(user)
        end = digest + (time_key(until_us) if until_us else NEWEST)
        with self._environment.read() as raw:
            start = digest
            if after:
                # One byte more is the next key that can follow.
                start = self._place(raw, digest, after).pending_key + b"\0"
            found = []
            with raw.cursor(db=self._table("pending")) as cursor:
                for event_id in islice(_between(cursor, start, end), limit):
                    key = Place.unpack(raw.get(event_id, db=self._table("by_event"))).message_key
                    found.append((key, raw.get(key, db=self._table("messages"))))
        return self._open(user, found)

    def pending_users(self, limit: int, after: str = "") -> list[PendingUser]:
        found = []
        with self._environment.read() as raw, raw.cursor(db=self._table("users")) as cursor:
            for digest, value in cursor:
                _, pending = USER_HEAD.unpack_from(value)
                if pending:
                    with raw.cursor(db=self._table("pending")) as oldest:
                        oldest.set_range(digest)
                        received = time_of(oldest.key()[16:24])
                    found.append((bytes(value[USER_HEAD.size :]), pending, received))
        users = [PendingUser(self._seals.open_user(sealed), pending, oldest_us) for sealed, pending, oldest_us in found]
        return sorted(one for one in users if one.user > after)[:limit]

    def users(self, after: str = "") -> list[str]:
        with self._environment.read() as raw, raw.cursor(db=self._table("users")) as cursor:
            sealed = [bytes(value[USER_HEAD.size :]) for _, value in cursor]
        return sorted(user for user in map(self._seals.open_user, sealed) if user > after)

    def buffer(self, user: str, session: str) -> tuple[BufferEntry, ...]:
        key = self._seals.name(user) + self._seals.name(session)
        with self._environment.read() as raw:
            value = raw.get(key, db=self._table("buffers"))
        return () if value is None else self._seals.open_buffer(user, value[8:], key)

    def update_buffer(self, user: str, session: str, rule: BufferRule, touched_us: int) -> tuple[BufferEntry, ...]:
        key = self._seals.name(user) + self._seals.name(session)
        table = self._table("buffers")
        with self._environment.write() as raw:
            value = raw.get(key, db=table)
            entries = rule(() if value is None else self._seals.open_buffer(user, value[8:], key))
            if entries:
                raw.put(key, time_key(touched_us) + self._seals.seal_buffer(user, entries, key), db=table)
            elif value is not None:
                raw.delete(key, db=table)
        return entries

    def counts(self) -> Counts:
        with self._environment.read() as raw:
            entries = {name: raw.stat(self._table(name))["entries"] for name in ("messages", "pending", "users", "buffers")}
            expired, unreplayed = (
                NUMBER.unpack(raw.get(name, NUMBER.pack(0), db=self._table("meta")))[0]
                for name in (EXPIRED, EXPIRED_UNREPLAYED)
            )
        return Counts(**entries, expired=expired, expired_unreplayed=unreplayed, unreadable=self._unreadable)

    def close(self) -> None:
        self._environment.close()
        self._lock.release()

    def _open(self, user: str, found: list[tuple[bytes, bytes]]) -> list[StoredMessage]:
        opened = self._seals.open_messages(user, found)
        self._unreadable += len(found) - len(opened)
        return opened

    def _place(self, raw: Any, user_digest: bytes, event_id: bytes) -> Place:
        packed = raw.get(event_id, db=self._table("by_event")) if len(event_id) == 16 else None
        if packed is None or (place := Place.unpack(packed)).user != user_digest:
            raise NotFound("Working memory does not hold the message to go on from", "Read from the end again.")
        return place

    def _drop_outgoing(self, positions: list[bytes]) -> None:
        """Records of a user whose key was destroyed cannot be published any more."""
        with self._environment.write() as raw:
            for position in positions:
                raw.delete(position, db=self._table("outgoing"))


def _backwards(cursor: Any, prefix: bytes, end: bytes) -> Iterator[bytes]:
    """Keys below prefix + end that start with the prefix, the largest first."""
    if cursor.prev() if cursor.set_range(prefix + end) else cursor.last():
        yield from takewhile(lambda key: key.startswith(prefix), cursor.iterprev(values=False))


def _between(cursor: Any, start: bytes, end: bytes) -> Iterator[bytes]:
    """Values from start on, below end."""
    standing = cursor.set_range(start)
    while standing and cursor.key() < end:
        yield bytes(cursor.value())
        standing = cursor.next()
