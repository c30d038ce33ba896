"""What goes wrong between a link and a broker, one by one, against a broker that does it on purpose."""

from __future__ import annotations

import threading
import time
import uuid

import pytest
import zmq

from aico_memory.bus.link import Link
from aico_memory.bus.link_sockets import Connection
from aico_memory.clock import SystemClock
from aico_memory.contracts.v1 import bus_pb2, working_pb2
from aico_memory.contracts.wire import READY_PREFIX, OutgoingRecord
from aico_memory.errors import AccessDenied, BusUnavailable, ClosedConnection, DeadlineExceeded, StorageFull

MESSAGES = "memory/working/message/v1/"
PATIENCE = 60.0


def records(count: int) -> list[OutgoingRecord]:
    return [OutgoingRecord(uuid.uuid4().bytes, MESSAGES, "u", b"x" * 100) for _ in range(count)]


def test_a_lost_publish_frame_is_sent_again_and_nothing_after_it_is_taken_before(link: Link, fake) -> None:
    wanted = records(600)
    fake.swallow_publishes = 1
    futures = link.publish(wanted[:300])
    futures += link.publish(wanted[300:])
    for future in futures:
        future.result(PATIENCE)
    assert [record.event_id for record in fake.log] == [record.event_id for record in wanted]
    assert len(fake.hellos) > 1


def test_a_lost_acknowledgement_at_the_tail_is_asked_for_again(link: Link, fake) -> None:
    fake.swallow_acks = 1
    assert link.publish(records(1))[0].result(PATIENCE).global_sequence == 1
    assert len(fake.log) == 1


def test_a_lost_acknowledgement_in_the_middle_settles_each_record_with_its_own_place(link: Link, fake) -> None:
    wanted = records(3)
    link.publish(wanted[:1])[0].result(PATIENCE)
    fake.swallow_acks = 1
    futures = link.publish(wanted[1:2])
    fake.wait(lambda: len(fake.log) == 2)
    futures += link.publish(wanted[2:])
    assert [future.result(PATIENCE).global_sequence for future in futures] == [2, 3]


def test_a_restart_before_the_acknowledgement_resends_under_the_same_ids(link: Link, fake) -> None:
    fake.swallow_acks = 1000
    wanted = records(50)
    futures = link.publish(wanted)
    fake.wait(lambda: len(fake.log) == 50)
    fake.stop()
    fake.swallow_acks = 0
    fake.start()
    assert [future.result(PATIENCE).global_sequence for future in futures] == list(range(1, 51))
    assert len(fake.log) == 50
    assert fake.hellos[-1].next_producer_sequence == 1
    assert len({hello.session for hello in fake.hellos}) == 1


def test_a_broker_that_falls_silent_is_left_and_found_again(link: Link, fake) -> None:
    before = len(fake.hellos)
    fake.silent = True
    future = link.publish(records(1))[0]
    fake.wait(lambda: not link.connected)
    fake.silent = False
    future.result(PATIENCE)
    assert len(fake.hellos) > before


def test_subscriptions_stand_again_after_a_restart(link: Link, fake) -> None:
    heard: list[bytes] = []
    arrived = threading.Event()

    def deliver(record: object) -> None:
        heard.append(record.event_id)  # type: ignore[attr-defined]
        arrived.set()

    link.subscribe([MESSAGES], deliver)
    fake.stop()
    fake.subscriptions.clear()
    fake.start()
    fake.wait(lambda: MESSAGES.encode() in fake.subscriptions)
    wanted = records(1)
    link.publish(wanted)[0].result(PATIENCE)
    assert arrived.wait(PATIENCE)
    assert heard == [wanted[0].event_id]


def test_more_subscriptions_than_a_socket_holds_all_stand(link: Link, fake, settings) -> None:
    topics = [f"memory/test/t{number}/v1/" for number in range(2500)]
    for at in range(0, len(topics), 50):
        link.subscribe(topics[at : at + 50], lambda record: None)
    assert {topic.encode() for topic in topics} <= set(fake.subscriptions)
    fake.stop()
    fake.subscriptions.clear()
    fake.start()
    fake.wait(lambda: {topic.encode() for topic in topics} <= set(fake.subscriptions))
    # What makes it so: never more on their way than a handshake has confirmed, whoever subscribed.
    run = longest = 0
    for topic in fake.subscriptions:
        run = 0 if topic.startswith(READY_PREFIX) else run + 1
        longest = max(longest, run)
    assert longest <= settings.subscription_chunk


def test_a_subscription_that_got_lost_is_noticed_and_made_again(link: Link, fake) -> None:
    fake.swallow_ready = 1
    link.subscribe([MESSAGES], lambda record: None, timeout=PATIENCE)
    assert fake.subscriptions.count(MESSAGES.encode()) == 2


def test_a_refused_record_names_the_mend_and_the_others_are_taken(link: Link, fake) -> None:
    wanted = records(3)
    fake.refuse = lambda event_id, topic: (
        bus_pb2.Refusal(code="storage_full", detail="The disk is full", mend="Free some.", retry_after_ms=1000)
        if event_id == wanted[1].event_id
        else None
    )
    first, second, third = link.publish(wanted)
    assert first.result(PATIENCE).global_sequence == 1
    with pytest.raises(StorageFull, match="Free some"):
        second.result(PATIENCE)
    assert third.result(PATIENCE).global_sequence == 2
    with pytest.raises(StorageFull):
        link.publish_bulk(wanted).result(PATIENCE)


