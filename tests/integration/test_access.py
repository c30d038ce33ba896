"""Who is let in, and what for: against a whole deployment, through the client and through plain pyzmq."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import zmq
from google.protobuf.message import Message

from aico_memory import MemoryClient
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import bus_pb2, semantic_pb2, sleep_pb2, working_pb2
from aico_memory.contracts.wire import Kind, OutgoingRecord
from aico_memory.errors import AccessDenied, AicoMemoryError, InvalidMessage, NotAuthorised, NotFound
from aico_memory.ids import new_id
from aico_memory.paths import Home
from aico_memory.runtime.probe import broker_says
from aico_memory.vault.curve_keys import add_identity, init_curve, load_identity, revoke_identity
from tests.support.deployment import Deployment, contents, eventually, said
from tests.support.raw_bus import RawBus, failed_handshake, heard, raw_bus

pytestmark = pytest.mark.deployment
MESSAGES = "memory/working/message/v1/"
CHANGED = "memory/semantic/changed/v1/"
# What the client is told to do within.
AT_ONCE = 2.0


@pytest.fixture
def admit(deployment: Deployment) -> Iterator[Callable[..., str]]:
    """Makes an identity of a role that nobody had before, and takes it away again."""
    made: list[str] = []

    def make(role: str = "client", *users: str) -> str:
        name = f"{role}-{uuid.uuid4().hex[:8]}"
        scopes = [option for user in users for option in ("--user", user)]
        deployment.ok("keys", "add", name, "--role", role, *scopes)
        made.append(name)
        return name

    yield make
    for name in made:
        try:
            revoke_identity(deployment.home, name)
        except NotFound:
            continue


def refused_at_once(kind: type[AicoMemoryError], action: Callable[[], Any]) -> AicoMemoryError:
    """The error of an action, which must come within two seconds and say what to do."""
    before = monotonic()
    with pytest.raises(kind) as caught:
        action()
    assert monotonic() - before < AT_ONCE
    assert type(caught.value) is kind
    assert caught.value.mend
    return caught.value


def record(message: Message, user: str, **more: Any) -> OutgoingRecord:
    return make_record(message, event_id=new_id(), occurred_us=1, user=user, **more)


def a_message(user: str, content: str) -> working_pb2.Message:
    return working_pb2.Message(user_id=user, role="user", content=content)


def head(deployment: Deployment) -> int:
    with deployment.link() as link:
        return int(broker_says(link, "consumers")["head"])


def test_an_unknown_key_is_told_so_at_once(deployment: Deployment, tmp_path: Path) -> None:
    foreign = Home(tmp_path / "foreign")
    foreign.ensure()
    init_curve(foreign)
    add_identity(foreign, "default", "client")
    foreign.bus_address.write_bytes(deployment.home.bus_address.read_bytes())
    error = refused_at_once(NotAuthorised, lambda: MemoryClient.connect(home=foreign.root))
    assert "not authorised by the bus at tcp://127.0.0.1" in error.detail


def test_a_name_without_a_key_is_told_how_to_get_one(deployment: Deployment) -> None:
    error = refused_at_once(NotAuthorised, lambda: deployment.client("nobody"))
    assert "aico-memory keys add nobody" in error.mend


def test_a_key_gets_in_when_it_is_added_and_no_more_when_it_is_revoked(deployment: Deployment, admit: Any) -> None:
    pids = deployment.pids()
    name = admit()
    with deployment.client(name) as client:
        assert client.add([said("I am new here")], user_id=name)
    deployment.ok("keys", "revoke", name)
    refused_at_once(NotAuthorised, lambda: deployment.client(name))
    assert deployment.pids() == pids


def test_a_revoked_key_loses_its_live_connections_within_two_seconds(deployment: Deployment, admit: Any) -> None:
    name, witness = admit("operator"), admit("operator")
    with (
        deployment.client(name) as client,
        raw_bus(deployment.home, name) as evil,
        raw_bus(deployment.home, witness) as good,
    ):
        live = evil.subscribe(MESSAGES.encode())
        assert client.add([said("still in")], user_id=name)
        assert heard(live, b"still in")
        revoke_identity(deployment.home, name)
        revoked = monotonic()

        def cut() -> AicoMemoryError | None:
            try:
                client.add([said("am I still in?")], user_id=name)
            except NotAuthorised as error:
                return error
            return None

        error = eventually(cut, "the revoked key still publishes", 5)
        assert monotonic() - revoked < AT_ONCE
        assert name in error.detail
        # Also a connection that the client library has no hand in hears nothing more; another one does.
        control = good.subscribe(MESSAGES.encode())
        with deployment.client() as other:
            other.add([said("a secret for those who are let in")], user_id=name)
        assert heard(control, b"a secret for those")
        assert not heard(live, b"a secret for those", 0.5)
        evil.publish(record(a_message(name, "spoken after the end"), name))
        assert evil.refusal().code == NotAuthorised.code
    assert b"spoken after the end" not in b"".join(one.envelope for one in journal(deployment))


def journal(deployment: Deployment, topic: str = MESSAGES) -> list[Any]:
    with raw_bus(deployment.home, "operator") as operator:
        return operator.read(topic)


def test_a_rotated_key_works_at_once_and_the_old_one_no_more(deployment: Deployment, admit: Any) -> None:
    name = admit()
    old = load_identity(deployment.home, name)
    with raw_bus(deployment.home, keys=old) as before:
        deployment.ok("keys", "rotate", name)
        with deployment.client(name) as client:
            assert client.add([said("with the new key")], user_id=name)
        before.publish(record(a_message(name, "with the old key"), name))
        assert before.refusal().code == NotAuthorised.code
    assert failed_handshake(deployment.home, old, AT_ONCE) == (zmq.EVENT_HANDSHAKE_FAILED_AUTH, 400)


def test_a_role_that_only_hears_cannot_publish(deployment: Deployment, admit: Any) -> None:
    name = admit("observer")
    before = head(deployment)
    with deployment.client(name) as client:
        error = refused_at_once(AccessDenied, lambda: client.add([said("never said")], user_id=name))
        assert "observer" in error.detail
        refused_at_once(AccessDenied, lambda: client.search("anything", name))
    with raw_bus(deployment.home, name) as raw:
        assert raw.acknowledged(record(a_message(name, "never said"), name)) == [(0, 0)]
        raw.publish(record(semantic_pb2.ListMemories(user_id=name), name), ephemeral=True)
        assert raw.refusal().code == AccessDenied.code
    assert b"never said" not in b"".join(one.envelope for one in journal(deployment))
    # What was refused took no place in the order (an audit entry may have).
    audited = len([one for one in journal(deployment, "memory/bus/audit/v1/") if one.global_sequence > before])
    assert head(deployment) - before <= audited


def test_a_role_that_only_publishes_cannot_hear(deployment: Deployment, admit: Any) -> None:
    name = admit("publisher")
    with deployment.client(name) as client:
        refused_at_once(AccessDenied, lambda: client.subscribe(CHANGED))
    with raw_bus(deployment.home, name) as raw, raw_bus(deployment.home, "operator") as operator:
        # Neither by a socket that does not ask, nor by a prefix, nor from the journal.
        sneaky = raw.subscribe(MESSAGES.encode(), b"memory/", b"")
        control = operator.subscribe(MESSAGES.encode())
        assert raw.acknowledged(record(a_message(name, "for others only"), name)) != [(0, 0)]
        assert heard(control, b"for others only")
        assert not heard(sneaky, b"for others only", 0.5)
        raw.send(Kind.RANGE_REQUEST, bus_pb2.RangeRequest(request=1, topics=[MESSAGES], from_global=1))
        assert raw.refusal().code == AccessDenied.code


def test_answers_are_heard_by_their_requester_alone(deployment: Deployment, admit: Any) -> None:
    name = admit()
    with deployment.link("default") as victim, deployment.link(name) as link, raw_bus(deployment.home, name) as evil:
        topic = victim.reply_topic
        refused_at_once(AccessDenied, lambda: link.subscribe([topic], lambda _: None))
        sneaky = evil.subscribe(topic.encode(), b"memory/reply/", b"memory/reply/default/")
        asked = semantic_pb2.ListMemories(user_id="nobody-here", limit=1)
        assert victim.request(asked, user="nobody-here").result(5) is not None
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


def test_a_connection_without_curve_does_not_get_in(deployment: Deployment) -> None:
    event, _ = failed_handshake(deployment.home, None, AT_ONCE)
    assert event in (zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL, zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL)


def test_an_identity_bound_to_a_user_reads_and_writes_for_that_user_only(deployment: Deployment, admit: Any) -> None:
    ana, bob = f"ana-{uuid.uuid4().hex[:6]}", f"bob-{uuid.uuid4().hex[:6]}"
    name = admit("client", ana)
    with deployment.client() as everyone:
        everyone.add([said("Bob hides the key under the third flower pot")], user_id=bob)
        everyone.flush(30)
        his = everyone.search("where is the key", bob)["results"][0]["id"]
    with deployment.client(name) as hers:
        hers.add([said("Ana keeps bees on the roof")], user_id=ana)
        hers.flush(30)
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
            heard_of = changes.next(10)
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
        everyone.flush(30)
    with raw_bus(deployment.home, name) as evil:
        ours = f"memory/reply/{name}/{evil.session.hex()}/v1/"
        answers = evil.subscribe(ours.encode())
        asked = (
            working_pb2.ReadMessages(user_id=bob, limit=10),
            semantic_pb2.ListMemories(user_id=bob, limit=10),
        )
        for question in asked:
            evil.publish(record(question, ana, reply_to=ours), ephemeral=True)
            answer = RawBus.next(answers, monotonic() + 5)
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
        everyone.flush(30)
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
        error = refused_at_once(AccessDenied, lambda: client.control(verb, body).result(5))
        assert verb in error.detail
    with deployment.link("operator") as operator:
        assert any(consumer["name"] == "working" for consumer in broker_says(operator, "consumers")["consumers"])


@pytest.mark.parametrize("process", ["working", "semantic", "behavioral", "context"])
def test_a_client_cannot_ask_a_worker_for_everybodys_state(deployment: Deployment, process: str) -> None:
    with deployment.link("default") as client:
        question = bus_pb2.ExportRequest(process=process, limit=10)
        refused_at_once(AccessDenied, lambda: client.request(question, timeout=5).result(6))


def test_refusals_are_counted_and_audited(deployment: Deployment, admit: Any) -> None:
    name = admit("observer")
    with deployment.link() as operator:
        before = broker_says(operator, "statistics")["refused"].get("access_denied", 0)
        with deployment.client(name) as client:
            refused_at_once(AccessDenied, lambda: client.add([said("no")], user_id="nobody"))
        assert broker_says(operator, "statistics")["refused"]["access_denied"] > before
        assert broker_says(operator, "statistics")["notices"]["access_denied"] > before


def test_a_bad_list_of_identities_lets_nobody_new_in_and_heals(deployment: Deployment, admit: Any) -> None:
    name = admit()
    path = deployment.home.keys / "authorized.json"
    good = path.read_bytes()
    path.with_suffix(".half").write_bytes(good[: len(good) // 2])
    path.with_suffix(".half").replace(path)
    try:
        refused_at_once(NotAuthorised, lambda: deployment.client(name))
    finally:
        path.with_suffix(".whole").write_bytes(good)
        path.with_suffix(".whole").chmod(0o600)
        path.with_suffix(".whole").replace(path)

    def in_again() -> bool | None:
        try:
            with deployment.client(name) as client:
                return bool(client.add([said("back again")], user_id=name)) or None
        except InvalidMessage:
            raise
        except AicoMemoryError:
            return None

    assert eventually(in_again, "the healed list lets nobody in")
