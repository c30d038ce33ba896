"""The one record of L1: episodic records and memory items, what they rest on, and who may see which when.

Times are Unix microseconds. `OPEN` stands for "no end", so that every temporal
rule is a plain comparison, here, in SQL and in the vector indexes alike.
"""

from __future__ import annotations

import operator
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from aico_memory.ids import derive_id

OPEN = 1 << 62
RECORD = "record"
KINDS = (
    RECORD, "profile", "preference", "constraint", "correction", "entity", "fact", "decision", "plan",
    "task_state", "episode", "procedure", "pattern", "summary",
)  # fmt: skip
TIERS = ("episodic", "semantic", "dormant")
STATUSES = ("candidate", "shadow", "active", "superseded", "expired", "disabled", "invalid")
SCOPE_KINDS = ("user", "group", "project", "global")
# What may have been believed at an earlier moment, whatever became of it since.
ONCE_BELIEVED = ("active", "superseded", "expired", "disabled", "invalid")
# What was true until something ended it, and is believed to have been so.
_ENDED = ("superseded", "expired")


@lru_cache(maxsize=4096)
def record_of(event_id: bytes) -> bytes:
    """The id of the record that a message leaves; empty for what is no event's id."""
    return derive_id(uuid.UUID(bytes=event_id), RECORD).bytes if len(event_id) == 16 else b""


class Scope(NamedTuple):
    """To whom a memory belongs."""

    kind: str
    id: str

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.id}"


@dataclass(frozen=True, slots=True)
class Memory:
    """A record (`kind` "record": one message, verbatim) or an item (what was distilled)."""

    memory_id: bytes
    scope: Scope
    # Whose data key seals the text.
    owner: str
    kind: str
    text: str
    said_at_us: int
    recorded_at_us: int
    valid_from_us: int
    created_at_us: int
    updated_at_us: int
    # By the broker's clock: retention of records runs from here.
    received_at_us: int
    session_id: str = ""
    group_id: str = ""
    project_id: str = ""
    language: str = ""
    tier: str = "episodic"
    sub_tier: str = "personal"
    status: str = "active"
    fact_key: str = ""
    valid_until_us: int = OPEN
    invalidated_at_us: int = OPEN
    temporal_type: str = "persistent"
    superseded_by: bytes | None = None
    variant_of: bytes | None = None
    # An earlier text of that memory, kept when a person edited it.
    version_of: bytes | None = None
    version: int = 1
    confidence: float = 1.0
    importance: float = 0.0
    utility: float = 0.5
    stability: float = 0.0
    difficulty: float = 0.0
    storage_strength: float = 1.0
    access_count: int = 0
    last_accessed_us: int = 0
    reference_count: int = 0
    last_referenced_us: int = 0
    valence: float = 0.0
    arousal: float = 0.0
    emotion: str = "none"
    flashbulb: bool = False
    pinned: bool = False
    immutable: bool = False
    write_source: str = "observer"
    data_source: str = "user_message"
    source_confidence: float = 1.0
    entities: tuple[str, ...] = ()
    # Name of whoever said it, where one was given; found by words like the text.
    speaker: str = ""
    # IANA zone in which a message was said, where it was given.
    zone: str = ""
    # Place on the bus: tells apart what was said at one moment, which need not be a microsecond.
    heard: int = 0

    @property
    def said_order(self) -> tuple[int, int, bytes]:
        """Memories are ordered by when they were said; those of one moment as they arrived."""
        return self.said_at_us, self.heard, self.memory_id


_FIELDS = tuple(one.name for one in fields(Memory))
_values = attrgetter(*_FIELDS)
_SETTERS: tuple[Callable[[Memory, Any], None], ...] = tuple(vars(Memory)[name].__set__ for name in _FIELDS)
_PLACES = {name: place for place, name in enumerate(_FIELDS)}


