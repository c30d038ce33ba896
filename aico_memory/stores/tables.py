"""In-memory tables that commit together with a consumer's cursor: what stores' twins stand on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, Self, TypeVar

from aico_memory.stores.sql.twin import MemoryConsumerState, MemoryTransaction


class Tables(Protocol):
    """Containers of frozen records."""

    def copy(self) -> Self:
        """Containers of their own with the same records."""


T = TypeVar("T", bound=Tables)


class TableState(MemoryConsumerState, Generic[T]):
    """A consumer's state whose transactions carry the tables along: all of it or nothing."""

    def __init__(self, tables: T) -> None:
        super().__init__()
        self.tables = tables
        self._draft: T | None = None

    @contextmanager
    def transaction(self) -> Iterator[MemoryTransaction]:
        with super().transaction() as transaction:
            self._draft = self.tables.copy()
            try:
                yield transaction
                self.tables = self._draft
            finally:
                self._draft = None

    def draft(self) -> T:
        """The tables as the open transaction sees and changes them."""
        if self._draft is None:
            raise RuntimeError("No transaction is open")
        return self._draft
