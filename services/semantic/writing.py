"""Effects of the bus on L1: records of what was said, edits, invalidations, replays, use."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aico_memory.contracts.envelope import Event, make_record
from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.domain.formation.entities import Gazetteer, extract_entities
from aico_memory.domain.formation.language import LanguageTable, guess_language
from aico_memory.domain.memory import RECORD, Evidence, Evolution, Memory
from aico_memory.domain.retrieval.tokens import index_tokens
from aico_memory.errors import ImmutableItem, NotFound, RefusedTransition
from aico_memory.ids import derive_id
from aico_memory.stores.semantic.port import IndexJob, SemanticTransaction
from services.semantic.convert import REPLAY, id_bytes, id_text, own_scope, scope_message

EDITABLE = ("active", "candidate", "shadow")


@dataclass(frozen=True, slots=True)
class FormationRules:
    """The tables that the rules of formation read."""

    languages: LanguageTable
    gazetteer: Gazetteer
    default_language: str

    def tokens(self, memory: Memory) -> list[str]:
        """What the text index holds of a memory: the words, and who said them."""
        speaker = index_tokens(memory.speaker) if memory.speaker else []
        return speaker + index_tokens(memory.text, memory.language or self.default_language)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a message and a tool's result have in common."""

    text: str
    role: str
    name: str
    said_at_us: int
    session_id: str
    metadata_json: str
    group_id: str = ""
    project_id: str = ""


def write_message(transaction: SemanticTransaction, event: Event, rules: FormationRules) -> None:
    """The one record of a message."""
    message = event.message
    said = _Said(
        message.content, message.role, message.name, message.said_at_us or event.occurred_us, message.session_id,
        message.metadata_json, message.group_id, message.project_id,
    )  # fmt: skip
    _write_record(transaction, event, said, rules)


def write_tool_result(transaction: SemanticTransaction, event: Event, rules: FormationRules) -> None:
    """The one record of a tool's result."""
    message = event.message
    said_at_us = message.said_at_us or event.occurred_us
    said = _Said(message.content, "tool", message.tool, said_at_us, message.session_id, message.metadata_json)
    _write_record(transaction, event, said, rules)


def update_memory(transaction: SemanticTransaction, event: Event, rules: FormationRules) -> Memory:
    """A person's edit: the memory has the new text from now on, the old text stays as a superseded version.

    Raises NotFound, ImmutableItem, RefusedTransition.
    """
    message = event.message
    memory = _editable(transaction, event)
    if memory.text == message.text and not message.metadata_json:
        return memory
    at_us = event.occurred_us
    former = replace(
        memory, memory_id=derive_id(event.event_id, "version").bytes, status="superseded", invalidated_at_us=at_us,
        updated_at_us=at_us, superseded_by=memory.memory_id, version_of=memory.memory_id, pinned=False,
    )  # fmt: skip
    transaction.add(former, (), rules.tokens(former), event.global_sequence)
    language = guess_language(message.text, rules.languages)
    edited = replace(
        memory, text=message.text, language=language, recorded_at_us=at_us, updated_at_us=at_us, version=memory.version + 1,
        entities=extract_entities(message.text, rules.gazetteer, language), write_source="manual",
    )  # fmt: skip
    transaction.replace(edited, rules.tokens(edited), event.global_sequence)
    transaction.add_evidence(
        Evidence(
            memory.memory_id, event.event_id.bytes, "user_explicit", at_us, role="user", said_at_us=at_us,
            session_id=memory.session_id, metadata_json=message.metadata_json,
        )
    )  # fmt: skip
    change = Evolution(memory.memory_id, "text", memory.text, message.text, at_us, event.event_id.bytes, "edited")
    transaction.add_evolution(change)
    _announce(transaction, event, "updated", [memory.memory_id], "edited")
    return edited


def invalidate_memory(transaction: SemanticTransaction, event: Event) -> Memory:
    """Delete means invalidate: seen no more, except by who asks what was known before. Raises NotFound, ImmutableItem."""
    memory = _owned(transaction, event)
    if memory.status == "invalid":
        return memory
    if memory.immutable:
        raise ImmutableItem(f"The memory {id_text(memory.memory_id)} is immutable")
    at_us = event.occurred_us
    reason = event.message.reason
    gone = replace(memory, status="invalid", invalidated_at_us=at_us, updated_at_us=at_us)
    transaction.replace(gone, None, event.global_sequence)
    change = Evolution(memory.memory_id, "status", memory.status, "invalid", at_us, event.event_id.bytes, reason)
    transaction.add_evolution(change)
    _announce(transaction, event, "invalidated", [memory.memory_id], reason or "deleted")
    return gone


