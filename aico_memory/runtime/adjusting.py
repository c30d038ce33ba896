"""Self-adjustments between their ledger and the rules that they change; the same for every owner of rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import guardrails_pb2
from aico_memory.domain.guardrails.adjustment import (
    APPLIED,
    PROPOSED,
    REPLACED,
    ROLLED_BACK,
    SUBJECTS,
    SYSTEM,
    Adjustment,
    approved,
    succeeded,
    taken_back,
    watched,
)
from aico_memory.domain.guardrails.objectives import Limits, Score, Seen, Weights
from aico_memory.errors import InvalidMessage, NotFound, RefusedTransition
from aico_memory.settings.guardrails import GuardrailSettings

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from aico_memory.stores.sql.ledger import Ledger

APPROVE, ROLL_BACK = "approve", "rollback"
PAGE = 100
DAY_US = 86_400_000_000


class Adjustable(Protocol):
    """Rules that can be exchanged, inside one transaction."""

    def version(self) -> str:
        """Of what holds now."""

    def put(self, adjustment: Adjustment) -> None:
        """Let the proposed rules hold."""

    def restore(self, adjustment: Adjustment) -> None:
        """Let the rules hold again that stood before, exactly."""


Adjustables = Mapping[str, Adjustable]
# What was seen in use since a moment (Unix µs).
Look = Callable[[int], Seen]


def weights_of(settings: GuardrailSettings) -> Weights:
    """The settings' weights of the score."""
    return Weights(**settings.weights.model_dump())


def limits_of(settings: GuardrailSettings) -> Limits:
    """When a trial passes."""
    return Limits(settings.cases, settings.tolerance, settings.drift, settings.fall)


def held_until(ledger: Ledger, subject: str, settings: GuardrailSettings) -> int:
    """Until when nothing of a subject is applied by itself, because one of its kind was taken back."""
    ended = [one.ended_us for one in ledger.adjustments(subject) if one.status == ROLLED_BACK]
    return max(ended) + settings.hold_days * DAY_US if ended else 0


def settle(ledger: Ledger, decided: Adjustment, rules: Adjustable, settings: GuardrailSettings) -> None:
    """Keep what was decided of a proposal; where it is applied, let it hold."""
    if decided.status == APPLIED:
        _succeed(ledger, decided.subject, decided.applied_us)
        rules.put(decided)
    ledger.put_adjustment(decided, settings.kept)


def look_back(
    ledger: Ledger, subject: str, rules: Adjustable, look: Look, settings: GuardrailSettings, at_us: int,
    log: FilteringBoundLogger,
) -> Adjustment | None:  # fmt: skip
    """Judge the adjustment that holds by what was seen since, and take it back where that is an alarm; what was judged."""
    standing = ledger.applied(subject)
    if standing is None or standing.version != rules.version():
        return None
    limits = limits_of(settings)._replace(cases=settings.watched_cases)
    looked, alarm = watched(standing, look(standing.applied_us), limits)
    if alarm:
        looked = _roll_back(ledger, looked, rules, SYSTEM, at_us, alarm)
        log.warning("guardrails_alarm", subject=subject, version=looked.version, restored=looked.replaces, reason=alarm)
    elif looked != standing:
        ledger.put_adjustment(looked)
    return looked


def decide(ledger: Ledger, event: Event, rules: Adjustables) -> guardrails_pb2.Adjustment:
    """A person's word on one entry. Raises NotFound, RefusedTransition, InvalidMessage; then nothing is changed."""
    message = event.message
    found = ledger.adjustment(message.adjustment_id)
    if found is None or found.subject not in rules:
        raise NotFound(f"No adjustment {message.adjustment_id!r} stands here", "See `aico-memory guardrails list`.")
    subject = rules[found.subject]
    if message.action == APPROVE:
        after = approved(found, event.sender, event.occurred_us)
        if after is not found:
            _require(subject, found.replaces, found)
            _succeed(ledger, found.subject, event.occurred_us)
            subject.put(after)
            ledger.put_adjustment(after)
    elif message.action == ROLL_BACK:
        after = found
        if found.status != ROLLED_BACK:
            after = _roll_back(ledger, found, subject, event.sender, event.occurred_us, message.reason or "by hand")
    else:
        raise InvalidMessage(f"{message.action!r} is no decision", f"Say {APPROVE} or {ROLL_BACK}.")
    return adjustment_message(after, whole=True)


