"""Proposals for the write policy from reviews, and for the ranking profile from what helped."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.gate.policy import WritePolicy
from aico_memory.domain.guardrails import ranking, write_policy
from aico_memory.domain.guardrails.labels import RankingLabel, ReviewLabel
from aico_memory.domain.guardrails.objectives import Score, Weights
from aico_memory.domain.retrieval.ranking import Profile

WEIGHTS = Weights()
POLICY = WritePolicy(min_confidence=0.6)
KINDS = ("fact", "preference", "plan")


def review(number: int, confidence: float, promoted: bool, kind: str = "fact") -> ReviewLabel:
    return ReviewLabel(number.to_bytes(16, "big"), number, kind, confidence, promoted)


LABELS = st.lists(st.tuples(st.floats(0, 1), st.booleans(), st.sampled_from(KINDS)), max_size=40).map(
    lambda rows: [review(number, *row) for number, row in enumerate(rows)]
)


@pytest.mark.parametrize(
    ("policy", "confidence", "kind", "verdict"),
    [
        (POLICY, 0.59, "fact", "refused"),
        (POLICY, 0.6, "fact", "active"),
        (replace(POLICY, require_approval_kinds=frozenset({"fact"})), 0.9, "fact", "waits"),
        (replace(POLICY, mode="manual"), 0.9, "plan", "waits"),
    ],
)
def test_what_a_policy_does_with_an_item(policy: WritePolicy, confidence: float, kind: str, verdict: str) -> None:
    assert write_policy.verdict(policy, review(1, confidence, True, kind)) == verdict


def test_waiting_is_right_but_slow_and_what_stands_against_a_persons_word_is_a_violation() -> None:
    labels = [review(1, 0.9, True), review(2, 0.9, False), review(3, 0.1, False), review(4, 0.1, True)]
    assert write_policy.score_of(POLICY, labels) == Score(0.5, 0.0, 0.5, 0.25, 4)
    manual = replace(POLICY, mode="manual")
    assert write_policy.score_of(manual, labels) == Score(0.75, 0.5, 0.25, 0.0, 4)


def test_a_least_confidence_that_people_refuse_anyway_is_raised_and_a_kind_that_they_always_take_waits_no_more() -> None:
    policy = replace(POLICY, require_approval_kinds=frozenset({"preference"}))
    labels = [review(number, 0.62 + 0.01 * (number % 5), False) for number in range(20)]
    labels += [review(100 + number, 0.85, True) for number in range(20)]
    labels += [review(200 + number, 0.9, True, "preference") for number in range(20)]
    found = write_policy.proposed(policy, labels, WEIGHTS)
    assert 0.66 < found.min_confidence <= 0.85
    assert found.require_approval_kinds == frozenset()
    assert (found.mode, found.session_writes) == (policy.mode, policy.session_writes)


def test_a_kind_that_people_keep_refusing_waits_for_them() -> None:
    labels = [review(number, 0.9, False, "plan") for number in range(12)]
    labels += [review(100 + number, 0.7, True) for number in range(12)]
    found = write_policy.proposed(POLICY, labels, WEIGHTS)
    assert found.require_approval_kinds == frozenset({"plan"})
    assert found.min_confidence == POLICY.min_confidence


@given(LABELS)
def test_a_proposal_is_never_worse_on_what_it_was_made_of_and_a_second_one_adds_nothing(labels: list[ReviewLabel]) -> None:
    found = write_policy.proposed(POLICY, labels, WEIGHTS)
    tried = write_policy.trial(POLICY, found, labels)
    assert tried.after.success - tried.after.violations >= tried.before.success - tried.before.violations - 0.2
    body = json.loads(json.dumps(write_policy.policy_as_data(found)))
    assert write_policy.with_data(POLICY, body) == found
    assert (write_policy.policy_version(found) == write_policy.policy_version(POLICY)) == (found == POLICY)


def question(number: int, right: int, refused: tuple[int, ...] = ()) -> RankingLabel:
    """Rows in which `coverage` is high for the right one, and `similarity` misleads."""
    rng = random.Random(number)
    rows = [(rng.random(), rng.random() * 0.3) for _ in range(6)]
    rows[right] = (rng.random() * 0.5, 0.9)
    rounded = tuple(tuple(round(value, 3) for value in row) for row in rows)
    return RankingLabel(
        f"q{number}", "ana", number, ("similarity", "coverage"), rounded, (right,), refused,
        ("fact",) * 5 + ("plan",), ("semantic",) * 6,
    )  # fmt: skip


SHIPPED = Profile("default", {"similarity": 4.0, "coverage": 0.5}, 0.5, -1.0, {"kind": "learned"})


def test_what_helped_moves_the_weights_towards_it_and_that_holds_on_unseen_questions() -> None:
    labels = [question(number, number % 6) for number in range(80)]
    found = ranking.proposed(SHIPPED, labels[:60], "default")
    tried = ranking.trial(SHIPPED, found, labels[60:])
    assert tried.after.success > tried.before.success
    assert (tried.after.cases, tried.before.latency, tried.after.latency) == (20, 2.0, 2.0)
    assert tried.changed > 0 and set(tried.did_after) == {"kinds", "tiers"}
    assert ranking.profile_version(found) != ranking.profile_version(SHIPPED)
    again = ranking.profile_from_data("default", json.loads(json.dumps(ranking.profile_as_data(found))))
    assert again == found and ranking.profile_version(again) == ranking.profile_version(found)


def test_without_labels_that_tell_anything_the_profile_stays() -> None:
    assert ranking.proposed(SHIPPED, [], "default") is SHIPPED
    assert ranking.proposed(SHIPPED, [replace(question(1, 0), helped=())], "default") is SHIPPED
    assert ranking.score_of(SHIPPED, []) == Score()


def test_a_refused_row_that_stands_first_is_a_violation() -> None:
    label = RankingLabel("q", "ana", 1, ("similarity",), ((0.9,), (0.1,)), (1,), (0,), ("fact", "fact"), ("a", "a"))
    assert ranking.score_of(SHIPPED, [label]) == Score(0.5, 2.0, 0.0, 1.0, 1)


def test_two_words_on_one_answer_are_one_label_and_the_later_counts() -> None:
    first = RankingLabel("q", "ana", 1, ("similarity",), ((0.9,), (0.1,), (0.2,)), (0, 1), ())
    later = replace(first, at_us=2, helped=(), refused=(1, 2))
    assert ranking.merged(None, later) is later
    found = ranking.merged(first, later)
    assert (found.helped, found.refused, found.at_us) == ((0,), (1, 2), 2)
