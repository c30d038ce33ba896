"""A command that was applied and whose reply is lost: the client tells what it came to from what stands."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from google.protobuf.message import Message

from aico_memory.bus.link import Acknowledgement, Link
from aico_memory.client.asynchronous import AsyncMemoryClient
from aico_memory.client.session import Session
from aico_memory.clock import FixedClock
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import semantic_pb2, write_path_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import DeadlineExceeded, InvalidMessage
from aico_memory.settings.link import LinkSettings

CLOCK = FixedClock(datetime(2026, 5, 1, tzinfo=UTC))
MEMORY = str(uuid.UUID(int=7))


@dataclass
class DeafLink:
    """Commands arrive, are acknowledged and applied; their replies never come. Questions are answered."""

    answer: Callable[[Message], Message]
    applied: int = 1
    identity: str = "default"
    connected: bool = True
    trouble: None = None
    commands: list[tuple[Message, uuid.UUID]] = field(default_factory=list)

    def request(
        self, message: Message, *, event_id: uuid.UUID | None = None, acknowledged: Future[Any] | None = None, **_: Any
    ) -> Future[Any]:
        reply: Future[Any] = Future()
        if acknowledged is None:
            reply.set_result(self.answer(message))
        else:
            assert event_id is not None
            self.commands.append((message, event_id))
            acknowledged.set_result(Acknowledgement(event_id.bytes, len(self.commands), 1))
        return reply

    def send(self, record: OutgoingRecord) -> None:
        """Nobody hears it: the answer is lost for good."""

    def control(self, verb: str, body: object, timeout: float) -> Future[Any]:
        told: Future[Any] = Future()
        told.set_result({verb: [{"name": "semantic", "applied": self.applied}]})
        return told


def client_over(link: DeafLink) -> AsyncMemoryClient:
    settings = LinkSettings(command_seconds=2.5)
    return AsyncMemoryClient(Session(cast(Link, link), CLOCK, settings, 1_000_000))


def version(at_us: int, by: str = "default") -> write_path_pb2.PolicyVersion:
    return write_path_pb2.PolicyVersion(number=2, at_us=at_us, by=by, policy=write_path_pb2.Policy(mode="manual"))


def policy_state(*versions: write_path_pb2.PolicyVersion) -> write_path_pb2.PolicyState:
    return write_path_pb2.PolicyState(effective=write_path_pb2.Policy(mode="manual"), versions=versions)


def test_judging_memories_ends_with_what_stands_and_is_given_once() -> None:
    records = [
        semantic_pb2.MemoryRecord(memory_id=MEMORY, kind="fact", status="active", text="Nora likes tea"),
        semantic_pb2.MemoryRecord(memory_id=str(uuid.UUID(int=8)), kind="record", status="active", text="not judged"),
    ]
    link = DeafLink(lambda _: semantic_pb2.MemoryPage(records=records))
    page = asyncio.run(client_over(link).judge(MEMORY, "ana", helpful=True))
    assert [result["memory"] for result in page["results"]] == ["Nora likes tea"]
    assert len(link.commands) == 1


@pytest.mark.parametrize("verb", ["set_policy", "rollback_policy", "set_read_only"])
def test_a_change_of_policy_ends_with_the_version_that_it_made(verb: str) -> None:
    link = DeafLink(lambda _: policy_state(version(CLOCK.now_us())))
    client = client_over(link)
    change = {
        "set_policy": lambda: client.set_policy("ana", mode="manual"),
        "rollback_policy": lambda: client.rollback_policy("ana"),
        "set_read_only": lambda: client.set_read_only(True),
    }[verb]
    state = asyncio.run(change())
    assert state["versions"][-1]["number"] == 2
    assert len(link.commands) == 1


def test_a_version_of_another_identity_or_of_before_is_not_taken_for_ours() -> None:
    others = version(CLOCK.now_us(), by="operator"), version(CLOCK.now_us() - 60_000_000)
    link = DeafLink(lambda _: policy_state(*others))
    with pytest.raises(DeadlineExceeded):
        asyncio.run(client_over(link).set_policy("ana", mode="manual"))


def test_a_command_that_is_not_applied_yet_is_waited_for() -> None:
    link = DeafLink(lambda _: semantic_pb2.MemoryPage(), applied=0)
    with pytest.raises(DeadlineExceeded):
        asyncio.run(client_over(link).judge(MEMORY, "ana", helpful=True))
    assert [topic_of(message).name for message, _ in link.commands] == ["memory/semantic/judged/v1/"]


def test_nothing_cannot_be_judged() -> None:
    link = DeafLink(lambda _: semantic_pb2.MemoryPage())
    with pytest.raises(InvalidMessage, match="memory_ids is empty"):
        asyncio.run(client_over(link).judge([], "ana", helpful=True))
    assert link.commands == []
