"""Malformed frames and poisoned messages against a whole deployment in which somebody works normally."""

from __future__ import annotations

import json
import random
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from aico_memory.bus.link import Link
from aico_memory.contracts.registry import topics
from aico_memory.contracts.v1 import envelope_pb2, working_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import AicoMemoryError
from aico_memory.ids import new_id
from aico_memory.runtime.probe import broker_says
from aico_memory.runtime.settling import quiet
from aico_memory.vault.curve_keys import add_identity, load_identity, revoke_identity
from scripts.fuzz_bus import Insider, attack_from_outside, hostile_frames, mutated
from tests.support.deployment import Deployment, contents, eventually, said
from tests.support.raw_bus import failed_handshake, raw_bus

pytestmark = pytest.mark.deployment
MESSAGES = "memory/working/message/v1/"
GROWTH = 150 * 1024 * 1024


def someone() -> str:
    return f"user-{uuid.uuid4().hex[:8]}"


def resident(run: Deployment) -> dict[str, int]:
    return {name: psutil.Process(pid).memory_info().rss for name, pid in run.pids().items() if pid is not None}


class Worker(threading.Thread):
    """Somebody who adds and searches while the others attack."""

    def __init__(self, run: Deployment, user: str) -> None:
        super().__init__(daemon=True)
        self._run_of = run
        self._user = user
        self._enough = threading.Event()
        self.said: list[str] = []
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            with self._run_of.client() as client:
                while not self._enough.is_set() or len(self.said) < 20:
                    text = f"Note {len(self.said)}: the {random.Random(len(self.said)).randbytes(4).hex()} arrived"
                    client.add([said(text)], user_id=self._user)
                    self.said.append(text)
                    client.search(text, self._user, top_k=1)
                client.flush(120)
        except Exception as error:
            self.failure = error

    def finish(self) -> None:
        self._enough.set()
        self.join(90)
        assert not self.is_alive()
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def unharmed(deployment: Deployment) -> Iterator[Worker]:
    """Attack while this is open: no process dies or grows beyond bounds, and somebody works as if nothing were."""
    user = someone()
    pids, before = deployment.pids(), resident(deployment)
    worker = Worker(deployment, user)
    worker.start()
    yield worker
    worker.finish()
    with deployment.client() as client:
        assert [one["content"] for one in client.messages(user, limit=10_000)] == worker.said
        assert sorted(contents(client.get_all(user, limit=100_000))) == sorted(worker.said)
    assert deployment.pids() == pids
    assert deployment.status()["ready"]
    grown = {name: after - before[name] for name, after in resident(deployment).items()}
    assert max(grown.values()) < GROWTH, grown


def address_of(run: Deployment) -> dict[str, str]:
    found: dict[str, str] = json.loads(run.home.bus_address.read_text())
    return found


def test_hostile_frames_from_an_authenticated_client_break_nothing(deployment: Deployment, unharmed: Worker) -> None:
    insider = Insider(address_of(deployment), load_identity(deployment.home, "default"))
    try:
        assert insider.send(hostile_frames(random.Random(11), 4000)) > 3500
    finally:
        insider.close()
    with deployment.link() as operator:
        notices = broker_says(operator, "statistics")["notices"]
    assert notices["malformed"] > 500
    assert "internal_error" not in notices


def test_bytes_from_outside_break_nothing(deployment: Deployment, unharmed: Worker) -> None:
    assert attack_from_outside(address_of(deployment), random.Random(12), 100) > 500


def test_junk_on_the_delivery_socket_bans_its_sender_and_costs_nobody_else_anything(
    deployment: Deployment, unharmed: Worker
) -> None:
    name = f"junk-{uuid.uuid4().hex[:8]}"
    add_identity(deployment.home, name, "client")
    with deployment.client("operator") as listener, listener.subscribe(MESSAGES) as heard, deployment.link() as operator:
        before = broker_says(operator, "statistics")["delivery"]["rebuilds"]
        with raw_bus(deployment.home, name) as evil:
            evil.send_upstream(b"\x07junk")

            def rebuilt() -> bool | None:
                return True if broker_says(operator, "statistics")["delivery"]["rebuilds"] > before else None

            assert eventually(rebuilt, "the delivery socket was not made anew")
        assert failed_handshake(deployment.home, load_identity(deployment.home, name))[1] == 400
        user = someone()
        with deployment.client() as client:
            client.add([said("after the junk")], user_id=user)
            client.flush(120)
            assert contents(client.search("junk", user)) == ["after the junk"]
        # Who listened was cut off with the others, and misses nothing.
        found = heard.next(60)
        while found is not None and found["user_id"] != user:
            found = heard.next(60)
        assert found is not None
        assert found["fields"]["content"] == "after the junk"
    revoke_identity(deployment.home, name)


