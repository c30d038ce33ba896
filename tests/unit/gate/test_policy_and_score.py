"""Policy with its versions, admission, and what makes a statement important."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aico_memory.domain.gate.policy import (
    Usage,
    WritePolicy,
    admit,
    began,
    changed,
    due_dormant,
    effective,
    initial_policy,
    rolled_back,
    with_read_only,
    write_status,
)
from aico_memory.domain.gate.score import Channels, Similar, asked_in, attention, excitement, method_of, novelty, reward, score
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.settings.write_path import PolicySettings, ScoreSettings
from tests.support.memory_items import item
from tests.support.statements import MODEL, said

FIGURES = PolicySettings()
SCORE = ScoreSettings()


@pytest.mark.parametrize(
    ("policy", "fields", "verdict", "rule"),
    [
        (WritePolicy(), {}, "admit", "admitted"),
        (WritePolicy(read_only=True), {}, "wait", "read_only"),
        (WritePolicy(write_enabled=False), {}, "refuse", "write_disabled"),
        (WritePolicy(kinds=frozenset({"fact"})), {}, "refuse", "kind_not_allowed"),
        (WritePolicy(), {"confidence": 0.59}, "refuse", "confidence_too_low"),
        (WritePolicy(), {"confidence": 0.6}, "admit", "admitted"),
        (WritePolicy(), {"evidence": 0}, "refuse", "evidence_missing"),
        (WritePolicy(), {"usage": Usage(10, 10)}, "wait", "session_limit"),
        (WritePolicy(), {"usage": Usage(9, 50)}, "wait", "hour_limit"),
        (WritePolicy(), {"usage": Usage(10, 50), "fast": False}, "admit", "admitted"),
        (WritePolicy(session_writes=0, hour_writes=0), {"usage": Usage(999, 999)}, "admit", "admitted"),
        (WritePolicy(), {"injected": True}, "admit", "admitted"),
    ],
)
def test_admission_names_the_first_rule_that_applies(policy, fields, verdict: str, rule: str) -> None:
    given = {"kind": "profile", "confidence": 0.9, "evidence": 1, "usage": Usage(), "fast": True, **fields}
    assert admit(policy, **given) == (verdict, rule)


def test_the_settings_give_the_first_policy() -> None:
    assert initial_policy(FIGURES) == WritePolicy()
    assert initial_policy(PolicySettings(mode="shadow", kinds=("fact",))).kinds == {"fact"}
    with pytest.raises(InvalidMessage, match="kinds names opinion"):
        initial_policy(PolicySettings(kinds=("opinion",)))


def test_a_rollback_restores_the_previous_policy_at_once_and_a_second_one_goes_further_back() -> None:
    history = began(WritePolicy(), 1, "operator")
    history = changed(history, WritePolicy(mode="shadow"), 2, "operator", FIGURES)
    history = changed(history, WritePolicy(mode="manual"), 3, "operator", FIGURES)
    once = rolled_back(history, 4, "operator", FIGURES)
    twice = rolled_back(once, 5, "operator", FIGURES)
    assert (once.current.mode, twice.current.mode) == ("shadow", "auto")
    assert [(one.number, one.restored) for one in twice.versions] == [(1, 0), (2, 0), (3, 0), (4, 2), (5, 1)]
    with pytest.raises(NotFound):
        rolled_back(twice, 6, "operator", FIGURES)


def test_a_rollback_restores_the_policy_and_leaves_the_emergency_switch_as_it_is() -> None:
    history = began(WritePolicy(mode="manual"), 1, "operator")
    stopped = with_read_only(history, True, 2, "operator", FIGURES)
    assert stopped.current == replace(history.current, read_only=True)
    assert with_read_only(stopped, True, 3, "operator", FIGURES) is stopped
    with pytest.raises(NotFound):
        rolled_back(stopped, 4, "operator", FIGURES)
    surer = changed(stopped, replace(stopped.current, min_confidence=0.7), 4, "operator", FIGURES)
    assert rolled_back(surer, 5, "operator", FIGURES).current == stopped.current
    released = with_read_only(surer, False, 5, "operator", FIGURES)
    back = rolled_back(released, 6, "operator", FIGURES)
    assert (back.current, back.versions[-1].restored) == (history.current, 1)


def test_a_second_rollback_goes_further_back_whatever_the_switch_did_between() -> None:
    history = began(WritePolicy(), 1, "operator")
    for number, mode in enumerate(("shadow", "manual"), 2):
        history = changed(history, WritePolicy(mode=mode), number, "operator", FIGURES)
    once = with_read_only(rolled_back(history, 4, "operator", FIGURES), True, 5, "operator", FIGURES)
    assert rolled_back(once, 6, "operator", FIGURES).current == WritePolicy(mode="auto", read_only=True)


def test_a_rollback_after_a_rollback_and_a_new_policy_restores_what_was_in_force_before_it() -> None:
    history = began(WritePolicy(), 1, "configuration")
    history = changed(history, WritePolicy(min_confidence=0.1), 2, "operator", FIGURES)
    history = changed(history, WritePolicy(min_confidence=0.2), 3, "operator", FIGURES)
    history = rolled_back(history, 4, "operator", FIGURES)
    history = changed(history, WritePolicy(min_confidence=0.3), 5, "operator", FIGURES)
    found = []
    for number in (6, 7):
        history = rolled_back(history, number, "operator", FIGURES)
        found.append((history.current.min_confidence, history.versions[-1].restored))
    assert found == [(0.1, 2), (0.6, 1)]
    with pytest.raises(NotFound):
        rolled_back(history, 8, "operator", FIGURES)


def test_a_rollback_goes_to_a_restored_policy_whose_first_version_is_kept_no_longer() -> None:
    figures = PolicySettings(versions_kept=3)
    history = began(WritePolicy(min_confidence=0.1), 1, "operator")
    history = changed(history, WritePolicy(min_confidence=0.2), 2, "operator", figures)
    history = rolled_back(history, 3, "operator", figures)
    for number in (4, 5):
        history = changed(history, WritePolicy(min_confidence=number / 10), number, "operator", figures)
    assert [one.number for one in history.versions] == [3, 4, 5]
    once = rolled_back(history, 6, "operator", FIGURES)
    twice = rolled_back(once, 7, "operator", FIGURES)
    assert [(one.current.min_confidence, one.versions[-1].restored) for one in (once, twice)] == [(0.4, 4), (0.1, 3)]


def test_a_scope_follows_its_own_policy_else_everybodys_and_the_emergency_switch_of_all_counts() -> None:
    own, everybody = began(WritePolicy(mode="manual"), 1, "operator"), began(WritePolicy(mode="shadow"), 1, "operator")
    stopped = with_read_only(everybody, True, 2, "operator", FIGURES)
    assert effective(None, None, WritePolicy(scope_items=7)) == WritePolicy(scope_items=7)
    assert effective(None, everybody, WritePolicy()).mode == "shadow"
    assert effective(own, everybody, WritePolicy()) == WritePolicy(mode="manual")
    assert effective(own, stopped, WritePolicy()) == WritePolicy(mode="manual", read_only=True)


def test_the_history_of_policies_is_bounded() -> None:
    history, figures = began(WritePolicy(), 1, "operator"), PolicySettings(versions_kept=3)
    for number in range(10):
        history = changed(history, WritePolicy(scope_items=number), number, "operator", figures)
    assert [one.number for one in history.versions] == [9, 10, 11]


@pytest.mark.parametrize(
    "wrong", [{"mode": "loud"}, {"min_confidence": 1.5}, {"min_evidence": 0}, {"hour_writes": -1}, {"kinds": frozenset({"x"})}]
)
def test_a_policy_that_cannot_be_followed_is_refused(wrong) -> None:
    with pytest.raises(InvalidMessage):
        began(WritePolicy(**wrong), 1, "operator")


def test_approval_goes_before_shadow() -> None:
    policy = WritePolicy(mode="shadow", require_approval_kinds=frozenset({"constraint"}))
    assert (write_status(policy, "constraint"), write_status(policy, "fact")) == ("candidate", "shadow")


def test_the_cap_sends_the_oldest_of_low_importance_to_rest_and_no_anchored_item() -> None:
    items = [
        item(1, at_us=1, importance=0.9), item(2, at_us=2, pinned=True), item(3, at_us=3), item(4, at_us=4),
        item(5, at_us=5, immutable=True), item(6, at_us=6, tier="dormant"),
    ]  # fmt: skip
    ids = [int.from_bytes(one, "big") for one in due_dormant(items, WritePolicy(scope_items=3), 0.6)]
    assert ids == [3, 4]
    assert [int.from_bytes(one, "big") for one in due_dormant(items, WritePolicy(scope_items=1), 0.6)] == [3, 4, 1]
    assert due_dormant(items, WritePolicy(scope_items=0), 0.6) == ()
    again = [replace(one, last_referenced_us=9) if one.memory_id == items[2].memory_id else one for one in items]
    assert [int.from_bytes(one, "big") for one in due_dormant(again, WritePolicy(scope_items=4), 0.6)] == [4]
    spared = {items[3].memory_id}
    assert [int.from_bytes(one, "big") for one in due_dormant(again, WritePolicy(scope_items=4), 0.6, spared)] == [3]


def test_channels_say_what_made_it_stand_out() -> None:
    near = [Similar(0.8, 0.9), Similar(0.6, 0.5, 0.1), Similar(0.2, 0.0)]
    assert (novelty(near), novelty([])) == (pytest.approx(0.2), 1.0)
    assert (reward(near, SCORE), reward([], SCORE)) == (pytest.approx(0.5), 0.5)
    assert (excitement(0.3, 2, SCORE), excitement(0.9, 9, SCORE)) == (pytest.approx(0.7), 1.0)
    old_question = [0.9] + [0.1] * 10
    assert (attention(old_question, SCORE), attention([], SCORE), attention([-0.5], SCORE)) == (0.1, 0.0, 0.0)
    assert attention([0.9], ScoreSettings(recent_queries=0)) == 0.0


def test_a_flashbulb_is_important_whatever_else_it_is() -> None:
    fact = said(1, "Rome", 0).fact
    calm = score(fact, Channels(), 0.79, "user", 1.0, 1, MODEL, SCORE)
    shaken = score(fact, Channels(), 0.8, "user", 1.0, 1, MODEL, SCORE)
    assert (calm.importance, calm.flashbulb, shaken.importance, shaken.flashbulb) == (0.0, False, 0.9, True)


def test_confidence_follows_how_it_was_taken_and_how_often_it_was_said() -> None:
    fact = said(1, "Rome", 0).fact
    by_rule = score(fact, Channels(), 0, "user", 1.0, 1, MODEL, SCORE).confidence
    explicit = score(replace(fact, explicit=True), Channels(), 0, "user", 1.0, 1, MODEL, SCORE).confidence
    repeated = score(fact, Channels(), 0, "user", 1.0, 3, MODEL, SCORE).confidence
    assert (by_rule, explicit, repeated) == (pytest.approx(0.72), 0.9, pytest.approx(0.864))
    assert method_of(replace(fact, explicit=True), "assistant") == "rule"
    assert method_of(fact, "tool") == "tool_result"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Where did I put the keys?", "Where did I put the keys?"),
        ("I lost my keys. Where could they be? I looked everywhere.", "Where could they be?"),
        ("Is it red? Or is it blue?", "Or is it blue?"),
        ("Where are my keys? Really?", "Where are my keys?"),
        ("Really?", ""),
        ("I live in Rome.", ""),
        ("私の鍵はどこにありますか？", "私の鍵はどこにありますか？"),
        ("أين مفاتيحي الآن؟", "أين مفاتيحي الآن؟"),
        ("", ""),
        ("????????????", ""),
    ],
)
def test_the_last_question_of_a_text_is_what_it_asks(text: str, asked: str) -> None:
    assert asked_in(text, SCORE) == asked
