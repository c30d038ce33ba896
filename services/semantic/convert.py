"""Between memories and their messages on the bus."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence

from aico_memory.contracts.v1 import envelope_pb2, semantic_pb2
from aico_memory.domain.memory import OPEN, SCOPE_KINDS, Evidence, Evolution, Memory, Scope, View
from aico_memory.errors import AccessDenied, InvalidMessage

REPLAY = "replay"


def scope_message(scope: Scope) -> envelope_pb2.Scope:
    """A scope on the bus."""
    return envelope_pb2.Scope(kind=envelope_pb2.ScopeKind.Value(f"SCOPE_KIND_{scope.kind.upper()}"), id=scope.id)


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
    """The view that a question's filters describe."""
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
        sources=[_source(one) for one in evidence if one.method != REPLAY],
        temporal_type=memory.temporal_type, owner=memory.owner,
    )  # fmt: skip


def evolution_message(change: Evolution) -> semantic_pb2.EvolutionRecord:
    """One change of a memory."""
    return semantic_pb2.EvolutionRecord(
        what=change.what, old_value=change.old_value, new_value=change.new_value,
        at_us=change.at_us, cause_event_id=change.cause, reason=change.reason,
    )  # fmt: skip


def id_text(memory_id: bytes | None) -> str:
    """A memory id as it goes to clients; "" for none."""
    return "" if memory_id is None else str(uuid.UUID(bytes=memory_id))


def id_bytes(text: str) -> bytes:
    """A memory id as clients give it; InvalidMessage where it is no UUID."""
    try:
        return uuid.UUID(text).bytes
    except ValueError:
        raise InvalidMessage(f"{text[:64]!r} is no memory id", "Give the `id` that search or get_all showed.") from None


def _source(evidence: Evidence) -> semantic_pb2.EvidenceSource:
    return semantic_pb2.EvidenceSource(
        event_id=evidence.event_id, role=evidence.role, name=evidence.name, said_at_us=evidence.said_at_us,
        metadata_json=evidence.metadata_json, session_id=evidence.session_id, excerpt=evidence.excerpt, method=evidence.method,
    )  # fmt: skip


def _end(moment_us: int) -> int:
    return 0 if moment_us >= OPEN else moment_us
