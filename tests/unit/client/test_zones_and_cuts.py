"""The zone in which a question's own dates are meant."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from aico_memory.client import AsyncMemoryClient
from aico_memory.client.fact_verbs import FactVerbs
from aico_memory.client.graph_verbs import GraphVerbs
from aico_memory.client.time_verbs import TimeVerbs
from aico_memory.client.validation import checked_user
from aico_memory.contracts.v1 import context_pb2
from aico_memory.errors import InvalidMessage


class Asked:
    """A session that keeps what it is asked and gives this answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    user = staticmethod(checked_user)

    async def ask(self, message: Any, user: str) -> Any:
        self.asked.append(message)
        return self.answer


class Verbs(FactVerbs, GraphVerbs, TimeVerbs):
    """The verbs on facts, time and the graph."""

    def __init__(self, answer: Any) -> None:
        self._session = Asked(answer)  # type: ignore[assignment]


def verbs(answer: Any) -> Any:
    return Verbs(answer)


@pytest.mark.parametrize(
    ("given", "zone"),
    [
        ({"zone": "Europe/Lisbon"}, "Europe/Lisbon"),
        ({"zone": "Europe/Lisbon", "as_of": "2026-03-01T00:00:00+05:00"}, "Europe/Lisbon"),
        ({"as_of": "2026-03-01T00:00:00+05:00"}, "Etc/GMT-5"),
        ({}, ""),
    ],
)
def test_a_question_is_asked_in_its_zone_or_in_that_of_the_moment(given: dict[str, Any], zone: str) -> None:
    made: AsyncMemoryClient = verbs(context_pb2.RecallResult())
    asyncio.run(made.recall("What did I eat yesterday?", "ana", **given))
    assert made._session.asked[0].zone == zone  # type: ignore[attr-defined]


def test_what_is_no_zone_is_refused_before_it_is_sent() -> None:
    with pytest.raises(InvalidMessage, match="zone"):
        asyncio.run(verbs(None).recall("Where?", "ana", zone="Lisbon/Europe"))
