"""A worker while all writing is stopped: nothing is applied, nothing is lost, questions are answered."""

from __future__ import annotations

import json
import threading

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import bus_pb2, working_pb2
from aico_memory.runtime.waiting import until
from tests.support.twin_bus import TwinBus
from tests.unit.runtime.conftest import StartWorker
from tests.unit.runtime.worker import QUICK, STORED_TOPIC, Keeper, RunningWorker, message_record


def stopped() -> threading.Event:
    switch = threading.Event()
    switch.set()
    return switch


def status(bus: TwinBus) -> dict[str, object]:
    answer = bus.link("client").request(bus_pb2.WorkerStatusRequest(process="working")).result(60)
    found: dict[str, object] = json.loads(answer.detail_json)
    return found


def confirmed(bus: TwinBus, on: bool) -> bool:
    return until(lambda: True if status(bus)["read_only"] is on else None, 120, "The worker has not seen the switch")


def cursor(worker: RunningWorker) -> int:
    return worker.handlers.state.cursor()[1]


def test_a_worker_that_starts_meanwhile_is_ready_answers_and_applies_nothing(bus: TwinBus, start_worker: StartWorker) -> None:
    for number in range(700):
        bus.put(message_record(f"m{number}"))
    worker = start_worker(Keeper(), QUICK, stopped())
    assert worker.ready.wait(60)
    assert confirmed(bus, True)
    page = bus.link("client").request(working_pb2.ReadMessages(user_id="ana", session_id="s"), user="ana").result(60)
    assert not page.messages and cursor(worker) == 0 and not worker.handlers.idled.is_set()
    worker.writing_stopped.clear()
    assert bus.wait_for(lambda: len(bus.of_topic(STORED_TOPIC)) == 700)
    assert worker.handlers.kept == [f"m{number}" for number in range(700)]


def test_what_comes_meanwhile_is_applied_in_order_afterwards(bus: TwinBus, start_worker: StartWorker) -> None:
    worker = start_worker(Keeper())
    bus.put(message_record("before"))
    assert bus.wait_for(lambda: bus.of_topic(STORED_TOPIC))
    worker.writing_stopped.set()
    assert confirmed(bus, True)
    for number in range(5):
        bus.put(message_record(f"m{number}"))
    before = cursor(worker)
    assert status(bus)["applied"] == before and worker.handlers.kept == ["before"]
    worker.handlers.woken.clear()
    worker.writing_stopped.clear()
    assert bus.wait_for(lambda: len(bus.of_topic(STORED_TOPIC)) == 6)
    assert worker.handlers.kept == ["before", "m0", "m1", "m2", "m3", "m4"]
    assert worker.handlers.woken.is_set()


def test_a_batch_that_is_under_way_is_rolled_back_and_applied_whole_afterwards(bus: TwinBus, start_worker: StartWorker) -> None:
    switch = threading.Event()
    reached = threading.Event()

    def stop_in_the_middle(event: Event) -> None:
        if event.message.content == "m1" and not reached.is_set():
            switch.set()
            reached.set()

    for number in range(3):
        bus.put(message_record(f"m{number}"))
    worker = start_worker(Keeper(stop_in_the_middle), QUICK, switch)
    assert reached.wait(60)
    assert confirmed(bus, True)
    assert cursor(worker) == 0 and not worker.handlers.state.outgoing(10) and not bus.of_topic(STORED_TOPIC)
    switch.clear()
    assert bus.wait_for(lambda: len(bus.of_topic(STORED_TOPIC)) == 3)
    assert status(bus)["dead_letters"] == 0


def test_a_release_wakes_what_follows_the_effects(bus: TwinBus, start_worker: StartWorker) -> None:
    worker = start_worker(Keeper(), QUICK, stopped())
    assert worker.ready.wait(60)
    assert not worker.handlers.woken.is_set()
    worker.writing_stopped.clear()
    assert worker.handlers.woken.wait(60)
