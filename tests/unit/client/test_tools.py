"""The function-calling schemas say what the verbs take."""

import inspect

import pytest

from aico_memory.client import AsyncMemoryClient, MemoryClient
from aico_memory.client.tool_verbs import _VERBS, tools
from aico_memory.domain.advisor.outcome import OUTCOMES

TOOLS = [tool["function"] for tool in tools()]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool["name"])
def test_every_argument_of_a_tool_is_one_of_its_verb(tool):
    verb = getattr(AsyncMemoryClient, _VERBS.get(tool["name"], tool["name"]))
    taken = inspect.signature(verb).parameters
    properties = tool["parameters"]["properties"]
    assert set(properties) <= set(taken)
    assert set(tool["parameters"]["required"]) <= set(properties)
    needed = {name for name, one in taken.items() if one.default is inspect.Parameter.empty} - {"self"}
    assert needed <= set(tool["parameters"]["required"])
    assert tool["description"]


def test_the_agents_verbs_are_all_there():
    wanted = {"get_user_profile", "get_suggestion_outcomes", "should_suggest", "record_outcome", "accept_suggestion"}
    assert wanted <= {tool["name"] for tool in TOOLS}
    recording = next(tool for tool in TOOLS if tool["name"] == "record_outcome")
    assert tuple(recording["parameters"]["properties"]["outcome"]["enum"]) == OUTCOMES


def test_whoever_changes_the_list_changes_only_their_own():
    MemoryClient.tools().clear()
    assert len(MemoryClient.tools()) == len(TOOLS)
