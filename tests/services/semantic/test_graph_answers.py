"""Questions about the graph over the store, and merges that can be undone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message

from aico_memory.clock import FixedClock
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import temporal_pb2
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.graph.edges import Edge, ended
from aico_memory.domain.graph.entities import Entity
from aico_memory.domain.graph.relations import relate
from aico_memory.domain.lifecycle import withdrawn
from aico_memory.domain.memory import OPEN, Scope
from aico_memory.domain.scopes import shared
from aico_memory.domain.temporal.versions import Belief
from aico_memory.errors import InvalidMessage, NotFound, TooLarge
from aico_memory.ids import new_id
from aico_memory.settings.identity import IdentitySettings
from aico_memory.stores.semantic.port import SemanticStore
from aico_memory.stores.semantic.twin import MemorySemanticStore
from services.semantic.convert import id_text
from services.semantic.graph_answers import GraphAnswers
from tests.services.semantic.statements import policy_of
from tests.stores.semantic.memories import OnDisk
from tests.support.memory_items import item
from tests.support.statements import ALICE, day

NAMES = {1: "user", 2: "Anna", 3: "Acme", 4: "Annie", 5: "Berlin"}


def uid(number: int) -> bytes:
    return number.to_bytes(16, "big")


def entity(number: int, scope: Scope = ALICE, type_: str = "") -> Entity:
    return Entity(uid(number), scope, NAMES[number], type_, day(0))


def edge(number: int, subject: int, predicate: str, object_: int | str, on: float, scope: Scope = ALICE) -> Edge:
    literal = object_ if isinstance(object_, str) else ""
    target = None if isinstance(object_, str) else uid(object_)
    beliefs = (Belief(day(on), day(on), OPEN, b"cause"),)
    return Edge(uid(100 + number), scope, uid(subject), predicate, target, literal, True, 0.8, uid(100 + number), beliefs)


@pytest.fixture(params=["twin", "database"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SemanticStore]:
    """alice's sister is Anna; Anna worked at Acme until day 10; Annie lives in Berlin; Acme is in Berlin."""
    made: SemanticStore = MemorySemanticStore() if request.param == "twin" else OnDisk(tmp_path).store
    edges = (
        edge(1, 1, "sister", 2, 0),
        ended(edge(2, 2, "employer", 3, 1), day(10), day(12), b"left"),
        edge(3, 4, "home_city", 5, 2),
        edge(4, 3, "location", 5, 3),
        edge(5, 1, "age", "41", 4),
    )
    with made.transaction() as transaction:
        for number in NAMES:
            transaction.put_entity(entity(number), "alice")
        for one in edges:
            memory = item(int.from_bytes(one.source, "big"), f"fact {one.predicate}", day(1))
            transaction.put_item(Known(memory, NAMES[1], one.predicate, "x", True, "x"), ["fact"], 1)
            transaction.put_edge(one, "alice")
    yield made
    made.close()


def answers(store: SemanticStore, most: int = 1000) -> GraphAnswers:
    clock = FixedClock(datetime.fromtimestamp(day(50) / 1_000_000, UTC))
    return GraphAnswers(store, clock, most, IdentitySettings(), policy_of)


def event(message: Message, user: str = "alice") -> Event:
    return Event(event_id=new_id(1), topic=topic_of(message).name, user=user, message=message, occurred_us=day(20))


def around(store: SemanticStore, name: str, user: str = "alice", **fields: Any) -> list[tuple[str, str, str]]:
    request = temporal_pb2.NeighboursRequest(user_id=user, entity=name, **fields)
    found = answers(store).neighbours(event(request, user))
    return sorted((one.subject, one.predicate, one.object) for one in found.edges)


