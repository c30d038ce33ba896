"""Answers and hot tiers that are kept until something changes in a scope that they rest on."""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError, Message

from aico_memory.clock import Clock
from aico_memory.contracts.registry import topic_of, topics
from aico_memory.contracts.v1 import context_pb2, envelope_pb2, semantic_pb2, sleep_pb2, working_pb2
from aico_memory.contracts.wire import StampedRecord
from aico_memory.domain.context.freshness import Applied, ScopeVersions, Versions
from aico_memory.domain.context.items import ContextItem
from aico_memory.settings.context import CacheSettings
from aico_memory.settings.identity import IdentitySettings

# Scopes whose versions are remembered one by one.
_SCOPES = 100_000
# What answers themselves cause must not end them; sleep and announcements tell by their news what they changed, if anything.
_UNHEARD = {
    topic_of(kind).name for kind in (semantic_pb2.MemoriesUsed, semantic_pb2.AnnounceDue, sleep_pb2.SleepStep)
}  # fmt: skip
_CHANGED = topic_of(semantic_pb2.Changed).name
# Nothing that long-term memory applies: nothing to wait for.
_NOT_APPLIED = {
    topic_of(kind).name
    for kind in (
        semantic_pb2.Changed, semantic_pb2.Evolve, semantic_pb2.CleanUp, semantic_pb2.Rehearse, semantic_pb2.ForesightDue,
        working_pb2.SessionEnded,
    )
}  # fmt: skip
_DECIDED_BY = {topic_of(kind).name for kind in (semantic_pb2.InvalidateMemory, semantic_pb2.UpdateMemory)}
# Deletions and edits that are remembered one by one.
_DECISIONS = 10_000
_SAID = tuple(topic_of(kind).name for kind in (working_pb2.Message, working_pb2.Turn, working_pb2.ToolResult))


def watched_topics() -> tuple[str, ...]:
    """Everything that may change what is remembered."""
    owned = (
        topic.name for topic in topics().values() if topic.durable and topic.owner == "semantic" and topic.name not in _UNHEARD
    )
    return (*_SAID, topic_of(working_pb2.SessionEnded).name, *owned)


Request = context_pb2.ContextRequest | context_pb2.SearchRequest | context_pb2.DiscloseRequest


@dataclass(frozen=True, slots=True)
class Ticket:
    """What an answer will be kept under: its question, and the versions that stood when it was asked."""

    key: bytes
    scopes: tuple[str, ...]
    versions: Versions
    awaited: Applied


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer as it was given, and what it used."""

    versions: Versions
    until_us: int
    answer: bytes
    items: tuple[ContextItem, ...]
    # What was said of how to answer; nobody tells this process when that changes.
    beside: tuple[bytes, ...] = ()


class Watch:
    """Follows what is said and done; thread-safe."""

    def __init__(self, identity: IdentitySettings) -> None:
        self._identity = identity
        self._versions = ScopeVersions(_SCOPES)
        self._lock = threading.Lock()
        self._places: dict[str, int] = {}
        # What people deleted or put into other words: ids of memories with the sequence of what told it last, in its order.
        self._decided: OrderedDict[bytes, int] = OrderedDict()
        self.gaps = 0

    def hear(self, record: StampedRecord) -> None:
        """A durable record as it comes from the bus; runs in the link's thread."""
        sequence = record.global_sequence
        remembered, said = record.topic not in _NOT_APPLIED, record.topic in _SAID
        awaited = Applied(sequence if remembered else 0, sequence if said else 0)
        message = _opened(record)
        with self._lock:
            for memory_id in _decided(record.topic, message):
                self._decided[memory_id] = sequence
                self._decided.move_to_end(memory_id)
            while len(self._decided) > _DECISIONS:
                self._decided.popitem(last=False)
            before = self._places.get(record.topic, 0)
            self._places[record.topic] = record.topic_sequence
            if before and record.topic_sequence != before + 1:
                self.gaps += 1
                self._versions.moved_everywhere(awaited)
            scopes = self._scopes_of(record, message)
            if scopes:
                self._versions.moved(scopes, awaited)
            else:
                self._versions.moved_everywhere(awaited)

    def forget(self) -> None:
        """The connection was away: something may have been missed."""
        with self._lock:
            self._places.clear()
            self._versions.moved_everywhere()

    def stand(self, scopes: Sequence[str]) -> tuple[Versions, Applied]:
        """The versions of scopes now, and how far a tier must have come."""
        with self._lock:
            return self._versions.of(scopes), self._versions.awaited(scopes)

    def scopes(self, user: str, group: str, project: str) -> tuple[str, ...]:
        """Keys of the scopes that a turn of this user reads."""
        named = (f"user:{self._identity.user(user)}", f"group:{group}" * bool(group), f"project:{project}" * bool(project))
        return (*(scope for scope in named if scope), "global:global")

    def decided_since(self, sequence: int) -> frozenset[bytes]:
        """Memories that were deleted or edited behind this global sequence, as far as it was heard here."""
        with self._lock:
            return frozenset(memory_id for memory_id, at in self._decided.items() if at > sequence)

    def _scopes_of(self, record: StampedRecord, message: Any) -> tuple[str, ...]:
        if message is None:
            return ()
        own = f"user:{self._identity.user(record.user)}"
        if record.topic == _CHANGED:
            name = envelope_pb2.ScopeKind.Name(message.scope.kind)
            found = f"{name.removeprefix('SCOPE_KIND_').lower()}:{message.scope.id}"
            return (own, found) if message.scope.id else ()
        if record.topic in _SAID:
            named = [f"group:{message.group_id}" * bool(message.group_id)]
            named.append(f"project:{message.project_id}" * bool(message.project_id))
            return (own, *(scope for scope in named if scope))
        # Edits, reviews, policies may name any scope of several people.
        return (own,) if not _names_others(message) else ()


