"""One search over all layers, and the links between them, over twins of the tiers."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from aico_memory.client.context_shapes import unified_shape, verified_shape
from aico_memory.contracts.v1 import behavioral_pb2, context_pb2, envelope_pb2, semantic_pb2, working_pb2
from aico_memory.domain.memory import STATUSES
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.ids import derive_id
from services.context.handlers import ContextHandlers
from tests.services.context.held import Held
from tests.services.context.tiers import USER, ask, memory_id
from tests.support.twin_link import TwinLink


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


@pytest.mark.usefixtures("slow_search")
def test_a_search_that_waited_for_the_model_leaves_time_for_the_links(
    handlers: ContextHandlers, tiers: Held, asked_ms: dict[Any, float]
) -> None:
    tiers.say("I like green tea", turn=True)
    answer = ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="tea"))
    assert list(answer.degraded) == ["model"]
    assert [tie.unknown for hit in answer.hits for tie in hit.links] == [False, False]
    assert asked_ms[semantic_pb2.SemanticQuery] <= 4700 and asked_ms[semantic_pb2.GetMemory] > 100


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
    assert (found.memories, found.links, found.sound, found.complete, list(found.degraded)) == (1, 1, 1, True, [])
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
    assert (found.links, found.sound, found.complete, list(found.degraded)) == (1, 0, False, ["semantic"])
    assert not found.dangling and not found.without_record


@pytest.mark.parametrize(("stopped", "named"), [(working_pb2.ReadMessages, "working"), (semantic_pb2.ListMemories, "semantic")])
def test_a_check_of_links_names_who_did_not_answer(
    handlers: ContextHandlers, tiers: Held, link: TwinLink, stopped: Any, named: str
) -> None:
    tiers.say("I like green tea", turn=True)
    link.answers[stopped] = None
    found = ask(handlers, context_pb2.VerifyLinksRequest(user_id=USER))
    assert (found.complete, list(found.degraded)) == (False, [named])
    assert verified_shape(found)["degraded"] == [named]


def test_a_message_whose_record_was_deleted_is_found_in_no_layer(handlers: ContextHandlers, tiers: Held) -> None:
    gone = tiers.say("I like green tea", turn=True, recorded=False)
    said = tiers.say("I like black tea", turn=True, recorded=False)
    tiers.deleted.append(gone)
    answer = ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="tea"))
    assert [hit.id for hit in answer.hits] == [str(said)]


def test_deleted_messages_take_no_place_of_those_that_are_there(handlers: ContextHandlers, tiers: Held) -> None:
    said = [tiers.say(f"I like {kind} tea", turn=True, recorded=False) for kind in ("green", "black", "white", "mint")]
    tiers.deleted += said[2:]
    answer = ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="tea", top_k=2, layers=["L0"]))
    assert {hit.id for hit in answer.hits} == {str(one) for one in said[:2]}


def test_an_edited_message_says_in_every_layer_what_it_says_now(handlers: ContextHandlers, tiers: Held) -> None:
    said = tiers.say("I like green tea", turn=True)
    tiers.edited[said] = "I like white tea"
    answer = ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="tea"))
    assert {(hit.layer, hit.text) for hit in answer.hits} == {("L0", "I like white tea"), ("L1", "I like white tea")}
    by_former_words = ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="green", layers=["L0"]))
    assert not by_former_words.hits


def test_layers_take_turns_since_their_scores_do_not_compare(handlers: ContextHandlers, tiers: Held) -> None:
    for text in ("I like green tea", "Tea at four"):
        tiers.say(text, turn=True)
    tiers.skills = (behavioral_pb2.Skill(skill_id="k1", name="tea", template="Offer green tea"),)
    answer = ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="green tea"))
    assert [hit.layer for hit in answer.hits] == ["L1", "L0", "L2", "L1", "L0"]
    of_messages = [hit.score for hit in answer.hits if hit.layer == "L0"]
    assert of_messages == sorted(of_messages, reverse=True)


def remembered(*sources: uuid.UUID, scope: int = 0, kind: str = "fact") -> Any:
    """Long-term memory that finds one memory, which rests on these events."""
    record = semantic_pb2.MemoryRecord(memory_id=str(uuid.UUID(int=9)), kind=kind, text="tea", scope={"kind": scope})
    for source in sources:
        record.sources.add(event_id=source.bytes)

    def query(message: Any, user: str) -> semantic_pb2.SemanticMatches:
        found = semantic_pb2.SemanticMatches(records=[record], model="twin")
        found.lists.add(retriever="fused", memory_ids=[record.memory_id], scores=[0.5])
        return found

    return query


def test_a_message_beyond_those_that_were_looked_through_is_not_said_to_be_gone(
    handlers: ContextHandlers, tiers: Held, link: TwinLink
) -> None:
    said, old = tiers.say("I like green tea", turn=True), uuid.UUID(int=77)
    link.answers[semantic_pb2.SemanticQuery] = remembered(said, old)

    def ties(**page: Any) -> tuple[list[tuple[bool, bool]], list[str]]:
        def read(message: Any, user: str) -> working_pb2.MessagePage:
            found = tiers.read(message, user)
            found.MergeFrom(working_pb2.MessagePage(**page))
            return found

        link.answers[working_pb2.ReadMessages] = read
        answer = ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="tea", layers=["L1"]))
        return [(tie.present, tie.unknown) for hit in answer.hits for tie in hit.links], list(answer.degraded)

    assert ties() == ([(True, False), (False, False)], [])
    partly = ([(True, False), (False, True)], ["working: partial"])
    assert ties(cut=True) == partly
    others = [working_pb2.StoredMessage(event_id=uuid.UUID(int=place).bytes) for place in range(100, 599)]
    assert ties(messages=others) == partly


def test_what_somebody_else_may_have_said_is_not_said_to_be_gone(
    handlers: ContextHandlers, tiers: Held, link: TwinLink
) -> None:
    said = tiers.say("We like green tea", turn=True)
    link.answers[semantic_pb2.SemanticQuery] = remembered(said, uuid.UUID(int=77), scope=envelope_pb2.SCOPE_KIND_GROUP)
    answer = ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="tea", layers=["L1"], group_id="choir"))
    assert [(tie.present, tie.unknown) for hit in answer.hits for tie in hit.links] == [(True, False), (False, True)]
    assert not answer.degraded


def test_links_of_everything_are_followed_and_those_of_the_group_that_is_named(
    handlers: ContextHandlers, tiers: Held, link: TwinLink
) -> None:
    tiers.say("I like green tea", turn=True)
    assert ask(handlers, context_pb2.VerifyLinksRequest(user_id=USER, group_id="choir", project_id="tour")).complete
    (asked,) = [message for message, _ in link.asked if isinstance(message, semantic_pb2.ListMemories)]
    assert list(asked.filters.statuses) == list(STATUSES)
    assert [(one.kind, one.id) for one in asked.scopes] == [
        (envelope_pb2.SCOPE_KIND_USER, USER), (envelope_pb2.SCOPE_KIND_GROUP, "choir"),
        (envelope_pb2.SCOPE_KIND_PROJECT, "tour"),
    ]  # fmt: skip


def test_all_that_working_memory_holds_is_looked_through_or_the_check_is_not_complete(
    handlers: ContextHandlers, tiers: Held, link: TwinLink
) -> None:
    tiers.turns = [tiers.say(f"Tea number {number}", recorded=False) for number in range(1, 4)]
    place = {event_id.bytes: at for at, event_id in enumerate(tiers.turns)}

    def page(message: Any, user: str) -> working_pb2.MessagePage:
        until = place[message.before_event_id] if message.before_event_id else len(tiers.turns)
        found = [working_pb2.StoredMessage(event_id=one.bytes, content="tea") for one in tiers.turns[max(0, until - 1) : until]]
        return working_pb2.MessagePage(messages=found, cut=until > 1)

    link.answers[working_pb2.ReadMessages] = page
    found = ask(handlers, context_pb2.VerifyLinksRequest(user_id=USER))
    assert ({one.id for one in found.without_record}, found.complete) == ({str(one) for one in tiers.turns}, True)

    def forgetful(message: Any, user: str) -> working_pb2.MessagePage:
        if message.before_event_id:
            raise NotFound("No such message")
        return page(message, user)

    link.answers[working_pb2.ReadMessages] = forgetful
    found = ask(handlers, context_pb2.VerifyLinksRequest(user_id=USER))
    assert ([one.id for one in found.without_record], found.complete) == ([str(tiers.turns[-1])], False)
