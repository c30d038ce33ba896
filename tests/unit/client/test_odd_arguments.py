"""What a language model or a careless caller gives for an argument: carried out, or refused by its type, before it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from aico_memory.client import AsyncMemoryClient
from aico_memory.client.behavior_verbs import BehaviorVerbs
from aico_memory.client.tool_verbs import ToolVerbs, tools
from aico_memory.client.validation import checked_user
from aico_memory.clock import FixedClock, from_us
from aico_memory.domain.behavioral.dimensions import DIMENSIONS
from aico_memory.errors import InvalidFeedback, InvalidMessage

TOOLS = [tool["function"] for tool in tools()]
ARGUMENTS = [(tool["name"], name) for tool in TOOLS for name in tool["parameters"]["properties"]]
ODD: list[Any] = [
    None, True, 0, -1, 1.5, 2.0, 10**400, float("nan"), "", "x" * 100_000, "\ud800", [], [None], [7], ["a", None], {},
    {"a": 1}, object(),
]  # fmt: skip
FITTING: dict[str, Any] = {
    "user_id": "ann", "suggestion_id": "s1", "type": "add_habit", "outcome": "accepted", "layer": 1, "value": "run",
}  # fmt: skip


class Sent(Exception):
    """It would have gone to the bus."""


class Sending:
    """A session that sends nothing."""

    def __init__(self) -> None:
        self.clock = FixedClock(from_us(1_767_258_000_000_000))

    user = staticmethod(checked_user)

    async def ask(self, message: Any, user: str, **_: Any) -> Any:
        message.SerializeToString()
        raise Sent

    command = ask


class Verbs(BehaviorVerbs, ToolVerbs):
    """All verbs on behaviour."""

    def __init__(self) -> None:
        self._session = Sending()  # type: ignore[assignment]


@pytest.fixture
def verbs() -> Any:
    return Verbs()


@pytest.mark.parametrize(("tool", "name"), ARGUMENTS)
def test_whatever_a_model_gives_for_an_argument_is_taken_or_refused(verbs: AsyncMemoryClient, tool: str, name: str) -> None:
    required = next(one["parameters"]["required"] for one in TOOLS if one["name"] == tool)
    for value in ODD:
        arguments = {key: FITTING[key] for key in required} | {name: value}
        with pytest.raises((Sent, InvalidMessage)):
            asyncio.run(verbs.call_tool(tool, arguments))


@pytest.mark.parametrize("name", ["evidence", "tags"])
def test_a_null_for_a_list_is_an_empty_list(verbs: AsyncMemoryClient, name: str) -> None:
    arguments = {key: FITTING[key] for key in ("user_id", "suggestion_id", "type", "outcome")}
    with pytest.raises(Sent):
        asyncio.run(verbs.call_tool("record_outcome", {**arguments, name: None}))
    with pytest.raises(Sent):
        asyncio.run(verbs.call_tool("get_suggestion_outcomes", '{"user_id": "ann", "layer": 1, "ids": null, "outcomes": null}'))


@pytest.mark.parametrize("arguments", [None, 7, [], "", "null", "[1]"])
def test_arguments_that_are_no_object_are_refused(verbs: AsyncMemoryClient, arguments: Any) -> None:
    with pytest.raises(InvalidMessage):
        asyncio.run(verbs.call_tool("get_user_profile", arguments))


@pytest.mark.parametrize("value", ODD)
def test_numbers_styles_and_flags_are_checked_before_they_are_sent(verbs: AsyncMemoryClient, value: Any) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: verbs.behavior_metrics("accuracy", limit=value),
        lambda: verbs.put_skill("ann", "Rhyme.", intents=["casual"], dimensions=dict.fromkeys(DIMENSIONS, value)),
        lambda: verbs.put_skill("ann", "Rhyme.", intents=["casual"], dimensions=value),
        lambda: verbs.set_preference("ann", {"verbosity": value}),
        lambda: verbs.set_preference("ann", value),
        lambda: verbs.delete_outcomes("ann", ids=value),
        lambda: verbs.delete_outcomes("ann", everything=value),
        lambda: verbs.evaluate_policy("hybrid-40-30-30", value),
    ]
    for call in calls:
        with pytest.raises((Sent, InvalidMessage)):
            asyncio.run(call())


@pytest.mark.parametrize("user", [None, "", 7, "a\nb"])
def test_whose_feedback_it_is_is_checked_like_the_rest_of_it(verbs: AsyncMemoryClient, user: Any) -> None:
    event_id = "01890a5d-ac96-774b-bcce-b302099a8057"
    with pytest.raises(InvalidFeedback):
        asyncio.run(verbs.feedback(user, "m1", "casual_chat", 1))
    with pytest.raises(InvalidFeedback):
        asyncio.run(verbs.edit_feedback(user, event_id, 1))
    with pytest.raises(InvalidFeedback):
        asyncio.run(verbs.edit_feedback("ann", "no id", 1))


def test_a_span_that_ends_before_it_begins_and_a_state_that_is_no_json_are_refused(verbs: AsyncMemoryClient) -> None:
    span = {"since": "2027-01-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}
    state = {"state_before": {"steps": float("nan")}}
    calls: list[Callable[[], Any]] = [
        lambda: verbs.outcomes("ann", **span),
        lambda: verbs.behavior_metrics("accuracy", **span),
        lambda: verbs.behavior_figures(**span),
        lambda: verbs.record_outcome("ann", "s1", "add_habit", outcome="accepted", **state),
    ]
    for call in calls:
        with pytest.raises(InvalidMessage):
            asyncio.run(call())
