"""Ports of L1: the store of memories, and the queue that keeps its indexes up to date."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from aico_memory.contracts.consumer_state import ConsumerState, ConsumerTransaction
from aico_memory.domain.memory import Evidence, Evolution, Memory, Scope, View
from aico_memory.stores.index.text_port import TextHit
from aico_memory.stores.index.vector_port import Vector, VectorEntry, VectorSource
from aico_memory.stores.semantic.item_port import ItemReads, ItemWrites
from aico_memory.stores.semantic.labels import Labels
from aico_memory.stores.semantic.sleep_port import SleepReads, SleepWrites
from aico_memory.stores.sql.ledger import Ledger


@dataclass(frozen=True, slots=True)
class PendingEntry:
    """A memory whose place in the vector index is to be brought up to date."""

    entry: int
    key: int


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A memory without a vector of its present text; `text` is None where its owner's key is destroyed."""

    key: int
    version: int
    text: str | None


@dataclass(frozen=True, slots=True)
class KeptVector:
    """The vector of a memory's text in this version."""

    key: int
    version: int
    vector: Vector


@dataclass(frozen=True, slots=True)
class IndexJob:
    """Maintenance that was asked for: `rebuild` makes all indexes anew, else they are checked."""

    event_id: bytes
    firing_id: str
    rebuild: bool
    stage: str = "text"
    after_row: int = 0


@dataclass(frozen=True, slots=True)
class Unread:
    """A message that a language model has yet to read: nothing of what it says, only whose it is and when to ask."""

    event_id: bytes
    owner: str
    scope: Scope
    # IANA zone of the speaker, or empty.
    zone: str
    queued_at_us: int
    next_at_us: int = 0
    tries: int = 0


class SemanticTransaction(ItemWrites, SleepWrites, ConsumerTransaction, Protocol):
    """One transaction: memories, cursor and what is to be published, or nothing."""

    def ledger(self) -> Ledger:
        """Self-adjustments."""

    def labels(self) -> Labels:
        """What self-adjustment learns from."""

    def memory(self, memory_id: bytes) -> Memory | None:
        """The memory as it stands inside this transaction."""

    def add(self, memory: Memory, evidence: Sequence[Evidence], tokens: Sequence[str], sequence: int) -> bool:
        """Store a new memory and put it into the indexes; False (and nothing done) where its id is known.

        `sequence` is the global sequence of the record that caused it: the vector follows later.
        """

    def replace(self, memory: Memory, tokens: Sequence[str] | None, sequence: int) -> None:
        """Store a known memory as it is now; `tokens` where its text is another one."""

    def add_evidence(self, evidence: Evidence) -> bool:
        """False where this event has already been noted for this memory by this method."""

    def evidence(self, memory_id: bytes) -> list[Evidence]:
        """What the memory rests on inside this transaction, oldest first."""

    def add_evolution(self, evolution: Evolution) -> None:
        """Note a change."""

    def note_use(self, memory_ids: Sequence[bytes], scope: Scope, at_us: int) -> int:
        """Count an access to these active memories of the scope; how many there were."""

    def read_later(self, unread: Unread) -> None:
        """A language model is to read this message; asked for again it stays as it is."""

    def add_job(self, job: IndexJob) -> None:
        """Ask for index maintenance; the same event asks once."""

    def finish_job(self, event_id: bytes) -> None:
        """This maintenance is done."""


class SemanticStore(ItemReads, SleepReads, ConsumerState, Protocol):
    """Memories. Every read names its scopes; what lies in another scope is not there."""

    def transaction(self) -> AbstractContextManager[SemanticTransaction]:
        """Commit on a clean exit, roll back on an exception."""

    def reading_ledger(self) -> AbstractContextManager[Ledger]:
        """Self-adjustments as last committed; for reading only."""

    def reading_labels(self) -> AbstractContextManager[Labels]:
        """Labels as last committed; for reading only."""

    def get(self, memory_ids: Sequence[bytes], scopes: Sequence[Scope]) -> list[Memory]:
        """Those of these memories that lie in the scopes, whatever their status, in the order asked."""

    def page(self, view: View, after: bytes, limit: int) -> list[Memory]:
        """The memories that a view admits, in the order in which they were made, beyond the memory `after` (b"": all)."""

    def admitted(self, keys: Sequence[int], view: View, *, shown: bool = False) -> dict[int, Memory]:
        """Those of these rows that the view admits now; with `shown` of each only what a context weighs and shows."""

    def search_text(self, tokens: Sequence[str], view: View, limit: int) -> list[TextHit]:
        """The `limit` best by BM25 among those that the view admits."""

    def evidence(self, memory_ids: Sequence[bytes]) -> dict[bytes, list[Evidence]]:
        """What each memory rests on, oldest first."""

    def evolution(self, memory_id: bytes) -> list[Evolution]:
        """The changes of a memory, oldest first."""

    def languages(self, scopes: Sequence[Scope], limit: int) -> list[str]:
        """In which languages these scopes speak, most frequent first."""

    def export(self, owner: str, after: bytes, limit: int) -> list[Memory]:
        """All memories of an owner ("": of everybody), by ascending id, beyond `after`."""

    def count(self) -> int:
        """How many memories there are in all."""

    def close(self) -> None:
        """Let the store go."""


class IndexQueue(Protocol):
    """What the indexer works on; the truth of the vectors is here."""

    def fingerprint(self) -> str:
        """Fingerprint of the model with which the index is built; "" before the first vector."""

    def vectors(self, fingerprint: str) -> VectorSource:
        """The vectors of a model, as an index reads them."""

    def pending(self, limit: int) -> list[PendingEntry]:
        """The oldest entries of the outbox."""

    def oldest_pending(self) -> int:
        """Global sequence of the oldest entry of the outbox; 0 where it is empty."""

    def pending_count(self) -> int:
        """Entries of the outbox."""

    def unembedded(self, keys: Sequence[int], fingerprint: str) -> list[Unembedded]:
        """Those of these rows that have no vector of this model for their present text."""

    def missing(self, fingerprint: str, after: int, limit: int) -> list[int]:
        """Rows beyond `after` that have no vector of this model for their present text."""

    def keep(self, fingerprint: str, vectors: Sequence[KeptVector]) -> None:
        """Store vectors; the first model that is ever kept becomes the active one."""

    def entries(self, fingerprint: str, keys: Sequence[int]) -> list[VectorEntry]:
        """What the index should hold of these rows."""

    def settle(self, entries: Sequence[int]) -> None:
        """The index has these entries of the outbox."""

    def activate(self, fingerprint: str) -> None:
        """Build the index on this model from now on; vectors of every other are dropped."""

    def rows_after(self, after: int, limit: int) -> list[tuple[int, Memory]]:
        """Memories by row, beyond `after`; those that cannot be opened are left out."""

    def put_tokens(self, texts: Sequence[tuple[int, Scope, Sequence[str]]]) -> None:
        """Replace the words of these rows in the text index."""

    def job(self) -> IndexJob | None:
        """The oldest maintenance that is not finished."""

    def advance_job(self, job: IndexJob) -> None:
        """Remember how far it has come."""


class ReadingQueue(Protocol):
    """Messages that wait for a language model, by when they are to be asked for."""

    def due(self, now_us: int) -> Unread | None:
        """The one whose time came first, if any has come."""

    def postpone(self, unread: Unread) -> None:
        """Ask again as it says."""

    def settle(self, event_id: bytes) -> None:
        """It is read, or will not be."""

    def count(self) -> int:
        """How many wait."""
