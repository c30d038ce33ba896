"""Places, promotion, expiry and strategic forgetting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.kinds import ITEM_KINDS, kept_for_good, lives_until_us, policy_of, retained_until_us
from aico_memory.domain.memory import OPEN
from aico_memory.domain.strength.forgetting import (
    awakened,
    bcm_threshold,
    captured_place,
    due_for_demotion,
    due_for_promotion,
    ended_at_us,
    faded,
    promoted_place,
    strategic_forgetting,
    tier_multiplier,
)
from aico_memory.errors import InvalidMessage
from aico_memory.settings.memory_model import ForgettingSettings, KindsSettings
from tests.support.memory_items import DAY, START, item

KINDS, FIGURES = KindsSettings(), ForgettingSettings()
LATER = START + 100 * DAY


def rules(memories, contradictions=(), duplicates=(), figures=FIGURES):
    found = strategic_forgetting(memories, contradictions, duplicates, LATER, KINDS, figures)
    return {int.from_bytes(one.memory_id, "big"): one.rule for one in found}


def test_the_policy_table_is_that_of_the_specification() -> None:
    table = {kind: policy_of(kind, KINDS) for kind in ITEM_KINDS}
    assert {kind for kind in table if kept_for_good(kind, KINDS)} == {
        "profile", "preference", "constraint", "correction", "entity",
    }  # fmt: skip
    assert {kind: row.ttl_days for kind, row in table.items() if row.ttl_days} == {
        "preference": 90, "plan": 7, "task_state": 7, "episode": 30,
    }  # fmt: skip
    assert {kind: row.decay_per_day for kind, row in table.items() if row.decay_per_day} == {
        "fact": 0.005, "decision": 0.02, "plan": 0.05, "task_state": 0.05, "episode": 0.05,
        "procedure": 0.005, "pattern": 0.005, "summary": 0.005,
    }  # fmt: skip


def test_a_record_has_no_policy_of_an_item() -> None:
    with pytest.raises(InvalidMessage, match="record"):
        policy_of("record", KINDS)


def test_one_figure_of_a_kind_can_be_changed_alone() -> None:
    kinds = KindsSettings.model_validate({"fact": {"ttl_days": 30}})
    assert (kinds.fact.ttl_days, kinds.fact.decay_per_day, kinds.fact.retention_days) == (30, 0.005, 14)


def test_an_end_that_never_comes_is_open() -> None:
    assert lives_until_us("fact", START, KINDS) == OPEN
    assert retained_until_us("profile", START, KINDS) == OPEN
    assert lives_until_us("plan", START, KINDS) == START + 7 * DAY


def test_forgetting_runs_at_the_pace_of_the_tier() -> None:
    assert [tier_multiplier(tier, FIGURES) for tier in ("working", "episodic", "semantic", "dormant")] == [10, 3, 1, 0]


@pytest.mark.parametrize(("source", "place"), [
    ("user_message", "personal"), ("assistant_message", "observed"), ("tool_result", "observed"), ("federation", "vicarious"),
])  # fmt: skip
def test_what_is_captured_starts_episodic(source: str, place: str) -> None:
    assert captured_place(source) == ("episodic", place)


def test_what_is_promoted_finds_its_place() -> None:
    assert promoted_place("pattern", False, True) == ("semantic", "schematic")
    assert promoted_place("fact", True, True) == ("semantic", "schematic")
    assert promoted_place("procedure", False, False) == ("semantic", "procedural")
    assert promoted_place("fact", False, True) == ("semantic", "procedural")
    assert promoted_place("fact", False, False) == ("semantic", "factual")


def test_three_ways_lead_to_promotion() -> None:
    tea = ("entity://thing/tea",)
    memories = [
        item(1, access_count=3), item(2, utility=0.7), item(3, utility=0.7, at_us=LATER - DAY), item(4),
        item(5, entities=tea), item(6, entities=tea), item(7, entities=tea), item(8, access_count=9, pinned=True),
        item(9, access_count=9, tier="semantic"), item(10, access_count=9, status="superseded"),
    ]  # fmt: skip
    found = {int.from_bytes(key, "big"): why for key, why in due_for_promotion(memories, LATER, FIGURES).items()}
    assert found == {1: "accessed", 2: "useful", 5: "shared entity", 6: "shared entity", 7: "shared entity"}


def test_only_what_is_both_idle_and_useless_goes_dormant() -> None:
    lost = item(tier="semantic", utility=0.19)
    assert due_for_demotion(lost, START + 60 * DAY, FIGURES)
    assert not due_for_demotion(lost, START + 59 * DAY, FIGURES)
    for kept in ({"utility": 0.2}, {"flashbulb": True}, {"pinned": True}, {"immutable": True}, {"last_referenced_us": LATER}):
        assert not due_for_demotion(item(**{"tier": "semantic", "utility": 0.1, **kept}), LATER, FIGURES)


def test_what_awakes_returns_to_the_tier_of_its_place() -> None:
    assert awakened(item(tier="dormant", sub_tier="factual"), LATER).tier == "semantic"
    assert awakened(item(tier="dormant", sub_tier="personal"), LATER).tier == "episodic"


def test_a_plan_without_confirmation_expires_at_the_end_of_its_time() -> None:
    plan = item(kind="plan")
    assert faded(plan, START, START + 7 * DAY - 1, KINDS) == plan
    gone = faded(plan, START, LATER, KINDS)
    assert (gone.status, gone.valid_until_us, gone.invalidated_at_us) == ("expired", START + 7 * DAY, LATER)
    assert faded(plan, LATER - DAY, LATER, KINDS) == plan


def test_a_preference_without_confirmation_rests_and_stays_true() -> None:
    rested = faded(item(kind="preference"), START, LATER, KINDS)
    assert (rested.tier, rested.status, rested.valid_until_us) == ("dormant", "active", OPEN)
    assert faded(rested, START, LATER + DAY, KINDS) == rested


def test_a_validity_that_ended_expires_even_what_is_kept_for_good() -> None:
    assert faded(item(kind="preference", valid_until_us=START + DAY), LATER, LATER, KINDS).status == "expired"


@given(
    st.sampled_from(ITEM_KINDS), st.integers(0, 400), st.integers(0, 400), st.integers(1, 400) | st.none(),
    st.booleans(), st.booleans(),
)  # fmt: skip
def test_expiry_is_repeatable_and_spares_anchors(kind, confirmed, now, until, pinned, immutable) -> None:
    until_us = OPEN if until is None else START + until * DAY
    memory = item(kind=kind, valid_until_us=until_us, pinned=pinned, immutable=immutable)
    confirmed_us, now_us = START + confirmed * DAY, START + now * DAY
    once = faded(memory, confirmed_us, now_us, KINDS)
    assert faded(once, confirmed_us, now_us, KINDS) == once
    if pinned or immutable or ended_at_us(memory, confirmed_us, KINDS) > now_us:
        assert once == memory
    else:
        assert once.status == "expired" or once.tier == "dormant"


def test_the_threshold_floats_with_the_mean_access() -> None:
    memories = [item(1, access_count=4), item(2, access_count=2), item(3, access_count=90, status="expired")]
    assert bcm_threshold(memories) == 3
    assert bcm_threshold([]) == 0


def test_the_older_side_of_a_contradiction_rests() -> None:
    assert rules([item(1), item(2, at_us=START + DAY)], [(item(2).memory_id, item(1).memory_id)]) == {1: "contradicted"}


def test_what_is_past_its_validity_rests() -> None:
    assert rules([item(1, valid_until_us=LATER), item(2, valid_until_us=LATER + 1)]) == {1: "past its validity"}


def test_what_is_of_no_use_rests_unless_young_or_kept_for_good() -> None:
    memories = [
        item(1, utility=0.1), item(2, utility=0.15), item(3, utility=0.1, at_us=LATER - 13 * DAY),
        item(4, utility=0.1, kind="profile"), item(5, utility=0.1, pinned=True),
        item(6, utility=0.1, last_accessed_us=LATER - 29 * DAY), item(7, utility=0.1, kind="decision", at_us=LATER - 44 * DAY),
    ]  # fmt: skip
    assert rules(memories) == {1: "of no use"}


def test_the_less_useful_of_two_alike_rests_once() -> None:
    memories = [item(1, utility=0.4), item(2, utility=0.6), item(3, utility=0.3)]
    pairs = [(item(1).memory_id, item(2).memory_id, 0.95), (item(1).memory_id, item(3).memory_id, 0.95)]
    assert rules(memories, duplicates=pairs) == {1: "a duplicate"}
    assert rules(memories, duplicates=[(item(1).memory_id, item(2).memory_id, 0.9)]) == {}


def test_a_full_scope_is_trimmed_to_its_target_but_not_of_what_is_much_used() -> None:
    figures = ForgettingSettings(active_limit=10, active_target=6)
    memories = [item(number, utility=number / 20, access_count=9 if number == 4 else 1) for number in range(4, 15)]
    assert rules(memories, figures=figures) == {5: "too many", 6: "too many", 7: "too many", 8: "too many", 9: "too many"}
    assert rules(memories[1:], figures=figures) == {}


@given(st.lists(st.tuples(
    st.sampled_from(ITEM_KINDS), st.floats(0, 1), st.integers(0, 20), st.booleans(), st.sampled_from(["episodic", "dormant"]),
), max_size=25))  # fmt: skip
def test_forgetting_again_after_forgetting_finds_nothing_and_spares_anchors(rows) -> None:
    figures = ForgettingSettings(active_limit=12, active_target=8)
    memories = [
        item(number, kind=kind, utility=utility, access_count=accesses, pinned=pinned, tier=tier)
        for number, (kind, utility, accesses, pinned, tier) in enumerate(rows, start=1)
    ]
    found = rules(memories, figures=figures)
    by_number = dict(enumerate(memories, start=1))
    assert all(not by_number[number].pinned and by_number[number].tier != "dormant" for number in found)
    rested = [memory for number, memory in by_number.items() if number not in found]
    assert set(rules(rested, figures=figures).values()) <= {"too many"}
    spared = [one for one in rested if one.tier != "dormant"]
    assert len(spared) <= 12 or all(one.pinned or one.access_count > 0 for one in spared)
