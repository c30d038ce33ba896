"""The client's verbs over a real broker."""

from __future__ import annotations

import gc
import threading
import time
import uuid

import pytest

from aico_memory import MemoryClient
from aico_memory.contracts.v1 import behavioral_pb2, semantic_pb2
from aico_memory.errors import (
    AccessDenied,
    BusUnavailable,
    DeadlineExceeded,
    InvalidMessage,
    NotAuthorised,
    NotFound,
    TooLarge,
    UnknownTopic,
)
from aico_memory.paths import Home
from aico_memory.runtime.waiting import until

MESSAGES = "memory/working/message/v1/"


PATIENCE = 60.0


def journalled(connect, topic: str = MESSAGES) -> list:
    return connect("operator").read(topic)


def test_added_messages_are_in_the_journal_in_their_order_under_their_ids(client: MemoryClient, connect) -> None:
    given = str(uuid.uuid4())
    ids = client.add(
        [{"role": "user", "content": f"n{n}"} for n in range(50)] + [{"role": "user", "content": "x", "id": given}], "u"
    )
    assert ids[-1] == given
    assert [str(record.id) for record in journalled(connect)] == ids


def test_the_same_id_twice_has_one_effect_and_returns_the_same_id(client: MemoryClient, connect) -> None:
    message = {"role": "user", "content": "once", "id": str(uuid.uuid4())}
    assert client.add([message, message], "u") == [message["id"]] * 2
    assert client.add([message], "u") == [message["id"]]
    assert len(journalled(connect)) == 1


def test_a_fault_in_the_last_message_publishes_none(client: MemoryClient, connect) -> None:
    with pytest.raises(InvalidMessage):
        client.add([{"role": "user", "content": "good"}, {"role": "user", "content": ""}], "u")
    with pytest.raises(TooLarge):
        client.add([{"role": "user", "content": "good"}, {"role": "user", "content": "x" * 2_000_000}], "u")
    assert journalled(connect) == []


def test_an_empty_list_adds_nothing(client: MemoryClient) -> None:
    assert client.add([], "u") == []


def test_a_typed_error_of_a_worker_arrives_as_itself(client: MemoryClient, worker) -> None:
    worker("semantic").answers("memory/semantic/get/v1/", lambda event: NotFound(f"nothing of {event.user}", "Look elsewhere."))
    with pytest.raises(NotFound, match="nothing of u") as caught:
        client.get(str(uuid.uuid4()), "u")
    assert caught.value.mend == "Look elsewhere."


def test_an_update_waits_for_its_answer_and_the_client_remembers_whose_memory_it_is(client: MemoryClient, worker) -> None:
    memory_id = str(uuid.uuid4())
    record = semantic_pb2.MemoryRecord(memory_id=memory_id, text="new")
    semantic = worker("semantic")
    semantic.answers("memory/semantic/update/v1/", lambda event: semantic_pb2.MemoryPage(records=[record]))
    semantic.answers("memory/semantic/get/v1/", lambda event: semantic_pb2.MemoryPage(records=[record]))
    with pytest.raises(InvalidMessage, match="Whose memory"):
        client.get(memory_id)
    assert client.update(memory_id, "new", "u")["memory"]["memory"] == "new"
    assert client.get(memory_id)["id"] == memory_id


def test_pages_of_memories_are_put_together(client: MemoryClient, worker) -> None:
    def page(event) -> semantic_pb2.MemoryPage:
        start = int(event.message.after or 0)
        ids = range(start, min(start + event.message.limit, 700))
        records = [semantic_pb2.MemoryRecord(memory_id=str(number)) for number in ids]
        return semantic_pb2.MemoryPage(records=records, next=str(ids.stop) if ids.stop < 700 else "")

    worker("semantic").answers("memory/semantic/list/v1/", page)
    assert [memory["id"] for memory in client.get_all("u", limit=1000)["results"]] == [str(n) for n in range(700)]
    assert len(client.get_all("u", limit=3)["results"]) == 3


def test_flush_returns_when_every_consumer_has_settled_and_not_before(client: MemoryClient, worker) -> None:
    working, semantic = worker("working"), worker("semantic")
    client.add([{"role": "user", "content": "x"}], "u")
    working.report([MESSAGES], 1)
    semantic.report([MESSAGES], 0)
    with pytest.raises(DeadlineExceeded, match="semantic"):
        client.flush(0.1)
    waiting = threading.Thread(target=client.flush, args=(PATIENCE,))
    waiting.start()
    semantic.report([MESSAGES], 1)
    waiting.join(PATIENCE)
    assert not waiting.is_alive()


def test_flush_waits_for_a_bus_that_is_away_no_longer_than_it_may(client: MemoryClient, broker) -> None:
    client.add([{"role": "user", "content": "x"}], "u")
    broker.stop()
    before = time.monotonic()
    with pytest.raises(DeadlineExceeded, match="the bus"):
        client.flush(0.3)
    assert time.monotonic() - before < PATIENCE / 2


def test_what_is_no_topic_no_mapping_and_no_number_is_a_typed_error(client: MemoryClient) -> None:
    for fault in (
        lambda: client.publish(5, {}),
        lambda: client.publish(MESSAGES, []),
        lambda: client.subscribe(None),
        lambda: client.flush("soon"),
        lambda: client.jobs(-1),
        lambda: client.sleep_now(5),
        lambda: client.sleep_now(phases=["replay", "nope"]),
        lambda: client.sleep_estimate(phases=["nope"]),
        lambda: client.search("x", "u", explain="yes"),
        lambda: client.get_all("u", {"status": "nonsense"}),
        lambda: client.context("x", "u", explain="yes"),
        lambda: client.context("x", "u", explain=2),
        lambda: client.query_unified("x", "u", layers=None),
        lambda: client.query_unified("x", "u", layers=[["L0"]]),
    ):
        with pytest.raises(InvalidMessage):
            fault()