def test_a_rate_limited_record_is_published_after_the_time_the_bus_names(link: Link, fake) -> None:
    refused: list[bytes] = []

    def once(event_id: bytes, topic: bytes) -> bus_pb2.Refusal | None:
        if event_id in refused:
            return None
        refused.append(event_id)
        return bus_pb2.Refusal(code="rate_limited", detail="too fast", retry_after_ms=30)

    fake.refuse = once
    future = link.publish(records(1))[0]
    assert future.result(PATIENCE).global_sequence == 1
    assert len(refused) == 1


def test_publish_waits_while_the_window_is_full_and_gives_up_at_its_deadline(fake, alice, settings) -> None:
    small = settings.model_copy(update={"window_records": 4, "stall_seconds": 60.0, "close_seconds": 0.0})
    with Link(lambda: fake.address, alice, settings=small, clock=SystemClock()) as link:
        link.start()
        fake.swallow_acks = 1000
        link.publish(records(4))
        with pytest.raises(DeadlineExceeded, match="window is full"):
            link.publish(records(1), timeout=0.05)


def test_a_bulk_larger_than_the_window_goes_through_in_order(fake, alice, settings) -> None:
    small = settings.model_copy(update={"window_records": 16})
    with Link(lambda: fake.address, alice, settings=small, clock=SystemClock()) as link:
        link.start()
        wanted = records(200)
        acknowledged = link.publish_bulk(wanted).result(PATIENCE)
        assert [one.event_id for one in acknowledged] == [one.event_id for one in wanted]
        assert [one.global_sequence for one in acknowledged] == list(range(1, 201))


def test_waiting_publishes_go_out_together(link: Link, fake) -> None:
    link.publish_bulk(records(256)).result(PATIENCE)
    assert len(fake.frames) <= 2


def test_close_waits_for_what_is_on_its_way(fake, alice, settings) -> None:
    link = Link(lambda: fake.address, alice, settings=settings, clock=SystemClock())
    link.start()
    futures = link.publish(records(500))
    link.close()
    assert all(future.result(0) for future in futures)


def test_close_is_bounded_and_ends_what_is_open(fake, alice, settings) -> None:
    link = Link(lambda: fake.address, alice, settings=settings.model_copy(update={"close_seconds": 0.1}), clock=SystemClock())
    link.start()
    fake.swallow_publishes = 1000
    future = link.publish(records(1))[0]
    before = time.monotonic()
    link.close()
    assert time.monotonic() - before < PATIENCE / 2
    with pytest.raises(ClosedConnection):
        future.result(0)


def test_a_request_nobody_answers_ends_at_its_deadline(link: Link) -> None:
    future = link.request(working_pb2.ReadMessages(user_id="u"), user="u", timeout=0.1)
    with pytest.raises(DeadlineExceeded, match="memory/working/read/v1/"):
        future.result(PATIENCE)


def test_a_question_to_the_broker_is_answered_or_ends_at_its_deadline(link: Link) -> None:
    assert link.control("ping", {}).result(PATIENCE) == {"verb": "ping"}
    with pytest.raises(DeadlineExceeded):
        link.control("nothing", {}, timeout=0.1).result(PATIENCE)


def test_a_refused_subscription_is_an_error_and_leaves_the_others_alone(link: Link, fake) -> None:
    fake.deny = {"memory/secret/x/v1/"}
    with pytest.raises(AccessDenied):
        link.subscribe(["memory/secret/x/v1/"], lambda record: None)
    link.subscribe([MESSAGES], lambda record: None)


def test_a_callback_that_fails_does_not_end_the_link(link: Link, fake, capsys) -> None:
    called = threading.Event()

    def fail(record: object) -> None:
        called.set()
        raise ValueError("a fault of the subscriber")

    link.subscribe([MESSAGES], fail)
    link.publish(records(1))[0].result(PATIENCE)
    assert called.wait(PATIENCE)
    link.publish(records(1))[0].result(PATIENCE)


def test_while_the_bus_is_away_the_trouble_is_named(link: Link, fake) -> None:
    fake.stop()
    try:
        deadline = time.monotonic() + PATIENCE
        while link.connected and time.monotonic() < deadline:
            threading.Event().wait(0.01)
        assert isinstance(link.trouble, BusUnavailable)
    finally:
        fake.start()


def test_the_sockets_beat_no_heart_of_their_own_and_never_reconnect_by_themselves(fake, alice, settings) -> None:
    with zmq.Context() as context:
        connection = Connection(context, fake.address, alice, settings)
        for socket in (connection.dealer, connection.delivery):
            assert socket.getsockopt(zmq.HEARTBEAT_IVL) <= 0
            assert socket.getsockopt(zmq.RECONNECT_IVL) == -1
        connection.close()


def test_what_is_handed_in_while_the_link_closes_ends_with_an_error(fake, alice, settings) -> None:
    link = Link(lambda: fake.address, alice, settings=settings.model_copy(update={"close_seconds": 0.0}), clock=SystemClock())
    link.start()
    futures, stop = [], threading.Event()

    def publish() -> None:
        while not stop.is_set():
            try:
                futures.extend(link.publish(records(1)))
                futures.append(link.control("ping", {}))
            except ClosedConnection:
                return

    threads = [threading.Thread(target=publish) for _ in range(2)]
    for thread in threads:
        thread.start()
    fake.wait(lambda: len(fake.log) > 20)
    link.close()
    stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    ends = {type(future.exception(PATIENCE)) for future in futures}
    assert ends <= {type(None), ClosedConnection}
