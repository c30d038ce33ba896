"""What was read for contexts lately, opened: memories as they are shown, what they rest on, and both as they are told.

Kept in a bounded amount of memory and never stale. A writer names each memory before it changes it; from then on
nothing kept tells of it, and no reader whose snapshot is older than the end of that transaction may keep anything.
Whoever asks must hold the owner's key: what was sealed for somebody is dropped as soon as the key is gone.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

from aico_memory.domain.memory import Memory
from aico_memory.errors import KeyDestroyed, WrongKey
from aico_memory.stores.semantic.retrieval_port import Sources
from aico_memory.stores.semantic.rows import Sealers
from aico_memory.vault.sealer import Sealer

# About what the objects of one memory take beside its letters, and those of its sources beside their number.
_MEMORY_BYTES, _LETTER_BYTES = 1300, 2
_SOURCES_BYTES, _EVENT_BYTES = 700, 60
_TOLD_BYTES = 300
# Where nothing else is said.
RECENT_BYTES = 32 * 1024 * 1024
# Transactions of which it is remembered what they changed.
_REMEMBERED = 64


class _Told(NamedTuple):
    """The key of a memory as it is told."""

    memory_id: bytes


@dataclass(frozen=True, slots=True)
class _Message:
    """What was made of these two, and of no others."""

    memory: Memory
    sources: Sources
    content: bytes


# The row of a memory, the id of one whose sources these are, or how it is told.
_Key = int | bytes | _Told


@dataclass(frozen=True, slots=True)
class _Kept:
    memory_id: bytes
    owner: str
    # The key under which it was opened; another one has not sealed it.
    sealer: Sealer
    value: Memory | Sources | _Message
    size: int


class Recent:
    """Memories by row, sources and messages by memory, by last use. Thread-safe."""

    def __init__(self, sealers: Sealers, most_bytes: int) -> None:
        self._sealers = sealers
        self._most = most_bytes
        self._lock = Lock()
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._rows: dict[bytes, int] = {}
        self._of_owner: dict[str, set[_Key]] = {}
        self._bytes = 0
        # The key of each owner when it was last looked at.
        self._keys: dict[str, Sealer] = {}
        # How many transactions have ended that changed something; which memories the last ones changed, and whether what
        # they rest on, too; and the same of the present one.
        self._changes = 0
        self._changed: deque[Mapping[bytes, bool]] = deque(maxlen=_REMEMBERED)
        self._changing: dict[bytes, bool] = {}

    def since(self) -> int:
        """To be taken before a snapshot is opened whose rows are to be kept."""
        return self._changes

    def memories(self, rows: Iterable[int]) -> dict[int, Memory]:
        """Those of these rows that are at hand."""
        return {key: one for key, one in self._at_hand(rows).items() if isinstance(one, Memory)}  # type: ignore[misc]

    def sources(self, memory_ids: Iterable[bytes], most: int) -> dict[bytes, Sources]:
        """What those of these memories rest on that are at hand, `most` events of each."""
        found = self._at_hand(memory_ids)
        return {
            key: one if len(one.event_ids) <= most else one._replace(event_ids=one.event_ids[:most])  # type: ignore[misc]
            for key, one in found.items()
            if isinstance(one, Sources)
        }

    def keep_memories(self, since: int, found: Mapping[int, Memory]) -> None:
        """Keep memories as a snapshot that was opened after `since` showed them."""
        sizes = ((row, one, _MEMORY_BYTES + _LETTER_BYTES * len(one.text)) for row, one in found.items())
        self._keep(since, [(row, one.memory_id, one.owner, one, size) for row, one, size in sizes])

    def keep_sources(self, since: int, found: Mapping[bytes, Sources], owners: Mapping[bytes, str]) -> None:
        """The same of sources, whole."""
        self._keep(since, [
            (memory_id, memory_id, owners[memory_id], one, _SOURCES_BYTES + _EVENT_BYTES * len(one.event_ids))
            for memory_id, one in found.items()
        ])  # fmt: skip

    def told(self, asked: Iterable[tuple[Memory, Sources]]) -> dict[bytes, bytes]:
        """What was made of these memories, as they stand, and of what they rest on; by memory."""
        found = {}
        with self._lock:
            for memory, sources in asked:
                key = _Told(memory.memory_id)
                one = self._kept.get(key)
                if one is not None and isinstance(one.value, _Message):
                    message = one.value
                    if message.memory is memory and message.sources == sources:
                        found[memory.memory_id] = message.content
                        self._kept.move_to_end(key)
        return found

    def keep_told(self, made: Sequence[tuple[Memory, Sources, bytes]]) -> None:
        """Keep what was made of memories for as long as these, and what they rest on, are kept."""
        with self._lock:
            for memory, sources, content in made:
                row, rests = self._rows.get(memory.memory_id), self._kept.get(memory.memory_id)
                one = None if row is None else self._kept.get(row)
                if one is None or one.value is not memory or rests is None or not isinstance(rests.value, Sources):
                    continue
                # It may be told of fewer events than are kept.
                whole = rests.value
                if whole is not sources and whole._replace(event_ids=whole.event_ids[: len(sources.event_ids)]) != sources:
                    continue
                message = _Message(memory, sources, content)
                self._put(
                    _Told(memory.memory_id), _Kept(one.memory_id, one.owner, one.sealer, message, _TOLD_BYTES + len(content))
                )
            self._keep_bound()

    def changing(self, memory_id: bytes, evidence: bool = False) -> None:
        """A transaction is about to change this memory, or (`evidence`) what it rests on as well."""
        with self._lock:
            self._changing[memory_id] = evidence or self._changing.get(memory_id, False)
            if evidence:
                self._drop(memory_id)
            row = self._rows.get(memory_id)
            if row is not None:
                self._drop(row)

    def ended(self) -> None:
        """The transaction stands, or is taken back."""
        with self._lock:
            if self._changing:
                self._changed.append(self._changing)
                self._changing = {}
                self._changes += 1

    def status(self) -> dict[str, object]:
        """How many, and about how many bytes."""
        with self._lock:
            return {"kept": len(self._kept), "bytes": self._bytes}

    def forget_destroyed(self) -> None:
        """Drop what was sealed for those whose keys are gone, though nobody asks for it."""
        with self._lock:
            owners = set(self._of_owner)
            self._keys = {owner: key for owner, key in self._keys.items() if owner in owners}
        for owner in owners:
            self._sealer(owner)

    def _at_hand(self, keys: Iterable[_Key]) -> dict[_Key, Memory | Sources | _Message]:
        sealers: dict[str, Sealer | None] = {}
        found: dict[_Key, Memory | Sources | _Message] = {}
        for key in keys:
            one = self._kept.get(key)
            if one is None:
                continue
            if one.owner not in sealers:
                sealers[one.owner] = self._sealer(one.owner)
            if sealers[one.owner] is one.sealer:
                found[key] = one.value
        with self._lock:
            for key in found:
                if key in self._kept:
                    self._kept.move_to_end(key)
        return found

    def _keep(self, since: int, found: Iterable[tuple[_Key, bytes, str, Memory | Sources, int]]) -> None:
        found = list(found)
        # Only under a key that was known before and is the same now: no other one can have opened these.
        known = {owner: self._keys.get(owner) for _, _, owner, _, _ in found}
        sealers = {owner: self._sealer(owner) for owner in known}
        with self._lock:
            missed = self._changes - since
            if missed > len(self._changed):
                return
            later = [*(self._changed[-place] for place in range(1, missed + 1)), self._changing]
            for key, memory_id, owner, value, size in found:
                sealer, of_memory = sealers[owner], isinstance(key, int)
                moved = any(memory_id in one and (of_memory or one[memory_id]) for one in later)
                if sealer is None or sealer is not known[owner] or moved:
                    continue
                self._put(key, _Kept(memory_id, owner, sealer, value, size))
                if isinstance(key, int):
                    self._rows[memory_id] = key
            self._keep_bound()

    def _sealer(self, owner: str) -> Sealer | None:
        """The owner's key; where it is another than before, or gone, what was opened with the former is dropped."""
        sealer: Sealer | None = None
        with suppress(KeyDestroyed, WrongKey):
            sealer = self._sealers.sealer(owner, create=False)
        if self._keys.get(owner) is not sealer:
            with self._lock:
                for key in list(self._of_owner.get(owner, ())):
                    self._drop(key)
                if sealer is None:
                    self._keys.pop(owner, None)
                else:
                    self._keys[owner] = sealer
        return sealer

    def _put(self, key: _Key, one: _Kept) -> None:
        self._drop(key)
        self._kept[key] = one
        self._of_owner.setdefault(one.owner, set()).add(key)
        self._bytes += one.size

    def _keep_bound(self) -> None:
        while self._bytes > self._most:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: _Key) -> None:
        one = self._kept.pop(key, None)
        if one is None:
            return
        self._bytes -= one.size
        theirs = self._of_owner[one.owner]
        theirs.discard(key)
        if not theirs:
            del self._of_owner[one.owner]
        if isinstance(key, int):
            self._rows.pop(one.memory_id, None)
        if not isinstance(key, _Told):
            # What was made of it goes with it.
            self._drop(_Told(one.memory_id))