def test_what_stands_around_an_entity_is_as_of_a_moment_and_as_known_then(store: SemanticStore) -> None:
    assert around(store, "anna") == [("user", "sister", "Anna")]
    assert around(store, "Anna", as_of_us=day(5)) == [("Anna", "employer", "Acme"), ("user", "sister", "Anna")]
    assert around(store, "Anna", as_of_us=day(11), known_as_of_us=day(11))[0] == ("Anna", "employer", "Acme")
    assert ("user", "age", "41") in around(store, "user")
    assert around(store, id_text(uid(5))) == [("Acme", "location", "Berlin"), ("Annie", "home_city", "Berlin")]
    with pytest.raises(NotFound, match="Zoe"):
        around(store, "Zoe")


def test_an_edge_tells_from_when_until_when_it_holds_and_which_item_states_it(store: SemanticStore) -> None:
    request = temporal_pb2.NeighboursRequest(user_id="alice", entity="Acme", as_of_us=day(5))
    edges = {one.predicate: one for one in answers(store).neighbours(event(request)).edges}
    assert (edges["employer"].from_us, edges["employer"].until_us) == (day(1), day(10))
    assert (edges["location"].from_us, edges["location"].until_us) == (day(3), 0)
    assert edges["employer"].memory_id == id_text(uid(102))


def ways(store: SemanticStore, start: str, goal: str, **fields: Any) -> list[list[str]]:
    request = temporal_pb2.PathsRequest(user_id="alice", start=start, goal=goal, **fields)
    return [[one.predicate for one in way.edges] for way in answers(store).paths(event(request)).paths]


def test_ways_lead_over_what_held_then(store: SemanticStore) -> None:
    assert ways(store, "user", "Berlin", as_of_us=day(5)) == [["sister", "employer", "location"]]
    assert ways(store, "user", "Berlin", as_of_us=day(30)) == []
    assert ways(store, "user", "Berlin", as_of_us=day(5), max_hops=2) == []
    with pytest.raises(NotFound, match="Zoe"):
        ways(store, "user", "Zoe")


def test_changes_between_two_moments_are_what_came_and_what_went(store: SemanticStore) -> None:
    request = temporal_pb2.GraphChangesRequest(user_id="alice", from_us=day(3.5), until_us=day(20))
    found = answers(store).changed(event(request))
    assert [one.predicate for one in found.came] == ["age"]
    assert [one.predicate for one in found.went] == ["employer"]


def test_a_merge_is_followed_and_undoing_it_parts_them_again(store: SemanticStore) -> None:
    graph = answers(store)
    command = event(temporal_pb2.MergeEntities(user_id="alice", kept="Anna", absorbed="Annie"))
    with store.transaction() as transaction:
        done = graph.merge(transaction, command)
    assert (done.how, done.undone_at_us, done.at_us) == ("manual", 0, day(20))
    assert ("Anna", "home_city", "Berlin") in around(store, "Annie")
    (one,) = graph.entities(event(temporal_pb2.EntitiesRequest(user_id="alice", name="annie"))).entities
    assert (one.name, list(one.aliases), list(one.merged), list(one.merge_ids)) == (
        "Anna", ["Annie"], [done.absorbed_id], [done.merge_id],
    )  # fmt: skip
    assert ("Anna", "home_city", "Berlin") not in around(store, "Anna", known_as_of_us=day(19))
    with store.transaction() as transaction, pytest.raises(InvalidMessage, match="one already"):
        graph.merge(transaction, event(temporal_pb2.MergeEntities(user_id="alice", kept="annie", absorbed="anna")))
    undo = event(temporal_pb2.UndoMerge(user_id="alice", merge_id=done.merge_id))
    with store.transaction() as transaction:
        first = graph.undo(transaction, undo)
    with store.transaction() as transaction:
        assert graph.undo(transaction, undo) == first
    assert first.undone_at_us == day(20)
    assert around(store, "Anna") == [("user", "sister", "Anna")]


