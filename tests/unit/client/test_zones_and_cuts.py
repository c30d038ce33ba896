"""The zone in which a question's own dates are meant, and answers that tell whether there is more."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from aico_memory.client import AsyncMemoryClient
from aico_memory.client.fact_verbs import FactVerbs
from aico_memory.client.graph_verbs import GraphVerbs
from aico_memory.client.memory_verbs import MemoryVerbs
from aico_memory.client.time_verbs import TimeVerbs
from aico_memory.client.validation import checked_user
from aico_memory.contracts.v1 import context_pb2, semantic_pb2, temporal_pb2
from aico_memory.errors import InvalidMessage


class Asked:
    """A session that keeps what it is asked and gives this answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    user = staticmethod(checked_user)

    async def ask(self, message: Any, user: str) -> Any:
        self.asked.append(message)
        return self.answer


class Verbs(MemoryVerbs, FactVerbs, GraphVerbs, TimeVerbs):
    """The verbs on memories, facts, time and the graph."""

    def __init__(self, answer: Any) -> None:
        self._session = Asked(answer)  # type: ignore[assignment]
        self._owners = {}


def verbs(answer: Any) -> Any:
    return Verbs(answer)


@pytest.mark.parametrize(
    ("given", "zone"),
    [
        ({"zone": "Europe/Lisbon"}, "Europe/Lisbon"),
        ({"zone": "Europe/Lisbon", "as_of": "2026-03-01T00:00:00+05:00"}, "Europe/Lisbon"),
        ({"as_of": "2026-03-01T00:00:00+05:00"}, "Etc/GMT-5"),
        ({}, ""),
    ],
)
def test_a_question_is_asked_in_its_zone_or_in_that_of_the_moment(given: dict[str, Any], zone: str) -> None:
    made: AsyncMemoryClient = verbs(context_pb2.RecallResult())
    asyncio.run(made.recall("What did I eat yesterday?", "ana", **given))
    assert made._session.asked[0].zone == zone  # type: ignore[attr-defined]


def test_what_is_no_zone_is_refused_before_it_is_sent() -> None:
    with pytest.raises(InvalidMessage, match="zone"):
        asyncio.run(verbs(None).recall("Where?", "ana", zone="Lisbon/Europe"))


@pytest.mark.parametrize("cut", [True, False])
def test_an_answer_of_the_graph_tells_whether_there_is_more(cut: bool) -> None:
    edges = [temporal_pb2.GraphEdge(memory_id="m1")]
    around = verbs(temporal_pb2.GraphAnswer(edges=edges, entities=[temporal_pb2.GraphEntity(name="Anna")], cut=cut))
    assert asyncio.run(around.neighbours("ana", "Anna"))["cut"] is cut
    assert (asyncio.run(around.entities("ana")).cut, len(asyncio.run(around.entities("ana")))) == (cut, 1)
    ways = asyncio.run(
        verbs(temporal_pb2.GraphPaths(paths=[temporal_pb2.GraphPath(edges=edges)], cut=cut)).paths("ana", "a", "b")
    )
    assert (ways.cut, [[edge["id"] for edge in way] for way in ways]) == (cut, [["m1"]])
    changes = verbs(temporal_pb2.GraphChanges(came=edges, cut=cut)).graph_changes("ana", "2026-03-01T00:00:00Z")
    assert asyncio.run(changes)["cut"] is cut
    assert asyncio.run(verbs(semantic_pb2.MemoryPage(cut=cut)).hub("ana", "Anna")).cut is cut
    related = verbs(temporal_pb2.RelatedItems(cut=cut)).related("ana", "0198c0de-0000-7000-8000-000000000000")
    assert asyncio.run(related).cut is cut


@pytest.mark.parametrize(("following", "cut"), [("1", True), ("", False)])
def test_what_held_and_a_list_tell_whether_there_is_more_than_the_limit(following: str, cut: bool) -> None:
    held = verbs(temporal_pb2.HeldFacts(facts=[temporal_pb2.HeldFact(memory_id="a")], next=following))
    assert asyncio.run(held.state("ana", limit=1))["cut"] is cut
    assert asyncio.run(held.snapshot("ana", "2026-03-01T00:00:00Z", limit=1))["cut"] is cut
    assert asyncio.run(held.timeline("ana", limit=1))["cut"] is cut
    page = semantic_pb2.MemoryPage(records=[semantic_pb2.MemoryRecord(memory_id="a")], next=following)
    assert asyncio.run(verbs(page).get_all("ana", limit=1))["cut"] is cut
