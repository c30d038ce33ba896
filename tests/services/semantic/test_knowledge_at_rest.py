"""Items with a reading rest behind the summary that holds all they say, and stand again when it is told no more."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest

from aico_memory.domain.memory import Memory
from aico_memory.domain.sleep import names
from aico_memory.domain.strength.forgetting import awakened
from aico_memory.ids import derive_id
from services.semantic.sleep.phase import Step
from services.semantic.sleep.placing import rest
from tests.services.semantic.knowledge import (
    ADA,
    NOW,
    PARIS,
    TRIP,
    an_item,
    counted,
    identifier,
    items,
    put,
    run,
    state_of,
    summaries,
)
from tests.support.memory_items import DAY

FACTS = (
    an_item(11, "The locker in Paris has number 12.", reading=("attribute:locker", "12"), entities=(PARIS,)),
    an_item(12, "The key for Paris hangs in the hall.", reading=("location:key", "hall"), entities=(PARIS,), day=1),
    an_item(13, "User's tram in Paris is the 7.", reading=("attribute:tram", "7"), entities=(PARIS,), day=2),
)
IDS = tuple(one.memory.memory_id for one in FACTS)


def tiers(store: Any) -> set[tuple[str, str]]:
    known = items(store)
    return {(known[one].memory.status, known[one].memory.tier) for one in IDS}


def the_memory(store: Any, memory_id: bytes) -> Memory:
    return items(store)[memory_id].memory


def night(at_us: int) -> Step:
    return Step(ADA, "ada", "", 200, at_us, derive_id(uuid.UUID(int=at_us), "test"), 5)


def test_they_rest_keep_their_reading_and_the_summary_says_what_they_say(store: Any) -> None:
    put(store, *FACTS)
    found = run(store, names.THEMES)
    (summary,) = summaries(store)
    assert all(one.memory.text in summary.text for one in FACTS)
    assert tiers(store) == {("active", "dormant")} and summary.tier == "semantic"
    assert {items(store)[one].predicate for one in IDS} == {"attribute:locker", "location:key", "attribute:tram"}
    assert counted(found, "rested") == 3 and sorted(found[-1].changed["demoted"]) == sorted(IDS)
    history = store.histories([IDS[0]])[IDS[0]]
    assert [(one.what, one.new_value, one.reason) for one in history] == [
        ("tier", "dormant", "sleep: a summary holds all it says")
    ]


def test_a_second_night_changes_nothing(store: Any) -> None:
    put(store, *FACTS)
    run(store, names.THEMES)
    before = state_of(store)
    found = run(store, names.THEMES, NOW + 10 * DAY)
    assert state_of(store) == before
    assert counted(found, "kept") == 1 and counted(found, "rested") == 0


@pytest.mark.parametrize("kept", [{"pinned": True}, {"kind": "profile"}, {"access_count": 9}, {"created_at_us": NOW - DAY}])
def test_what_is_anchored_kept_for_good_used_or_fresh_stays_awake(store: Any, kept: dict[str, Any]) -> None:
    first = replace(FACTS[0], memory=replace(FACTS[0].memory, **kept))
    put(store, first, *FACTS[1:])
    run(store, names.THEMES)
    assert items(store)[IDS[0]] == first


def test_they_wake_when_the_summary_is_told_no_more(store: Any) -> None:
    put(store, *FACTS)
    run(store, names.THEMES)
    with store.transaction() as transaction:
        known = items(store)[IDS[1]]
        transaction.put_item(replace(known, memory=replace(known.memory, status="invalid")), None, 6)
    found = run(store, names.THEMES, NOW + DAY)
    assert counted(found, "expired") == 1 and not summaries(store)
    assert [(the_memory(store, one).status, the_memory(store, one).tier) for one in IDS] == [
        ("active", "episodic"), ("invalid", "dormant"), ("active", "episodic"),
    ]  # fmt: skip


def test_one_that_was_asked_for_stays_awake_for_its_time(store: Any) -> None:
    put(store, *FACTS)
    run(store, names.THEMES)
    woken = awakened(the_memory(store, IDS[0]), NOW + DAY)
    with store.transaction() as transaction:
        transaction.put_outline(woken, 6)
    run(store, names.THEMES, NOW + 2 * DAY)
    assert the_memory(store, IDS[0]) == woken
    run(store, names.THEMES, NOW + 9 * DAY)
    assert the_memory(store, IDS[0]).tier == "dormant"


def test_one_that_is_let_rest_for_another_reason_is_told_no_more(store: Any) -> None:
    put(store, *FACTS, *TRIP)
    run(store, names.THEMES)
    woken = awakened(the_memory(store, IDS[0]), NOW + DAY)
    with store.transaction() as transaction:
        transaction.put_outline(woken, 6)
        rest(transaction, night(NOW + DAY), woken, "sleep: contradicted")
    run(store, names.THEMES, NOW + 2 * DAY)
    (summary,) = summaries(store)
    assert FACTS[0].memory.text not in summary.text and FACTS[1].memory.text in summary.text
    # Nor does it wake with the end of the summary: it did not rest behind it.
    with store.transaction() as transaction:
        for number in (1, 2, 3, 12, 13):
            known = items(store)[identifier(number)]
            transaction.put_item(replace(known, memory=replace(known.memory, status="invalid")), None, 7)
    run(store, names.THEMES, NOW + 3 * DAY)
    assert not summaries(store) and the_memory(store, IDS[0]).tier == "dormant"
