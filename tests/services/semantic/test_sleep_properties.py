"""Properties of the item phases, on the twin of the store: the same whatever the nights and the steps, and anchors hold."""

from __future__ import annotations

import uuid
from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.domain.gate.chain import fold
from aico_memory.domain.gate.statement import Known, Statement, lapse
from aico_memory.domain.kinds import ITEM_KINDS
from aico_memory.domain.memory import OPEN, Memory, Scope
from aico_memory.domain.strength.forgetting import strategic_forgetting
from aico_memory.models.place_tables import load_place_cues
from aico_memory.paths import find_home
from aico_memory.settings.memory_model import ForgettingSettings, MemoryModelSettings
from aico_memory.settings.root import Settings
from aico_memory.stores.semantic.twin import MemorySemanticStore
from services.semantic.graphing import Graphing
from services.semantic.sleep.expiring import Expiry
from services.semantic.sleep.forgetting import Forgetting
from services.semantic.sleep.phase import SleepPhase, Step
from services.semantic.sleep.placing import Places
from services.semantic.sleep.replaying import Synapses
from services.semantic.sleep.strength_phases import Decay, Emotion, Rehearsal, Utility
from tests.support.memory_items import DAY, START, item
from tests.support.statements import day, said

MODEL = MemoryModelSettings()
ADA = Scope("user", "alice")
CUES = load_place_cues(find_home())


@lru_cache(maxsize=1)
def phases() -> tuple[SleepPhase, ...]:
    tags = Settings().write_path.tags
    return (
        Decay(MODEL), Emotion(MODEL), Synapses(MODEL, tags), Places(MODEL, CUES), Utility(MODEL), Rehearsal(MODEL),
        Expiry(MODEL.kinds, Graphing(MODEL.graph)), Forgetting(MODEL),
    )  # fmt: skip


def shelf(memories: list[Memory]) -> MemorySemanticStore:
    store = MemorySemanticStore()
    with store.transaction() as transaction:
        for one in memories:
            transaction.put_item(Known(one), [], 1)
    return store


def slept(store: MemorySemanticStore, phase: SleepPhase, at_us: int, limit: int = 200) -> None:
    after = ""
    for number in range(500):
        step = Step(ADA, "alice", after, limit, at_us, uuid.uuid5(uuid.NAMESPACE_OID, f"{phase.name} {at_us} {number}"), 1)
        with store.transaction() as transaction:
            after = phase.step(transaction, step).after
        if not after:
            return
    raise AssertionError(f"{phase.name} does not end")


def memories_of(store: MemorySemanticStore) -> list[Memory]:
    return [one.memory for one in store.items([ADA], (), b"", 9999)]


@st.composite
def an_item(draw: st.DrawFn, number: int) -> Memory:
    made_us = START + draw(st.integers(0, 50)) * DAY
    used_us = draw(st.sampled_from([0, made_us + 5 * DAY, made_us + 20 * DAY]))
    flashbulb = draw(st.booleans()) and draw(st.booleans())
    return item(
        number, f"Item {number}", made_us, kind=draw(st.sampled_from(ITEM_KINDS)), language="en",
        tier=draw(st.sampled_from(["episodic", "semantic", "dormant"])),
        sub_tier=draw(st.sampled_from(["personal", "factual"])), utility=draw(st.floats(0, 1)),
        confidence=draw(st.floats(0.1, 1)), access_count=draw(st.integers(0, 5)), last_accessed_us=used_us,
        stability=draw(st.floats(0.5, 300)), flashbulb=flashbulb,
        pinned=flashbulb or draw(st.sampled_from([False] * 4 + [True])), immutable=draw(st.sampled_from([False] * 5 + [True])),
        valid_until_us=draw(st.sampled_from([OPEN, OPEN, START + 60 * DAY])),
        entities=tuple(draw(st.sets(st.sampled_from(["entity://a/a", "entity://b/b", "entity://c/c"])))),
    )  # fmt: skip


@st.composite
def some_items(draw: st.DrawFn) -> list[Memory]:
    return [draw(an_item(number)) for number in range(1, draw(st.integers(1, 14)) + 1)]


