"""What somebody who was let in sees and does not: the data of other users, answers to others, the operator's questions."""

from __future__ import annotations

import uuid
from time import monotonic
from typing import Any

import pytest

from aico_memory.contracts.v1 import bus_pb2, semantic_pb2, sleep_pb2, working_pb2
from aico_memory.contracts.wire import Kind, OutgoingRecord
from aico_memory.errors import AccessDenied, NotFound
from aico_memory.ids import new_id
from aico_memory.runtime.probe import broker_says
from tests.support.admission import a_message, record, refused_at_once
from tests.support.deployment import Deployment, contents, said
from tests.support.raw_bus import RawBus, heard, raw_bus

pytestmark = pytest.mark.deployment
CHANGED = "memory/semantic/changed/v1/"


def test_answers_are_heard_by_their_requester_alone(deployment: Deployment, admit: Any) -> None:
    name = admit()
    with deployment.link("default") as victim, deployment.link(name) as link, raw_bus(deployment.home, name) as evil:
        topic = victim.reply_topic
        refused_at_once(AccessDenied, lambda: link.subscribe([topic], lambda _: None))
        sneaky = evil.subscribe(topic.encode(), b"memory/reply/", b"memory/reply/default/")
        asked = semantic_pb2.ListMemories(user_id="nobody-here", limit=1)
        assert victim.request(asked, user="nobody-here").result(60) is not None
        assert not heard(sneaky, b"memory/reply/", 0.5)
        # Nor can anybody but a worker speak on it ...
        evil.publish(OutgoingRecord(new_id().bytes, topic, "", b"forged"), ephemeral=True)
        assert evil.refusal().code == AccessDenied.code


def test_nobody_has_answers_sent_to_others(deployment: Deployment, admit: Any) -> None:
    name = admit()
    with raw_bus(deployment.home, "operator") as victim, raw_bus(deployment.home, name) as evil:
        theirs = f"memory/reply/operator/{victim.session.hex()}/v1/"
        ours = f"memory/reply/{name}/{evil.session.hex()}/v1/"
        at_victim, at_home = victim.subscribe(theirs.encode()), evil.subscribe(ours.encode())
        question = semantic_pb2.ListMemories(user_id="u", limit=1)
        evil.publish(record(question, "u", reply_to=theirs), record(question, "u", reply_to=ours), ephemeral=True)
        assert heard(at_home, ours.encode())
        assert not heard(at_victim, theirs.encode(), 0.5)


def test_an_identity_bound_to_a_user_reads_and_writes_for_that_user_only(deployment: Deployment, admit: Any) -> None:
    ana, bob = f"ana-{uuid.uuid4().hex[:6]}", f"bob-{uuid.uuid4().hex[:6]}"
    name = admit("client", ana)
    with deployment.client() as everyone:
        everyone.add([said("Bob hides the key under the third flower pot")], user_id=bob)
        everyone.flush(120)
        his = everyone.search("where is the key", bob)["results"][0]["id"]
    with deployment.client(name) as hers:
        hers.add([said("Ana keeps bees on the roof")], user_id=ana)
        hers.flush(120)
        assert "Ana keeps bees on the roof" in contents(hers.search("bees", ana))
        refusals = [
            refused_at_once(AccessDenied, action)
            for action in (
                lambda: hers.add([said("Bob never said this")], user_id=bob),
                lambda: hers.search("where is the key", bob),
                lambda: hers.context("where is the key", bob),
                lambda: hers.messages(bob),
                lambda: hers.get_all(bob),
                lambda: hers.get(his, bob),
                lambda: hers.delete(his, bob),
                lambda: hers.update(his, "another text", bob),
                lambda: hers.select_skill(bob, "hello"),
                lambda: hers.set_consent(bob, behavioral=True),
                lambda: hers.sleep_now(bob),
                hers.sleep_now,
            )
        ]
        assert all(name in error.detail for error in refusals)
        with hers.subscribe(CHANGED) as changes, deployment.client() as everyone:
            everyone.add([said("Bob buys a second flower pot")], user_id=bob)
            everyone.add([said("Ana buys a bee hive")], user_id=ana)
            heard_of = changes.next(60)
            assert heard_of is not None
            assert heard_of["user_id"] == ana
        with pytest.raises(NotFound):
            hers.get(his, ana)
        with pytest.raises(NotFound):
            hers.delete(his, ana)
    with deployment.client() as everyone:
        assert contents(everyone.get_all(bob, filters={"kind": "record"})) == [
            "Bob hides the key under the third flower pot", "Bob buys a second flower pot",
        ]  # fmt: skip