class Answers:
    """Answers by question, by last use, in bounded number and bytes. Thread-safe."""

    def __init__(self, watch: Watch, settings: CacheSettings, clock: Clock) -> None:
        self._watch = watch
        self._settings = settings
        self._clock = clock
        self._kept: OrderedDict[bytes, Kept] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self.hits = self.misses = 0

    def ticket(self, request: Request) -> Ticket:
        """Taken before anything is asked: what changes from now on ends the answer."""
        scopes = self._watch.scopes(request.user_id, request.group_id, request.project_id)
        versions, awaited = self._watch.stand(scopes)
        key = topic_of(request).name.encode() + request.SerializeToString(deterministic=True)
        return Ticket(key, scopes, versions, awaited)

    def kept(self, ticket: Ticket) -> Kept | None:
        """The answer to the same question, where nothing has changed since."""
        with self._lock:
            found = self._kept.get(ticket.key)
            if found is not None and found.versions == ticket.versions and self._clock.now_us() < found.until_us:
                self._kept.move_to_end(ticket.key)
                self.hits += 1
                return found
            if found is not None:
                self._drop(ticket.key)
            self.misses += 1
        return None

    def keep(
        self, ticket: Ticket, answer: Message, items: tuple[ContextItem, ...], settled: Applied | None,
        begins: Iterable[int] = (), beside: tuple[bytes, ...] = (),
    ) -> None:  # fmt: skip
        """Keep an answer whose tiers knew everything up to `settled`; not where something was still on its way to them.

        `begins`: when what was found begins or ceases to hold, in Unix microseconds; a new answer is made as soon as any does.
        `beside`: what whoever finds it has to compare before it is given again.
        """
        settings = self._settings
        if not settings.entries or settled is None or not settled.reaches(ticket.awaited):
            return
        now_us = self._clock.now_us()
        lives = now_us + round(settings.seconds * 1_000_000)
        # What ends meanwhile is true until then only, and what begins answers from then on.
        turns = [*(item.valid_until_us for item in items), *begins]
        until_us = min([lives, *(at_us for at_us in turns if at_us > now_us)])
        content = answer.SerializeToString()
        with self._lock:
            if ticket.key in self._kept:
                self._drop(ticket.key)
            self._kept[ticket.key] = Kept(ticket.versions, until_us, content, items, beside)
            self._bytes += len(ticket.key) + len(content)
            while self._kept and (len(self._kept) > settings.entries or self._bytes > settings.bytes):
                self._drop(next(iter(self._kept)))

    def status(self) -> dict[str, object]:
        """For `aico-memory status`."""
        with self._lock:
            return {"entries": len(self._kept), "bytes": self._bytes, "hits": self.hits, "misses": self.misses}

    def _drop(self, key: bytes) -> None:
        self._bytes -= len(key) + len(self._kept.pop(key).answer)