def adjustment_page(ledger: Ledger, event: Event) -> guardrails_pb2.AdjustmentPage:
    """The entries that are asked for. NotFound where one is named that is not here."""
    request = event.message
    if request.adjustment_id:
        found = ledger.adjustment(request.adjustment_id)
        if found is None:
            raise NotFound(f"No adjustment {request.adjustment_id!r} stands here", "See `aico-memory guardrails list`.")
        return guardrails_pb2.AdjustmentPage(adjustments=[adjustment_message(found, whole=True)])
    entries = ledger.adjustments(request.subject, request.limit or PAGE)
    return guardrails_pb2.AdjustmentPage(adjustments=map(adjustment_message, entries))


def account(ledger: Ledger, settings: GuardrailSettings, now_us: int) -> dict[str, Any]:
    """For `status`: what holds, how many proposals wait, and an alarm for what was taken back lately."""
    entries = ledger.adjustments(limit=PAGE)
    standing = {subject: ledger.applied(subject) for subject in SUBJECTS}
    recent = now_us - settings.hold_days * DAY_US
    alarms = [
        f"guardrails took back {one.subject} {one.version}: {one.reason}"
        for one in entries if one.status == ROLLED_BACK and one.by == SYSTEM and one.ended_us >= recent
    ]  # fmt: skip
    return {
        "applied": {subject: one.version for subject, one in standing.items() if one is not None},
        "proposed": sum(one.status == PROPOSED for one in entries),
        "alarms": alarms,
    }


def adjustment_message(one: Adjustment, whole: bool = False) -> guardrails_pb2.Adjustment:
    """An entry as it is shown; with its rules where it is asked for by itself."""
    message = guardrails_pb2.Adjustment(
        adjustment_id=one.adjustment_id, subject=one.subject, version=one.version, replaces=one.replaces, status=one.status,
        reason=one.reason, at_us=one.at_us, applied_us=one.applied_us, ended_us=one.ended_us, by=one.by,
        before=_score(one.before), after=_score(one.after), drift=one.drift, changed=one.changed, since=one.since,
        samples=one.samples,
    )  # fmt: skip
    if whole:
        message.body_json = json.dumps(one.body, sort_keys=True)
        message.snapshot_json = json.dumps(one.snapshot, sort_keys=True)
    return message


def _roll_back(ledger: Ledger, found: Adjustment, rules: Adjustable, by: str, at_us: int, reason: str) -> Adjustment:
    after = taken_back(found, by, at_us, reason)
    _require(rules, found.version, found)
    rules.restore(after)
    ledger.put_adjustment(after)
    before = [one for one in ledger.adjustments(found.subject) if (one.version, one.status) == (found.replaces, REPLACED)]
    if before:
        ledger.put_adjustment(replace(before[0], status=APPLIED, ended_us=0))
    return after


def _succeed(ledger: Ledger, subject: str, at_us: int) -> None:
    standing = ledger.applied(subject)
    if standing is not None:
        ledger.put_adjustment(succeeded(standing, at_us))


def _require(rules: Adjustable, version: str, found: Adjustment) -> None:
    if rules.version() != version:
        raise RefusedTransition(
            f"{found.subject} is {rules.version()} now, not {version}", "Something else was set since; see `guardrails list`."
        )


def _score(score: Score) -> guardrails_pb2.AdjustmentScore:
    return guardrails_pb2.AdjustmentScore(
        success=score.success, violations=score.violations, latency=score.latency, cost=score.cost, cases=score.cases
    )
