"""From the contracts of the context worker to plain dicts."""

from __future__ import annotations

from collections.abc import Iterable

from aico_memory.client.context_results import (
    Beside,
    Context,
    ContextItem,
    Disclosed,
    Disclosure,
    IndexUpdate,
    Link,
    UnifiedResults,
    VerifiedLinks,
)
from aico_memory.client.shapes import history_shape, id_text, memory_shape
from aico_memory.clock import format_us
from aico_memory.contracts.v1 import context_pb2, semantic_pb2


def context_shape(answer: context_pb2.ContextAnswer, explain: bool) -> Context:
    """The block for a prompt."""
    shaped: Context = {
        "text": answer.text,
        "items": [_context_item(item, explain) for item in answer.items],
        "timings_ms": _timings(answer.timings),
        "degraded": list(answer.degraded),
        "tokens": answer.tokens,
        "tokenizer": answer.tokenizer,
        "model": answer.model or None,
        "cached": answer.cached,
        "understood_by": answer.understood_by or None,
        "not_understood": answer.not_understood or None,
        "mood": {"valence": answer.valence, "from": answer.mood_from} if answer.mood_from else None,
        "intent": answer.intent,
        "parts": list(answer.parts),
    }
    if explain:
        shaped["dropped"] = [{"id": item.id, "rule": item.rule} for item in answer.dropped]
    return shaped


def disclosure_shape(answer: context_pb2.Disclosed, depth: str) -> Disclosure:
    """What was disclosed."""
    return {
        "results": [_disclosed(item, depth) for item in answer.items],
        "tokens": answer.tokens,
        "tokens_in_full": answer.tokens_in_full,
        "tokenizer": answer.tokenizer,
        "degraded": list(answer.degraded),
        "timings_ms": _timings(answer.timings),
        "cached": answer.cached,
    }


def unified_shape(answer: context_pb2.UnifiedResult) -> UnifiedResults:
    """Hits of all layers."""
    return {
        "results": [
            {
                "layer": hit.layer,
                "id": hit.id,
                "kind": hit.kind,
                "text": hit.text,
                "score": hit.score,
                "timestamp": format_us(hit.said_at_us),
                "links": _links(hit.links),
            }
            for hit in answer.hits
        ],
        "degraded": list(answer.degraded),
        "timings_ms": _timings(answer.timings),
    }


def verified_shape(answer: context_pb2.VerifiedLinks) -> VerifiedLinks:
    """What following the links found."""
    return {
        "memories": answer.memories,
        "links": answer.links,
        "sound": answer.sound,
        "dangling": _links(answer.dangling),
        "without_record": _links(answer.without_record),
        "complete": answer.complete,
        "degraded": list(answer.degraded),
    }


def update_shape(answer: semantic_pb2.IndexUpdated) -> IndexUpdate:
    """What an index update found and repaired."""
    return {
        "memories": answer.memories,
        "links": answer.links,
        "dangling": answer.dangling,
        "repaired": answer.repaired,
        "without_record": answer.without_record,
        "vectors": answer.vectors,
        "findings": [
            {"id": one.memory_id, "decision": one.decision, "rule": one.rule, "others": list(one.others)}
            for one in answer.findings
        ],
    }


def with_update(before: IndexUpdate, answer: semantic_pb2.IndexUpdated) -> IndexUpdate:
    """What several commands did together."""
    more = update_shape(answer)
    return {
        "memories": before["memories"] + more["memories"],
        "links": before["links"] + more["links"],
        "dangling": before["dangling"] + more["dangling"],
        "repaired": before["repaired"] + more["repaired"],
        "without_record": before["without_record"] + more["without_record"],
        "vectors": before["vectors"] + more["vectors"],
        "findings": before["findings"] + more["findings"],
    }


def _context_item(item: context_pb2.ContextItem, explain: bool) -> ContextItem:
    shaped: ContextItem = {
        "id": item.id,
        "text": item.text,
        "kind": item.kind,
        "tier": item.tier,
        "layer": item.layer,
        "score": item.score,
        "evidence": [id_text(event) for event in item.evidence],
        "tokens": item.tokens,
        "timestamp": format_us(item.said_at_us),
        "detail": item.detail,
        "confidence": item.confidence,
        "status": item.status,
        "answers": item.answers,
        "valid_from": format_us(item.valid_from_us),
        "valid_until": format_us(item.valid_until_us),
    }
    if explain:
        shaped["shares"] = {share.feature: share.value for share in item.shares}
    return shaped


def _disclosed(item: context_pb2.DisclosedItem, depth: str) -> Disclosed:
    shaped: Disclosed = {
        "id": item.id,
        "kind": item.kind,
        "text": item.text,
        "score": item.score,
        "days_ago": item.days_ago,
        "tokens": item.tokens,
    }
    if depth != "search":
        shaped["status"] = item.status
        shaped["value"] = item.value or None
        shaped["valid_from"] = format_us(item.valid_from_us)
        shaped["valid_until"] = format_us(item.valid_until_us)
        shaped["changes"] = history_shape(item.id, item.changes)
        shaped["before"] = [_beside(one) for one in item.before]
        shaped["after"] = [_beside(one) for one in item.after]
    if depth == "detail" and item.HasField("record"):
        shaped["memory"] = memory_shape(item.record)
        shaped["text"], shaped["status"], shaped["value"] = item.record.text, item.record.status, item.record.value or None
    return shaped


def _beside(one: context_pb2.Neighbour) -> Beside:
    return {"id": one.id, "text": one.text, "timestamp": format_us(one.said_at_us)}


def _links(links: Iterable[context_pb2.LayerLink]) -> list[Link]:
    return [
        {"layer": link.layer, "id": link.id, "what": link.what, "present": None if link.unknown else link.present}
        for link in links
    ]


def _timings(timings: Iterable[semantic_pb2.StageTiming]) -> dict[str, float]:
    return {timing.stage: timing.milliseconds for timing in timings}
