"""Time and the graph as a user meets them: messages through a real deployment, then client and command line."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from aico_memory.errors import AccessDenied, NotFound
from tests.support.deployment import Deployment, said

pytestmark = pytest.mark.deployment


def tell(deployment: Deployment, user: str, *messages: tuple[str, str]) -> None:
    with deployment.client() as client:
        client.add([said(text, timestamp=f"{moment}T10:00:00+00:00") for moment, text in messages], user)
        client.flush(120)


def values(found: Any) -> list[str]:
    return [fact["value"] for fact in found["results"]]


def test_a_move_is_answered_then_now_as_known_then_and_as_a_chain(deployment: Deployment) -> None:
    user = f"mover-{uuid.uuid4()}"
    tell(deployment, user, ("2026-01-05", "I live in Rome."), ("2026-02-10", "I moved to Oslo."))
    with deployment.client() as client:
        assert values(client.state(user, about="home_city")) == ["Oslo"]
        assert values(client.state(user, "2026-01-20T00:00:00Z", about="home_city")) == ["Rome"]
        assert values(client.snapshot(user, "2026-01-20T00:00:00Z")) == ["Rome"]
        assert values(client.state(user, "2026-03-01T00:00:00Z", "2026-01-20T00:00:00Z")) == ["Rome"]
        line = client.timeline(user, "home_city")["results"]
        assert [(fact["value"], fact["valid_until"] is None) for fact in line] == [("Rome", False), ("Oslo", True)]
        assert line[0]["valid_until"] == line[1]["valid_from"]
        chain = client.evolution(user, "home_city")["steps"]
        assert [step["what"] for step in chain] == ["stated", "changed"]
        assert all(step["cause"] for step in chain)
        now = {memory["id"] for memory in client.get_all(user, {"status": "active"})["results"] if memory["kind"] != "record"}
        assert {fact["id"] for fact in client.state(user)["results"]} == now
        with pytest.raises(NotFound):
            client.evolution("somebody-else", "home_city")


def test_the_graph_is_walked_merged_and_parted_over_the_bus(deployment: Deployment) -> None:
    user = f"graph-{uuid.uuid4()}"
    tell(deployment, user, ("2026-01-05", "My sister is called Anna."), ("2026-01-06", "Anna lives in Berlin."),
         ("2026-01-07", "Annie works at Siemens."))  # fmt: skip
    with deployment.client() as client:
        names = {entity["name"].casefold() for entity in client.entities(user)}
        assert {"anna", "annie"} <= names
        about_anna = {(edge["predicate"], edge["object"]) for edge in client.neighbours(user, "Anna")["edges"]}
        assert any(object_ == "Berlin" for _, object_ in about_anna)
        done = client.merge_entities(user, "Anna", "Annie")
        merged = {edge["object"] for edge in client.neighbours(user, "annie")["edges"]}
        assert {"Berlin", "Siemens"} <= merged
        assert client.undo_merge(user, done["merge_id"])["undone_at"] is not None
        assert "Siemens" not in {edge["object"] for edge in client.neighbours(user, "Anna")["edges"]}
        with pytest.raises(NotFound):
            client.merge_entities(user, "Anna", "Nobody")


def test_the_command_line_tells_states_chains_trends_and_what_is_unknown(deployment: Deployment) -> None:
    user = f"cli-{uuid.uuid4()}"
    tell(deployment, user, ("2026-01-05", "I live in Rome."), ("2026-02-10", "I moved to Oslo."))
    shown = deployment.ok("timeline", "--user", user, "--about", "home_city").out
    assert "Rome" in shown and "Oslo" in shown
    state = deployment.ok("state", "-u", user, "--at", "2026-01-20T00:00:00Z", "--json").json
    assert values(state) == ["Rome"]
    assert "changed" in deployment.ok("evolution", "home_city", "-u", user).out
    assert "No trend" in deployment.ok("trend", "home_city", "-u", user).out
    assert "Unknown" in deployment.ok("predict", "home_city", "--at", "2026-03-01T00:00:00Z", "-u", user).out
    assert deployment.run("evolution", "employer", "-u", user).code == 5
    assert "Oslo" in deployment.ok("graph", "neighbours", "user", "-u", user).out
    assert deployment.run("graph", "neighbours", "Zoe", "-u", user).code == 5


def test_an_observer_may_not_ask_about_time(deployment: Deployment) -> None:
    name = f"observer-{uuid.uuid4().hex[:8]}"
    deployment.ok("keys", "add", name, "--role", "observer")
    with deployment.client(name) as client, pytest.raises(AccessDenied):
        client.state("somebody")
