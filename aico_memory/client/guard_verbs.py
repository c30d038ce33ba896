"""Verbs on what keeps the system in bounds: the stop of all writing, and the changes of its own rules."""

from __future__ import annotations

import json
from typing import Any, TypedDict

from google.protobuf.message import Message

from aico_memory.client.session import Session
from aico_memory.client.validation import checked_count, checked_id, optional_text
from aico_memory.clock import format_us
from aico_memory.contracts.v1 import guardrails_pb2
from aico_memory.errors import NotFound

REASON_CHARACTERS = 500
NAME_CHARACTERS = 64
MAX_LISTED = 1000
# Fitting reads all labels.
ADJUST_SECONDS = 600.0


class WritingStop(TypedDict):
    """Whether all writing is stopped, since when, by whom and why."""

    on: bool
    since: str | None
    by: str
    reason: str


class AdjustmentScore(TypedDict):
    """The mean over recorded cases: shares of success and violations, units of work and tokens a case."""

    success: float
    violations: float
    latency: float
    cost: float
    cases: int


class Adjustment(TypedDict):
    """One change of the system's own rules."""

    id: str
    # behavioral_prior | ranking_profile | write_policy
    subject: str
    version: str
    replaces: str
    # refused | proposed | applied | replaced | rolled_back
    status: str
    reason: str
    at: str | None
    applied: str | None
    ended: str | None
    by: str
    before: AdjustmentScore
    after: AdjustmentScore
    # Cosine similarity of what both did on the recorded cases; cases in which the proposal decided otherwise.
    drift: dict[str, float]
    changed: int
    # Some of these cases in words.
    samples: list[str]
    # What was seen since it was applied: similarities, success (-1.0: unknown), cases.
    since: dict[str, float]
    # The proposed rules and those before; only where one is asked for.
    rules: dict[str, Any]
    snapshot: dict[str, Any]


class SelfAdjusted(TypedDict):
    """What a run came to: its entries, and what it says of each subject."""

    adjustments: list[Adjustment]
    told: dict[str, str]


class GuardVerbs:
    """Verbs on the guardrails."""

    _session: Session

    async def writing_stop(self) -> WritingStop:
        """Whether all writing is stopped."""
        return _stop_shape(await self._session.control("read_only_state", {}))

    async def stop_writing(self, reason: str | None = None) -> WritingStop:
        """The emergency stop: no worker writes anything from now on, also after a restart, until `allow_writing`.

        Questions go on being answered from what is stored. Messages are still acknowledged: they wait in the bus's
        journal and are applied in order afterwards. Commands that wait for an answer (an edit, a thumb, a choice of a
        skill) are refused with ReadOnly.
        """
        words = optional_text(reason, "reason", REASON_CHARACTERS)
        return _stop_shape(await self._session.control("read_only", {"action": "on", "reason": words}))

    async def allow_writing(self) -> WritingStop:
        """End the stop; what came meanwhile is applied in its order. Nothing changes where writing is allowed."""
        return _stop_shape(await self._session.control("read_only", {"action": "off"}))

    async def adjustments(self, subject: str | None = None, limit: int = 100) -> list[Adjustment]:
        """Changes of the system's own rules, of all owners, the newest first."""
        named = optional_text(subject, "subject", NAME_CHARACTERS)
        most = checked_count(limit, "limit", MAX_LISTED)
        found: list[Adjustment] = []
        for request in (
            guardrails_pb2.BehavioralAdjustmentsRequest(subject=named, limit=most),
            guardrails_pb2.SemanticAdjustmentsRequest(subject=named, limit=most),
        ):
            found += map(adjustment_shape, (await self._session.ask(request)).adjustments)
        return sorted(found, key=lambda one: one["at"] or "", reverse=True)[:most]

    async def adjustment(self, adjustment_id: str) -> Adjustment:
        """One change with its rules and those it replaced. NotFound."""
        named = str(checked_id(adjustment_id, "adjustment_id"))
        try:
            page = await self._session.ask(guardrails_pb2.BehavioralAdjustmentsRequest(adjustment_id=named))
        except NotFound:
            page = await self._session.ask(guardrails_pb2.SemanticAdjustmentsRequest(adjustment_id=named))
        return adjustment_shape(page.adjustments[0])

    async def approve_adjustment(self, adjustment_id: str) -> Adjustment:
        """Apply what was proposed. NotFound; RefusedTransition where it is not proposed, or its rules were changed since."""
        return await self._decide_adjustment(adjustment_id, "approve", None)

    async def roll_back_adjustment(self, adjustment_id: str, reason: str | None = None) -> Adjustment:
        """Let the rules hold again that stood before; the same again changes nothing. NotFound; RefusedTransition."""
        return await self._decide_adjustment(adjustment_id, "rollback", reason)

    async def self_adjust(self) -> SelfAdjusted:
        """Look at what was applied to long-term memory, and try out what reviews and judgements propose; what came of it."""
        page = await self._session.command(guardrails_pb2.SelfAdjust(), "", seconds=ADJUST_SECONDS)
        return {"adjustments": [adjustment_shape(one) for one in page.adjustments], "told": dict(page.told)}

    async def _decide_adjustment(self, adjustment_id: str, action: str, reason: str | None) -> Adjustment:
        named = str(checked_id(adjustment_id, "adjustment_id"))
        fields = {"adjustment_id": named, "action": action, "reason": optional_text(reason, "reason", REASON_CHARACTERS)}
        try:
            await self._session.ask(guardrails_pb2.BehavioralAdjustmentsRequest(adjustment_id=named))
        except NotFound:
            decision: Message = guardrails_pb2.SemanticAdjustmentDecision(**fields)
        else:
            decision = guardrails_pb2.BehavioralAdjustmentDecision(**fields)
        return adjustment_shape(await self._session.command(decision, ""))


def adjustment_shape(one: guardrails_pb2.Adjustment) -> Adjustment:
    """An entry as a client returns it."""
    return {
        "id": one.adjustment_id, "subject": one.subject, "version": one.version, "replaces": one.replaces,
        "status": one.status, "reason": one.reason, "at": format_us(one.at_us), "applied": format_us(one.applied_us),
        "ended": format_us(one.ended_us), "by": one.by, "before": _score_shape(one.before), "after": _score_shape(one.after),
        "drift": dict(one.drift), "changed": one.changed, "samples": list(one.samples), "since": dict(one.since),
        "rules": json.loads(one.body_json or "{}"), "snapshot": json.loads(one.snapshot_json or "{}"),
    }  # fmt: skip


def _score_shape(score: guardrails_pb2.AdjustmentScore) -> AdjustmentScore:
    return {
        "success": score.success, "violations": score.violations, "latency": score.latency, "cost": score.cost,
        "cases": score.cases,
    }  # fmt: skip


def _stop_shape(state: dict[str, Any]) -> WritingStop:
    return {
        "on": bool(state["on"]), "since": format_us(state["since_us"]), "by": state["by"], "reason": state["reason"],
    }  # fmt: skip
