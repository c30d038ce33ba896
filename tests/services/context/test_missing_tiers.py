"""Tiers and models that are away: named, waited for once and no longer than the deadline."""

from __future__ import annotations

from time import monotonic
from typing import Any

import pytest

from aico_memory.contracts.v1 import context_pb2, semantic_pb2, working_pb2
from aico_memory.errors import DeadlineExceeded
from aico_memory.settings.context import ContextSettings
from services.context.handlers import ContextHandlers
from services.context.tiers import Stopwatch, TierHealth
from services.context.tiers import Tiers as TiersOfOne
from tests.services.context.tiers import PATIENT_MS, USER, Tiers, ask, context, search, stages
from tests.support.twin_link import TwinLink

# A stopped tier never answers: any finite wait shows that a deadline was kept. How well it is kept is measured by
# `bench system`, not here, where another process may hold the processor for a while.
KEPT_SECONDS = 10.0


@pytest.mark.parametrize(
    ("stopped", "named"), [(context_pb2.CandidatesRequest, "semantic"), (working_pb2.ReadMessages, "working")]
)
def test_with_a_tier_stopped_the_answer_comes_within_the_deadline_and_names_it(
    handlers: ContextHandlers, tiers: Tiers, link: TwinLink, stopped: Any, named: str
) -> None:
    tiers.say("My bicycle is red", turn=True)
    link.answers[stopped] = None
    started = monotonic()
    answer = context(handlers, "bicycle", session_id="s")
    assert monotonic() - started < KEPT_SECONDS
    assert list(answer.degraded) == [named]
    assert [item.text for item in answer.items] == ["My bicycle is red"]


def test_a_model_that_is_away_is_named_by_the_tier_that_missed_it(handlers: ContextHandlers, tiers: Tiers) -> None:
    tiers.say("My bicycle is red")
    tiers.model_away = True
    answer = context(handlers, "bicycle")
    assert (list(answer.degraded), answer.model) == (["model"], "")


def test_a_question_that_nobody_embeds_says_nothing_of_a_model_that_is_away(
    handlers: ContextHandlers, tiers: Tiers, link: TwinLink
) -> None:
    tiers.say("My bicycle is red")
    tiers.model_away = True
    context(handlers, "bicycle")
    link.answers[context_pb2.CandidatesRequest] = lambda message, user: context_pb2.Candidates()
    assert not context(handlers, "自行车").degraded
    link.answers[context_pb2.CandidatesRequest] = tiers.candidates
    context(handlers, "red bicycle")
    first, second = (message.embed_ms for message in tiers.asked)
    assert second < first


def test_with_all_tiers_stopped_the_answer_is_empty_and_names_them_all(handlers: ContextHandlers, link: TwinLink) -> None:
    link.answers = dict.fromkeys(link.answers)
    answer = context(handlers, "bicycle", session_id="s")
    assert list(answer.degraded) == ["semantic", "working"]
    assert (answer.text, answer.tokens, len(answer.items)) == ("", 0, 0)


def test_a_stopped_tier_costs_its_time_once_and_is_asked_until_it_is_back(
    patient: ContextHandlers, tiers: Tiers, link: TwinLink
) -> None:
    tiers.say("My bicycle is red")
    link.answers[context_pb2.CandidatesRequest] = None
    first = context(patient, "bicycle")
    second = context(patient, "bicycle")
    assert stages(first)["total"] > PATIENT_MS / 2 > stages(second)["total"]
    assert list(second.degraded) == ["semantic"]
    # A late answer says that the tier is back, and the next question waits for it again.
    late, future = link.unanswered[-1]
    future.set_result(tiers.candidates(late, ""))
    assert patient.status()["tiers"] == {"missing": {}, "missed_in_all": {"semantic": 2}}
    link.answers[context_pb2.CandidatesRequest] = tiers.candidates
    assert not context(patient, "bicycle").degraded


def test_the_requester_s_own_deadline_is_kept(patient: ContextHandlers, link: TwinLink) -> None:
    link.answers = dict.fromkeys(link.answers)
    started = monotonic()
    ask(patient, context_pb2.ContextRequest(user_id=USER, query="bicycle"), allowed_ms=100)
    assert monotonic() - started < PATIENT_MS / 2000


def test_a_search_without_the_model_names_it_and_gives_it_no_more_than_a_probe_until_it_is_back(
    handlers: ContextHandlers, tiers: Tiers
) -> None:
    tiers.say("My bicycle is red")
    tiers.model_away = True
    answer = search(handlers, "bicycle")
    assert (list(answer.degraded), answer.model, len(answer.hits)) == (["model"], "", 1)
    search(handlers, "bicycle")
    tiers.model_away = False
    search(handlers, "bicycle")
    search(handlers, "red bicycle")
    first, second, third, fourth = (message.embed_ms for message in tiers.asked)
    assert second == third < first == fourth


def test_a_tier_that_missed_is_waited_for_longer_than_it_waits_for_the_model(
    handlers: ContextHandlers, tiers: Tiers, link: TwinLink
) -> None:
    tiers.say("My bicycle is red")
    tiers.model_away = True
    search(handlers, "bicycle")
    for kind in (semantic_pb2.SemanticQuery, context_pb2.CandidatesRequest):
        link.answers[kind] = None
    # The first one finds that long-term memory is away, too.
    context(handlers, "bicycle")
    for again, probe in ((context, ContextSettings().probe_ms), (search, ContextSettings().search_probe_ms)):
        link.unanswered[-1][1].set_exception(DeadlineExceeded("The link gave up"))
        again(handlers, "red bicycle")
        assert 0 < link.unanswered[-1][0].embed_ms < probe


def test_who_was_asked_when_no_time_was_left_has_missed_nothing(link: TwinLink) -> None:
    link.answers[working_pb2.ReadMessages] = None
    health, watch = TierHealth(), Stopwatch()
    late = TiersOfOne(link, health, watch, total=watch.elapsed(), reserve=5, probe=60)
    assert late.take(late.ask("working", "working", working_pb2.ReadMessages(user_id=USER), USER)) is None
    assert (health.as_status()["missed_in_all"], link.unanswered) == ({}, [])
