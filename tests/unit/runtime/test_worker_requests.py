"""What a worker is asked: each request answered once, in time, by whom it names."""

from __future__ import annotations

import json
import uuid

import pytest

from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import bus_pb2, working_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import NotFound
from tests.support.twin_bus import TwinBus
from tests.unit.runtime.conftest import StartWorker
from tests.unit.runtime.worker import MESSAGE_TOPIC, QUICK, STORED_TOPIC, Keeper, message_record  # fmt: skip


def test_requests_are_answered_while_others_wait(bus: TwinBus, start_worker: StartWorker) -> None:
    worker = start_worker(Keeper())
    worker.ready.wait(60)
    bus.put(message_record("hello"))
    assert bus.wait_for(lambda: bus.of_topic(STORED_TOPIC))
    client = bus.link("client")
    page = client.request(working_pb2.ReadMessages(user_id="ana"), user="ana").result(60)
    assert [stored.content for stored in page.messages] == ["hello"]


def test_a_refused_request_brings_its_typed_error_and_a_broken_one_no_words(bus: TwinBus, start_worker: StartWorker) -> None:
    start_worker(Keeper()).ready.wait(60)
    client = bus.link("client")
    with pytest.raises(NotFound):
        client.request(working_pb2.ReadMessages(user_id="ana", session_id="gone"), user="ana").result(60)
    with pytest.raises(Exception, match="ValueError") as caught:
        client.request(working_pb2.ReadMessages(user_id="ana", session_id="broken"), user="ana").result(60)
    assert "words of a person" not in str(caught.value)


def test_a_request_that_waited_past_its_deadline_is_dropped(bus: TwinBus, start_worker: StartWorker) -> None:
    handlers = Keeper()
    handlers.release.clear()
    settings = QUICK.model_copy(update={"request_threads": 1})
    worker = start_worker(handlers, settings)
    worker.ready.wait(60)
    client = bus.link("client")
    first = client.request(working_pb2.ReadMessages(user_id="ana"), user="ana")
    late = client.request(working_pb2.ReadMessages(user_id="ana"), user="ana", timeout=0.0)
    last = client.request(working_pb2.ReadMessages(user_id="ana"), user="ana")
    handlers.release.set()
    assert first.result(60) is not None
    assert last.result(60) is not None
    assert not late.done()
    requests = worker.loop.status()["requests"]
    assert isinstance(requests, dict)
    assert requests["expired"] == 1


def test_a_request_that_is_asked_again_meanwhile_is_worked_on_once(bus: TwinBus, start_worker: StartWorker) -> None:
    keeper = Keeper()
    keeper.release.clear()
    worker = start_worker(keeper)
    worker.ready.wait(60)
    client = bus.link("client")
    question = uuid.uuid4()
    client.request(working_pb2.ReadMessages(user_id="ana"), user="ana", event_id=question)
    again = client.request(working_pb2.ReadMessages(user_id="ana"), user="ana", event_id=question)
    keeper.release.set()
    assert again.result(60) is not None
    client.request(working_pb2.ReadMessages(user_id="ana"), user="ana").result(60)
    requests = worker.loop.status()["requests"]
    assert isinstance(requests, dict)
    assert requests["answered"] == 2


def test_status_and_export_are_answered_by_the_process_that_is_named(bus: TwinBus, start_worker: StartWorker) -> None:
    start_worker(Keeper()).ready.wait(60)
    bus.put(message_record("b"))
    bus.put(message_record("a"))
    assert bus.wait_for(lambda: len(bus.of_topic(STORED_TOPIC)) == 2)
    client = bus.link("client")
    other = client.request(bus_pb2.WorkerStatusRequest(process="semantic"))
    status = json.loads(client.request(bus_pb2.WorkerStatusRequest(process="working")).result(60).detail_json)
    assert (status["kept"], status["applied"]) == (2, bus.of_topic(MESSAGE_TOPIC)[-1].global_sequence)
    page = client.request(bus_pb2.ExportRequest(process="working")).result(60)
    assert (list(page.lines), list(page.omitted)) == (["a", "b"], ["working.message.position"])
    assert not other.done()


def test_the_answer_to_a_command_is_sent_again_to_whoever_gave_it(bus: TwinBus, start_worker: StartWorker) -> None:
    start_worker(Keeper()).ready.wait(60)
    client, command = bus.link("client"), uuid.uuid4()

    def answers() -> list[OutgoingRecord]:
        return [one for one in bus.ephemeral if one.topic == client.reply_topic]

    bus.put(message_record("hello", event_id=command, reply_to=client.reply_topic))
    assert bus.wait_for(lambda: len(answers()) == 1)
    for unknown in (uuid.uuid4().bytes, b"no id"):
        client.send(again(unknown))
    client.send(again(command.bytes))
    assert bus.wait_for(lambda: len(answers()) == 2)
    first, second = answers()
    assert first == second
    assert len(bus.of_topic(STORED_TOPIC)) == 1


def again(event_id: bytes) -> OutgoingRecord:
    message = bus_pb2.AnswerAgain(user_id="ana", event_id=event_id)
    return make_record(message, event_id=uuid.uuid4(), occurred_us=5, user="ana")
