"""The trust lifecycle, its refusals, anchors, and the three ways to end."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.lifecycle import (
    TRANSITIONS,
    activated,
    expired,
    may_fade,
    reaches_prompt,
    rejected,
    require_transition,
    require_way,
    retracted,
    shadowed,
    superseded,
    withdrawn,
)
from aico_memory.domain.memory import OPEN, STATUSES
from aico_memory.errors import AicoMemoryError, ImmutableItem, InvalidMessage, RefusedTransition
from tests.support.memory_items import DAY, START, item

ALLOWED = {
    ("candidate", "active"), ("candidate", "shadow"), ("candidate", "invalid"), ("shadow", "active"), ("shadow", "invalid"),
    ("active", "superseded"), ("active", "expired"), ("active", "disabled"),
    ("superseded", "active"), ("expired", "active"), ("disabled", "active"),
}  # fmt: skip
NEW = (99).to_bytes(16, "big")
STEPS = {
    "active": lambda memory, at_us: activated(memory, at_us, 1),
    "shadow": shadowed,
    "rejected": rejected,
    "superseded": lambda memory, at_us: superseded(memory, NEW, at_us, at_us),
    "expired": lambda memory, at_us: expired(memory, at_us, at_us),
    "disabled": retracted,
}


@pytest.mark.parametrize(("status", "to"), sorted(product(STATUSES, STATUSES)))
def test_every_pair_of_states_is_allowed_or_refused_by_name(status: str, to: str) -> None:
    if (status, to) in ALLOWED:
        require_transition(status, to)
        return
    with pytest.raises(RefusedTransition) as refused:
        require_transition(status, to)
    assert status in refused.value.detail and to in refused.value.detail


@pytest.mark.parametrize(("status", "to"), sorted(product(STATUSES, STATUSES)))
def test_what_is_folded_anew_takes_a_step_or_the_way_by_active(status: str, to: str) -> None:
    by_active = (status, "active") in ALLOWED and ("active", to) in ALLOWED
    if status == to or (status, to) in ALLOWED or by_active:
        require_way(status, to)
        return
    with pytest.raises(RefusedTransition):
        require_way(status, to)


def test_the_table_names_every_status() -> None:
    assert set(TRANSITIONS) == set(STATUSES)


@given(st.sampled_from(STATUSES), st.lists(st.sampled_from(sorted(STEPS)), max_size=12), st.booleans())
def test_no_sequence_of_steps_leaves_the_lifecycle(status: str, steps: list[str], immutable: bool) -> None:
    memory = item(status=status, immutable=immutable)
    for number, step in enumerate(steps, start=1):
        try:
            after = STEPS[step](memory, START + number * DAY)
        except AicoMemoryError as refused:
            assert isinstance(refused, (RefusedTransition, ImmutableItem))
            continue
        assert (memory.status, after.status) in ALLOWED
        assert after.valid_from_us <= after.valid_until_us
        assert after.memory_id == memory.memory_id and after.text == memory.text
        assert (after.status == "active") <= (after.invalidated_at_us == OPEN)
        memory = after
    assert reaches_prompt(memory) == (memory.status == "active")


def test_nothing_becomes_active_without_evidence() -> None:
    with pytest.raises(InvalidMessage, match="evidence"):
        activated(item(status="candidate"), START, 0)


def test_change_retraction_and_withdrawal_stay_distinguishable() -> None:
    memory, known_us = item(), START + 10 * DAY
    changed = superseded(memory, NEW, START + 5 * DAY, known_us)
    denied = retracted(memory, known_us)
    deleted = withdrawn(memory, known_us)
    assert (changed.status, changed.valid_until_us, changed.superseded_by) == ("superseded", START + 5 * DAY, NEW)
    assert (denied.status, denied.valid_until_us, denied.superseded_by) == ("disabled", OPEN, None)
    assert deleted.status == "invalid"
    assert {one.invalidated_at_us for one in (changed, denied, deleted)} == {known_us}


def test_an_end_before_the_start_means_it_was_never_true() -> None:
    assert superseded(item(), NEW, START - DAY, START + DAY).valid_until_us == START


def test_an_end_does_not_lengthen_a_validity() -> None:
    assert superseded(item(valid_until_us=START + DAY), NEW, START + 9 * DAY, START + 9 * DAY).valid_until_us == START + DAY


def test_what_comes_back_is_open_again() -> None:
    back = activated(superseded(item(), NEW, START + DAY, START + DAY), START + 2 * DAY, 1)
    assert (back.status, back.valid_until_us, back.invalidated_at_us, back.superseded_by) == ("active", OPEN, OPEN, None)


def test_an_immutable_item_is_neither_superseded_nor_retracted_nor_withdrawn() -> None:
    memory = item(immutable=True)
    for step in (STEPS["superseded"], retracted, withdrawn):
        with pytest.raises(ImmutableItem):
            step(memory, START + DAY)


def test_anchors_hold_against_fading() -> None:
    assert [may_fade(item(pinned=pinned, immutable=fixed)) for pinned in (False, True) for fixed in (False, True)] == [
        True, False, False, False,
    ]  # fmt: skip


@given(st.sampled_from(STATUSES))
def test_a_second_withdrawal_changes_nothing(status: str) -> None:
    once = withdrawn(item(status=status), START + DAY)
    assert once.status == "invalid"
    assert withdrawn(once, START + 5 * DAY) == once


def test_a_withdrawal_keeps_since_when_it_is_not_believed() -> None:
    gone = superseded(item(), NEW, START + DAY, START + DAY)
    assert withdrawn(gone, START + 5 * DAY).invalidated_at_us == START + DAY