class AtHand(NamedTuple):
    """What long-term memory tells whatever is asked: items, ids of records that were deleted, and what edited ones say now."""

    items: tuple[ContextItem, ...] = ()
    withdrawn: Collection[bytes] = frozenset()
    edited: Mapping[bytes, str] = MappingProxyType({})


class _Held(NamedTuple):
    versions: Versions
    until_us: int
    told: AtHand
    # Global sequence through which long-term memory had applied everything.
    settled: int


class HotTiers:
    """What is at hand whatever is asked, by reader; thread-safe."""

    def __init__(self, watch: Watch, seconds: float, most: int, clock: Clock) -> None:
        self._watch = watch
        self._seconds = seconds
        self._most = most
        self._clock = clock
        self._kept: OrderedDict[tuple[str, ...], _Held] = OrderedDict()
        self._lock = threading.Lock()

    def at_hand(self, ticket: Ticket) -> AtHand | None:
        """What is at hand of these scopes; None where it is to be asked for."""
        with self._lock:
            found = self._kept.get(ticket.scopes)
            if found is None or found.versions != ticket.versions or self._clock.now_us() >= found.until_us:
                return None
            self._kept.move_to_end(ticket.scopes)
            return found.told

    def last_decided(self, scopes: tuple[str, ...]) -> AtHand:
        """Where long-term memory does not answer: what was deleted or edited by its last word, and heard since. No items.

        Of what was edited since nobody has the words: it counts as deleted.
        """
        with self._lock:
            found = self._kept.get(scopes)
        told, settled = (found.told, found.settled) if found is not None else (AtHand(), 0)
        since = self._watch.decided_since(settled)
        edited = {record_id: text for record_id, text in told.edited.items() if record_id not in since}
        return AtHand((), since.union(told.withdrawn), edited)

    def keep(self, ticket: Ticket, told: AtHand, settled: int, turns_us: int) -> None:
        """Keep what long-term memory answered, unless something was on its way to it; until `turns_us`, where it is not 0."""
        if settled < ticket.awaited.remembered:
            return
        until_us = self._clock.now_us() + round(self._seconds * 1_000_000)
        with self._lock:
            self._kept[ticket.scopes] = _Held(ticket.versions, min(until_us, turns_us or until_us), told, settled)
            self._kept.move_to_end(ticket.scopes)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


def _opened(record: StampedRecord) -> Any:
    """The message; None of nobody, of somebody whose key was destroyed, or where it does not open."""
    if not record.user or record.erased:
        return None
    try:
        # The broker has checked it; here only its scope is of interest, and what it decides.
        payload = envelope_pb2.Envelope.FromString(record.envelope).payload
        return topics()[record.topic].message.FromString(payload)
    except DecodeError:
        return None


def _decided(topic: str, message: Any) -> list[bytes]:
    """Memories that a person deletes or edits, or has."""
    if message is None:
        return []
    if topic in _DECIDED_BY:
        ids = [message.memory_id]
    else:
        ids = list(message.memory_ids) if topic == _CHANGED and message.act in ("delete", "edit") else []
    found = []
    for memory_id in ids:
        try:
            found.append(uuid.UUID(memory_id).bytes)
        except ValueError:
            # Its owner refuses it.
            continue
    return found


def _names_others(message: object) -> bool:
    """Whether a command names a scope beyond the user's own."""
    named = any(getattr(message, name, "") for name in ("group_id", "project_id"))
    scopes = getattr(message, "scopes", ())
    return named or len(scopes) > 0 or hasattr(message, "scope")
