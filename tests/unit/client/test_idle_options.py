"""Options that would be taken and do nothing are refused by name, before anything is sent."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from aico_memory.client.context_verbs import ContextVerbs
from aico_memory.client.fact_verbs import FactVerbs
from aico_memory.client.graph_verbs import RELATIONS, GraphVerbs
from aico_memory.client.memory_verbs import MemoryVerbs
from aico_memory.client.time_verbs import TimeVerbs
from aico_memory.client.validation import checked_user
from aico_memory.clock import FixedClock, from_us
from aico_memory.domain.graph.relations import TYPES
from aico_memory.errors import InvalidMessage

MEMORY = str(uuid.UUID(int=7))
EARLIER, LATER = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


class Silent:
    """A session that nothing may reach."""

    clock = FixedClock(from_us(1_767_258_000_000_000))
    user = staticmethod(checked_user)

    async def ask(self, message: Any, user: str) -> Any:
        raise AssertionError(f"{message} was sent")

    command = ask


class Verbs(MemoryVerbs, ContextVerbs, FactVerbs, GraphVerbs, TimeVerbs):
    """The verbs on memories, contexts, facts, time and the graph."""

    def __init__(self) -> None:
        self._session = Silent()  # type: ignore[assignment]
        self._owners = {}


REFUSED: list[tuple[str, Callable[[Any], Any]]] = [
    ("subject", lambda verbs: verbs.state("ana", about=MEMORY, subject="anna")),
    ("subject", lambda verbs: verbs.evolution("ana", MEMORY, subject="anna")),
    ("subject", lambda verbs: verbs.trend("ana", MEMORY, subject="anna")),
    ("since", lambda verbs: verbs.search("tea", "ana", filters={"since": LATER, "until": EARLIER})),
    ("since", lambda verbs: verbs.get_all("ana", {"since": EARLIER, "until": EARLIER})),
    ("types", lambda verbs: verbs.related("ana", MEMORY, "resembles")),
    ("types", lambda verbs: verbs.related("ana", MEMORY, [7])),
    ("reinforce", lambda verbs: verbs.add_turn("ana", "a", "b", reinforce="no")),
    ("status", lambda verbs: verbs.review_queue("ana", 7)),
    ("memory_ids", lambda verbs: verbs.disclose("ana", "detail", memory_ids=[7], filters={"kind": "outcome"})),
    ("status", lambda verbs: verbs.review_queue("ana", ["candidate", None])),
    ("group_id", lambda verbs: verbs.policy("ana", group_id="")),
    ("project_id", lambda verbs: verbs.set_read_only(True, project_id="")),
    ("group_id", lambda verbs: verbs.set_policy(group_id="", mode="manual")),
]


@pytest.mark.parametrize(("option", "call"), REFUSED)
def test_an_option_that_would_do_nothing_or_something_else_is_refused(option: str, call: Callable[[Any], Any]) -> None:
    with pytest.raises(InvalidMessage, match=option):
        asyncio.run(call(Verbs()))


def test_the_client_knows_the_relations_that_there_are() -> None:
    assert set(RELATIONS) == TYPES
