"""What a language model may cost: its time, its length, its calls and tokens, and the pause after failures."""

from __future__ import annotations

import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any

from aico_memory.models.llm.extractor import Reading
from tests.models.llm.extracting import GOOD, World, always, told
from tests.support.chat_server import completion, facts, say


def test_a_slow_answer_is_given_up_and_not_asked_for_again_at_once(world: World) -> None:
    def never(body: dict[str, Any], handler: BaseHTTPRequestHandler) -> None:
        world.server.released.wait(30)

    world.server.answer = never
    reading = world.read(timeout_seconds=0.3, attempts=3)
    assert (reading.degraded, reading.answered_by, reading.facts) == ("timeout", "rules", ())
    assert reading.again_ms is not None and reading.again_ms > 0
    assert len(world.server.bodies) == 1
    # Whoever was slow may have worked all the same: what was sent is spent.
    assert world.log()[0]["tokens"] > 100


def test_an_answer_that_drips_is_cut_off_by_the_time_of_the_whole(world: World) -> None:
    def drip(body: dict[str, Any], handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not world.server.released.wait(0.02):
            handler.wfile.write(b" ")

    world.server.answer = drip
    assert world.read(timeout_seconds=0.4).degraded == "timeout"


def test_an_endless_answer_is_cut_off_at_its_bound(world: World) -> None:
    def endless(body: dict[str, Any], handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not world.server.released.is_set():
            handler.wfile.write(b"x" * 65_536)

    world.server.answer = endless
    reading = world.read(answer_bytes=100_000)
    assert (reading.degraded, reading.again_ms) == ("answer_too_long", None)


def test_the_time_that_an_endpoint_asks_for_is_kept(world: World) -> None:
    world.server.answer = always(503, Retry_After="120")
    reading = world.read()
    assert reading.again_ms == 120_000


def test_a_message_beyond_the_length_is_not_sent(world: World) -> None:
    assert world.read("I put down roots in Oslo. " * 30, message_characters=100).degraded == "too_long"
    assert world.server.bodies == []


def test_the_budget_of_calls_holds_over_a_restart_and_frees_with_time(world: World) -> None:
    budget = {"calls_per_hour": 2, "calls_per_day": 3}
    assert world.read(budget=budget).degraded == ""
    world.clock.advance(timedelta(minutes=10))
    assert world.read(budget=budget).degraded == ""
    again = world.read(budget=budget)
    assert (again.degraded, again.again_ms) == ("budget_calls_per_hour", 50 * 60_000 + 1)
    world.clock.advance(timedelta(minutes=51))
    assert world.read(budget=budget).degraded == ""
    assert world.read(budget=budget).degraded == "budget_calls_per_day"
    assert len(world.server.bodies) == 3


def test_the_budget_of_tokens_holds(world: World) -> None:
    extractor = world.extractor(budget={"tokens_per_hour": 90})
    assert [extractor.read(told(), b"e").degraded for _ in range(3)] == ["", "", "budget_tokens_per_hour"]
    assert (extractor.status()["tokens_today"], extractor.status()["over_budget"]) == (94, "tokens_per_hour")


def test_failures_in_a_row_bring_a_pause_that_ends(world: World) -> None:
    world.server.answer = always(500)
    extractor = world.extractor(failures_before_pause=2, pause_seconds=60)
    assert [extractor.read(told(), b"e").degraded for _ in range(3)] == ["http_500", "http_500", "paused"]
    world.clock.advance(timedelta(seconds=61))
    world.server.answer = lambda body, handler: say(handler, completion(facts(GOOD)))
    assert extractor.read(told(), b"e").degraded == ""
    assert extractor.status()["outcomes"] == {"http_500": 2, "ok": 1, "paused": 1}


def test_a_second_question_meanwhile_is_told_to_come_again(world: World) -> None:
    begun = threading.Event()

    def held(body: dict[str, Any], handler: BaseHTTPRequestHandler) -> None:
        begun.set()
        world.server.released.wait(30)
        say(handler, completion(facts(GOOD)))

    world.server.answer = held
    extractor = world.extractor()
    first: list[Reading] = []
    thread = threading.Thread(target=lambda: first.append(extractor.read(told(), b"e")))
    thread.start()
    assert begun.wait(60)
    second = extractor.read(told(), b"f")
    world.server.released.set()
    thread.join(60)
    assert (second.degraded, second.again_ms, first[0].degraded) == ("busy", 1000, "")
