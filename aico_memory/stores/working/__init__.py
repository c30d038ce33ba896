"""L0 on disk: conversations, pending experiences and Miller buffers, behind one port."""

from aico_memory.stores.working.lmdb_store import LmdbWorkingStore
from aico_memory.stores.working.port import Counts, PendingUser, Sweeping, WorkingStore, WorkingTransaction
from aico_memory.stores.working.twin import MemoryWorkingStore

__all__ = [
    "Counts",
    "LmdbWorkingStore",
    "MemoryWorkingStore",
    "PendingUser",
    "Sweeping",
    "WorkingStore",
    "WorkingTransaction",
]
