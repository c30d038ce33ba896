"""Questions understood by a language model over real HTTP: good, broken, over budget; a line in the log each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from aico_memory.clock import FixedClock
from aico_memory.domain.context.understanding import LONGEST
from aico_memory.models.llm.asking import Asking
from aico_memory.models.llm.chat import ChatEndpoint
from aico_memory.models.llm.endpoint import endpoint_of
from aico_memory.models.llm.operations import FILE, OperationsLog
from aico_memory.models.llm.understander import Understander, Understanding
from aico_memory.settings.language_model import LanguageModelSettings
from tests.models.llm.extracting import NOON
from tests.support.chat_server import ChatServer, chat_server, completion, say

QUERY = "Why did Tom leave Lisbon?"
GOOD = {
    "intent": "causal",
    "passages": ["I left Lisbon because of  the rent.", "", "x" * (LONGEST + 1), "Tom missed home.", "More"],
}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    def answer(body: dict[str, Any], handler: BaseHTTPRequestHandler) -> None:
        say(handler, completion(json.dumps(GOOD)))

    with chat_server(answer) as served:
        yield served


def understood(server: ChatServer, folder: Path, query: str = QUERY, times: int = 1, **changes: Any) -> Understanding:
    settings = LanguageModelSettings.model_validate(
        {"enabled": True, "model": "local", "endpoint": server.url, "timeout_seconds": 20.0, "retry_seconds": 0.0, **changes}
    )
    log = OperationsLog(folder, settings.log_bytes, settings.log_files)
    chat = ChatEndpoint(endpoint_of(settings, {}), settings, Event())
    asking = Asking(chat, settings, log, FixedClock(NOON), lambda text: f"digest of {len(text)}".encode())
    understander = Understander(asking, settings)
    return [understander.understand(query, 2, b"question") for _ in range(times)][-1]


def logged(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / FILE).read_text().splitlines()]


def test_a_question_is_understood_and_logged_without_a_word_of_it(server: ChatServer, tmp_path: Path) -> None:
    found = understood(server, tmp_path)
    assert (found.intent, found.answered_by, found.degraded) == ("causal", "local", "")
    assert found.passages == ("I left Lisbon because of the rent.", "Tom missed home.")
    (line,) = logged(tmp_path)
    assert (line["op"], line["outcome"], line["passages"], line["prompt_hash"]) == ("understand", "ok", 2, found.prompt_hash)
    assert "Lisbon" not in (tmp_path / FILE).read_text()
    asked = server.bodies[0]
    assert json.loads(asked["messages"][1]["content"]) == {"question": QUERY, "passages": 2}
    assert asked["response_format"]["json_schema"]["name"] == "understanding"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (json.dumps({"intent": "gossip", "passages": []}), "unknown_intent"), (json.dumps({"intent": "causal"}), "schema"),
        (json.dumps(["causal"]), "schema"), ("causal", "no_json"), (" ", "empty_answer"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_leaves_the_rules(server: ChatServer, tmp_path: Path, answer: str, outcome: str) -> None:
    server.answer = lambda body, handler: say(handler, completion(answer))
    found = understood(server, tmp_path)
    assert (found.intent, found.passages, found.answered_by, found.degraded) == ("", (), "rules", outcome)
    assert [(one["outcome"], one["fallback"]) for one in logged(tmp_path)] == [(outcome, True)]


def test_a_fenced_answer_is_read(server: ChatServer, tmp_path: Path) -> None:
    server.answer = lambda body, handler: say(handler, completion(f"```json\n{json.dumps(GOOD)}\n```"))
    assert understood(server, tmp_path).intent == "causal"


def test_questions_and_readings_share_one_budget_and_long_ones_stay_here(server: ChatServer, tmp_path: Path) -> None:
    found = understood(server, tmp_path, times=3, budget={"calls_per_hour": 2})
    assert found.degraded == "budget_calls_per_hour"
    assert len(server.bodies) == 2
    assert understood(server, tmp_path, "x" * 101, message_characters=100).degraded == "too_long"
    assert len(server.bodies) == 2