def test_naming_another_user_behind_the_header_gives_nothing(deployment: Deployment, admit: Any) -> None:
    ana, bob = f"ana-{uuid.uuid4().hex[:6]}", f"bob-{uuid.uuid4().hex[:6]}"
    name = admit("client", ana)
    with deployment.client() as everyone:
        everyone.add([said("Bob's pin is 4711")], user_id=bob)
        everyone.flush(120)
    with raw_bus(deployment.home, name) as evil:
        ours = f"memory/reply/{name}/{evil.session.hex()}/v1/"
        answers = evil.subscribe(ours.encode())
        asked = (
            working_pb2.ReadMessages(user_id=bob, limit=10),
            semantic_pb2.ListMemories(user_id=bob, limit=10),
        )
        for question in asked:
            evil.publish(record(question, ana, reply_to=ours), ephemeral=True)
            answer = RawBus.next(answers, monotonic() + 60)
            assert answer is not None
            assert b"invalid_message" in answer
            assert b"4711" not in answer
        # The broker takes it, since it reads the header only; the workers do not apply it.
        assert evil.acknowledged(record(a_message(bob, "words put into Bob's mouth"), ana)) != [(0, 0)]
        evil.publish(record(sleep_pb2.ConsolidationStart(firing_id="evil", user_ids=[bob], manual=True), ana))
        assert evil.refusal().code == AccessDenied.code
        # What the journal gives it is Ana's.
        evil.send(Kind.RANGE_REQUEST, bus_pb2.RangeRequest(request=1, topics=[CHANGED], from_global=1))
        assert b"4711" not in evil.receive(Kind.RANGE)
        assert {one.user for one in evil.read(CHANGED)} <= {ana}
    with deployment.client() as everyone:
        for user in (ana, bob):
            everyone.add([said("and then")], user_id=user)
        everyone.flush(120)
        assert contents(everyone.get_all(bob, limit=10)).count("words put into Bob's mouth") == 0
        assert [one["content"] for one in everyone.messages(bob)] == ["Bob's pin is 4711", "and then"]
        assert [one["content"] for one in everyone.messages(ana)] == ["and then"]


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("connections", {}),
        ("statistics", {}),
        ("dead_letters", {}),
        ("dead_letter_settle", {"event_id": "x", "action": "drop"}),
        ("consumer_remove", {"consumer": "working"}),
        ("report", {"consumer": "working", "topics": [], "applied": 10**9, "settled": 10**9, "outbox": 0}),
    ],
)
def test_the_operators_questions_are_not_answered_to_a_client(deployment: Deployment, verb: str, body: dict[str, Any]) -> None:
    with deployment.link("default") as client:
        error = refused_at_once(AccessDenied, lambda: client.control(verb, body).result(60))
        assert verb in error.detail
    with deployment.link("operator") as operator:
        assert any(consumer["name"] == "working" for consumer in broker_says(operator, "consumers")["consumers"])


@pytest.mark.parametrize("process", ["working", "semantic", "behavioral", "context"])
def test_a_client_cannot_ask_a_worker_for_everybodys_state(deployment: Deployment, process: str) -> None:
    with deployment.link("default") as client:
        question = bus_pb2.ExportRequest(process=process, limit=10)
        refused_at_once(AccessDenied, lambda: client.request(question, timeout=60).result(90))