def test_flush_of_a_client_that_published_nothing_returns_at_once(client: MemoryClient) -> None:
    client.flush(0.0)


def test_a_subscription_to_a_durable_topic_hears_all_over_a_restart(client: MemoryClient, worker, broker) -> None:
    topic = "memory/behavioral/skill_updated/v1/"
    behavioral = worker("behavioral")
    from aico_memory.contracts.envelope import make_record
    from aico_memory.ids import new_id

    def publish(skill: str) -> None:
        message = behavioral_pb2.SkillUpdated(user_id="u", skill_id=skill)
        behavioral.link.publish([make_record(message, event_id=new_id(), occurred_us=1, user="u")])[0].result(PATIENCE)

    publish("before")
    with client.subscribe(topic) as events:
        publish("one")
        assert events.next(PATIENCE)["fields"]["skill_id"] == "one"
        broker.stop()
        broker.start()
        publish("two")
        event = events.next(PATIENCE)
        assert (event["fields"]["skill_id"], event["user_id"], event["sender"]) == ("two", "u", "behavioral")
        assert events.next(0.01) is None


def test_a_callback_hears_an_ephemeral_topic(client: MemoryClient, worker) -> None:
    from aico_memory.contracts.envelope import make_record
    from aico_memory.contracts.v1 import sleep_pb2
    from aico_memory.ids import new_id

    heard, arrived = [], threading.Event()

    def callback(event) -> None:
        heard.append(event["fields"]["phase"])
        arrived.set()

    with client.subscribe("memory/consolidation/progress/v1/", callback):
        consolidation = worker("consolidation")
        progress = sleep_pb2.ConsolidationProgress(run_id="r", phase="replay")
        consolidation.link.send(make_record(progress, event_id=new_id(), occurred_us=1))
        assert arrived.wait(PATIENCE)
    assert heard == ["replay"]


def test_a_subscription_that_is_not_allowed_is_refused(client: MemoryClient) -> None:
    with pytest.raises(AccessDenied):
        client.subscribe("memory/semantic/replay/v1/")
    with pytest.raises(UnknownTopic):
        client.subscribe("memory/nothing/here/v1/")


def test_any_topic_can_be_published_by_the_names_of_its_fields(client: MemoryClient, connect) -> None:
    event_id = client.publish("memory/working/turn/v1", {"user_id": "u", "interaction_id": "i", "input": "hi"})
    (record,) = journalled(connect, "memory/working/turn/v1/")
    assert (str(record.id), record.user, record.sender) == (event_id, "u", "default")
    with pytest.raises(InvalidMessage, match="nope"):
        client.publish("memory/working/turn/v1/", {"nope": 1}, user_id="u")
    with pytest.raises(InvalidMessage, match="interaction_id is required"):
        client.publish("memory/working/turn/v1/", {"user_id": "u"})
    with pytest.raises(AccessDenied):
        client.publish("memory/working/sweep/v1/", {"firing_id": "f"})


def test_a_home_without_a_bus_and_an_identity_without_a_key_are_told_apart(broker, home: Home, tmp_path) -> None:
    before = time.monotonic()
    with pytest.raises(BusUnavailable, match="No bus"):
        MemoryClient.connect(tmp_path / "nowhere")
    with pytest.raises(NotAuthorised, match="stranger"):
        MemoryClient.connect(home.root, identity="stranger")
    assert time.monotonic() - before < PATIENCE / 2


def test_a_worker_that_does_not_answer_is_a_deadline(home: Home, broker, monkeypatch) -> None:
    monkeypatch.setenv("AICO_MEMORY_SET__link__request_seconds", "0.1")
    with MemoryClient.connect(home.root) as client, pytest.raises(DeadlineExceeded, match="memory/working/read/v1/"):
        client.messages("u")


def test_a_bus_that_is_away_is_named_as_such(home: Home, broker, monkeypatch) -> None:
    monkeypatch.setenv("AICO_MEMORY_SET__link__publish_seconds", "0.3")
    with MemoryClient.connect(home.root) as client:
        broker.stop()
        with pytest.raises(BusUnavailable):
            client.add([{"role": "user", "content": "x", "id": str(uuid.uuid4())}], "u")
        broker.start()
        # A publish is given up soon here; finding the broker again may take longer.
        until(lambda: client.connected or None, 120, "The client does not find the broker again")
        assert client.add([{"role": "user", "content": "y"}], "u")


def test_threads_may_share_a_client(client: MemoryClient, connect) -> None:
    def add(thread: int) -> None:
        for number in range(20):
            client.add([{"role": "user", "content": f"{thread}/{number}"}], "u")

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(journalled(connect)) == 80


def test_a_command_the_role_may_not_give_is_refused_and_leaves_no_loose_ends(home: Home, broker, caplog) -> None:
    with MemoryClient.connect(home.root, identity="observer") as client:
        with pytest.raises(AccessDenied):
            client.feedback("u", "m", "s", 1)
        with pytest.raises(AccessDenied):
            client.delete(str(uuid.uuid4()), "u")
        gc.collect()
    assert [record for record in caplog.records if record.name == "asyncio"] == []
