"""What was read of a database, at hand as long as nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from aico_memory.stores.sql.database import Database
from aico_memory.stores.sql.dialect import Connection

_Value = TypeVar("_Value")


class Latest(Generic[_Value]):
    """One value that many ask for: read again after a transaction, inside of a snapshot always from that. Any thread."""

    def __init__(self, database: Database, read: Callable[[Connection], _Value]) -> None:
        self._database = database
        self._read = read
        self._kept: tuple[int, _Value] | None = None

    def __call__(self) -> _Value:
        """As it was committed last."""
        database, kept = self._database, self._kept
        in_snapshot, written = database.in_snapshot, database.written
        if kept is not None and kept[0] == written and not in_snapshot:
            return kept[1]
        with database.read() as connection:
            value = self._read(connection)
        if not in_snapshot:
            # Counted before it was read: what was committed meanwhile may be in it, and it is read again.
            self._kept = written, value
        return value
