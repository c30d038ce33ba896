"""The bus journal: sealed records in LMDB segments, read again by range."""

from aico_memory.bus.journal.journal import Appended, Journal
from aico_memory.bus.journal.meta import ConsumerEntry, JournalMeta, Trim
from aico_memory.bus.journal.reading import Range, missing, positions, read_range
from aico_memory.bus.journal.stamping import Pending, Provenance

__all__ = [
    "Appended", "ConsumerEntry", "Journal", "JournalMeta", "Pending", "Provenance", "Range", "Trim",
    "missing", "positions", "read_range",
]  # fmt: skip
