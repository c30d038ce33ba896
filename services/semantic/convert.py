"""Between memories and their messages on the bus."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from aico_memory.clock import Clock
from aico_memory.contracts.v1 import envelope_pb2, semantic_pb2
from aico_memory.domain.memory import KINDS, OPEN, SCOPE_KINDS, STATUSES, TIERS, Evidence, Evolution, Memory, Scope, View
from aico_memory.domain.sleep.derived import is_derived
from aico_memory.domain.strength.confidence import METHODS
from aico_memory.domain.strength.importance import level_of
from aico_memory.domain.strength.retention import retrieval_strength
from aico_memory.errors import AccessDenied, InvalidMessage
from aico_memory.settings.memory_model import ImportanceSettings

REPLAY = "replay"
# What the first step of a history is called.
CREATED = "created"
# So far may the clock of whoever said something be ahead.
_AHEAD_US = 10_000


_SCOPE_KIND = {kind: envelope_pb2.ScopeKind.Value(f"SCOPE_KIND_{kind.upper()}") for kind in SCOPE_KINDS}


def scope_message(scope: Scope) -> envelope_pb2.Scope:
    """A scope on the bus."""
    return envelope_pb2.Scope(kind=_SCOPE_KIND[scope.kind], id=scope.id)


def present_us(clock: Clock) -> int:
    """The present of a question that names no time: what was said just now has begun, by the clock of whoever said it."""
    return clock.now_us() + _AHEAD_US


def own_scope(user: str) -> Scope:
    """The scope of one user."""
    return Scope("user", user)


def scopes_of(named: Iterable[envelope_pb2.Scope], user: str, names: Sequence[str] = ()) -> tuple[Scope, ...]:
    """The scopes that a question names, the user's own where it names none; another user's scope is refused.

    `names` are all names of the user, where there are several: the own scope is that of each.
    """
    own = [Scope("user", name) for name in names or (user,)]
    found: list[Scope] = []
    for one in named:
        kind = envelope_pb2.ScopeKind.Name(one.kind).removeprefix("SCOPE_KIND_").lower()
        if kind not in SCOPE_KINDS:
            raise InvalidMessage("A scope without kind")
        scope = Scope(kind, one.id)
        if kind == "user" and scope not in own:
            raise AccessDenied("A question about one user cannot name the scope of another", "Ask as that user.")
        found += own if kind == "user" else [scope]
    return tuple(dict.fromkeys(found or own))


def view_of(
    scopes: Sequence[Scope], filters: semantic_pb2.SearchFilters, now_us: int, as_of_us: int = 0, known_as_of_us: int = 0
) -> View:
    """The view that a question's filters describe; InvalidMessage where one of them names what there is not."""
    if filters.tags:
        raise InvalidMessage("Memories have no tags; outcomes have", "Filter by the kind outcome as well.")
    for named, known in ((filters.kinds, KINDS), (filters.tiers, TIERS), (filters.statuses, STATUSES)):
        unknown = sorted(set(named) - set(known))
        if unknown:
            raise InvalidMessage(f"A filter names {', '.join(unknown)}; known are {', '.join(known)}")
    if filters.until_us and filters.since_us > filters.until_us:
        raise InvalidMessage("A filter's since lies behind its until")
    return View(
        scopes=tuple(scopes), now_us=now_us, kinds=tuple(filters.kinds), tiers=tuple(filters.tiers),
        statuses=tuple(filters.statuses), session_id=filters.session_id, since_us=filters.since_us,
        until_us=filters.until_us, as_of_us=as_of_us, known_as_of_us=known_as_of_us,
    )  # fmt: skip


def record_message(memory: Memory, evidence: Sequence[Evidence]) -> semantic_pb2.MemoryRecord:
    """A memory with what it rests on."""
    return semantic_pb2.MemoryRecord(
        memory_id=id_text(memory.memory_id), scope=scope_message(memory.scope), session_id=memory.session_id,
        kind=memory.kind, text=memory.text, tier=memory.tier, sub_tier=memory.sub_tier, status=memory.status,
        entities=memory.entities, language=memory.language, confidence=memory.confidence, importance=memory.importance,
        utility=memory.utility, valid_from_us=memory.valid_from_us, valid_until_us=_end(memory.valid_until_us),
        recorded_at_us=memory.recorded_at_us, invalidated_at_us=_end(memory.invalidated_at_us),
        created_at_us=memory.created_at_us, updated_at_us=memory.updated_at_us, version=memory.version,
        superseded_by=id_text(memory.superseded_by), variant_of=id_text(memory.variant_of),
        pinned=memory.pinned, immutable=memory.immutable, access_count=memory.access_count,
        # What sleep wrote rests on nothing but what it repeats.
        sources=[_source(one) for one in _each_once(evidence) if one.method != REPLAY or is_derived(memory)],
        temporal_type=memory.temporal_type, owner=memory.owner,
    )  # fmt: skip


