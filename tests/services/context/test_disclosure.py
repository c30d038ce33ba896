"""Memories step by step with what reading them costs, and one search over all layers, over twins of the tiers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any

import pytest

from aico_memory.client.context_shapes import unified_shape
from aico_memory.clock import FixedClock
from aico_memory.contracts.v1 import behavioral_pb2, context_pb2, outcomes_pb2, semantic_pb2, working_pb2
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.ids import derive_id
from aico_memory.models.token_counter import token_counter
from aico_memory.paths import Home
from aico_memory.runtime.courtesy import Courtesy
from aico_memory.settings.root import Settings
from services.context.handlers import ContextHandlers, build
from tests.services.context.test_kept_contexts import changed
from tests.services.context.tiers import NOW, USER, Tiers, ask, memory_id
from tests.support.twin_link import TwinLink


class Held(Tiers):
    """The tiers, with what is around memories and a page of skills."""

    skills: tuple[behavioral_pb2.Skill, ...] = ()

    def outcomes(self, message: Any, user: str) -> outcomes_pb2.Outcomes:
        if set(message.ids) - {"o1"}:
            raise NotFound(f"The user has no outcome {message.ids[0]!r}")
        if message.outcomes and message.outcomes[0] not in ("accepted", "rejected"):
            raise InvalidMessage(f"The outcome is {message.outcomes[0]!r}")
        if "evening" in message.tags:
            return outcomes_pb2.Outcomes()
        text = f"o1 layer {message.layer} {message.query}{''.join(message.ids)}"
        item = outcomes_pb2.OutcomeItem(outcome_id="o1", text=text, outcome="accepted", decided_us=1, tokens=9, score=0.5)
        return outcomes_pb2.Outcomes(outcomes=[item], tokens=9, tokens_in_full=90, tokenizer="t", degraded=["semantic"])

    def around(self, message: Any, user: str) -> context_pb2.Around:
        known = {memory_id(event_id) for event_id in self.recorded}
        answer = context_pb2.Around(settled=self.settled, unknown=[one for one in message.memory_ids if one not in known])
        for event_id in self.recorded:
            if memory_id(event_id) in message.memory_ids:
                one = answer.found.add(record=self.record(event_id))
                one.changes.add(what="created", new_value=self.texts[event_id], at_us=6)
                one.changes.add(what="text", old_value="before", new_value=self.texts[event_id], at_us=7)
                one.changes.add(what="confidence", old_value="0.5", new_value="0.6", at_us=8)
                if message.neighbours:
                    one.before.add(id="b", text="said before " * 40, said_at_us=1)
        return answer

    def page(self, message: Any, user: str) -> semantic_pb2.MemoryPage:
        return semantic_pb2.MemoryPage(records=[self.record(one) for one in self.recorded])

    def get(self, message: Any, user: str) -> semantic_pb2.MemoryPage:
        known = [one for one in (*self.recorded, *self.deleted) if memory_id(one) in message.memory_ids]
        page = semantic_pb2.MemoryPage(records=[self.record(one) for one in known])
        for one, record in zip(known, page.records, strict=True):
            record.status = "invalid" if one in self.deleted else record.status
        return page

    def all_skills(self, message: Any, user: str) -> behavioral_pb2.SkillsPage:
        return behavioral_pb2.SkillsPage(skills=self.skills)


@pytest.fixture
def tiers() -> Held:
    return Held()


@pytest.fixture
def link(tiers: Held) -> TwinLink:
    return TwinLink(
        {
            working_pb2.ReadMessages: tiers.read,
            semantic_pb2.SemanticQuery: tiers.query,
            semantic_pb2.ListMemories: tiers.page,
            semantic_pb2.GetMemory: tiers.get,
            context_pb2.AroundRequest: tiers.around,
            behavioral_pb2.SkillsRequest: tiers.all_skills,
            outcomes_pb2.OutcomesRequest: tiers.outcomes,
        }
    )


@pytest.fixture
def handlers(link: TwinLink) -> Iterator[ContextHandlers]:
    settings = Settings.model_validate({"context": {"deadline_ms": 300, "probe_ms": 30}})
    ports: Any = SimpleNamespace(
        link=link, settings=settings, home=Home(Path("/nowhere")), clock=FixedClock(NOW), courtesy=Courtesy()
    )
    built = build(ports)
    yield built
    built.close()


@pytest.fixture
def asked_ms(link: TwinLink, monkeypatch: pytest.MonkeyPatch) -> dict[Any, float]:
    """Milliseconds that each kind of question was given, the last time it was asked."""
    given: dict[Any, float] = {}
    plain = link.request

    def request(message: Any, **more: Any) -> Any:
        given[type(message)] = more["timeout"] * 1000
        return plain(message, **more)

    monkeypatch.setattr(link, "request", request)
    return given


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


@pytest.mark.parametrize("depth", ["timeline", "detail"])
def test_a_slow_search_leaves_time_for_what_is_around_what_it_found(
    handlers: ContextHandlers, tiers: Held, link: TwinLink, asked_ms: dict[Any, float], depth: str
) -> None:
    tiers.say(LONG)
    tiers.model_away = True

    def slow(message: Any, user: str) -> semantic_pb2.SemanticMatches:
        sleep(0.35)
        return tiers.query(message, user)

    link.answers[semantic_pb2.SemanticQuery] = slow
    answer = disclosed(handlers, depth, query="bicycle")
    assert (len(answer.items), list(answer.degraded)) == (1, ["model"])
    assert asked_ms[semantic_pb2.SemanticQuery] <= 4700 and asked_ms[context_pb2.AroundRequest] >= 300


def test_long_term_memory_that_is_away_is_named_once(handlers: ContextHandlers, tiers: Held, link: TwinLink) -> None:
    tiers.say(LONG)
    link.answers[semantic_pb2.SemanticQuery] = link.answers[context_pb2.AroundRequest] = None
    request = context_pb2.DiscloseRequest(user_id=USER, depth="detail", query="bicycle")
    assert list(ask(handlers, request, allowed_ms=200).degraded) == ["semantic"]


def test_without_long_term_memory_nothing_is_disclosed_and_it_is_named(handlers: ContextHandlers, link: TwinLink) -> None:
    link.answers[context_pb2.AroundRequest] = None
    answer = disclosed(handlers, "detail", memory_ids=[str(uuid.UUID(int=1))])
    assert (list(answer.degraded), len(answer.items)) == (["semantic"], 0)


def test_one_search_finds_all_layers_and_what_ties_them(handlers: ContextHandlers, tiers: Held) -> None:
    said = tiers.say("I like green tea", turn=True)
    tiers.say("The weather is fine", turn=True)
    tiers.skills = (
        behavioral_pb2.Skill(skill_id="k1", name="tea talk", template="Offer tea"),
        behavioral_pb2.Skill(skill_id="k2", name="coffee"),
    )
    answer = ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="tea", top_k=1))
    by_layer = {hit.layer: hit for hit in answer.hits}
    assert {layer: hit.id for layer, hit in by_layer.items()} == {"L0": str(said), "L1": memory_id(said), "L2": "k1"}
    assert [(tie.layer, tie.id, tie.present) for tie in by_layer["L1"].links] == [("L0", str(said), True)]
    assert [(tie.layer, tie.id) for tie in by_layer["L0"].links] == [("L1", memory_id(said))]
    only = ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="tea", layers=["L2"]))
    assert {hit.layer for hit in only.hits} == {"L2"}
    with pytest.raises(InvalidMessage, match="L9"):
        ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="tea", layers=["L9"]))


def test_a_message_whose_record_was_deleted_is_found_in_no_layer(handlers: ContextHandlers, tiers: Held) -> None:
    gone = tiers.say("I like green tea", turn=True, recorded=False)
    said = tiers.say("I like black tea", turn=True, recorded=False)
    tiers.deleted.append(gone)
    answer = ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="tea"))
    assert [hit.id for hit in answer.hits] == [str(said)]


def test_a_layer_that_is_away_is_named(handlers: ContextHandlers, tiers: Held, link: TwinLink) -> None:
    tiers.say("I like green tea", turn=True)
    link.answers[behavioral_pb2.SkillsRequest] = None
    answer = ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="tea"))
    assert list(answer.degraded) == ["behavioral"]
    assert {hit.layer for hit in answer.hits} == {"L0", "L1"}


def test_a_layer_that_is_away_takes_no_time_from_the_links_of_the_others(
    handlers: ContextHandlers, tiers: Held, link: TwinLink, asked_ms: dict[Any, float]
) -> None:
    said = tiers.say("I like green tea", turn=True)
    link.answers[behavioral_pb2.SkillsRequest] = None
    answer = ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="tea", layers=["L0", "L2"]))
    (tie,) = answer.hits[0].links
    assert (tie.id, tie.present, tie.unknown) == (memory_id(said), True, False)
    assert asked_ms[semantic_pb2.GetMemory] > 100


@pytest.mark.parametrize(
    ("stopped", "layers", "named"),
    [(semantic_pb2.GetMemory, ["L0"], "semantic"), (working_pb2.ReadMessages, ["L1"], "working")],
)
def test_links_that_could_not_be_looked_for_are_not_said_to_be_missing(
    handlers: ContextHandlers, tiers: Held, link: TwinLink, stopped: Any, layers: list[str], named: str
) -> None:
    tiers.say("I like green tea", turn=True)
    link.answers[stopped] = None
    answer = ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="tea", layers=layers))
    assert [tie.unknown for hit in answer.hits for tie in hit.links] == [True]
    assert list(answer.degraded) == [named]
    assert [tie["present"] for hit in unified_shape(answer)["results"] for tie in hit["links"]] == [None]


def test_an_edit_leaves_the_version_that_it_replaced_and_is_no_dangling_link(handlers: ContextHandlers, link: TwinLink) -> None:
    edit = uuid.UUID(int=78)
    item = semantic_pb2.MemoryRecord(memory_id=str(uuid.UUID(int=9)), kind="fact")
    item.sources.add(event_id=edit.bytes)
    former = semantic_pb2.MemoryRecord(memory_id=str(derive_id(edit, "version")), kind="fact")
    link.answers[semantic_pb2.ListMemories] = lambda message, user: semantic_pb2.MemoryPage(records=[item])
    link.answers[semantic_pb2.GetMemory] = lambda message, user: semantic_pb2.MemoryPage(
        records=[former] if former.memory_id in message.memory_ids else []
    )
    found = ask(handlers, context_pb2.VerifyLinksRequest(user_id=USER))
    assert (found.links, found.sound, list(found.dangling)) == (1, 1, [])


def test_links_are_followed_and_what_leads_nowhere_is_named(handlers: ContextHandlers, tiers: Held, link: TwinLink) -> None:
    sound = tiers.say("I like green tea", turn=True)
    unrecorded = tiers.say("Not taken up yet", turn=True, recorded=False)
    lost = uuid.UUID(int=77)
    found = ask(handlers, context_pb2.VerifyLinksRequest(user_id=USER))
    assert (found.memories, found.links, found.sound, found.complete) == (1, 1, 1, True)
    assert [one.id for one in found.without_record] == [str(unrecorded)]
    item = semantic_pb2.MemoryRecord(memory_id=str(uuid.UUID(int=9)), kind="fact")
    item.sources.add(event_id=sound.bytes)
    item.sources.add(event_id=lost.bytes)
    link.answers[semantic_pb2.ListMemories] = lambda message, user: semantic_pb2.MemoryPage(records=[item])
    found = ask(handlers, context_pb2.VerifyLinksRequest(user_id=USER))
    assert (found.links, found.sound) == (2, 1)
    assert [one.id for one in found.dangling] == [str(lost)]


def test_links_that_nobody_answers_for_are_neither_sound_nor_dangling(
    handlers: ContextHandlers, tiers: Held, link: TwinLink
) -> None:
    tiers.say("Not taken up yet", turn=True, recorded=False)
    item = semantic_pb2.MemoryRecord(memory_id=str(uuid.UUID(int=9)), kind="fact")
    item.sources.add(event_id=uuid.UUID(int=77).bytes)
    link.answers[semantic_pb2.ListMemories] = lambda message, user: semantic_pb2.MemoryPage(records=[item])
    link.answers[semantic_pb2.GetMemory] = None
    found = ask(handlers, context_pb2.VerifyLinksRequest(user_id=USER))
    assert (found.links, found.sound, found.complete) == (1, 0, False)
    assert not found.dangling and not found.without_record


def test_outcomes_are_told_in_the_same_depths_by_their_owner(handlers: ContextHandlers, tiers: Held) -> None:
    tiers.say(LONG)
    kind = semantic_pb2.SearchFilters(kinds=["outcome"], statuses=["accepted"])
    first = disclosed(handlers, "search", query="habits", filters=kind)
    assert [(item.id, item.kind, item.text) for item in first.items] == [("o1", "outcome", "o1 layer 1 habits")]
    assert (first.tokens, first.tokens_in_full, first.tokenizer, list(first.degraded)) == (9, 90, "t", ["semantic"])
    assert disclosed(handlers, "detail", memory_ids=["o1"], filters=kind).items[0].text == "o1 layer 3 o1"
    with pytest.raises(InvalidMessage):
        disclosed(handlers, "search", query="x", filters=semantic_pb2.SearchFilters(kinds=["outcome"], statuses=["odd"]))


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
