"""The life of one self-adjustment: tried out, then refused, proposed or applied; replaced, or taken back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from aico_memory.domain.guardrails.objectives import (
    SAMPLES,
    Limits,
    Score,
    Seen,
    Trial,
    Weights,
    alarm,
    drift,
    weighed,
)
from aico_memory.errors import InvalidMessage, RefusedTransition

BEHAVIORAL_PRIOR: Final = "behavioral_prior"
RANKING_PROFILE: Final = "ranking_profile"
WRITE_POLICY: Final = "write_policy"
SUBJECTS: Final = (BEHAVIORAL_PRIOR, RANKING_PROFILE, WRITE_POLICY)
OFF, PROPOSE, AUTO = "off", "propose", "auto"
REFUSED, PROPOSED, APPLIED, REPLACED, ROLLED_BACK = "refused", "proposed", "applied", "replaced", "rolled_back"
SYSTEM: Final = "guardrails"


@dataclass(frozen=True, slots=True)
class Adjustment:
    """One entry of the ledger."""

    # UUID text.
    adjustment_id: str
    subject: str
    # Of what is proposed, and of what held before it.
    version: str
    replaces: str
    # refused | proposed | applied | replaced | rolled_back
    status: str
    reason: str
    # When it was tried out, when it began to hold and when it ended; Unix µs, 0: never.
    at_us: int
    applied_us: int = 0
    ended_us: int = 0
    # Who applied it, or took it back last.
    by: str = SYSTEM
    before: Score = field(default_factory=Score)
    after: Score = field(default_factory=Score)
    # Similarity of what both did on the recorded cases, by name; what of them the proposal decided otherwise.
    drift: Mapping[str, float] = field(default_factory=dict)
    changed: int = 0
    samples: tuple[str, ...] = ()
    # The rules before it, which a rollback restores, and the proposed ones.
    snapshot: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    # What was seen in use before it was applied, for the detector.
    seen: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    seen_success: float = -1.0
    # The latest look at what it did since: similarity by name, success (-1: none), cases.
    since: Mapping[str, float] = field(default_factory=dict)


def decided(
    proposal: Adjustment, trial: Trial, mode: str, weights: Weights, limits: Limits, held_until_us: int = 0
) -> Adjustment:
    """The proposal with its trial and what becomes of it: refused with the reason, proposed for a person, or applied.

    More violations than before are refused whatever else is won. Where the two behave so differently that the detector
    would sound at once, a person decides, whatever the mode.
    """
    tried = replace(
        proposal,
        before=trial.before,
        after=trial.after,
        changed=trial.changed,
        drift=drift(trial.did_before, trial.did_after),
        samples=trial.samples[:SAMPLES],
    )
    change = weighed(trial.after, trial.before, weights) - weighed(trial.before, trial.before, weights)
    if trial.after.cases < limits.cases:
        return replace(tried, status=REFUSED, reason=f"too few cases: {trial.after.cases} of {limits.cases}")
    if trial.after.violations > trial.before.violations + limits.tolerance:
        violations = f"{trial.before.violations:.3f} to {trial.after.violations:.3f}"
        return replace(tried, status=REFUSED, reason=f"safety: violations rise from {violations}")
    if change < -limits.tolerance:
        return replace(tried, status=REFUSED, reason=f"the score falls by {-change:.4f}")
    told = f"the score changes by {change:+.4f} on {trial.after.cases} cases"
    if strange := alarm(tried.drift, limits):
        return replace(tried, status=PROPOSED, reason=f"{told}; it would act very differently: {strange}")
    if mode != AUTO:
        return replace(tried, status=PROPOSED, reason=told)
    if proposal.at_us < held_until_us:
        return replace(tried, status=PROPOSED, reason=f"{told}; a change of its kind was taken back lately")
    return replace(tried, status=APPLIED, reason=told, applied_us=proposal.at_us)


def approved(adjustment: Adjustment, by: str, at_us: int) -> Adjustment:
    """Applied by a person's word; the same again where it holds already. RefusedTransition for what cannot be."""
    if adjustment.status == APPLIED:
        return adjustment
    if adjustment.status != PROPOSED:
        raise RefusedTransition(
            f"The adjustment {adjustment.adjustment_id} is {adjustment.status}", "Only what is proposed can."
        )
    return replace(adjustment, status=APPLIED, applied_us=at_us, by=by, reason=f"{adjustment.reason}; approved")


def taken_back(adjustment: Adjustment, by: str, at_us: int, reason: str) -> Adjustment:
    """Rolled back; the same again where it is already. RefusedTransition where it never held or something else holds now."""
    if adjustment.status == ROLLED_BACK:
        return adjustment
    if adjustment.status != APPLIED:
        raise RefusedTransition(
            f"The adjustment {adjustment.adjustment_id} is {adjustment.status}",
            "Roll back what is applied: see `guardrails list`.",
        )
    return replace(adjustment, status=ROLLED_BACK, ended_us=at_us, by=by, reason=reason)


def succeeded(adjustment: Adjustment, at_us: int) -> Adjustment:
    """Another one of its subject holds from now on."""
    return replace(adjustment, status=REPLACED, ended_us=at_us)


def watched(adjustment: Adjustment, seen: Seen, limits: Limits) -> tuple[Adjustment, str]:
    """The adjustment with what was seen since it was applied, and why it is to be taken back ("": it is not)."""
    similarities = drift(adjustment.seen, seen.did)
    since = {**similarities, "success": seen.success, "cases": float(seen.cases)}
    looked = replace(adjustment, since=since)
    if seen.cases < limits.cases:
        return looked, ""
    if strange := alarm(similarities, limits):
        return looked, f"drift: {strange}"
    fall = adjustment.seen_success - seen.success
    if adjustment.seen_success >= 0 and seen.success >= 0 and fall > limits.fall:
        return looked, f"success fell from {adjustment.seen_success:.3f} to {seen.success:.3f}"
    return looked, ""


def adjustment_as_data(adjustment: Adjustment) -> dict[str, Any]:
    """Plain JSON values: `adjustment_from_data` reads them again."""
    return asdict(adjustment)


def adjustment_from_data(body: Mapping[str, Any]) -> Adjustment:
    """The adjustment of such data; InvalidMessage where it is none."""
    try:
        found = dict(body)
        # Entries from before there were samples have none.
        found["samples"] = tuple(found.get("samples", ()))
        return Adjustment(**{**found, "before": Score(**found["before"]), "after": Score(**found["after"])})
    except (TypeError, KeyError) as error:
        raise InvalidMessage(f"An adjustment cannot be read: {error}") from error