EXTREMES: dict[int, tuple[Any, ...]] = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), -1, 0, 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), -1, 0, 1, 2**62, 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 1, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_DOUBLE: (float("nan"), float("inf"), -1e308),
    FieldDescriptor.CPPTYPE_FLOAT: (float("nan"), float("-inf"), 3e38),
    FieldDescriptor.CPPTYPE_BOOL: (False, True),
    FieldDescriptor.CPPTYPE_STRING: (
        "", "x", "\0", "a\0b", "\u202e\u200b", "💥" * 50, "%s{}'\";--", "{", "[1]", '{"a": 1}', "../../etc/passwd",
        "memory/reply/x", "y" * 3000, "00000000-0000-7000-8000-000000000000",
    ),
}  # fmt: skip
BYTES = (b"", b"\0", b"\xff" * 16, b"\xff" * 1000)


def absurd(message: Message, user: str, chance: random.Random, depth: int = 0) -> None:
    """Fill a message with values that its type allows and nobody expects."""
    for field in message.DESCRIPTOR.fields:
        if field.name == "user_id" and depth == 0:
            message.user_id = user  # type: ignore[attr-defined]
        elif chance.random() < 0.7:
            fill(message, field, chance, depth)


def fill(message: Message, field: FieldDescriptor, chance: random.Random, depth: int) -> None:
    place = getattr(message, field.name)
    if field.message_type is not None:
        if field.message_type.GetOptions().map_entry or depth > 2:
            return
        if field.is_repeated:
            for _ in range(chance.randint(0, 3)):
                absurd(place.add(), "", chance, depth + 1)
        else:
            place.SetInParent()
            absurd(place, "", chance, depth + 1)
        return
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        values: tuple[Any, ...] = tuple(field.enum_type.values_by_number)
    elif field.type == FieldDescriptor.TYPE_BYTES:
        values = BYTES
    else:
        values = EXTREMES[field.cpp_type]
    if field.is_repeated:
        place.extend(chance.choices(values, k=chance.randint(0, 4)))
    else:
        setattr(message, field.name, chance.choice(values))


def wrapped(message: Message, topic: str, user: str, reply_to: str = "", **more: Any) -> OutgoingRecord:
    """A record whose message need not keep its contract's rules."""
    event_id = new_id().bytes
    fields = {"event_id": event_id, "topic": topic, "reply_to": reply_to, "payload": message.SerializeToString(), **more}
    return OutgoingRecord(event_id, topic, user, envelope_pb2.Envelope(**fields).SerializeToString())


def poisons(user: str, reply_to: str, chance: random.Random, rounds: int) -> Iterator[OutgoingRecord]:
    """Records on every topic that a client may publish on: absurd values, and injured envelopes."""
    external = [topic for topic in topics().values() if topic.external and topic.needs_user]
    for _ in range(rounds):
        for topic in external:
            message = topic.message()
            absurd(message, user, chance)
            times = {"occurred_at_us": chance.choice((0, -(2**63), 2**63 - 1)), "deadline_us": chance.choice((0, 1, 2**63 - 1))}
            absurdity = wrapped(message, topic.name, user, reply_to, **(times if chance.random() < 0.5 else {}))
            yield absurdity
            injured = mutated(absurdity.envelope, chance, [absurdity.envelope]) or b"\0"
            yield OutgoingRecord(new_id().bytes, topic.name, user, injured)


def deliver(link: Link, record: OutgoingRecord) -> None:
    """Publish a record as its topic wants it."""
    if topics()[record.topic].durable:
        link.publish([record])
    else:
        link.send(record)


def test_poisoned_messages_end_as_dead_letters_and_hold_nothing_up(deployment: Deployment, unharmed: Worker) -> None:
    user = someone()
    sent = 0
    with deployment.link("default") as link, deployment.link() as operator:
        for record in poisons(user, link.reply_topic, random.Random(13), 25):
            deliver(link, record)
            sent += 1
        # The stream behind them goes on.
        after = wrapped(working_pb2.Message(user_id=user, role="user", content="after all that"), MESSAGES, user)
        link.publish([after])[0].result(90)
        quiet(operator, 120)
    assert sent > 600
    with deployment.client() as client:
        assert client.messages(user, limit=1)[-1]["content"] == "after all that"
        assert "after all that" in contents(client.search("after all that", user, top_k=3))
    letters = waiting(deployment)
    ours = [letter for letter in letters if letter["user_id"] == user]
    assert len(ours) > 100
    assert all(letter["reason"] and letter["code"] and letter["topic"] and letter["consumer"] for letter in ours)
    # What cannot be applied is known at once: nothing of it was tried again and again until it was given up.
    assert {letter["code"] for letter in ours} == {"invalid_message", "validation_error"}
    # Of a judgement of an answer, and of nothing else, it is told as what the client's own check would have said.
    judged = {letter["topic"] for letter in ours if letter["code"] == "validation_error"}
    assert judged == {"memory/behavioral/feedback/v1/", "memory/behavioral/feedback_edit/v1/"}
    assert {letter["attempts"] for letter in ours} == {1}