def restated(memory: Memory, **changes: Any) -> Memory:
    """The memory with other values of these fields; a third of the time of `dataclasses.replace`, for whom changes many.

    Raises KeyError for a field that there is not.
    """
    found = object.__new__(Memory)
    for put, value in zip(_SETTERS, _values(memory), strict=True):
        put(found, value)
    for name, value in changes.items():
        _SETTERS[_PLACES[name]](found, value)
    return found


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a memory exists: the event it rests on, and how it was taken from it."""

    memory_id: bytes
    event_id: bytes
    # rule | llm_extract | user_explicit | replay | import
    method: str
    at_us: int
    confidence: float = 1.0
    role: str = ""
    name: str = ""
    said_at_us: int = 0
    session_id: str = ""
    metadata_json: str = ""
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Evolution:
    """One change: what, from, to, when, caused by which event."""

    memory_id: bytes
    what: str
    old_value: str
    new_value: str
    at_us: int
    cause: bytes
    reason: str = ""


class Facets(NamedTuple):
    """What a search may filter by; everything an index holds beside key and vector."""

    kind: str
    tier: str
    status: str
    session_id: str
    said_at_us: int
    valid_from_us: int
    valid_until_us: int
    recorded_at_us: int
    invalidated_at_us: int


def facets_of(memory: Memory) -> Facets:
    """The filter fields of a memory."""
    return Facets(
        memory.kind, memory.tier, memory.status, memory.session_id, memory.said_at_us,
        memory.valid_from_us, memory.valid_until_us, memory.recorded_at_us, memory.invalidated_at_us,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class View:
    """Which memories a question may see. `now_us` decides what is still true where `as_of_us` is not given."""

    scopes: tuple[Scope, ...]
    now_us: int
    kinds: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    session_id: str = ""
    since_us: int = 0
    until_us: int = 0
    as_of_us: int = 0
    known_as_of_us: int = 0


class Condition(NamedTuple):
    """`field op value`; `op` is in, ne, ge, le, gt or lt. A view is a conjunction of them.

    With `op` any the value is a tuple of conditions of which one is enough, and there is no field.
    """

    field: str
    op: str
    value: Any


def conditions(view: View) -> tuple[Condition, ...]:
    """The view as a conjunction over facets; scopes stand apart, since no store may leave them out.

    True then (`as_of_us`) asks the validity, known then (`known_as_of_us`) asks
    recording and invalidation: what a change or its time has ended since was true before, what was taken back or deleted
    since was not, and an end that was learned later was not known. Where neither is given only what is active and
    still true is seen; statuses that are asked for by name are seen as they stand.
    """
    found: list[Condition] = []
    historical = bool(view.as_of_us or view.known_as_of_us)
    if view.statuses:
        found.append(Condition("status", "in", view.statuses))
    else:
        found.append(Condition("status", "in", ONCE_BELIEVED if historical else ("active",)))
    if historical:
        found += _believed(view.as_of_us or view.now_us, view.known_as_of_us or view.now_us)
    elif not view.statuses:
        found.append(Condition("valid_until_us", "gt", view.now_us))
    if view.as_of_us:
        found.append(Condition("valid_from_us", "le", view.as_of_us))
    if view.known_as_of_us:
        found.append(Condition("recorded_at_us", "le", view.known_as_of_us))
    if view.kinds:
        found.append(Condition("kind", "in", view.kinds))
    if view.tiers:
        found.append(Condition("tier", "in", view.tiers))
    if view.session_id:
        found.append(Condition("session_id", "in", (view.session_id,)))
    if view.since_us:
        found.append(Condition("said_at_us", "ge", view.since_us))
    if view.until_us:
        found.append(Condition("said_at_us", "lt", view.until_us))
    return tuple(found)


def _believed(at_us: int, known_us: int) -> Iterator[Condition]:
    """True at `at_us`, as far as was known at `known_us`."""
    learned_later = Condition("invalidated_at_us", "gt", known_us)
    # A former text has no end of its own (see `replaced_text`).
    yield _either(learned_later, Condition("status", "in", _ENDED))
    yield _either(learned_later, Condition("valid_until_us", "lt", OPEN))
    holds = Condition("valid_until_us", "gt", at_us)
    # That it was superseded tells when it was to end otherwise no more: it was to stay.
    yield _either(holds, Condition("status", "in", ("superseded",)))
    yield _either(holds, learned_later)


def _either(*enough: Condition) -> Condition:
    return Condition("", "any", enough)


def replaced_text(memory: Memory, view: View) -> bool:
    """Whether it is the text of before an edit that was known already: nobody holds that for true of any time."""
    known_us = view.known_as_of_us or view.now_us
    return memory.version_of is not None and bool(view.as_of_us or view.known_as_of_us) and memory.invalidated_at_us <= known_us


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "in": lambda left, right: left in right,
    "ne": operator.ne, "ge": operator.ge, "le": operator.le, "gt": operator.gt, "lt": operator.lt,
}  # fmt: skip


def admits(wanted: Iterable[Condition], facets: Facets | Memory) -> bool:
    """Whether a memory with these facets fulfils all conditions."""
    # A loop: this is asked of every candidate of a question, and a generator takes as long as all comparisons.
    for field, op, value in wanted:
        if op == "any":
            if not any(admits((one,), facets) for one in value):
                return False
        elif not _COMPARE[op](getattr(facets, field), value):
            return False
    return True
