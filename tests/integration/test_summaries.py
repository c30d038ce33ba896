"""A night over real processes: what it writes of many items, by rule and by a model over real HTTP, and what stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from aico_memory import MemoryClient
from tests.support.chat_server import ChatServer, chat_server, completion, facts, say
from tests.support.deployment import MakeDeployment, eventually, said

pytestmark = pytest.mark.deployment
SAID = (
    "I live in Lisbon.", "I work at Acme in Lisbon as a designer.", "My favourite bakery in Lisbon is Manteigaria.",
    "I like the trams of Lisbon.",
)  # fmt: skip
TOLD = "User lives in Lisbon, works there at Acme and likes the trams."


def answer(body: dict[str, Any], handler: BaseHTTPRequestHandler) -> None:
    """Reads no fact in any message, and tells every summary alike."""
    asked = json.loads(body["messages"][-1]["content"])
    say(handler, completion(json.dumps({"summary": TOLD}) if "memories" in asked else facts()))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(answer) as served:
        yield served


def summaries(client: MemoryClient) -> list[dict[str, Any]]:
    found = client.search("Lisbon", "ana", filters={"kind": "summary"})["results"]
    return [one for one in found if one["memory"]]


def test_a_night_sums_up_and_a_model_tells_it_in_its_own_words(make_deployment: MakeDeployment, server: ChatServer) -> None:
    prefix = "AICO_MEMORY_SET__language_model__"
    deployment = make_deployment(**{f"{prefix}enabled": "true", f"{prefix}model": "local", f"{prefix}endpoint": server.url})
    deployment.up()
    with deployment.client() as client:
        client.add([said(text) for text in SAID], "ana", session_id="s1")
        client.flush(120)
        before = client.recall("Where do I live?", "ana")["results"]
        client.sleep_now(["ana"], phases=["themes"], wait=True, timeout_seconds=120)
        told = eventually(
            lambda: [one for one in summaries(client) if one["memory"] == TOLD], "the model's words did not arrive", 60
        )
        assert "model local" in json.dumps(client.history(told[0]["id"], "ana"))
        assert client.recall("Where do I live?", "ana")["results"] == before
        runs = len([body for body in server.bodies if "memories" in body["messages"][-1]["content"]])
        client.sleep_now(["ana"], phases=["themes"], wait=True, timeout_seconds=120)
        assert [one["memory"] for one in summaries(client)] == [TOLD]
        assert len([body for body in server.bodies if "memories" in body["messages"][-1]["content"]]) == runs == 1
    lines = [json.loads(line) for line in (deployment.home.logs / "operations.jsonl").read_text().splitlines()]
    assert [line["outcome"] for line in lines if line["op"] == "summarise"] == ["ok"]
