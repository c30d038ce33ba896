"""The link against the real broker: the whole of it, and what a broker's end and restart do to it."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator

import pytest

from aico_memory.bus.consumer import Consumer
from aico_memory.bus.link import Link, read_address
from aico_memory.clock import SystemClock
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import behavioral_pb2, working_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.ids import new_id
from aico_memory.paths import Home
from aico_memory.settings.link import LinkSettings
from aico_memory.vault.curve_keys import load_identity

MESSAGES = "memory/working/message/v1/"
FEEDBACK = "memory/behavioral/feedback/v1/"
PATIENCE = 60.0
Connect = Callable[..., Link]


def message(number: int) -> OutgoingRecord:
    said = working_pb2.Message(user_id="u", role="user", content=f"number {number}")
    return make_record(said, event_id=new_id(), occurred_us=1, user="u")


def mixed(number: int) -> OutgoingRecord:
    if number % 3:
        return message(number)
    event = behavioral_pb2.FeedbackEvent(user_id="u", message_id="m", skill_id="s", reward=1)
    return make_record(event, event_id=new_id(), occurred_us=1, user="u")


def read(consumer: Consumer, count: int) -> list[bytes]:
    seen: list[bytes] = []
    while len(seen) < count:
        got = consumer.receive(100, PATIENCE)
        assert got, f"only {len(seen)} of {count} arrived"
        seen += [record.event_id for record in got]
    return seen


@pytest.fixture
def link_as(home: Home, settings: LinkSettings) -> Iterator[Connect]:
    """Connects links as an identity of the test's home."""
    made: list[Link] = []

    def make(name: str = "default", **changes: object) -> Link:
        chosen = settings.model_copy(update=changes)
        link = Link(lambda: read_address(home), load_identity(home, name), settings=chosen, clock=SystemClock())
        made.append(link)
        link.start(60)
        return link

    yield make
    for link in made:
        link.close()


def test_what_is_published_is_consumed_once_and_in_order(broker, link_as: Connect) -> None:
    publisher, worker = link_as(), link_as("operator")
    consumer = worker.consume([MESSAGES, FEEDBACK], 0, 0)
    records = [mixed(number) for number in range(2000)]
    publisher.publish_bulk(records).result(PATIENCE)
    assert read(consumer, 2000) == [record.event_id for record in records]
    assert consumer.receive(1, 0.05) == []


def test_a_live_record_arrives_at_once_and_not_with_the_next_beacon(make_broker, link_as: Connect) -> None:
    from tests.bus.conftest import SMALL

    make_broker(SMALL.model_copy(update={"heads_seconds": 5.0, "heads_idle_seconds": 5.0}))
    publisher, worker = link_as(), link_as("operator", liveness_seconds=30.0)
    consumer = worker.consume([MESSAGES], 0, 0)
    consumer.wait_live(PATIENCE)
    record = message(1)
    publisher.publish([record])
    assert [one.event_id for one in consumer.receive(1, 60.0)] == [record.event_id]


def test_what_concerns_a_consumer_not_costs_it_no_range(make_broker, link_as: Connect) -> None:
    from tests.bus.conftest import SMALL

    make_broker(SMALL.model_copy(update={"heads_seconds": 5.0, "heads_idle_seconds": 5.0}))
    publisher, worker = link_as(), link_as("operator", liveness_seconds=30.0)
    consumer = worker.consume([MESSAGES], 0, 0)
    consumer.wait_live(PATIENCE)
    before = consumer.counters
    for round_ in range(3):
        others = [one for one in map(mixed, range(30)) if one.topic == FEEDBACK]
        publisher.publish_bulk(others).result(PATIENCE)
        record = message(round_)
        publisher.publish([record])
        assert [one.event_id for one in consumer.receive(1, 60.0)] == [record.event_id]
    assert consumer.counters == before


def test_a_broker_that_restarts_costs_nobody_a_record(broker, link_as: Connect) -> None:
    publisher, worker = link_as(), link_as("operator")
    consumer = worker.consume([MESSAGES, FEEDBACK], 0, 0)
    records = [mixed(number) for number in range(900)]
    futures = publisher.publish(records[:300])
    broker.stop()
    futures += publisher.publish(records[300:600])
    broker.start()
    futures += publisher.publish(records[600:])
    sequences = [future.result(PATIENCE).global_sequence for future in futures]
    assert sequences == sorted(set(sequences))
    assert read(consumer, 900) == [record.event_id for record in records]
    assert consumer.receive(1, 0.05) == []


def test_a_broker_on_other_ports_is_found_again(home: Home, broker, link_as: Connect) -> None:
    link = link_as()
    before = read_address(home)
    broker.stop()
    home.bus_address.unlink()
    broker.start()
    assert read_address(home) != before
    assert link.publish([message(1)])[0].result(PATIENCE).global_sequence == 1


def test_kills_of_the_broker_lose_no_acknowledged_record(broker_process, link_as: Connect) -> None:
    publisher, worker = link_as(), link_as("operator")
    consumer = worker.consume([MESSAGES], 0, 0)
    published: list[bytes] = []
    stop = threading.Event()

    def publish() -> None:
        number = 0
        while not stop.is_set():
            records = [message(number + at) for at in range(20)]
            publisher.publish_bulk(records, timeout=PATIENCE).result(PATIENCE)
            published.extend(record.event_id for record in records)
            number += 20

    thread = threading.Thread(target=publish)
    thread.start()
    for _ in range(3):
        seen = len(published)
        while len(published) < seen + 100:
            assert thread.is_alive()
            stop.wait(0.01)
        broker_process.kill()
        broker_process.start()
    stop.set()
    thread.join(PATIENCE)
    assert read(consumer, len(published)) == published


def test_a_request_reaches_its_worker_and_the_answer_comes_back(broker, link_as: Connect) -> None:
    from aico_memory.contracts.envelope import make_reply, open_record

    client, worker = link_as(), link_as("working")

    def answer(record: object) -> None:
        event = open_record(record)  # type: ignore[arg-type]
        page = working_pb2.MessagePage(messages=[working_pb2.StoredMessage(content=f"for {event.user}")])
        reply = make_record(
            make_reply(page), event_id=uuid.uuid4(), occurred_us=1, user=event.user,
            topic=event.reply_to, correlation_id=event.event_id,
        )  # fmt: skip
        worker.send(reply)

    worker.subscribe(["memory/working/read/v1/"], answer)
    page = client.request(working_pb2.ReadMessages(user_id="u"), user="u").result(PATIENCE)
    assert page.messages[0].content == "for u"


def test_a_request_that_nobody_heard_is_asked_again_until_its_worker_is_there(broker, link_as: Connect) -> None:
    from aico_memory.contracts.envelope import make_reply, open_record

    client, worker = link_as(repeat_seconds=0.1), link_as("working")
    asked: list[bytes] = []
    future = client.request(working_pb2.ReadMessages(user_id="u"), user="u", timeout=PATIENCE)
    # The broker has passed it on to nobody by now: what is asked after it on the same connection is answered.
    client.control("ping", {}).result(PATIENCE)

    def answer(record: object) -> None:
        event = open_record(record)  # type: ignore[arg-type]
        asked.append(event.event_id.bytes)
        reply = make_record(
            make_reply(working_pb2.MessagePage()), event_id=uuid.uuid4(), occurred_us=1, user=event.user,
            topic=event.reply_to, correlation_id=event.event_id,
        )  # fmt: skip
        worker.send(reply)

    worker.subscribe(["memory/working/read/v1/"], answer)
    assert future.result(PATIENCE) == working_pb2.MessagePage()
    assert len(set(asked)) == 1