def of_version(memory: Memory, evidence: Mapping[bytes, Sequence[Evidence]]) -> Sequence[Evidence]:
    """What a memory rests on, of the evidence of each; an earlier version on what was known before the edit."""
    if memory.version_of is None:
        return evidence[memory.memory_id]
    return [one for one in evidence[memory.version_of] if one.at_us < memory.invalidated_at_us]


def detail_message(memory: Memory, now_us: int, figures: ImportanceSettings) -> semantic_pb2.MemoryDetail:
    """What is shown of a memory that is looked at by itself; its retrieval strength is that of `now_us`."""
    return semantic_pb2.MemoryDetail(
        stability=memory.stability, difficulty=memory.difficulty, storage_strength=memory.storage_strength,
        retrieval_strength=retrieval_strength(memory, now_us), importance_level=level_of(memory.importance, figures),
        last_accessed_us=memory.last_accessed_us, reference_count=memory.reference_count,
        last_referenced_us=memory.last_referenced_us, valence=memory.valence, arousal=memory.arousal, emotion=memory.emotion,
        flashbulb=memory.flashbulb, write_source=memory.write_source, data_source=memory.data_source,
        source_confidence=memory.source_confidence, fact_key=memory.fact_key, version_of=id_text(memory.version_of),
    )  # fmt: skip


def shown_message(memory: Memory, first: Evidence | None, events: Sequence[bytes], letters: int) -> semantic_pb2.MemoryRecord:
    """What a context weighs and shows of a memory: its text cut at `letters`, its oldest evidence without what was sent
    along with it, of the rest the events alone. Records are made by the hundred for one question.
    """
    sources = [semantic_pb2.EvidenceSource(event_id=event) for event in events[1:]]
    if first is not None:
        sources.insert(0, semantic_pb2.EvidenceSource(
            event_id=first.event_id, role=first.role, name=first.name, said_at_us=first.said_at_us, session_id=first.session_id,
        ))  # fmt: skip
    return semantic_pb2.MemoryRecord(
        memory_id=id_text(memory.memory_id), session_id=memory.session_id, kind=memory.kind, text=memory.text[:letters],
        tier=memory.tier, sub_tier=memory.sub_tier, status=memory.status, entities=memory.entities, language=memory.language,
        confidence=memory.confidence, importance=memory.importance, utility=memory.utility, valid_from_us=memory.valid_from_us,
        valid_until_us=_end(memory.valid_until_us), created_at_us=memory.created_at_us, pinned=memory.pinned, sources=sources,
    )  # fmt: skip


def evolution_message(change: Evolution) -> semantic_pb2.EvolutionRecord:
    """One change of a memory."""
    return semantic_pb2.EvolutionRecord(
        what=change.what, old_value=change.old_value, new_value=change.new_value,
        at_us=change.at_us, cause_event_id=change.cause, reason=change.reason,
    )  # fmt: skip


def history_of(
    memory: Memory, changes: Sequence[Evolution], evidence: Sequence[Evidence]
) -> list[semantic_pb2.EvolutionRecord]:
    """How a memory came to be as it is: its creation, then its changes."""
    first_text = next((change.old_value for change in changes if change.what == "text"), memory.text)
    created = semantic_pb2.EvolutionRecord(
        what=CREATED, new_value=first_text, at_us=memory.created_at_us, reason=memory.kind,
        cause_event_id=evidence[0].event_id if evidence else b"",
    )  # fmt: skip
    return [created, *map(evolution_message, changes)]


@lru_cache(4096)
def id_text(memory_id: bytes | None) -> str:
    """A memory id as it goes to clients; "" for none."""
    if memory_id is None:
        return ""
    digits = memory_id.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def id_bytes(text: str) -> bytes:
    """A memory id as clients give it; InvalidMessage where it is no UUID."""
    try:
        return uuid.UUID(text).bytes
    except ValueError:
        raise InvalidMessage(f"{text[:64]!r} is no memory id", "Give the `id` that search or get_all showed.") from None


def _each_once(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Each event once, in the order given, with the method that is believed most: one message is one source."""
    best: dict[bytes, Evidence] = {}
    for one in evidence:
        known = best.get(one.event_id)
        if known is None or _rank(one) < _rank(known):
            best[one.event_id] = one
    return list(best.values())


def _rank(evidence: Evidence) -> int:
    return METHODS.index(evidence.method) if evidence.method in METHODS else len(METHODS)


def _source(evidence: Evidence) -> semantic_pb2.EvidenceSource:
    return semantic_pb2.EvidenceSource(
        event_id=evidence.event_id, role=evidence.role, name=evidence.name, said_at_us=evidence.said_at_us,
        metadata_json=evidence.metadata_json, session_id=evidence.session_id, excerpt=evidence.excerpt, method=evidence.method,
        confidence=evidence.confidence, at_us=evidence.at_us,
    )  # fmt: skip


def beginning_us(at_us: int) -> int:
    """From when something holds, in microseconds, negative before 1970; 0 where that is unknown."""
    return at_us if -OPEN < at_us < OPEN else 0


def _end(moment_us: int) -> int:
    return 0 if moment_us >= OPEN else moment_us
