"""From contracts to the plain dicts that the verbs on facts return."""

from __future__ import annotations

from collections.abc import Iterable

from aico_memory.client.fact_results import (
    EventExplanation,
    Explanation,
    Outcome,
    Policy,
    PolicyState,
    PolicyVersion,
    Recall,
    Reinforcement,
    ReviewOutcome,
    ReviewQueue,
    ShadowReport,
    Waiting,
)
from aico_memory.client.shapes import detailed_shape, history_shape, id_text, memory_shape, scope_text
from aico_memory.clock import format_us
from aico_memory.contracts.v1 import context_pb2, envelope_pb2, write_path_pb2

EVERYBODY = "everybody"


def recall_shape(result: context_pb2.RecallResult) -> Recall:
    """The answer to a question."""
    return {
        "results": [
            {
                "id": fact.id,
                "memory": fact.memory,
                "value": fact.value or None,
                "valid_from": format_us(fact.valid_from_us),
                "valid_until": format_us(fact.valid_until_us),
                "confidence": fact.confidence,
                "evidence": [id_text(event) for event in fact.evidence],
            }
            for fact in result.results
        ],
        "degraded": list(result.degraded),
    }


def explained_shape(explained: write_path_pb2.Explained) -> Explanation:
    """Why something came about."""
    about = explained.memories[0].memory_id if explained.changes else ""
    return {
        "events": [_event(event) for event in explained.events],
        "memories": [detailed_shape(record) for record in explained.memories],
        "changes": history_shape(about, explained.changes),
    }


def review_shape(page: write_path_pb2.ReviewPage) -> ReviewQueue:
    """What waits for review."""
    return {"results": [_waiting(item) for item in page.items], "waiting": page.waiting}


def review_outcome_shape(outcome: write_path_pb2.ReviewOutcome) -> ReviewOutcome:
    """What a review did."""
    return {
        "id": outcome.record.memory_id,
        "action": outcome.action,
        "rule": outcome.rule,
        "memory": memory_shape(outcome.record),
        "changed": list(outcome.changed),
    }


def policy_shape(state: write_path_pb2.PolicyState) -> PolicyState:
    """A policy with its versions."""
    named = None if state.scope.kind == envelope_pb2.SCOPE_KIND_GLOBAL else scope_text(state.scope)
    return {
        "scope": named or EVERYBODY,
        "effective": _policy(state.effective),
        "versions": [_version(version) for version in state.versions],
    }


def shadow_shape(report: write_path_pb2.ShadowReport) -> ShadowReport:
    """Counts of what was and would have been done."""
    return {
        "messages": report.messages,
        "statements": report.statements,
        "done": _counts(report.done),
        "in_auto": _counts(report.in_auto),
        "in_shadow": _counts(report.in_shadow),
        "rules": _counts(report.rules),
        "filters": _counts(report.filters),
        "cut": report.cut,
    }


def reinforced_shape(answer: write_path_pb2.InteractionReinforced) -> Reinforcement:
    """What an interaction reinforced."""
    return {
        "interaction_id": answer.interaction_id,
        "results": [
            {"id": item.memory_id, "old_confidence": item.old_confidence, "new_confidence": item.new_confidence}
            for item in answer.items
        ],
    }


def _event(event: write_path_pb2.EventExplanation) -> EventExplanation:
    return {
        "event_id": id_text(event.event_id),
        "filtered": list(event.filtered),
        "classes": {share.feature: share.value for share in event.classes},
        "density": event.density,
        "emotion": event.emotion,
        "valence": event.valence,
        "arousal": event.arousal,
        "language": event.language or None,
        "strong": event.strong,
        "trace": list(event.trace),
        "statements": [_outcome(outcome) for outcome in event.outcomes],
    }


def _outcome(outcome: write_path_pb2.StatementOutcome) -> Outcome:
    return {
        "statement_id": outcome.statement_id,
        "kind": outcome.kind,
        "act": outcome.act,
        "predicate": outcome.predicate or None,
        "importance": outcome.importance,
        "channels": {
            "novelty": outcome.novelty, "arousal": outcome.arousal, "reward": outcome.reward, "attention": outcome.attention,
        },
        "confidence": outcome.confidence,
        "neighbours": [
            {
                "id": one.memory_id,
                "similarity": one.similarity,
                "same_key": one.same_key,
                "contradiction": one.contradiction or None,
                "status": one.status,
            }
            for one in outcome.neighbours
        ],
        "admission": outcome.admission,
        "action": outcome.action,
        "rule": outcome.rule,
        "reason": outcome.reason,
        "target": outcome.target or None,
        "in_auto": outcome.in_auto,
        "in_shadow": outcome.in_shadow,
        "waits": outcome.waits,
        "written": list(outcome.written),
    }  # fmt: skip


def _waiting(item: write_path_pb2.WaitingItem) -> Waiting:
    return {
        **memory_shape(item.record),
        "instead": item.instead,
        "rule": item.rule,
        "reason": item.reason,
        "target": item.target or None,
        "target_memory": item.target_text or None,
    }


def _policy(policy: write_path_pb2.Policy) -> Policy:
    return {
        "mode": policy.mode,
        "write_enabled": policy.write_enabled,
        "read_only": policy.read_only,
        "kinds": list(policy.kinds),
        "require_approval_kinds": list(policy.require_approval_kinds),
        "min_confidence": policy.min_confidence,
        "min_evidence": policy.min_evidence,
        "session_writes": policy.session_writes,
        "hour_writes": policy.hour_writes,
        "scope_items": policy.scope_items,
    }


def _version(version: write_path_pb2.PolicyVersion) -> PolicyVersion:
    return {
        **_policy(version.policy),
        "number": version.number,
        "at": format_us(version.at_us),
        "by": version.by,
        "restored": version.restored or None,
    }


def _counts(counts: Iterable[write_path_pb2.CountByName]) -> dict[str, int]:
    return {count.name: count.count for count in counts}