def test_a_merge_needs_both_and_types_that_fit_and_is_a_users_own(store: SemanticStore) -> None:
    graph = answers(store)
    with store.transaction() as transaction:
        transaction.put_entity(entity(3, type_="org"), "alice")
        transaction.put_entity(entity(5, type_="place"), "alice")
    for user, kept, absorbed, error in (
        ("alice", "Anna", "Zoe", NotFound), ("bob", "Anna", "Annie", NotFound), ("alice", "Acme", "Berlin", InvalidMessage),
    ):  # fmt: skip
        command = event(temporal_pb2.MergeEntities(user_id=user, kept=kept, absorbed=absorbed), user)
        with store.transaction() as transaction, pytest.raises(error):
            graph.merge(transaction, command)
    with store.transaction() as transaction, pytest.raises(NotFound):
        graph.undo(transaction, event(temporal_pb2.UndoMerge(user_id="alice", merge_id=id_text(uid(77)))))


def test_all_entities_are_listed_and_another_user_has_none(store: SemanticStore) -> None:
    graph = answers(store)
    listed = graph.entities(event(temporal_pb2.EntitiesRequest(user_id="alice", limit=3))).entities
    assert [one.name for one in listed] == ["user", "Anna", "Acme"]
    assert not graph.entities(event(temporal_pb2.EntitiesRequest(user_id="bob"), "bob")).entities
    with pytest.raises(NotFound):
        around(store, "Anna", "bob")


def test_the_hub_of_an_entity_is_every_item_that_mentions_one_of_its_names(store: SemanticStore) -> None:
    with store.transaction() as transaction:
        for number, uri in ((201, "entity://person/anna"), (202, "entity://name/annie"), (203, "entity://place/berlin")):
            memory = item(number, f"about {uri}", day(number - 200), entities=(uri,))
            transaction.put_item(Known(memory), ["about"], 1)

    def mentioned(name: str) -> list[str]:
        return [one.text for one in answers(store).hub(event(temporal_pb2.HubRequest(user_id="alice", entity=name))).records]

    assert mentioned("Anna") == ["about entity://person/anna"]
    assert mentioned("entity://place/berlin") == ["about entity://place/berlin"]
    with store.transaction() as transaction:
        answers(store).merge(transaction, event(temporal_pb2.MergeEntities(user_id="alice", kept="Anna", absorbed="Annie")))
    assert mentioned("Anna") == ["about entity://name/annie", "about entity://person/anna"]
    assert mentioned("Zoe") == []


def test_a_member_of_a_group_is_called_by_name_and_what_is_of_all_by_none(store: SemanticStore) -> None:
    choir = Scope("group", "choir")
    lives = FormedFact("User lives in Rome", "profile", "user", "home_city", "Rome", "rome", True)
    told = [
        (200, shared(lives, "alice", "").subject, "home_city", "Rome", "alice", ""),
        (201, shared(lives, "bob", "Bob").subject, "home_city", "Oslo", "bob", "Bob"),
        (202, shared(replace(lives, subject="sister"), "bob", "Bob", {"sister"}).subject, "name", "Eva", "bob", "Bob"),
        (203, shared(lives, "bob", "", of_all="The budget is 500 euros").subject, "budget", "500", "bob", ""),
    ]
    with store.transaction() as transaction:
        for number, subject, predicate, value, owner, speaker in told:
            memory = item(number, f"{value} {number}", day(1), scope=choir, owner=owner, speaker=speaker)
            transaction.put_entity(Entity(uid(300 + number), choir, subject, "", day(0)), owner)
            transaction.put_item(Known(memory, subject, predicate, value, True, value), ["fact"], 1)
            beliefs = (Belief(day(1), day(1), OPEN, b"cause"),)
            made = Edge(uid(number), choir, uid(300 + number), predicate, None, value, True, 0.8, uid(number), beliefs)
            transaction.put_edge(made, owner)
    found = answers(store).entities(event(temporal_pb2.EntitiesRequest(user_id="alice", group_id="choir"))).entities
    assert sorted(one.name for one in found if one.scope.id == "choir") == ["Bob", "Bob sister", "user"]
    assert around(store, "bob", group_id="choir") == [("Bob", "home_city", "Oslo")]
    assert around(store, "Bob", "bob", group_id="choir") == [("user", "home_city", "Oslo")]
    assert ("user", "home_city", "Oslo") in around(store, "user", "bob", group_id="choir")
    assert ("user", "budget", "500") in around(store, "user", group_id="choir")


