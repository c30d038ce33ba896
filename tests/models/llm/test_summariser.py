"""Summaries of a language model over real HTTP: good, made up, broken, over budget; with one line in the log for each call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from aico_memory.clock import FixedClock
from aico_memory.models.llm.asking import Asking
from aico_memory.models.llm.chat import ChatEndpoint
from aico_memory.models.llm.endpoint import endpoint_of
from aico_memory.models.llm.operations import FILE, OperationsLog
from aico_memory.models.llm.summariser import Summariser, Told
from aico_memory.settings.language_model import LanguageModelSettings
from tests.models.llm.extracting import NOON
from tests.support.chat_server import ChatServer, chat_server, completion, say

TEXTS = ("User lives in Lisbon.", "User works at Acme.", "User likes the trams of Lisbon.")
GOOD = "User lives in Lisbon, works at Acme and likes the trams."


@pytest.fixture
def server() -> Iterator[ChatServer]:
    def answer(body: dict[str, Any], handler: BaseHTTPRequestHandler) -> None:
        say(handler, completion(json.dumps({"summary": GOOD})))

    with chat_server(answer) as served:
        yield served


def told(server: ChatServer, folder: Path, texts: tuple[str, ...] = TEXTS, times: int = 1, **changes: Any) -> Told:
    settings = LanguageModelSettings.model_validate(
        {"enabled": True, "model": "local", "endpoint": server.url, "timeout_seconds": 20.0, "retry_seconds": 0.0, **changes}
    )
    log = OperationsLog(folder, settings.log_bytes, settings.log_files)
    chat = ChatEndpoint(endpoint_of(settings, {}), settings, Event())
    summariser = Summariser(
        Asking(chat, settings, log, FixedClock(NOON), lambda text: f"digest of {len(text)}".encode()), settings
    )
    return [summariser.summarise(texts, 200, b"memory") for _ in range(times)][-1]


def logged(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / FILE).read_text().splitlines()]


def test_a_summary_is_told_and_logged_without_a_word_of_it(server: ChatServer, tmp_path: Path) -> None:
    found = told(server, tmp_path)
    assert (found.text, found.answered_by, found.degraded, found.model) == (GOOD, "local", "", "local")
    (line,) = logged(tmp_path)
    assert (line["op"], line["outcome"], line["success"], line["fallback"]) == ("summarise", "ok", True, False)
    assert line["prompt_hash"] == found.prompt_hash and line["characters"] == len(GOOD) and line["tokens"] > 0
    assert "Lisbon" not in (tmp_path / FILE).read_text()
    asked = server.bodies[0]
    assert json.loads(asked["messages"][1]["content"])["memories"] == list(TEXTS)
    assert asked["response_format"]["json_schema"]["name"] == "summary"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [(json.dumps({"summary": "User lives in Rome."}), "unknown_name"), ("Lisbon!", "no_json"), ("", "empty_answer")],
)
def test_what_cannot_be_used_leaves_the_text_by_rule(server: ChatServer, tmp_path: Path, answer: str, outcome: str) -> None:
    server.answer = lambda body, handler: say(handler, completion(answer))
    found = told(server, tmp_path)
    assert (found.text, found.answered_by, found.degraded) == ("", "rules", outcome)
    assert [(one["outcome"], one["fallback"]) for one in logged(tmp_path)] == [(outcome, True)]


def test_summaries_and_readings_share_one_budget(server: ChatServer, tmp_path: Path) -> None:
    found = told(server, tmp_path, times=3, budget={"calls_per_hour": 2})
    assert found.degraded == "budget_calls_per_hour"
    assert len(server.bodies) == len(logged(tmp_path)) == 2


def test_more_than_may_be_sent_is_not_sent(server: ChatServer, tmp_path: Path) -> None:
    assert told(server, tmp_path, texts=("User walked. " * 400,)).degraded == "too_long"
    assert not server.bodies
