"""What the graph ties to a question, on the encrypted database and on its twin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from aico_memory.contracts.v1 import context_pb2
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.graph.entities import Entity, Merge, undone
from aico_memory.domain.graph.relations import relate
from aico_memory.domain.memory import RECORD, Evidence, Memory, Scope, conditions, record_of
from aico_memory.models.gazetteer import load_gazetteer
from aico_memory.paths import find_home
from aico_memory.stores.semantic.sql_retrieval import SqlRetrieval
from aico_memory.stores.semantic.sql_store import SqlSemanticStore
from aico_memory.stores.semantic.twin_retrieval import TwinRetrieval
from services.semantic.candidates import Ranked
from services.semantic.connecting import Connecting
from services.semantic.convert import id_text
from tests.stores.semantic.memories import ADA, BEN, TEAM, a_memory, add, memory_id, view


@pytest.fixture
def connecting(store: Any) -> Connecting:
    retrieval: Any = SqlRetrieval(store) if isinstance(store, SqlSemanticStore) else TwinRetrieval(store)
    return Connecting(store, retrieval, load_gazetteer(find_home()))


def put(store: Any, number: int, scope: Scope = ADA, event: bytes = b"", **fields: Any) -> Memory:
    """An item, with an event that says it."""
    memory = a_memory(number, f"item {number}", scope, **{"kind": "fact", **fields})
    with store.transaction() as transaction:
        transaction.put_item(Known(memory, "", "", "", False, ""), [], 1)
        transaction.add_evidence(Evidence(memory.memory_id, event or memory_id(2000 + number), "rule", 100))
    return memory


def said(store: Any, number: int, scope: Scope = ADA) -> tuple[Memory, bytes]:
    """A record and the event of its message."""
    event = memory_id(1000 + number)
    record = replace(a_memory(number, "because of it", scope), memory_id=record_of(event))
    add(store, record, evidence=(Evidence(record.memory_id, event, "rule", 100),))
    return record, event


def reached(
    connecting: Connecting, question: str, leading: Sequence[Memory] = (), scopes: Sequence[Scope] = (ADA,), **fields: Any
) -> list[tuple[str, int, str]]:
    ranked = Ranked([[(place, 0.5, {}) for place in range(len(leading))]], dict(enumerate(leading)), language="en")
    request = context_pb2.CandidatesRequest(user_id="ada", questions=[question], **fields)
    answer, found = context_pb2.Candidates(), {one.memory_id: one for one in leading}
    connecting.connect(answer, request, scopes, conditions(view(*scopes)), ranked, found)
    return [(one.memory_id, one.hops, one.relation) for one in answer.reached]


def test_relations_are_followed_from_the_items_that_leading_records_were_made_into(store: Any, connecting: Connecting) -> None:
    record, event = said(store, 1)
    cause, made = put(store, 2), put(store, 3, event=event)
    withdrawn, beyond = put(store, 4, event=event, status="invalid"), put(store, 5)
    elsewhere, foreign = put(store, 6, BEN, event), put(store, 7)
    with store.transaction() as transaction:
        transaction.add_relations([
            relate(one.memory_id, "causes", other.memory_id, 0.9, 100)
            for one, other in ((cause, made), (withdrawn, beyond), (foreign, elsewhere))
        ])  # fmt: skip
    assert record.kind == RECORD
    assert reached(connecting, "why", [record], hops=1, relations=["causes"]) == [(id_text(cause.memory_id), 1, "causes")]
    assert reached(connecting, "why", [record, made], hops=1) == [(id_text(cause.memory_id), 1, "causes")]
    assert reached(connecting, "why", [record], hops=0) == []


def name(store: Any, number: int, of: str, scope: Scope = ADA, aliases: tuple[str, ...] = ()) -> bytes:
    with store.transaction() as transaction:
        transaction.put_entity(Entity(memory_id(number), scope, of, "", 100, aliases), "ada")
    return memory_id(number)


def test_the_hub_of_a_question_knows_the_other_names_of_whom_it_names(store: Any, connecting: Connecting) -> None:
    bob, robert = name(store, 31, "bob", aliases=("Bobby",)), name(store, 32, "Robert")
    name(store, 33, "bob", TEAM)
    for number, uri in ((1, "name/bob"), (2, "name/bobby"), (3, "name/robert"), (4, "name/anna")):
        put(store, number, entities=(f"entity://{uri}",))
    put(store, 5, TEAM, entities=("entity://name/robert",))

    def mentioned(question: str) -> list[int]:
        found = reached(connecting, question, scopes=(ADA, TEAM), hub=True)
        assert {(hops, relation) for _, hops, relation in found} <= {(0, "")}
        return sorted(int(memory.replace("-", ""), 16) for memory, _, _ in found)

    assert mentioned("Tell me about Bob please") == [1, 2]
    merge = Merge(memory_id(40), bob, robert, 150, "manual")
    with store.transaction() as transaction:
        transaction.put_merge(merge, ADA)
    # In the other scope they are two.
    assert mentioned("Tell me about Bob please") == [1, 2, 3]
    assert mentioned("Tell me about Robert please") == [1, 2, 3, 5]
    with store.transaction() as transaction:
        transaction.put_merge(undone(merge, 160), ADA)
    assert mentioned("Tell me about Robert please") == [3, 5]
