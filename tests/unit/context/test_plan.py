"""What is asked, how long is waited, what is named as missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.context.deadlines import tier_time, total_time
from aico_memory.domain.context.plan import degraded_tiers, plan_context, plan_search
from aico_memory.settings.context import ContextSettings

SETTINGS = ContextSettings()


def test_small_talk_searches_nothing() -> None:
    plan = plan_context("hello", "greeting", "general", (), SETTINGS)
    assert (plan.candidates, plan.turns, plan.intent, plan.questions) == (0, 6, "greeting", ())
    assert degraded_tiers(plan, embedded=False, text=False, vectors=False, working=True) == ()


def test_a_question_asks_every_tier_for_more_than_it_needs() -> None:
    plan = plan_context("where", "", "general", ("a", "b"), SETTINGS)
    assert (plan.candidates, plan.turns, plan.intent, plan.limit) == (45, 6, "general", 15)
    assert plan.questions == ("where", "a", "b")


def test_an_intent_never_raises_the_number_of_items() -> None:
    assert plan_context("why", "", "causal", (), SETTINGS).limit == SETTINGS.max_items < SETTINGS.intents.causal.limit


def test_what_was_is_asked_for_by_intent_unless_the_request_names_the_time() -> None:
    assert plan_context("when", "", "temporal", (), SETTINGS).historical
    assert not plan_context("when", "", "temporal", (), SETTINGS, dated=True).historical
    assert not plan_context("where", "", "factual", (), SETTINGS).historical


@given(st.integers(1, 5000), st.integers(1, 20), st.integers(1, 10_000))
def test_a_search_never_asks_for_fewer_than_it_answers(top_k: int, overfetch: int, most: int) -> None:
    assert plan_search(top_k, overfetch, most).candidates >= top_k


@pytest.mark.parametrize(
    ("embedded", "text", "vectors", "working", "missing"),
    [
        (True, True, True, True, ()),
        (False, True, False, True, ("model",)),
        (True, False, False, True, ("semantic",)),
        (True, True, False, True, ("vectors",)),
        (True, True, True, False, ("working",)),
        (False, False, False, False, ("model", "semantic", "working")),
    ],
)
def test_what_was_asked_and_did_not_answer_is_named(
    embedded: bool, text: bool, vectors: bool, working: bool, missing: tuple[str, ...]
) -> None:
    plan = plan_context("where", "", "general", (), SETTINGS)
    assert degraded_tiers(plan, embedded=embedded, text=text, vectors=vectors, working=working) == missing


def test_vectors_of_another_model_are_named_as_such() -> None:
    plan = plan_search(10, 3, 1000)
    named = degraded_tiers(plan, embedded=True, text=True, vectors=False, working=False, mismatch=True)
    assert named == ("vectors: model_mismatch",)


@given(st.floats(0, 5000), st.floats(0, 100), st.integers(0, 3), st.floats(1, 100))
def test_no_tier_gets_more_than_what_remains(remaining: float, reserve: float, missed: int, probe: float) -> None:
    time = tier_time(remaining, reserve, missed, probe)
    assert 0 <= time <= max(0.0, remaining - reserve)
    assert not missed or time <= probe


def test_the_requester_s_deadline_shortens_ours_and_never_lengthens_it() -> None:
    assert total_time(1000, 0) == 1000
    assert total_time(1000, 5000) == 1000
    assert total_time(1000, 100) == pytest.approx(90)
    assert total_time(1000, 0.1) == 1
