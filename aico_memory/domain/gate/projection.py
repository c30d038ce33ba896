"""From segments to items and to the evolution records from which `temporal.versions` rebuilds what was believed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from aico_memory.domain.gate.chain import Phase, Segment
from aico_memory.domain.gate.score import method_of
from aico_memory.domain.gate.statement import Known, Statement
from aico_memory.domain.memory import OPEN, Evolution, Memory
from aico_memory.domain.strength.confidence import source_weight
from aico_memory.domain.strength.retention import encoded
from aico_memory.domain.temporal.versions import STATUS, VALID_FROM, VALID_UNTIL
from aico_memory.settings.memory_model import ConfidenceSettings, RetentionSettings

WEIGHTS = ConfidenceSettings()


def memory_of(
    statement: Statement, retention: RetentionSettings, status: str = "active", weights: ConfidenceSettings = WEIGHTS
) -> Memory:
    """The item that a statement makes. It was known when it was said, and it lasts from when it was received."""
    fact = statement.fact
    memory = Memory(
        memory_id=statement.statement_id, scope=statement.scope, owner=statement.owner, kind=fact.kind, text=fact.text,
        said_at_us=statement.said_at_us, recorded_at_us=statement.said_at_us, valid_from_us=fact.valid_from_us,
        created_at_us=statement.received_at_us, updated_at_us=statement.said_at_us, received_at_us=statement.received_at_us,
        session_id=statement.session_id, group_id=statement.group_id, project_id=statement.project_id,
        language=fact.language, sub_tier="personal" if statement.by_user else "observed", status=status,
        fact_key=statement.key, valid_until_us=fact.valid_until_us, temporal_type=fact.temporal_type,
        confidence=statement.confidence, importance=statement.importance, last_referenced_us=statement.received_at_us,
        valence=statement.valence, arousal=statement.arousal, emotion=statement.emotion, flashbulb=statement.flashbulb,
        pinned=statement.flashbulb, write_source=statement.write_source, data_source=DATA_SOURCE.get(statement.role, "system"),
        entities=fact.entities, speaker=statement.speaker, heard=statement.heard,
        source_confidence=source_weight(method_of(fact, statement.role), weights),
    )  # fmt: skip
    return encoded(memory, retention)


DATA_SOURCE = {"user": "user_message", "assistant": "assistant_message", "tool": "tool_result", "system": "system"}


@dataclass(frozen=True, slots=True)
class Placed:
    """Segments with the ids of their items, and items whose segment became part of another."""

    ids: dict[bytes, bytes]
    merged: dict[bytes, bytes]


def placed(segments: Collection[Segment], existing: Mapping[bytes, Known]) -> Placed:
    """An item keeps its id while any of its statements stands in the segment; the first said keeps it where several do.

    What was deleted or laid aside in review keeps it only where nothing else stands there, and is merged with nothing.
    """
    ids: dict[bytes, bytes] = {}
    merged: dict[bytes, bytes] = {}
    for segment in segments:
        standing = [one for one in segment.ids if one in existing]
        valid = [one for one in standing if existing[one].memory.status != "invalid"]
        kept = next(iter(valid or standing), segment.lead.statement_id)
        ids[segment.lead.statement_id] = kept
        merged.update(dict.fromkeys(valid[1:], kept))
    return Placed(ids, merged)


def validity_on(memory: Memory, segment: Segment, ids: dict[bytes, bytes]) -> Memory:
    """The item with the validity, the trust and the knowledge that its segment says."""
    last = segment.last
    closed = last.status != "active"
    bounded = segment.lead.fact.valid_until_us < OPEN
    return replace(
        memory, memory_id=ids[segment.lead.statement_id], said_at_us=segment.lead.said_at_us,
        recorded_at_us=segment.lead.said_at_us, valid_from_us=last.from_us, valid_until_us=last.until_us,
        status=last.status, invalidated_at_us=_known_since_us(segment) if closed else OPEN,
        superseded_by=ids.get(last.by) if last.by else None,
        temporal_type="time_bounded" if bounded else "persistent", heard=segment.lead.heard,
        updated_at_us=max(last.known_us, segment.statements[-1].said_at_us),
    )  # fmt: skip


def _known_since_us(segment: Segment) -> int:
    """Since when it has been known as it is known now: another successor alone teaches nothing about it."""
    last = segment.last
    known_us = last.known_us
    for phase in reversed(segment.phases):
        if (phase.from_us, phase.until_us, phase.status) != (last.from_us, last.until_us, last.status):
            break
        known_us = phase.known_us
    return known_us


def changes_of(segment: Segment, memory_id: bytes) -> tuple[Evolution, ...]:
    """All that was learned of its end and its trust since it was first said, ordered by when."""
    found: list[Evolution] = []
    for before, after in pairwise(segment.phases):
        found += _change(memory_id, before, after)
    return tuple(found)


def _change(memory_id: bytes, before: Phase, after: Phase) -> list[Evolution]:
    pairs = (
        (STATUS, before.status, after.status),
        (VALID_FROM, str(before.from_us), str(after.from_us)),
        (VALID_UNTIL, str(before.until_us), str(after.until_us)),
    )
    return [
        Evolution(memory_id, what, old, new, after.known_us, after.cause, after.reason)
        for what, old, new in pairs
        if old != new
    ]
