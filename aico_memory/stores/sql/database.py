"""One encrypted database file: one owner process, one writer at a time, a reader a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Self
from weakref import WeakSet

from sqlcipher3 import dbapi2

from aico_memory.errors import AicoMemoryError, StoreCorrupt, WrongKey
from aico_memory.stores.ownership import OwnerLock, check_key, leave_proof
from aico_memory.stores.sql.dialect import PLAIN_HEADER, Connection, connect, translated
from aico_memory.stores.sql.migrating import migrate, read_migrations
from aico_memory.vault.permissions import FILE_MODE, make_private_folder

# A database up to this size is read through at start (about half a second); a larger one only as far
# as its schema, since every page is authenticated whenever it is read.
FULL_CHECK_BYTES = 128 * 1024 * 1024
_CLOSE_SECONDS = 5.0


class _Reader:
    """A thread's own connection, and how deep it is in nested reads."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.depth = 0


class Database:
    """SQLCipher in WAL mode with full sync; readers never wait for the writer."""

    def __init__(self, path: Path, key: bytes | None, lock: OwnerLock, writer: Connection) -> None:
        """Use `open`."""
        self.path = path
        self._key = key
        self._lock = lock
        self._writer = writer
        self._writing = threading.Lock()
        self._writing_thread = 0
        self._threads = threading.local()
        self._readers: WeakSet[_Reader] = WeakSet()
        self._idle = threading.Condition()
        self._reading = 0
        self._closed = False
        self._last_work: list[Callable[[], None]] = []
        # Transactions that have ended; whoever was told that one stands finds it counted.
        self.written = 0

    @classmethod
    def open(cls, path: Path, key: bytes | None, migrations: Traversable) -> Self:
        """Open or make the database and bring its schema up to date; `key` None means encryption is off.

        `migrations` is a folder of NNN_name.sql, e.g. `files("aico_memory.stores.semantic") / "migrations"`.
        Raises WrongKey (nothing is touched), StoreLocked, StoreCorrupt, VersionMismatch.
        """
        make_private_folder(path.parent)
        lock = OwnerLock(path.with_name(path.name + ".lock"))
        try:
            proof = path.with_name(path.name + ".proof")
            proven = check_key(proof, key)
            _check_kind(path, key)
            if not path.exists():
                leave_proof(proof, key)
                path.touch(FILE_MODE)
            with translated(path):
                writer = _open_checked(path, key, migrations, proven)
            leave_proof(proof, key)
            lock.sign()
        except BaseException:
            lock.release()
            raise
        return cls(path, key, lock, writer)

    @contextmanager
    def write(self, ended: Callable[[], None] | None = None) -> Iterator[Connection]:
        """One transaction: committed and synced on a clean exit, rolled back on any exception.

        `ended` is called when it stands or is taken back, before the next one can begin.
        """
        if self._writing_thread == threading.get_ident():
            raise RuntimeError("A write transaction inside a write transaction of the same thread")
        with self._writing:
            self._writing_thread = threading.get_ident()
            try:
                with translated(self.path):
                    self._writer.execute("BEGIN IMMEDIATE")
                    try:
                        yield self._writer
                        self._writer.execute("COMMIT")
                    except BaseException:
                        self._roll_back()
                        raise
            finally:
                self.written += 1
                if ended is not None:
                    ended()
                self._writing_thread = 0

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A thread's own connection on one consistent snapshot; nested reads share it. Keep it short."""
        with self._idle:
            if self._closed:
                raise RuntimeError(f"{self.path} is closed")
            self._reading += 1
        try:
            with translated(self.path):
                reader = self._reader()
                if reader.depth == 0:
                    reader.connection.execute("BEGIN")
                reader.depth += 1
                try:
                    yield reader.connection
                finally:
                    reader.depth -= 1
                    if reader.depth == 0:
                        reader.connection.execute("ROLLBACK")
        finally:
            with self._idle:
                self._reading -= 1
                self._idle.notify_all()

    @property
    def in_snapshot(self) -> bool:
        """Whether this thread is inside a `read`."""
        found: _Reader | None = getattr(self._threads, "reader", None)
        return found is not None and found.depth > 0

    def before_close(self, work: Callable[[], None]) -> None:
        """What is still to be written when the database is closed; not where its process dies."""
        self._last_work.append(work)

    def close(self) -> None:
        """Wait for the transactions under way, empty the log into the database and let it go; twice does nothing."""
        while self._last_work:
            # A full disk must not keep anybody from closing.
            with suppress(dbapi2.DatabaseError, AicoMemoryError):
                self._last_work.pop()()
        with self._idle:
            if self._closed:
                return
            self._closed = True
            self._idle.wait_for(lambda: self._reading == 0, _CLOSE_SECONDS)
        with self._writing:
            for reader in list(self._readers):
                reader.connection.close()
            # Without room for that the log stays, and the next start empties it.
            with suppress(dbapi2.DatabaseError):
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._writer.close()
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _reader(self) -> _Reader:
        found: _Reader | None = getattr(self._threads, "reader", None)
        if found is None:
            found = self._threads.reader = _Reader(connect(self.path, self._key, reader=True))
            with self._idle:
                self._readers.add(found)
        return found

    def _roll_back(self) -> None:
        # A full disk or a failed commit may have rolled back already.
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")


def _check_kind(path: Path, key: bytes | None) -> None:
    """Tell a plain database from an encrypted one before the library opens it."""
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb") as opened:
        plain = opened.read(len(PLAIN_HEADER)) == PLAIN_HEADER
    if plain and key is not None:
        raise WrongKey(f"{path} was made with encryption off", "Set security.encryption to off, or choose a fresh home.")
    if not plain and key is None:
        raise WrongKey(f"{path} is encrypted and no key was given", "Set security.encryption to on.")


def _open_checked(path: Path, key: bytes | None, migrations: Traversable, proven: bool) -> Connection:
    try:
        writer = connect(path, key)
    except Exception as error:
        if proven and "not a database" in str(error):
            raise StoreCorrupt(f"{path} does not open although its key is right: its first page is damaged") from error
        raise
    try:
        # After a kill the log holds what is committed; the pages are judged once it has been emptied.
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        _check_pages(writer, path, key)
        own = read_migrations("bus", files("aico_memory.stores.sql") / "migrations")
        migrate(writer, path, [*own, *read_migrations("store", migrations)])
    except BaseException:
        writer.close()
        raise
    return writer


def _check_pages(connection: Connection, path: Path, key: bytes | None) -> None:
    if path.stat().st_size > FULL_CHECK_BYTES:
        return
    damaged = connection.execute("PRAGMA cipher_integrity_check").fetchall() if key is not None else []
    if not damaged:
        damaged = [row for row in connection.execute("PRAGMA quick_check(3)") if row[0] != "ok"]
    if damaged:
        raise StoreCorrupt(f"{path} fails its check: {damaged[0][0]}")
