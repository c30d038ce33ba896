"""Questions read by a language model: its kind and texts are used, and the rules stand in, named, where it does not answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import pytest

from aico_memory.contracts.v1 import context_pb2, extraction_pb2
from services.context.handlers import ContextHandlers, build
from tests.services.context.tiers import USER, Tiers, ask, context, ports, stages
from tests.support.twin_link import TwinLink

QUERY = "Who lives in Rome?"
Make = Callable[..., ContextHandlers]


@pytest.fixture
def make(link: TwinLink) -> Iterator[Make]:
    made: list[ContextHandlers] = []

    def one(**changes: Any) -> ContextHandlers:
        given = ports(link, deadline_ms=4000)
        section = given.settings.context.model_copy(update=changes)
        given.settings = given.settings.model_copy(update={"context": section})
        made.append(build(given))
        return made[-1]

    yield one
    for handlers in made:
        handlers.close()


def answering(link: TwinLink, **fields: Any) -> list[extraction_pb2.UnderstandRequest]:
    asked: list[extraction_pb2.UnderstandRequest] = []

    def understand(message: Any, user: str) -> extraction_pb2.Understanding:
        asked.append(message)
        return extraction_pb2.Understanding(**fields)

    link.answers[extraction_pb2.UnderstandRequest] = understand
    return asked


def test_by_default_no_language_model_is_asked(handlers: ContextHandlers, link: TwinLink) -> None:
    asked = answering(link, intent="causal", answered_by="local")
    answer = context(handlers, QUERY)
    assert (asked, answer.intent, answer.understood_by) == ([], "factual", "")


def test_the_model_s_kind_chooses_the_figures_and_is_asked_once(make: Make, tiers: Tiers, link: TwinLink) -> None:
    asked = answering(link, intent="causal", answered_by="local")
    built = make(understanding="model")
    answer = context(built, QUERY)
    assert (answer.intent, answer.understood_by, answer.not_understood) == ("causal", "local", "")
    assert tiers.asked[-1].hops == 2 and "language_model" in stages(answer)
    assert context(built, QUERY, session_id="another").intent == "causal"
    assert [(one.query, one.passages) for one in asked] == [(QUERY, 0)]
    assert not context(built, "Hello!").understood_by, "small talk asks nothing"
    assert len(asked) == 1


def test_made_up_answers_of_the_model_are_searched_beside_the_question(make: Make, tiers: Tiers, link: TwinLink) -> None:
    asked = answering(link, intent="causal", passages=["Tom lives in Rome.", "I live in Rome."], answered_by="local")
    answer = context(make(expansion="model"), QUERY)
    assert list(tiers.asked[-1].hypotheses) == ["Tom lives in Rome.", "I live in Rome."]
    # The kind was not asked of it.
    assert (answer.intent, answer.understood_by) == ("factual", "local")
    assert [one.passages for one in asked] == [2]


@pytest.mark.parametrize("degraded", ["off", "budget_calls_per_hour", "no_json"])
def test_the_rules_stand_in_and_say_so(make: Make, tiers: Tiers, link: TwinLink, degraded: str) -> None:
    answering(link, answered_by="rules", degraded=degraded)
    built = make(understanding="model", expansion="model")
    for _ in range(2):
        answer = context(built, QUERY)
        assert (answer.intent, answer.understood_by, answer.not_understood) == ("factual", "rules", degraded)
        assert not answer.cached and not answer.degraded and not tiers.asked[-1].hypotheses


def test_a_model_that_does_not_answer_in_time_costs_no_more_than_its_share(make: Make, tiers: Tiers, link: TwinLink) -> None:
    tiers.say("My bicycle is red")
    link.answers[extraction_pb2.UnderstandRequest] = None
    answer = context(make(understanding="model", understanding_ms=50), "Which bicycle is red?")
    assert (answer.intent, answer.understood_by, answer.not_understood) == ("factual", "rules", "deadline_exceeded")
    assert [item.text for item in answer.items] == ["My bicycle is red"] and not answer.degraded


def test_what_the_model_takes_is_a_part_of_the_requester_s_own_time(
    make: Make, tiers: Tiers, link: TwinLink, asked_ms: dict[Any, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    late_s = 0.0
    monkeypatch.setattr("services.context.tiers.monotonic", lambda: monotonic() + late_s)

    def slow(message: Any, user: str) -> extraction_pb2.Understanding:
        nonlocal late_s
        late_s = 1.2
        return extraction_pb2.Understanding(intent="causal", answered_by="local")

    link.answers[extraction_pb2.UnderstandRequest] = slow
    tiers.say("My bicycle is red")
    request = context_pb2.ContextRequest(user_id=USER, query="Which bicycle is red?")
    answer = ask(make(understanding="model", understanding_ms=60_000), request, allowed_ms=3000)
    assert asked_ms[extraction_pb2.UnderstandRequest] <= 1350
    assert (answer.intent, len(answer.items)) == ("causal", 1)
    # Of 2700 ms at least 1200 are gone: the embedding has its share of what is left.
    assert 0 < tiers.asked[-1].embed_ms <= (2700 - 1200) * 0.6


def test_a_question_about_several_that_are_named_is_asked_about_each_as_well(handlers: ContextHandlers, tiers: Tiers) -> None:
    answer = context(handlers, "What do Anna and Ben do?")
    assert list(answer.parts) == ["What do Anna do", "What do Ben do"]
    assert list(tiers.asked[-1].questions) == ["What do Anna and Ben do?", *answer.parts]
    assert not context(handlers, "What does Anna eat and drink?").parts
