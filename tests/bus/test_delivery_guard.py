"""The delivery socket: grants by authenticated identity, also while somebody tries to shift them."""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable

import zmq

from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import bus_pb2, envelope_pb2
from aico_memory.contracts.wire import HEADS_TOPIC, reply_topic, unpack_batch
from aico_memory.ids import new_id
from aico_memory.settings.bus import BusSettings

MESSAGE = "memory/working/message/v1/"
CHANGED = "memory/semantic/changed/v1/"


class Gate:
    """Holds the broker's loop at a point where it does not touch the delivery socket."""

    def __init__(self, broker) -> None:
        self._holding, self._open = threading.Event(), threading.Event()
        self._registry = broker._registry
        self._write = broker._registry.write_if_due
        self._registry.write_if_due = self._wait
        assert self._holding.wait(60)

    def release(self) -> None:
        self._registry.write_if_due = self._write
        self._open.set()

    def _wait(self) -> None:
        self._holding.set()
        assert self._open.wait(60)


def attack(running, connect) -> tuple[zmq.Socket, zmq.Socket, object]:
    """Junk from an observer, then the worker's subscription, then another observer's: read by the broker in one go.

    The junk makes libzmq take the worker's pipe off its list too early, so that the worker's
    subscription is granted to the pipe behind it.
    """
    first, second, victim = connect("observer"), connect("observer"), connect("working")
    # XSUB: it may send anything upstream, and does not filter what comes down.
    spoiling, listening = first.socket(zmq.XSUB, "delivery"), second.socket(zmq.XSUB, "delivery")
    victims = victim.socket(zmq.SUB, "delivery")
    victim.wait_ready(victims)
    for socket, client in ((spoiling, first), (listening, second)):
        socket.send(b"\x01_bus/ready/" + client.session.hex().encode() + b"/1/")
        assert socket.poll(60_000)
    gate = Gate(running.broker)
    delivery = running.broker._delivery.socket
    try:
        delivery.getsockopt(zmq.EVENTS)
        spoiling.send(b"\x07junk")
        handed_over(delivery)
        victims.subscribe(MESSAGE.encode())
        victims.poll(0)
        handed_over(delivery)
        listening.send(b"\x01" + CHANGED.encode())
        handed_over(delivery)
    finally:
        gate.release()
    return listening, victims, victim


def handed_over(delivery: zmq.Socket) -> None:
    """Wait until the broker's I/O thread has handed over what was sent, and let libzmq note it; nothing is received.

    The broker's own thread is held, so that this one may touch its socket.
    """
    readable, _, _ = select.select([delivery.getsockopt(zmq.FD)], [], [], 5)
    assert readable, "nothing has come up"
    delivery.getsockopt(zmq.EVENTS)


def hears_message(socket: zmq.Socket, seconds: float) -> bool:
    """Whether a record on the message topic arrives."""
    deadline = time.monotonic() + seconds
    while socket.poll(max(0, int((deadline - time.monotonic()) * 1000))):
        if socket.recv().startswith(MESSAGE.encode()):
            return True
    return False


def publish_until_rebuilt(running, client, message: Callable) -> None:
    deadline = time.monotonic() + 60
    while running.broker.statistics()["delivery"]["rebuilds"] == 0:
        client.acknowledged(message())
        assert time.monotonic() < deadline, "the socket was not rebuilt"


def test_junk_upstream_does_not_shift_a_grant_to_another_client(broker, connect, message) -> None:
    client = connect()
    attacking, victims, victim = attack(broker, connect)
    publish_until_rebuilt(broker, client, message)
    victim.wait_ready(victims)
    client.acknowledged(message())
    assert hears_message(victims, 5), "the worker hears its topic again"
    assert not hears_message(attacking, 0.3), "the observer hears what it may not"


def test_where_the_guard_is_taken_away_the_attack_works(broker, connect, message) -> None:
    """The trap is real: without the rebuild a client without rights is given the worker's subscription."""
    delivery = broker.broker._delivery
    delivery.rebuild = lambda reason: None
    delivery._attacked = lambda user_id, what: None
    client = connect()
    attacking, _, _ = attack(broker, connect)
    deadline = time.monotonic() + 60
    while not hears_message(attacking, 0.05):
        client.acknowledged(message())
        assert time.monotonic() < deadline, "libzmq does not shift grants any more: the guard may go"


