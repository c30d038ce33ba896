"""From messages on outcomes to what the verbs return."""

from __future__ import annotations

import json
from typing import Any

from aico_memory.client.outcome_results import (
    Acceptance,
    CompactionReport,
    Insight,
    Insights,
    OpenSuggestion,
    OutcomeEntry,
    OutcomesFound,
    Profile,
    RecordedOutcome,
    SuggestionAdvice,
)
from aico_memory.clock import format_us
from aico_memory.contracts.v1 import outcomes_pb2

LINES, TIMELINE, DETAIL = 1, 2, 3


def acceptance_shape(one: outcomes_pb2.TypeAcceptance) -> Acceptance:
    """Counts of a type or value."""
    return {
        "type": one.type, "accepted": one.accepted, "rejected": one.rejected, "expired": one.expired,
        "superseded": one.superseded, "rate": one.rate, "confidence": one.confidence,
    }  # fmt: skip


def recorded_shape(result: outcomes_pb2.OutcomeResult) -> RecordedOutcome:
    """What recording came to."""
    return {
        "status": result.status,
        "outcome_id": result.outcome_id or None,
        "suggestion_id": result.suggestion_id,
        "acceptance": acceptance_shape(result.acceptance) if result.HasField("acceptance") else None,
    }


def suggestion_shape(one: outcomes_pb2.Suggestion) -> OpenSuggestion:
    """A suggestion."""
    return {
        "status": one.status, "suggestion_id": one.suggestion_id, "type": one.type, "value": one.value, "reason": one.reason,
        "created_at": format_us(one.created_us) if one.created_us else None,
        "expires_at": format_us(one.expires_us) if one.expires_us else None,
    }  # fmt: skip


def profile_shape(found: outcomes_pb2.OutcomeProfile) -> Profile:
    """A profile."""
    trends = found.trends
    return {
        "user_id": found.user_id,
        "learning": found.learning,
        "acceptance": [acceptance_shape(one) for one in found.acceptance],
        "patterns": [
            {"name": one.name, "type": one.type, "advice": one.advice, "description": one.description,
             "accepted": one.accepted, "decided": one.decided}
            for one in found.patterns
        ],
        "trends": {
            "engagement": trends.engagement, "engagement_trend": trends.engagement_trend, "stability": trends.stability,
            "acceptance": trends.acceptance, "acceptance_trend": trends.acceptance_trend,
            "suggestions_per_week": trends.suggestions_per_week,
        },
        "totals": {
            "outcomes": found.outcomes, "accepted": found.accepted, "rejected": found.rejected, "expired": found.expired,
            "superseded": found.superseded,
        },
        "last_outcome": found.last_outcome or None,
        "last_decided_at": format_us(found.last_decided_us) if found.last_decided_us else None,
        "compacted_through": format_us(found.compacted_through_us) if found.compacted_through_us else None,
    }  # fmt: skip


def entry_shape(one: outcomes_pb2.OutcomeItem, layer: int) -> OutcomeEntry:
    """One outcome at a layer."""
    entry: OutcomeEntry = {
        "outcome_id": one.outcome_id, "suggestion_id": one.suggestion_id, "type": one.type, "value": one.value,
        "outcome": one.outcome, "decided_at": format_us(one.decided_us), "score": one.score, "text": one.text,
        "tokens": one.tokens, "compacted": one.compacted, "replaced_by": one.replaced_by or None,
    }  # fmt: skip
    if layer >= TIMELINE:
        entry["reason"] = one.reason
        entry["state_before"], entry["state_after"] = _state(one.state_before_json), _state(one.state_after_json)
    if layer == TIMELINE:
        entry["before"], entry["after"] = list(one.before), list(one.after)
    if layer == DETAIL:
        entry["evidence"], entry["tags"] = list(one.evidence), list(one.tags)
        entry["created_at"] = format_us(one.created_us)
    return entry


def outcomes_shape(found: outcomes_pb2.Outcomes, layer: int) -> OutcomesFound:
    """Outcomes at a layer."""
    return {
        "results": [entry_shape(one, layer) for one in found.outcomes], "layer": layer, "tokens": found.tokens,
        "tokens_in_full": found.tokens_in_full, "tokenizer": found.tokenizer, "matching": found.matching,
        "answered_by": found.answered_by, "degraded": list(found.degraded),
    }  # fmt: skip


def advice_shape(found: outcomes_pb2.SuggestionAdvice) -> SuggestionAdvice:
    """The check before a suggestion."""
    return {
        "verdict": found.verdict,
        "reasons": [{"rule": one.rule, "advice": one.advice, "text": one.text} for one in found.reasons],
        "acceptance": acceptance_shape(found.acceptance) if found.HasField("acceptance") else None,
        "value_acceptance": acceptance_shape(found.value_acceptance) if found.HasField("value_acceptance") else None,
        "similar": [entry_shape(one, LINES) for one in found.similar],
        "learning": found.learning,
        "degraded": list(found.degraded),
    }


def compaction_shape(report: outcomes_pb2.CompactionReport) -> CompactionReport:
    """What compaction saved."""
    return {
        "users": report.users, "compacted": report.compacted, "kept_whole": report.kept_whole,
        "tokens_before": report.tokens_before, "tokens_after": report.tokens_after, "saved": report.saved,
        "patterns_unchanged": report.patterns_unchanged, "expired": report.expired, "tokenizer": report.tokenizer,
    }  # fmt: skip


def insight_shape(one: outcomes_pb2.Insight) -> Insight:
    """A generalisation over people."""
    return {
        "insight_id": one.insight_id, "statement": one.statement, "type": one.type, "people": one.people, "rate": one.rate,
        "status": one.status, "at": format_us(one.at_us) if one.at_us else None,
    }  # fmt: skip


def insights_shape(page: outcomes_pb2.InsightsPage) -> Insights:
    """All of them."""
    return {"insights": [insight_shape(one) for one in page.insights], "file": page.file, "k": page.k}


def _state(text: str) -> Any:
    return json.loads(text) if text else None
