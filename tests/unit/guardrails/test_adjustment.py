"""Scores, drift, splits and the life of an adjustment."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.guardrails.adjustment import (
    APPLIED,
    AUTO,
    OFF,
    PROPOSE,
    PROPOSED,
    REFUSED,
    ROLLED_BACK,
    Adjustment,
    adjustment_as_data,
    adjustment_from_data,
    approved,
    decided,
    taken_back,
    watched,
)
from aico_memory.domain.guardrails.objectives import (
    Limits,
    Score,
    Seen,
    Trial,
    Weights,
    alarm,
    drift,
    similarity,
    split,
    weighed,
)
from aico_memory.errors import InvalidMessage, RefusedTransition

WEIGHTS, LIMITS = Weights(), Limits()
PROPOSAL = Adjustment("a1", "write_policy", "v2", "v1", PROPOSED, "", 100, snapshot={"x": 1}, body={"x": 2})
GOOD = Trial(
    Score(0.6, 1, 10, 0.1, 30), Score(0.7, 1, 10, 0.1, 30), 5, {"skills": {"a": 5}}, {"skills": {"a": 4, "b": 1}}, ("a → b",)
)
COUNTS = st.dictionaries(st.text(max_size=5), st.integers(1, 1000), min_size=1, max_size=8)


@given(COUNTS, st.integers(1, 50))
def test_equal_distributions_are_as_similar_as_can_be_whatever_their_size(counts: dict[str, int], factor: int) -> None:
    assert similarity(counts, {name: count * factor for name, count in counts.items()}) == pytest.approx(1.0)
    assert similarity(counts, {}) == similarity({}, counts) == 1.0


@given(COUNTS, COUNTS)
def test_similarity_is_symmetric_and_bounded(one: dict[str, int], other: dict[str, int]) -> None:
    assert 0.0 <= similarity(one, other) <= 1.0
    assert similarity(one, other) == pytest.approx(similarity(other, one))


def test_distributions_with_nothing_in_common_sound_the_alarm_by_name() -> None:
    found = drift({"skills": {"a": 3}, "kinds": {"fact": 2}, "tiers": {"x": 1}}, {"skills": {"b": 3}, "kinds": {"fact": 9}})
    assert found == {"skills": 0.0, "kinds": pytest.approx(1.0)}
    assert alarm(found, LIMITS) == "skills 0.00 (alarm below 0.5)"
    assert alarm({"kinds": 0.5}, LIMITS) == ""


def test_all_respects_count_by_their_weights() -> None:
    before = Score(0.5, 2.0, 100.0, 0.2, 10)
    assert weighed(before, before, WEIGHTS) == pytest.approx(0.5 - 0.05 - 0.05 - 0.2)
    dearer = replace(before, cost=200.0)
    assert weighed(dearer, before, WEIGHTS) == pytest.approx(weighed(before, before, WEIGHTS) - 0.05)
    slower = replace(before, latency=1.0)
    assert weighed(slower, before, WEIGHTS) == pytest.approx(weighed(before, before, WEIGHTS) + 0.025)
    assert weighed(Score(cost=1.0), Score(), WEIGHTS) < weighed(Score(), Score(), WEIGHTS)


@given(st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=60), st.sampled_from([0.1, 0.25, 0.5]))
def test_a_split_loses_nobody_doubles_nobody_and_knows_no_order(names: list[str], share: float) -> None:
    fit, kept = split(names, share)
    assert sorted([*fit, *kept]) == sorted(names)
    assert split(names[::-1], share) == (fit, kept)
    if len(names) > 1:
        assert 1 <= len(kept) <= max(1, round(share * len(names)))
        assert fit


def test_the_share_is_held_out_whatever_the_names_hash_to() -> None:
    for start in range(50):
        assert len(split([f"session-{start + number}" for number in range(40)], 0.25)[1]) == 10


@pytest.mark.parametrize(
    ("trial", "mode", "status", "words"),
    [
        (GOOD, AUTO, APPLIED, "+0.1"),
        (GOOD, PROPOSE, PROPOSED, "+0.1"),
        (replace(GOOD, after=replace(GOOD.after, cases=3)), AUTO, REFUSED, "too few cases: 3 of 20"),
        (replace(GOOD, after=replace(GOOD.after, success=0.5)), AUTO, REFUSED, "the score falls by 0.1"),
        (replace(GOOD, after=replace(GOOD.after, cost=40.0)), AUTO, REFUSED, "the score falls"),
        (replace(GOOD, after=replace(GOOD.after, success=1.0, violations=0.2)), AUTO, REFUSED, "safety"),
        (replace(GOOD, did_after={"skills": {"z": 5}}), AUTO, PROPOSED, "act very differently: skills 0.00"),
    ],
)
def test_what_becomes_of_a_proposal(trial: Trial, mode: str, status: str, words: str) -> None:
    # The gain of 0.1 has to outweigh four times the tokens.
    weights = WEIGHTS._replace(cost=0.05)
    found = decided(PROPOSAL, trial, mode, weights, LIMITS)
    assert (found.status, words in found.reason) == (status, True), found.reason
    assert found.applied_us == (100 if status == APPLIED else 0)
    assert (found.before, found.after, found.changed, found.samples) == (trial.before, trial.after, 5, ("a → b",))


def test_after_a_rollback_nothing_of_its_kind_is_applied_by_itself_for_a_while() -> None:
    assert decided(PROPOSAL, GOOD, AUTO, WEIGHTS, LIMITS, held_until_us=101).status == PROPOSED
    assert decided(PROPOSAL, GOOD, AUTO, WEIGHTS, LIMITS, held_until_us=100).status == APPLIED


def test_approving_and_rolling_back_are_idempotent_and_refuse_what_makes_no_sense() -> None:
    proposal = decided(PROPOSAL, GOOD, PROPOSE, WEIGHTS, LIMITS)
    held = approved(proposal, "ana", 200)
    assert (held.status, held.applied_us, held.by) == (APPLIED, 200, "ana")
    assert approved(held, "ben", 300) is held
    back = taken_back(held, "ben", 400, "odd")
    assert (back.status, back.ended_us, back.by, back.reason) == (ROLLED_BACK, 400, "ben", "odd")
    assert taken_back(back, "cem", 500, "again") is back
    for refused in (lambda: approved(back, "x", 1), lambda: taken_back(proposal, "x", 1, "")):
        with pytest.raises(RefusedTransition):
            refused()


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (Seen(0.6, 30, {"skills": {"a": 30}}), ""),
        (Seen(0.1, 5, {"skills": {"b": 5}}), ""),
        (Seen(0.6, 30, {"skills": {"b": 30}}), "drift: skills"),
        (Seen(0.4, 30, {"skills": {"a": 30}}), "success fell from 0.600 to 0.400"),
        (Seen(-1.0, 30, {"skills": {"a": 30}}), ""),
    ],
)
def test_what_is_seen_afterwards_takes_a_change_back(seen: Seen, reason: str) -> None:
    held = replace(PROPOSAL, status=APPLIED, seen={"skills": {"a": 9}}, seen_success=0.6)
    looked, found = watched(held, seen, LIMITS)
    assert found.startswith(reason) and bool(found) == bool(reason)
    assert looked.since["cases"] == seen.cases and looked.status == APPLIED


@given(st.sampled_from([AUTO, PROPOSE, OFF]), st.floats(0, 1), st.floats(0, 1), st.integers(0, 60), st.integers(0, 200))
def test_an_adjustment_survives_its_written_form(mode: str, success: float, violations: float, cases: int, at: int) -> None:
    after = Score(success, 1.0, 2.0, violations, cases)
    found = decided(replace(PROPOSAL, at_us=at), replace(GOOD, after=after), mode, WEIGHTS, LIMITS, 50)
    assert adjustment_from_data(json.loads(json.dumps(adjustment_as_data(found)))) == found
    if found.status == APPLIED:
        assert mode == AUTO
        assert violations <= GOOD.before.violations + LIMITS.tolerance
        assert cases >= LIMITS.cases


def test_what_is_no_adjustment_is_refused() -> None:
    with pytest.raises(InvalidMessage):
        adjustment_from_data({"what": 1})