def test_who_sends_junk_stays_out_for_a_while_and_it_is_audited(broker, connect, message) -> None:
    client, attacker = connect(), connect("observer")
    shifting = attacker.socket(zmq.XSUB, "delivery")
    shifting.send(b"\x07junk")
    publish_until_rebuilt(broker, client, message)
    attacker.send(13)
    assert attacker.refusal().code == "not_authorised"
    operator = connect("operator")
    entries = [one.envelope for one in operator.read("memory/bus/audit/v1/")]
    assert any(b"identity_banned" in entry for entry in entries)


def test_a_multipart_message_upstream_is_junk_too(broker, connect, message) -> None:
    shifting = connect("observer").socket(zmq.XSUB, "delivery")
    shifting.send_multipart([b"\x07", b"\x01" + MESSAGE.encode()])
    publish_until_rebuilt(broker, connect(), message)


def test_a_subscription_without_right_brings_nothing_and_is_audited(broker, connect, message) -> None:
    observer = connect("observer")
    sub = observer.subscribe(MESSAGE, "", "memory/")
    connect().acknowledged(message())
    assert not sub.poll(300)
    assert broker.broker.statistics()["notices"]["access_denied"] == 3


def test_a_reply_topic_of_another_identity_brings_nothing(broker, connect) -> None:
    requester, eavesdropper = connect(), connect("observer")
    topic = reply_topic("default", requester.session)
    own, foreign = requester.subscribe(topic), eavesdropper.subscribe(topic)
    reply = make_record(envelope_pb2.Reply(), event_id=new_id(), occurred_us=1, topic=topic)
    connect("context").publish(reply, ephemeral=True)
    assert own.poll(60_000)
    assert unpack_batch(own.recv())[0] == topic
    assert not foreign.poll(200)


def test_an_unsubscribed_topic_is_heard_no_more(broker, connect, message) -> None:
    worker, client = connect("working"), connect()
    sub = worker.subscribe(MESSAGE)
    sub.unsubscribe(MESSAGE.encode())
    worker.wait_ready(sub)
    client.acknowledged(message())
    assert not sub.poll(300)


def test_the_beacon_names_the_head_of_every_topic(broker, connect, message) -> None:
    publisher, client = connect("publisher"), connect()
    client.acknowledged(message(), message())
    sub = publisher.subscribe(HEADS_TOPIC.decode())
    while True:
        assert sub.poll(60_000)
        heads = bus_pb2.Heads.FromString(sub.recv()[len(HEADS_TOPIC) :])
        if not heads.previous:
            break
    assert getattr(heads, "global") == 2
    assert [(one.topic, one.sequence) for one in heads.heads] == [(MESSAGE, 2)]


def test_a_subscriber_that_does_not_read_slows_nobody_and_loses_nothing(make_broker, connect, message) -> None:
    make_broker(BusSettings(delivery_high_water=16, segment_first_bytes=1 << 20, min_free_bytes=0))
    client, slow, quick = connect(), connect("semantic"), connect("working")
    lazy = slow.socket(zmq.SUB, "delivery", connect=False)
    # SNDHWM stays: subscriptions beyond it vanish without a word.
    lazy.setsockopt(zmq.RCVHWM, 1)
    lazy.setsockopt(zmq.RCVBUF, 4096)
    lazy.connect(slow.address()["delivery"])
    lazy.subscribe(MESSAGE.encode())
    slow.wait_ready(lazy)
    sub = quick.subscribe(MESSAGE)
    content = "x" * 50_000
    for _ in range(200):
        client.acknowledged(message(content=content))
    heard = 0
    while heard < 200:
        assert sub.poll(60_000), heard
        heard += len(unpack_batch(sub.recv())[2])
    missed = 0
    while lazy.poll(200):
        missed += lazy.recv().startswith(MESSAGE.encode())
    assert missed < 200, "the slow subscriber was to fall behind"
    assert len(slow.read(MESSAGE)) == 200
