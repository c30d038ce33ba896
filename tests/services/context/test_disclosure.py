"""Memories step by step with what reading them costs, over twins of the tiers."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from aico_memory.contracts.v1 import context_pb2, outcomes_pb2, semantic_pb2, working_pb2
from aico_memory.errors import InvalidMessage, NotFound, TooLarge
from aico_memory.models.token_counter import token_counter
from services.context.handlers import ContextHandlers
from tests.services.context.held import Held
from tests.services.context.test_kept_contexts import changed
from tests.services.context.tiers import USER, ask, memory_id
from tests.support.twin_link import TwinLink


def disclosed(handlers: ContextHandlers, depth: str, **more: Any) -> context_pb2.Disclosed:
    answer: context_pb2.Disclosed = ask(handlers, context_pb2.DiscloseRequest(user_id=USER, depth=depth, **more))
    return answer


LONG = "My bicycle is red and stands in the shed behind the house near the old apple tree that my grandfather planted. " * 5


def test_each_depth_tells_more_and_costs_more(handlers: ContextHandlers, tiers: Held) -> None:
    said = tiers.say(LONG)
    first = disclosed(handlers, "search", query="bicycle", top_k=3)
    assert [item.id for item in first.items] == [memory_id(said)]
    assert len(first.items[0].text) <= 121 and first.items[0].text.endswith("…")
    assert first.items[0].days_ago > 100
    more = disclosed(handlers, "timeline", memory_ids=[memory_id(said)])
    assert more.items[0].text == LONG
    assert [change.what for change in more.items[0].changes] == ["created", "text"]
    assert len(more.items[0].changes[0].new_value) <= 121, "the whole text stands there once"
    assert len(more.items[0].before[0].text) <= 121
    everything = disclosed(handlers, "detail", memory_ids=[memory_id(said)])
    assert everything.items[0].record.text == LONG
    assert len(everything.items[0].changes) == 3
    assert 0 < first.tokens < more.tokens < everything.tokens
    assert everything.tokens == everything.tokens_in_full == more.tokens_in_full
    assert first.tokenizer == token_counter("x").name
    assert first.tokens == sum(item.tokens for item in first.items)


def test_what_was_disclosed_is_kept_at_each_depth_until_something_is_said(
    handlers: ContextHandlers, tiers: Held, link: TwinLink
) -> None:
    said = memory_id(tiers.say(LONG))
    kind = semantic_pb2.SearchFilters(kinds=["outcome"])
    asked: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": "bicycle"}), ("timeline", {"query": "bicycle"}), ("detail", {"memory_ids": [said]}),
    ]  # fmt: skip
    for depth, more in asked:
        first, again = disclosed(handlers, depth, **more), disclosed(handlers, depth, **more)
        assert (first.cached, again.cached) == (False, True)
        assert (again.items, again.tokens, again.tokens_in_full) == (first.items, first.tokens, first.tokens_in_full)
    for _ in range(2):
        # Nobody tells this process of what changes there.
        assert not disclosed(handlers, "search", query="sport", filters=kind).cached
    _, hear = link.hearing[0]
    hear(changed(working_pb2.Message, USER, 4, working_pb2.Message(user_id=USER, role="user", content="Hello"), 2))
    for depth, more in asked:
        assert not disclosed(handlers, depth, **more).cached


def test_what_is_meant_must_be_said_and_depths_are_three(handlers: ContextHandlers) -> None:
    with pytest.raises(InvalidMessage, match="Neither query"):
        disclosed(handlers, "search")
    with pytest.raises(InvalidMessage, match="gossip"):
        disclosed(handlers, "gossip", query="bicycle")


@pytest.mark.parametrize("filters", [None, semantic_pb2.SearchFilters(kinds=["outcome"])])
def test_a_query_beside_ids_is_refused_for_either_would_give_way(
    handlers: ContextHandlers, tiers: Held, filters: semantic_pb2.SearchFilters | None
) -> None:
    said = memory_id(tiers.say(LONG))
    with pytest.raises(InvalidMessage, match="Both a query and memory_ids"):
        disclosed(handlers, "timeline", query="bicycle", memory_ids=[said], filters=filters)


@pytest.mark.parametrize(
    "more",
    [{"as_of_us": 5}, {"known_as_of_us": 5}, {"top_k": 1}, {"filters": semantic_pb2.SearchFilters(kinds=["fact"])}],
)
def test_what_would_not_be_heeded_is_refused(handlers: ContextHandlers, tiers: Held, more: dict[str, Any]) -> None:
    said = memory_id(tiers.say(LONG))
    with pytest.raises(InvalidMessage, match="memory_ids"):
        disclosed(handlers, "detail", memory_ids=[said], **more)
    assert disclosed(handlers, "search", query="bicycle", **more).items
    if "filters" not in more and "top_k" not in more:
        with pytest.raises(InvalidMessage, match="apply to memories"):
            disclosed(handlers, "search", query="x", **more, filters=semantic_pb2.SearchFilters(kinds=["outcome"]))


def test_ids_that_are_nobody_s_are_refused_and_so_are_more_than_can_be_told(handlers: ContextHandlers, tiers: Held) -> None:
    said, unknown = memory_id(tiers.say(LONG)), str(uuid.UUID(int=1))
    for named in ([unknown], [said, unknown]):
        for depth in ("search", "timeline", "detail"):
            with pytest.raises(NotFound, match=unknown):
                disclosed(handlers, depth, memory_ids=named)
    with pytest.raises(InvalidMessage, match="at most 1000"):
        disclosed(handlers, "detail", memory_ids=[said] * 1001)
    with pytest.raises(NotFound, match="o9"):
        disclosed(handlers, "detail", memory_ids=["o9"], filters=semantic_pb2.SearchFilters(kinds=["outcome"]))


@pytest.mark.usefixtures("slow_search")
@pytest.mark.parametrize("depth", ["timeline", "detail"])
def test_a_slow_search_leaves_time_for_what_is_around_what_it_found(
    handlers: ContextHandlers, tiers: Held, asked_ms: dict[Any, float], depth: str
) -> None:
    tiers.say(LONG)
    answer = disclosed(handlers, depth, query="bicycle")
    assert (len(answer.items), list(answer.degraded)) == (1, ["model"])
    assert asked_ms[semantic_pb2.SemanticQuery] <= 4700 and asked_ms[context_pb2.AroundRequest] >= 300


def test_long_term_memory_that_is_away_is_named_once(handlers: ContextHandlers, tiers: Held, link: TwinLink) -> None:
    tiers.say(LONG)
    link.answers[semantic_pb2.SemanticQuery] = link.answers[context_pb2.AroundRequest] = None
    request = context_pb2.DiscloseRequest(user_id=USER, depth="detail", query="bicycle")
    assert list(ask(handlers, request, allowed_ms=200).degraded) == ["semantic"]


def test_memories_for_which_there_is_no_room_are_told_to_be_missing_and_named_ones_are_asked_for_again(
    handlers: ContextHandlers, tiers: Held, link: TwinLink
) -> None:
    said = [memory_id(tiers.say(f"My bicycle number {number} is red")) for number in range(5)]

    def crowded(message: Any, user: str) -> context_pb2.Around:
        whole = tiers.around(message, user)
        told, left = whole.found[:2], whole.found[2:]
        return context_pb2.Around(settled=whole.settled, found=told, cut=[one.record.memory_id for one in left])

    link.answers[context_pb2.AroundRequest] = crowded
    for _ in range(2):
        found = disclosed(handlers, "timeline", query="bicycle")
        assert (len(found.items), list(found.degraded), found.cached) == (2, ["around: too_large"], False)
    with pytest.raises(TooLarge, match="3 of the memories"):
        disclosed(handlers, "detail", memory_ids=said)
    assert len(disclosed(handlers, "detail", memory_ids=said[:2]).items) == 2


def test_without_long_term_memory_nothing_is_disclosed_and_it_is_named(handlers: ContextHandlers, link: TwinLink) -> None:
    link.answers[context_pb2.AroundRequest] = None
    answer = disclosed(handlers, "detail", memory_ids=[str(uuid.UUID(int=1))])
    assert (list(answer.degraded), len(answer.items)) == (["semantic"], 0)


def test_outcomes_are_told_in_the_same_depths_by_their_owner(handlers: ContextHandlers, tiers: Held) -> None:
    tiers.say(LONG)
    kind = semantic_pb2.SearchFilters(kinds=["outcome"], statuses=["accepted"])
    first = disclosed(handlers, "search", query="habits", filters=kind)
    assert [(item.id, item.kind, item.text) for item in first.items] == [("o1", "outcome", "o1 layer 1 habits")]
    assert (first.tokens, first.tokens_in_full, first.tokenizer, list(first.degraded)) == (9, 90, "t", ["semantic"])
    assert disclosed(handlers, "detail", memory_ids=["o1"], filters=kind).items[0].text == "o1 layer 3 o1"
    with pytest.raises(InvalidMessage):
        disclosed(handlers, "search", query="x", filters=semantic_pb2.SearchFilters(kinds=["outcome"], statuses=["odd"]))


def test_a_query_of_outcomes_finds_as_many_as_any_search_where_it_names_no_number(
    handlers: ContextHandlers, link: TwinLink
) -> None:
    kind = semantic_pb2.SearchFilters(kinds=["outcome"])
    disclosed(handlers, "search", query="habits", filters=kind)
    disclosed(handlers, "detail", memory_ids=["o1"], filters=kind)
    asked = [one.top_k for one, _ in link.asked if isinstance(one, outcomes_pb2.OutcomesRequest)]
    assert asked == [10, 0]


def test_outcomes_are_filtered_by_tag_and_what_would_not_be_heeded_is_refused(handlers: ContextHandlers, tiers: Held) -> None:
    tiers.say(LONG)

    def found(**filters: Any) -> list[str]:
        return [
            item.id for item in disclosed(handlers, "search", query="red", filters=semantic_pb2.SearchFilters(**filters)).items
        ]

    assert found(kinds=["outcome"], tags=["morning"]) == ["o1"]
    assert found(kinds=["outcome"], tags=["morning", "evening"]) == []
    with pytest.raises(InvalidMessage, match="Memories have no tags"):
        found(tags=["morning"])
    for other in ({"tiers": ["semantic"]}, {"session_id": "s"}):
        with pytest.raises(InvalidMessage, match="neither tier nor session"):
            found(kinds=["outcome"], **other)


def test_outcomes_whose_owner_is_away_are_named_as_missing(handlers: ContextHandlers, link: TwinLink) -> None:
    link.answers[outcomes_pb2.OutcomesRequest] = None
    answer = disclosed(handlers, "search", query="habits", filters=semantic_pb2.SearchFilters(kinds=["outcome"]))
    assert (list(answer.items), list(answer.degraded)) == ([], ["behavioral"])


def test_what_is_around_a_memory_is_asked_for_as_it_was_known(handlers: ContextHandlers, tiers: Held, link: TwinLink) -> None:
    tiers.say(LONG)
    known_us = 1 << 61
    disclosed(handlers, "timeline", query="bicycle", known_as_of_us=known_us)
    assert [one.known_as_of_us for one, _ in link.asked if isinstance(one, context_pb2.AroundRequest)] == [known_us]
