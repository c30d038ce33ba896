"""From contracts to the plain dicts a client returns."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from google.protobuf.json_format import MessageToDict

from aico_memory.client.results import (
    Delivered,
    DetailedMemory,
    DetailedSource,
    Found,
    HistoryEntry,
    Memory,
    Preference,
    RawMessage,
    SearchResults,
    Skill,
    SkillChoice,
    Source,
)
from aico_memory.clock import format_us
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2, context_pb2, envelope_pb2, semantic_pb2, working_pb2
from aico_memory.domain.behavioral.dimensions import DIMENSIONS
from aico_memory.domain.memory import OPEN

# A change of the text, and the states in which a memory holds no longer.
_EVENTS = {"created": "ADD", "text": "UPDATE"}
_GONE = {"invalid": "DELETE", "expired": "EXPIRE", "disabled": "DISABLE", "superseded": "SUPERSEDE"}
_RETRACTED = "retracted"
# Fields that hold times, in microseconds.
_TIMES = "_us"


def memory_shape(record: semantic_pb2.MemoryRecord) -> Memory:
    """A memory with its sources."""
    sources = [source_shape(source) for source in record.sources]
    return {
        "id": record.memory_id,
        "memory": record.text,
        "user_id": record.owner or record.scope.id or None,
        "scope": scope_text(record.scope),
        "session_id": record.session_id or None,
        "kind": record.kind,
        "tier": record.tier,
        "sub_tier": record.sub_tier or None,
        "status": record.status,
        "subject": record.subject or None,
        "predicate": record.predicate or None,
        "value": record.value or None,
        "entities": list(record.entities),
        "language": record.language or None,
        "confidence": record.confidence,
        "importance": record.importance,
        "utility": record.utility,
        "evidence": [source["event_id"] for source in sources],
        "sources": sources,
        "metadata": sources[0]["metadata"] if sources else {},
        "valid_from": format_us(record.valid_from_us),
        "valid_until": format_us(record.valid_until_us),
        "recorded_at": format_us(record.recorded_at_us),
        "created_at": format_us(record.created_at_us),
        "updated_at": format_us(record.updated_at_us),
        "invalidated_at": format_us(record.invalidated_at_us),
        "version": record.version,
        "superseded_by": record.superseded_by or None,
        "pinned": record.pinned,
        "immutable": record.immutable,
    }


def detailed_shape(record: semantic_pb2.MemoryRecord) -> DetailedMemory:
    """A memory that was asked for by itself, with strengths, use, feeling, provenance and how it was taken from what."""
    detail = record.detail
    sources: list[Source] = [_detailed_source(source) for source in record.sources]
    memory: Memory = {**memory_shape(record), "sources": sources}
    return {
        **memory,
        "temporal_type": record.temporal_type or "persistent",
        "fact_key": detail.fact_key or None,
        "variant_of": record.variant_of or None,
        "version_of": detail.version_of or None,
        "importance_level": detail.importance_level,
        "strength": {
            "stability": detail.stability,
            "difficulty": detail.difficulty,
            "storage": detail.storage_strength,
            "retrieval": detail.retrieval_strength,
        },
        "use": {
            "accesses": record.access_count,
            "last_accessed": format_us(detail.last_accessed_us),
            "references": detail.reference_count,
            "last_referenced": format_us(detail.last_referenced_us),
        },
        "feeling": {
            "valence": detail.valence,
            "arousal": detail.arousal,
            "emotion": detail.emotion,
            "flashbulb": detail.flashbulb,
        },
        "provenance": {
            "write_source": detail.write_source,
            "data_source": detail.data_source,
            "source_confidence": detail.source_confidence,
        },
    }


def _detailed_source(source: semantic_pb2.EvidenceSource) -> DetailedSource:
    return {
        **source_shape(source),
        "method": source.method,
        "confidence": source.confidence,
        "excerpt": source.excerpt or None,
        "at": format_us(source.at_us),
    }


def scope_text(scope: envelope_pb2.Scope) -> str | None:
    """A scope as text, "kind:id"; None where none is named."""
    if scope.kind == envelope_pb2.SCOPE_KIND_UNSPECIFIED:
        return None
    return f"{envelope_pb2.ScopeKind.Name(scope.kind).removeprefix('SCOPE_KIND_').lower()}:{scope.id}"


def source_shape(source: semantic_pb2.EvidenceSource) -> Source:
    """One message a memory rests on."""
    return {
        "event_id": id_text(source.event_id),
        "role": source.role,
        "name": source.name or None,
        "timestamp": format_us(source.said_at_us),
        "metadata": json.loads(source.metadata_json) if source.metadata_json else {},
    }


def search_shape(result: context_pb2.SearchResult, explain: bool) -> SearchResults:
    """The answer to a search."""
    shaped: SearchResults = {
        "results": [_hit(hit, explain) for hit in result.hits],
        "timings_ms": {timing.stage: timing.milliseconds for timing in result.timings},
        "degraded": list(result.degraded),
        "model": result.model or None,
        "cached": result.cached,
    }
    if explain:
        shaped["intent"] = result.intent
        shaped["dropped"] = [{"id": item.id, "rule": item.rule} for item in result.dropped]
    return shaped


def _hit(hit: semantic_pb2.SearchHit, explain: bool) -> Found:
    found: Found = {**memory_shape(hit.record), "score": hit.score, "answers": hit.answers}  # type: ignore[typeddict-item]
    found["over_since"] = format_us(hit.over_us)
    if not hit.record.predicate:
        # A search reads words and vectors; of what answers, and by `get` and `recall`, it is told how an item is read.
        for unread in ("subject", "predicate", "value"):
            del found[unread]  # type: ignore[misc]
    if explain:
        found["shares"] = {share.feature: share.value for share in hit.shares}
        found["layer"] = hit.layer
    return found


def message_shape(message: working_pb2.StoredMessage) -> RawMessage:
    """A raw message."""
    return {
        "event_id": id_text(message.event_id),
        "session_id": message.session_id or None,
        "role": message.role,
        "name": message.name or None,
        "content": message.content,
        "timestamp": format_us(message.said_at_us or message.received_at_us),
        "metadata": json.loads(message.metadata_json) if message.metadata_json else {},
    }


def history_shape(memory_id: str, changes: Iterable[semantic_pb2.EvolutionRecord]) -> list[HistoryEntry]:
    """The changes of a memory, oldest first."""
    shaped: list[HistoryEntry] = []
    text: str | None = None
    for change in changes:
        field = change.what.removesuffix(_TIMES)
        event = _EVENTS.get(field, field.upper())
        before = text
        if event in ("ADD", "UPDATE"):
            before, text = change.old_value or None, change.new_value or None
        elif change.what == "status" and change.new_value in _GONE:
            # A change, what was never true, and what the user took away are three things.
            event, text = "RETRACT" if change.reason.startswith(_RETRACTED) else _GONE[change.new_value], None
        shaped.append(
            {
                "memory_id": memory_id,
                "event": event,
                "field": field,
                "old_memory": before,
                "new_memory": text,
                "old_value": _told(change.what, change.old_value),
                "new_value": _told(change.what, change.new_value),
                "created_at": format_us(change.at_us),
                "reason": change.reason or None,
                "cause": id_text(change.cause_event_id) if change.cause_event_id else None,
            }
        )
    return shaped


def _told(what: str, value: str) -> str | None:
    """A value of a change as a person reads it; None for nothing, and for a time that is open."""
    if what.endswith(_TIMES) and value.lstrip("-").isdigit():
        return format_us(int(value)) if 0 < int(value) < OPEN else None
    return value or None


def choice_shape(response: behavioral_pb2.SkillSelectionResponse) -> SkillChoice | None:
    """The chosen skill; None where none applies."""
    if not response.skill_id:
        return None
    return {
        "request_id": response.request_id,
        "skill_id": response.skill_id,
        "skill_name": response.skill_name,
        "template": response.procedure_template,
        "confidence": response.confidence_score,
        "alignment": response.preference_alignment,
        "shares": dict(response.shares),
        "bucket": response.bucket,
        "is_exploration": response.is_exploration,
        "question": response.question,
        "explanation": response.explanation,
        "answered_by": response.answered_by,
        "outcome": response.outcome,
        "policy": response.policy,
    }


def _named(values: Sequence[float]) -> dict[str, float]:
    """Values by style dimension; {} where there are none (a deleted skill)."""
    return dict(zip(DIMENSIONS, values, strict=True)) if values else {}


def skill_shape(skill: behavioral_pb2.Skill) -> Skill:
    """One skill."""
    return {
        "skill_id": skill.skill_id,
        "name": skill.name,
        "type": skill.type,
        "template": skill.template,
        "intents": list(skill.intents),
        "times_of_day": list(skill.times_of_day),
        "sentiments": list(skill.sentiments),
        "topics": list(skill.topics),
        "dimensions": _named(skill.dimensions),
        "confidence": skill.confidence,
        "uses": skill.uses,
        "positive": skill.positive,
        "negative": skill.negative,
        "status": skill.status,
        "version": skill.version,
        "evidence": skill.evidence,
        "created_at": format_us(skill.created_us),
        "updated_at": format_us(skill.updated_us),
    }


def preference_shape(bucket: behavioral_pb2.BucketPreference) -> Preference:
    """The preferences of one bucket."""
    return {"bucket": bucket.bucket, "dimensions": _named(bucket.dimensions), "updates": bucket.updates}


def delivered_shape(event: Event) -> Delivered:
    """A record that was subscribed to."""
    fields: dict[str, Any] = MessageToDict(event.message, preserving_proto_field_name=True)
    return {
        "event_id": str(event.event_id),
        "topic": event.topic,
        "user_id": event.user or None,
        "sender": event.sender,
        "sequence": event.global_sequence,
        "received_at": format_us(event.received_us),
        "occurred_at": format_us(event.occurred_us),
        "fields": fields,
    }


def id_text(data: bytes) -> str:
    """A 16-byte id as text."""
    return str(uuid.UUID(bytes=data)) if len(data) == 16 else data.hex()
