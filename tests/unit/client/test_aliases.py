"""Whatever verb is given another name of a user asks for the user (`identity.aliases`)."""

from __future__ import annotations

import asyncio
import inspect
import uuid
from collections.abc import Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from google.protobuf.message import Message

from aico_memory.bus.link import Link
from aico_memory.client.asynchronous import AsyncMemoryClient
from aico_memory.client.session import Session
from aico_memory.clock import FixedClock
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.link import LinkSettings

ALIAS, USER = "discord:7", "ana"
IDENTIFIER = str(uuid.UUID(int=7))
MESSAGE = {"role": "user", "content": "Hello"}
TURN = {"user_id": ALIAS, "interaction_id": "i", "input": "Hello"}
AT = "2026-05-01T00:00:00Z"
# What the verbs need beside a user.
GIVEN: dict[str, dict[str, Any]] = {
    "accept_suggestion": {"suggestion_id": "s"}, "add": {"messages": [MESSAGE]}, "add_turn": {"input": "a", "response": "b"},
    "apply_skill": {"system_prompt": "a", "message": "b"}, "change_skill": {"skill_id": "s", "action": "archive"},
    "context": {"query": "a"}, "delete": {"memory_id": IDENTIFIER}, "delete_feedback": {"event_id": IDENTIFIER},
    "delete_outcomes": {"everything": True}, "delete_selections": {"everything": True},
    "disclose": {"query": "a"}, "edit_feedback": {"event_id": IDENTIFIER, "reward": 1},
    "evolution": {"about": "a"}, "explain": {"identifier": IDENTIFIER}, "explain_selection": {"request_id": "r"},
    "feedback": {"message_id": IDENTIFIER, "skill_id": "s", "reward": 1}, "get": {"memory_id": IDENTIFIER},
    "graph_changes": {"since": AT}, "history": {"memory_id": IDENTIFIER}, "hub": {"entity": "Bo"},
    "judge": {"memory_ids": [IDENTIFIER], "helpful": True}, "make_suggestion": {"type": "t"},
    "mark_consolidated": {"message_ids": [IDENTIFIER]},
    "merge_entities": {"kept": IDENTIFIER, "absorbed": str(uuid.UUID(int=8))},
    "neighbours": {"entity": "Bo"}, "paths": {"start": "Bo", "goal": "Al"}, "pin": {"memory_id": IDENTIFIER},
    "predict": {"about": "a", "at": AT}, "promote": {"memory_id": IDENTIFIER},
    "publish": {"topic": "memory/working/turn/v1/", "fields": TURN}, "put_skill": {"template": "a", "intents": ["question"]},
    "query_unified": {"query": "a"}, "recall": {"question": "a"},
    "record_outcome": {"suggestion_id": "s", "type": "t", "outcome": "accepted"},
    "record_response": {"request_id": "r", "response": "a"}, "reinforce": {"interaction_id": "i"},
    "reject": {"memory_id": IDENTIFIER}, "reject_suggestion": {"suggestion_id": "s"}, "related": {"memory_id": IDENTIFIER},
    "run_job": {"job": "j"}, "search": {"query": "a"}, "select_skill": {"message": "a"},
    "set_consent": {"long_term": True}, "set_policy": {"mode": "manual"}, "set_preference": {"style": {"formality": 0.5}},
    "set_read_only": {"read_only": True}, "should_suggest": {"type": "t"}, "snapshot": {"at": AT}, "trend": {"about": "a"},
    "undo_merge": {"merge_id": IDENTIFIER}, "update": {"memory_id": IDENTIFIER, "text": "a"},
}  # fmt: skip
VERBS = sorted(
    name
    for name, verb in inspect.getmembers(AsyncMemoryClient, inspect.iscoroutinefunction)
    if not name.startswith("_") and "user_id" in inspect.signature(verb).parameters
)


class Sent(Exception):
    """It would have gone to the bus: for whom, and what."""


class Sending:
    """A link that sends nothing."""

    identity = "default"
    connected = True

    def request(self, message: Message, *, user: str = "", **_: Any) -> Future[Any]:
        raise Sent(user, message.SerializeToString())

    def has_room(self, *_: int) -> bool:
        return True

    def publish_bulk(self, records: Sequence[OutgoingRecord]) -> Future[Any]:
        raise Sent(records[0].user, records[0].envelope)

    def control(self, verb: str, body: object, timeout: float) -> Future[Any]:
        told: Future[Any] = Future()
        told.set_result({"on": False, "since_us": 0, "by": "", "reason": ""})
        return told


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_takes_another_name_of_a_user(name: str) -> None:
    identity = IdentitySettings(aliases={ALIAS: USER})
    clock = FixedClock(datetime(2026, 5, 1, tzinfo=UTC))
    session = Session(cast(Link, Sending()), clock, LinkSettings(), 1_000_000, identity=identity)
    verb = getattr(AsyncMemoryClient(session), name)
    with pytest.raises(Sent) as sent:
        asyncio.run(verb(user_id=ALIAS, **GIVEN.get(name, {})))
    user, message = sent.value.args
    assert user == USER or USER.encode() in message
    assert ALIAS not in user
    assert ALIAS.encode() not in message
