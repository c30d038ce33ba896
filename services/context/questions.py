"""The messages that ask the tiers, and what their answers become."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence

from aico_memory.contracts.v1 import context_pb2, envelope_pb2, model_pb2, semantic_pb2, working_pb2
from aico_memory.domain.context.items import ContextItem
from aico_memory.domain.retrieval.fusion import Fused
from aico_memory.ids import derive_id

GLOBAL_SCOPE = "global"


def embed_question(query: str) -> model_pb2.EmbedRequest:
    """The query's vector, for a person who waits."""
    return model_pb2.EmbedRequest(texts=[query], interactive=True)


def turns_question(user: str, session: str, turns: int) -> working_pb2.ReadMessages:
    """The last turns of a conversation, or of all of a user's where none is named."""
    return working_pb2.ReadMessages(user_id=user, session_id=session, limit=turns)


def semantic_question(
    retriever: str,
    query: str,
    scopes: Sequence[envelope_pb2.Scope],
    candidates: int,
    *,
    vector: bytes = b"",
    fingerprint: str = "",
    search: context_pb2.SearchRequest | None = None,
) -> semantic_pb2.SemanticQuery:
    """One retriever's candidates; filters and times are those of the search, if it is one."""
    question = semantic_pb2.SemanticQuery(
        scopes=scopes, text=query, vector=vector, embedding_fingerprint=fingerprint, limit=candidates, retrievers=[retriever]
    )
    if search is not None:
        question.filters.CopyFrom(search.filters)
        question.as_of_us = search.as_of_us
        question.known_as_of_us = search.known_as_of_us
    return question


def readable_scopes(user: str, group: str, project: str) -> list[envelope_pb2.Scope]:
    """What a turn of this user may read: the user's own, the group and project it names, and what is global."""
    named = (
        (envelope_pb2.SCOPE_KIND_USER, user),
        (envelope_pb2.SCOPE_KIND_GROUP, group),
        (envelope_pb2.SCOPE_KIND_PROJECT, project),
        (envelope_pb2.SCOPE_KIND_GLOBAL, GLOBAL_SCOPE),
    )
    return [envelope_pb2.Scope(kind=kind, id=identifier) for kind, identifier in named if identifier]


def ranked_ids(answer: semantic_pb2.SemanticMatches | None, retriever: str) -> list[str]:
    """The ids that a retriever ranked, best first."""
    if answer is None:
        return []
    return [identifier for ranked in answer.lists if ranked.retriever == retriever for identifier in ranked.memory_ids]


def records_by_id(answers: Iterable[semantic_pb2.SemanticMatches | None]) -> dict[str, semantic_pb2.MemoryRecord]:
    """Every record that an answer carries, once."""
    return {record.memory_id: record for answer in answers if answer is not None for record in answer.records}


def turn_items(page: working_pb2.MessagePage | None) -> list[ContextItem]:
    """Turns, newest first, under the ids of the records that semantic memory makes of them: one event, one item."""
    if page is None:
        return []
    return [_turn_item(message) for message in reversed(page.messages)]


def record_item(record: semantic_pb2.MemoryRecord, fused: Fused, layer: str) -> ContextItem:
    """A long-term memory with its rank."""
    first = record.sources[0] if record.sources else semantic_pb2.EvidenceSource()
    return ContextItem(
        id=record.memory_id,
        text=record.text,
        kind=record.kind,
        tier=record.tier,
        layer=layer,
        score=fused.score,
        shares=fused.shares,
        evidence=tuple(source.event_id for source in record.sources),
        said_at_us=first.said_at_us or record.valid_from_us or record.created_at_us,
        speaker=first.name or first.role,
        confidence=record.confidence,
        importance=record.importance,
        pinned=record.pinned,
    )


def shares_of(shares: Iterable[tuple[str, float]]) -> list[semantic_pb2.RankedShare]:
    """Shares for the wire."""
    return [semantic_pb2.RankedShare(feature=feature, value=value) for feature, value in shares]


def _turn_item(message: working_pb2.StoredMessage) -> ContextItem:
    return ContextItem(
        id=str(derive_id(uuid.UUID(bytes=message.event_id), "record")),
        text=message.content,
        kind="turn",
        tier="working",
        layer="L0",
        evidence=(message.event_id,),
        said_at_us=message.said_at_us or message.received_at_us,
        speaker=message.name or message.role,
    )
