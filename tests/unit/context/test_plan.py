"""What is asked, how long is waited, what is named as missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.context.deadlines import tier_time, total_time
from aico_memory.domain.context.plan import plan_context
from aico_memory.settings.context import ContextSettings

SETTINGS = ContextSettings()


def test_small_talk_searches_nothing() -> None:
    plan = plan_context("hello", "greeting", "general", (), SETTINGS)
    assert (plan.candidates, plan.turns, plan.intent, plan.questions) == (0, 6, "greeting", ())


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
