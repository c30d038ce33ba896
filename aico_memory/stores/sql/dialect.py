"""SQLCipher through DB-API: connections with their pragmas, and errors in this project's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from sqlcipher3 import dbapi2

from aico_memory.errors import AicoMemoryError, StorageFull, StoreCorrupt, StoreLocked, WrongKey

BUSY_TIMEOUT_SECONDS = 5.0
# Statements a connection keeps compiled.
CACHED_STATEMENTS = 256
# The write-ahead log is cut to this size when it starts anew: 64 MiB.
WAL_LIMIT_BYTES = 64 * 1024 * 1024
# Pages that a reader keeps: each write of another connection empties its cache, so that a large one is seldom used again, and
# there is one a thread. The writer keeps as much as the library was made for (8 MB).
READER_KIB = 2000
PLAIN_HEADER = b"SQLite format 3\0"


class Cursor(Protocol):
    """The part of a DB-API cursor that stores use."""

    rowcount: int
    lastrowid: int | None

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """The part of a DB-API connection that stores use; rows are tuples."""

    in_transaction: bool

    def execute(self, sql: str, parameters: Sequence[object] | dict[str, object] = ..., /) -> Cursor: ...
    def executemany(self, sql: str, parameters: Iterable[Sequence[object] | dict[str, object]], /) -> Cursor: ...
    def close(self) -> None: ...


def connect(path: Path, key: bytes | None, *, reader: bool = False) -> Connection:
    """Open a connection that may be used by any thread, one at a time; autocommit, transactions by hand."""
    connection: Connection = dbapi2.connect(
        str(path),
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=CACHED_STATEMENTS,
    )
    try:
        if key is not None:
            # A raw key: ours is random, so SQLCipher need not stretch it.
            connection.execute(f"PRAGMA key = \"x'{key.hex()}'\"")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            "secure_delete = ON",
            "temp_store = MEMORY",
            "trusted_schema = OFF",
            "cell_size_check = ON",
            f"journal_size_limit = {WAL_LIMIT_BYTES}",
            f"query_only = {'ON' if reader else 'OFF'}",
            *((f"cache_size = -{READER_KIB}",) if reader else ()),
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn the library's errors that an operator can mend into ours; programming errors pass."""
    try:
        yield
    except dbapi2.DatabaseError as error:
        known = _translate(str(error), path)
        if known is None:
            raise
        raise known from error


def _translate(text: str, path: Path) -> AicoMemoryError | None:
    if "not a database" in text:
        return WrongKey(f"The key does not open {path}, or its first page is damaged")
    # A full disk shows as an I/O error too, where the shared index of the log cannot grow.
    if "disk is full" in text or "disk I/O error" in text:
        return StorageFull(f"{path} cannot be written: {text}")
    if "malformed" in text:
        return StoreCorrupt(f"{path} is damaged: {text}")
    if "database is locked" in text:
        return StoreLocked(f"{path} stays locked by another connection")
    return None
