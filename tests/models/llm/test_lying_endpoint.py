"""What an endpoint says of itself: counts of tokens that cannot be, waits without end, and failures nobody thought of."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from aico_memory.clock import FixedClock
from aico_memory.models.llm.asking import Asking, Question
from aico_memory.models.llm.chat import Completion, estimated_tokens
from aico_memory.models.llm.operations import OperationsLog
from services.model.extraction import reading_message
from tests.models.llm.extracting import GOOD, NOON, World, always, told
from tests.support.chat_server import completion, facts, say


def counting(world: World, usage: object) -> None:
    """The endpoint gives a good answer and says that it used this."""

    def answer(body: dict[str, Any], handler: BaseHTTPRequestHandler) -> None:
        good = json.loads(completion(facts(GOOD), usage=None))
        say(handler, json.dumps({**good, "usage": usage}).encode())

    world.server.answer = answer


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 10**12, "completion_tokens": 10**12},
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": -5, "completion_tokens": "seven"},
        {"prompt_tokens": True, "completion_tokens": 3.5},
        [], "much", None,
    ],
)  # fmt: skip
def test_whatever_an_endpoint_counts_its_answer_is_taken_and_what_can_be_is_spent(usage: object, world: World) -> None:
    counting(world, usage)
    reading = world.read()
    assert (reading.degraded, [fact.value for fact in reading_message(reading).facts]) == ("", ["Oslo"])
    characters = sum(len(one["content"]) for one in world.server.bodies[-1]["messages"])
    assert characters // 4 < reading.prompt_tokens <= 4 * characters
    assert 0 < reading.answer_tokens <= max(1024, 4 * len(facts(GOOD)))
    assert world.log()[-1]["tokens"] == reading.prompt_tokens + reading.answer_tokens


def test_an_endpoint_that_counts_nothing_meets_the_budget_of_tokens(world: World) -> None:
    counting(world, {"prompt_tokens": 0, "completion_tokens": 0})
    extractor = world.extractor(budget={"tokens_per_hour": 90})
    assert [extractor.read(told(), b"e").degraded for _ in range(2)] == ["", "budget_tokens_per_hour"]


@pytest.mark.parametrize("wait", ["9" * 400, "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_a_wait_without_end_is_as_long_as_the_longest_that_is_set(wait: str, world: World) -> None:
    world.server.answer = always(429, Retry_After=wait)
    extractor = world.extractor(failures_before_pause=3, queue_limit_seconds=700)
    readings = [extractor.read(told(), b"e") for _ in range(4)]
    assert [one.degraded for one in readings] == ["http_429", "http_429", "http_429", "paused"]
    assert [one.again_ms for one in readings[:3]] == [700_000] * 3
    assert len(world.log()) == 3


@pytest.mark.parametrize("wait", ["-3", "soon", "Wed, 21 Oct 2015 07:28:00 +99999999999999", "Wed, 99 Oct 99999 07:28:00 GMT"])
def test_a_wait_that_is_none_is_the_shortest_that_is_set(wait: str, world: World) -> None:
    world.server.answer = always(503, Retry_After=wait)
    assert world.read(queue_first_seconds=7).again_ms == 7000


class Breaking:
    """A twin of the endpoint whose answers break whoever asks."""

    def complete(self, messages: Any, name: str, schema: Any) -> Completion:
        raise ZeroDivisionError


def test_a_failure_that_nobody_thought_of_is_logged_spent_and_brings_the_pause(world: World) -> None:
    settings = world.settings(failures_before_pause=2)
    log = OperationsLog(world.folder, settings.log_bytes, settings.log_files)
    asking = Asking(Breaking(), settings, log, FixedClock(NOON), lambda text: b"digest")
    question = Question("extract", b"event", "abc", [{"role": "user", "content": "x" * 400}], "facts", {}, "x")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            asking.ask(question, lambda text: (text, {}))
    assert asking.ask(question, lambda text: (text, {})).outcome == "paused"
    spent = estimated_tokens(question.messages)
    assert [(line["outcome"], line["tokens"]) for line in world.log()] == [("failed", spent)] * 2
    assert asking.status()["tokens_today"] == 2 * spent
