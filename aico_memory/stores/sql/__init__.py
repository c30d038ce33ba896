"""Encrypted SQL: one database file a store, migrations in files, cursor and effect in one transaction."""

from aico_memory.stores.sql.consumer_state import SqlConsumerState, SqlTransaction
from aico_memory.stores.sql.database import Database
from aico_memory.stores.sql.dialect import Connection, Cursor
from aico_memory.stores.sql.twin import MemoryConsumerState, MemoryTransaction

__all__ = [
    "Connection",
    "Cursor",
    "Database",
    "MemoryConsumerState",
    "MemoryTransaction",
    "SqlConsumerState",
    "SqlTransaction",
]