def test_related_items_are_reached_breadth_first_by_the_types_that_are_asked_for(store: SemanticStore) -> None:
    other = Scope("user", "bob")
    with store.transaction() as transaction:
        transaction.put_item(Known(item(300, "bob's", day(1), scope=other, owner="bob")), ["bob"], 1)
        transaction.add_relations(
            [
                relate(uid(101), "causes", uid(102), 0.9, day(1)),
                relate(uid(102), "related_to", uid(103), 0.4, day(1)),
            ]
        )

    def reached(**fields: Any) -> list[tuple[str, int, str]]:
        request = temporal_pb2.RelatedRequest(user_id="alice", memory_id=id_text(uid(101)), **fields)
        return [(one.record.text, one.hops, one.type) for one in answers(store).related(event(request)).items]

    assert reached() == [("fact employer", 1, "causes"), ("fact home_city", 2, "related_to")]
    assert reached(max_hops=1) == [("fact employer", 1, "causes")]
    assert reached(types=["contradicts"]) == []
    with pytest.raises(InvalidMessage, match=r"'bogus'.*related_to"):
        reached(types=["bogus"])
    with store.transaction() as transaction:
        gone = withdrawn(item(102, "fact employer", day(1)), day(2))
        transaction.put_item(Known(gone, NAMES[1], "employer", "x", True, "x"), None, 1)
    assert reached() == [], "what was deleted is neither shown nor a way to others"
    with pytest.raises(NotFound):
        answers(store).related(event(temporal_pb2.RelatedRequest(user_id="alice", memory_id=id_text(uid(300)))))


def test_a_graph_beyond_what_may_be_looked_at_is_refused(store: SemanticStore) -> None:
    with pytest.raises(TooLarge, match="looked_at"):
        answers(store, most=2).neighbours(event(temporal_pb2.NeighboursRequest(user_id="alice", entity="Anna")))


def test_an_answer_tells_whether_there_is_more_than_was_asked_for(store: SemanticStore) -> None:
    graph = answers(store)
    with store.transaction() as transaction:
        transaction.add_relations([relate(uid(101), "causes", uid(there), 0.9, day(1)) for there in (102, 103)])
        for number in (201, 202):
            memory = item(number, f"anna {number}", day(1), entities=("entity://person/anna",))
            transaction.put_item(Known(memory), ["anna"], 1)
    own: dict[str, Any] = {"user_id": "alice"}
    asked: list[tuple[Any, Message, str, int]] = [
        (graph.entities, temporal_pb2.EntitiesRequest(**own), "entities", 5),
        (graph.neighbours, temporal_pb2.NeighboursRequest(entity="user", **own), "edges", 2),
        (graph.hub, temporal_pb2.HubRequest(entity="Anna", **own), "records", 2),
        (graph.related, temporal_pb2.RelatedRequest(memory_id=id_text(uid(101)), max_hops=1, **own), "items", 2),
        (graph.paths, temporal_pb2.PathsRequest(start="Annie", goal="Acme", as_of_us=day(5), **own), "paths", 1),
    ]
    for verb, request, rows, there_are in asked:
        whole = verb(event(request))
        assert (len(getattr(whole, rows)), whole.cut) == (there_are, False), rows
        request.limit = there_are
        assert not verb(event(request)).cut, rows
        if there_are > 1:
            request.limit = there_are - 1
            part = verb(event(request))
            assert (list(getattr(part, rows)), part.cut) == (list(getattr(whole, rows))[:-1], True), rows
