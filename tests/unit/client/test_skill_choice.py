"""What a client asks when it has a skill chosen, and when it puts one to use."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from aico_memory.client import AsyncMemoryClient, MemoryClient
from aico_memory.client.behavior_verbs import BehaviorVerbs
from aico_memory.clock import FixedClock, from_us
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.errors import InvalidMessage


class Asked:
    """A session that keeps what it is told to send and answers with one choice."""

    def __init__(self) -> None:
        self.clock = FixedClock(from_us(1_767_258_000_000_000))
        self.sent: list[Any] = []

    def user(self, user_id: str) -> str:
        return user_id

    async def command(self, message: Any, user: str, **_: Any) -> Any:
        self.sent.append(message)
        return behavioral_pb2.SkillSelectionResponse(
            request_id=message.request_id, skill_id="concise_response", procedure_template="Be short.", outcome="applied"
        )


@pytest.fixture
def verbs() -> Any:
    made = BehaviorVerbs()
    made._session = Asked()  # type: ignore[assignment]
    return made


def test_the_users_zone_goes_along(verbs: Any) -> None:
    asyncio.run(verbs.select_skill("ann", "Hello", zone="Europe/Berlin"))
    asyncio.run(verbs.apply_skill("ann", "You help.", "Hello", zone="Asia/Tokyo"))
    asyncio.run(verbs.select_skill("ann", "Hello"))
    assert [one.zone for one in verbs._session.sent] == ["Europe/Berlin", "Asia/Tokyo", ""]


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", 3])
def test_a_zone_that_there_is_not_is_refused_before_anything_is_sent(verbs: Any, zone: Any) -> None:
    with pytest.raises(InvalidMessage):
        asyncio.run(verbs.select_skill("ann", "Hello", zone=zone))
    with pytest.raises(InvalidMessage):
        asyncio.run(verbs.apply_skill("ann", "You help.", "Hello", zone=zone))
    assert verbs._session.sent == []


def test_only_what_is_put_to_use_is_an_application(verbs: Any) -> None:
    asyncio.run(verbs.select_skill("ann", "Hello"))
    applied = asyncio.run(verbs.apply_skill("ann", "You help.", "Hello"))
    assert [one.apply for one in verbs._session.sent] == [False, True]
    assert applied["prompt"].startswith("You help.")
    assert applied["prompt"].endswith("Be short.")


def test_both_clients_take_a_zone() -> None:
    for client in (MemoryClient, AsyncMemoryClient):
        for verb in (client.select_skill, client.apply_skill):
            assert verb.__annotations__["zone"] == "str | None"