def test_each_kind_of_poison_is_explained_can_be_sent_again_and_dropped(deployment: Deployment) -> None:
    user = someone()
    good = working_pb2.Message(user_id=user, role="user", content="good")
    unreadable, other_topic, other_user, rule = new_id(), new_id(), new_id(), new_id()
    message = good.SerializeToString()
    envelopes = {
        unreadable: {"topic": MESSAGES, "payload": b"\xff\xff garbage"},
        other_topic: {"topic": "memory/working/turn/v1/", "payload": message},
        other_user: {
            "topic": MESSAGES,
            "payload": working_pb2.Message(user_id="x", role="user", content="c").SerializeToString(),
        },
        rule: {
            "topic": MESSAGES,
            "payload": working_pb2.Message(user_id=user, role="robot" * 90, content="").SerializeToString(),
        },
    }
    with deployment.link("default") as link, deployment.link() as operator:
        for event, fields in envelopes.items():
            envelope = envelope_pb2.Envelope(event_id=event.bytes, **fields).SerializeToString()
            link.publish([OutgoingRecord(event.bytes, MESSAGES, user, envelope)])
        link.publish([wrapped(good, MESSAGES, user)])[0].result(90)
        quiet(operator, 120)
    with deployment.client() as client:
        assert [one["content"] for one in client.messages(user)] == ["good"]
    reasons: dict[tuple[str, str], str] = {
        (letter["event_id"], letter["consumer"]): letter["reason"] for letter in waiting(deployment)
    }
    for consumer in ("working", "semantic"):
        assert "is no aico.memory.v1.Message" in reasons[str(unreadable), consumer]
        assert "another event or topic" in reasons[str(other_topic), consumer]
        assert "another user" in reasons[str(other_user), consumer]
        assert "Message." in reasons[str(rule), consumer]
    letter = next(one for one in waiting(deployment) if one["event_id"] == str(other_user))
    shown = " ".join(deployment.ok("dead-letters", "show", letter["id"]).out.split())
    assert "another user" in shown
    deployment.ok("dead-letters", "drop", str(unreadable))
    assert str(unreadable) not in {letter["event_id"] for letter in waiting(deployment)}
    # Sent again it is as bad as before, and is a new letter.
    deployment.ok("dead-letters", "replay", str(rule))

    def again() -> bool | None:
        found = [letter for letter in waiting(deployment) if letter["user_id"] == user and "Message." in letter["reason"]]
        return True if found and str(rule) not in {letter["event_id"] for letter in found} else None

    assert eventually(again, "the letter that was sent again has not come back")


def waiting(run: Deployment) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run.ok("dead-letters", "list", "--limit", "100000", "--json").json
    return found


def test_who_listens_hears_on_after_a_poisoned_record(deployment: Deployment) -> None:
    user = someone()
    with deployment.client("operator") as listener, listener.subscribe(MESSAGES) as heard, deployment.link("default") as link:
        event = new_id().bytes
        sane = wrapped(working_pb2.Message(user_id=user, role="user", content="still here"), MESSAGES, user)
        for record in (OutgoingRecord(event, MESSAGES, user, b"\xff\xff"), sane):
            link.publish([record])[0].result(60)
        found = heard.next(60)
        assert found is not None
        assert found["fields"]["content"] == "still here"


def test_an_unanswerable_question_is_answered_with_a_typed_error(deployment: Deployment) -> None:
    user = someone()
    with deployment.link("default") as link:
        asked = 0
        for topic in topics().values():
            if topic.durable or not topic.external or not topic.needs_user:
                continue
            message = topic.message()
            message.user_id = user  # type: ignore[attr-defined]
            for name, value in (("limit", 2**31 - 1), ("top_k", 2**31 - 1), ("max_tokens", -5), ("as_of_us", -(2**63))):
                if name in message.DESCRIPTOR.fields_by_name:
                    try:
                        setattr(message, name, value)
                    except ValueError:
                        continue
            try:
                link.request(message, user=user, timeout=60).result(90)
            except AicoMemoryError as error:
                assert error.code in {"invalid_message", "not_found"}
            asked += 1
        assert asked > 5