def replay_experiences(transaction: SemanticTransaction, event: Event) -> None:
    """Note for each experience that sleep has seen its record, and report the records."""
    message = event.message
    memory_ids, unknown = [], 0
    for event_id in message.event_ids:
        memory_id = derive_id(uuid.UUID(bytes=event_id), RECORD).bytes if len(event_id) == 16 else b""
        memory = transaction.memory(memory_id)
        if memory is None or memory.scope != own_scope(event.user):
            unknown += 1
            continue
        transaction.add_evidence(Evidence(memory_id, event_id, REPLAY, event.occurred_us, session_id=memory.session_id))
        memory_ids.append(id_text(memory_id))
    replayed = semantic_pb2.ExperiencesReplayed(
        run_id=message.run_id, user_id=message.user_id, batch=message.batch, event_ids=message.event_ids,
        memory_ids=memory_ids, unknown=unknown,
    )  # fmt: skip
    transaction.emit(
        make_record(
            replayed, event_id=derive_id(event.event_id, "replayed"), occurred_us=event.occurred_us, user=event.user,
            causation_id=event.event_id, correlation_id=event.correlation_id,
        )
    )  # fmt: skip


def note_use(transaction: SemanticTransaction, event: Event) -> None:
    """Count the use of memories in an answer."""
    message = event.message
    used = [id_bytes(memory_id) for memory_id in message.memory_ids]
    transaction.note_use(used, own_scope(event.user), message.at_us or event.occurred_us)


def ask_for_maintenance(transaction: SemanticTransaction, event: Event) -> None:
    """Remember that the indexes are to be checked or rebuilt; the indexer does it."""
    message = event.message
    transaction.add_job(IndexJob(event.event_id.bytes, message.firing_id, message.rebuild))


def _write_record(transaction: SemanticTransaction, event: Event, said: _Said, rules: FormationRules) -> None:
    memory_id = derive_id(event.event_id, RECORD).bytes
    language = guess_language(said.text, rules.languages)
    by_user = said.role == "user"
    memory = Memory(
        memory_id=memory_id, scope=own_scope(event.user), owner=event.user, kind=RECORD, text=said.text,
        said_at_us=said.said_at_us, recorded_at_us=said.said_at_us, valid_from_us=said.said_at_us,
        created_at_us=event.occurred_us, updated_at_us=event.occurred_us, received_at_us=event.received_us,
        session_id=said.session_id, group_id=said.group_id, project_id=said.project_id, language=language,
        sub_tier="personal" if by_user else "observed", data_source=_data_source(said.role),
        entities=extract_entities(said.text, rules.gazetteer, language), speaker=said.name,
    )  # fmt: skip
    evidence = Evidence(
        memory_id, event.event_id.bytes, "rule", event.occurred_us, role=said.role, name=said.name,
        said_at_us=said.said_at_us, session_id=said.session_id, metadata_json=said.metadata_json,
    )  # fmt: skip
    if transaction.add(memory, (evidence,), rules.tokens(memory), event.global_sequence):
        _announce(transaction, event, "created", [memory_id], RECORD)


def _editable(transaction: SemanticTransaction, event: Event) -> Memory:
    memory = _owned(transaction, event)
    if memory.immutable:
        raise ImmutableItem(f"The memory {id_text(memory.memory_id)} is immutable")
    if memory.status not in EDITABLE:
        raise RefusedTransition(f"A memory that is {memory.status} cannot be edited")
    return memory


def _owned(transaction: SemanticTransaction, event: Event) -> Memory:
    memory = transaction.memory(id_bytes(event.message.memory_id))
    if memory is None or memory.scope != own_scope(event.user):
        raise NotFound(f"No memory {event.message.memory_id} of this user")
    return memory


def _announce(transaction: SemanticTransaction, event: Event, action: str, memory_ids: Sequence[bytes], reason: str) -> None:
    changed = semantic_pb2.Changed(
        action=action,
        memory_ids=[id_text(one) for one in memory_ids],
        reason=reason,
        scope=scope_message(own_scope(event.user)),
    )
    transaction.emit(
        make_record(
            changed, event_id=derive_id(event.event_id, "changed"), occurred_us=event.occurred_us, user=event.user,
            causation_id=event.event_id,
        )
    )  # fmt: skip


def _data_source(role: str) -> str:
    return {"user": "user_message", "assistant": "assistant_message", "tool": "tool_result"}.get(role, "system")
