"""The mood of a context: as the request says, else as the conversation tells, else none; the answer says which."""

from __future__ import annotations

from typing import Any

import pytest

from aico_memory.clock import to_us
from aico_memory.contracts.v1 import context_pb2, semantic_pb2
from aico_memory.settings.context import MoodSettings
from services.context.handlers import ContextHandlers, build
from tests.services.context.tiers import NOW, USER, Tiers, ask, ports
from tests.support.twin_link import TwinLink


def context(handlers: ContextHandlers, **more: Any) -> context_pb2.ContextAnswer:
    answer: context_pb2.ContextAnswer = ask(
        handlers, context_pb2.ContextRequest(user_id=USER, query="What shall I do tonight?", **more)
    )
    return answer


@pytest.fixture
def sad(tiers: Tiers) -> Tiers:
    tiers.say("I am so sad today, everything is terrible", turn=True)
    tiers.said_at_us = to_us(NOW) - 1
    source = semantic_pb2.EvidenceSource(event_id=bytes(16), said_at_us=5)
    tiers.items = [
        semantic_pb2.MemoryRecord(
            memory_id=f"00000000-0000-0000-0000-00000000000{number}", text=text, kind="fact", tier="semantic", status="active",
            confidence=0.9, sources=[source],
        )
        for number, text in ((1, "User lost the race"), (2, "User won the cup"))
    ]  # fmt: skip
    return tiers


def test_what_the_conversation_feels_raises_what_felt_so_and_is_told(handlers: ContextHandlers, sad: Tiers) -> None:
    sad.valences = {"User lost the race": -0.8, "User won the cup": 0.8}
    answer = context(handlers, explain=True)
    assert answer.mood_from == "conversation" and answer.valence < -0.3
    shares = {item.text: {share.feature for share in item.shares} for item in answer.items}
    assert "mood" in shares["User lost the race"] and "mood" not in shares["User won the cup"]


def test_what_the_request_says_counts_even_where_it_is_nothing(handlers: ContextHandlers, sad: Tiers) -> None:
    given = context(handlers, valence=0.5, valence_known=True)
    assert (given.valence, given.mood_from) == (0.5, "request")
    calm = context(handlers, valence=0.0, valence_known=True)
    assert (calm.valence, calm.mood_from) == (0.0, "request")


def test_of_another_time_and_where_it_is_switched_off_nobody_knows(link: TwinLink, sad: Tiers) -> None:
    then = build(ports(link, deadline_ms=300))
    assert context(then, as_of_us=to_us(NOW)).mood_from == ""
    then.close()
    given = ports(link, deadline_ms=300)
    silent = given.settings.context.model_copy(update={"mood": MoodSettings(messages=0)})
    given.settings = given.settings.model_copy(update={"context": silent})
    off = build(given)
    assert context(off).mood_from == ""
    off.close()