@settings(max_examples=40)
@given(memories=some_items(), nights=st.lists(st.integers(1, 60), min_size=1, max_size=10, unique=True))
def test_many_nights_of_decay_and_drift_are_as_one(memories: list[Memory], nights: list[int]) -> None:
    begun = [replace(one, created_at_us=START, last_accessed_us=0) for one in memories]
    often, once = shelf(begun), shelf(begun)
    for store, days in ((often, sorted({*nights, 60})), (once, [60])):
        for phase in (Decay(MODEL), Utility(MODEL)):
            for number in days:
                slept(store, phase, START + number * DAY)
    for left, right in zip(memories_of(often), memories_of(once), strict=True):
        assert left.confidence == pytest.approx(right.confidence, rel=1e-9)
        assert left.utility == pytest.approx(right.utility, rel=1e-9)


@settings(max_examples=40)
@given(memories=some_items(), on=st.integers(51, 200), limit=st.integers(1, 5))
def test_nights_end_alike_in_steps_of_any_size_and_twice_is_once(memories: list[Memory], on: int, limit: int) -> None:
    small, large = shelf(memories), shelf(memories)
    for phase in phases():
        slept(small, phase, START + on * DAY, limit)
        slept(large, phase, START + on * DAY)
    assert memories_of(small) == memories_of(large)
    once = memories_of(large)
    for phase in phases():
        slept(large, phase, START + on * DAY + 3_600_000_000)
    assert memories_of(large) == once


@settings(max_examples=40)
@given(memories=some_items(), on=st.integers(51, 400))
def test_anchors_never_move_and_a_flashbulb_never_goes_down(memories: list[Memory], on: int) -> None:
    store = shelf(memories)
    for phase in phases():
        slept(store, phase, START + on * DAY)
    for before, after in zip(memories, memories_of(store), strict=True):
        if before.pinned or before.immutable:
            strengths = {"stability": after.stability}
            assert after == replace(before, **strengths)
            assert after.stability >= before.stability
        if before.flashbulb and before.tier != "dormant":
            assert (after.tier, after.status) == (before.tier, before.status)
        assert after.text == before.text and after.version == before.version


@given(memories=some_items(), on=st.integers(51, 400), limit=st.integers(1, 4), full=st.integers(2, 8))
def test_forgetting_in_steps_lets_rest_what_the_rules_let_rest_at_once(
    memories: list[Memory], on: int, limit: int, full: int
) -> None:
    figures = ForgettingSettings(active_limit=full, active_target=full - 1)
    model = MemoryModelSettings(forgetting=figures)
    at_us = START + on * DAY
    wanted = strategic_forgetting(memories, (), (), at_us, model.kinds, figures)
    store = shelf(memories)
    slept(store, Forgetting(model), at_us, limit)
    before = {one.memory_id: one.tier for one in memories}
    rested = {one.memory_id for one in memories_of(store) if one.tier == "dormant" != before[one.memory_id]}
    assert rested == {one.memory_id for one in wanted}


spoken = st.lists(st.tuples(st.integers(1, 60), st.sampled_from(["Rome", "Oslo", "Bern"])), min_size=1, max_size=8)


@given(told=spoken, lapsed_on=st.integers(61, 90), later=spoken)
def test_a_lapse_ends_what_held_and_is_undone_by_nothing_but_its_confirmation(
    told: list[tuple[int, str]], lapsed_on: int, later: list[tuple[int, str]]
) -> None:
    statements = [said(number, value, on) for number, (on, value) in enumerate(sorted(told), 1)]
    held = max(statements, key=lambda one: one.order)
    end = lapse(held, (900).to_bytes(16, "big"), (901).to_bytes(16, "big"), day(lapsed_on - 1), day(lapsed_on))
    ended = next(one for one in fold([*statements, end]) if held.statement_id in one.ids)
    assert (ended.last.status, ended.last.until_us) == ("expired", day(lapsed_on - 1))
    after = [said(50 + number, value, lapsed_on + on) for number, (on, value) in enumerate(later)]
    every: list[Statement] = [*statements, end, *after]
    still = next(one for one in fold(every) if held.statement_id in one.ids)
    assert still == ended
    assert fold(reversed(every)) == fold(every)
    late = replace(said(99, held.fact.value, 60.5), received_at_us=day(lapsed_on + 1))
    revived = next(one for one in fold([*statements, end, late]) if held.statement_id in one.ids)
    assert (revived.last.status, revived.last.until_us) == ("active", OPEN)
