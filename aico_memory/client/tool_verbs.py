"""The advisor's verbs for agents: function-calling schemas as data, and carrying out a call that a model makes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from aico_memory.client.outcome_verbs import OutcomeVerbs
from aico_memory.errors import InvalidMessage

_FILE = "tools.yaml"
# The tools that are verbs of another name.
_VERBS: Mapping[str, str] = {"get_user_profile": "profile", "get_suggestion_outcomes": "outcomes"}


@cache
def _shipped() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((files("aico_memory.client") / _FILE).read_text(encoding="utf-8"))
    return found


def tools() -> list[dict[str, Any]]:
    """Function-calling schemas (`{"type": "function", "function": {name, description, parameters}}`, JSON Schema).

    Each call gives a list of its own.
    """
    return deepcopy(_shipped())


class ToolVerbs(OutcomeVerbs):
    """Verbs for agents."""

    @staticmethod
    def tools() -> list[dict[str, Any]]:
        """The schemas of get_user_profile, get_suggestion_outcomes, should_suggest, record_outcome and their like."""
        return tools()

    async def call_tool(self, name: str, arguments: Mapping[str, Any] | str) -> Any:
        """Carry out a call that a model has made of one of `tools()`; arguments as an object or as JSON text.

        InvalidMessage where there is no such tool, or it does not take these arguments.
        """
        parameters = next((one["function"]["parameters"] for one in tools() if one["function"]["name"] == name), None)
        if parameters is None:
            raise InvalidMessage(f"There is no tool {name!r}")
        given = _object(arguments)
        if unknown := sorted(given.keys() - parameters["properties"].keys()):
            raise InvalidMessage(f"{name} takes no argument {unknown[0]!r}")
        if missing := [each for each in parameters["required"] if each not in given]:
            raise InvalidMessage(f"{name} needs the argument {missing[0]!r}")
        return await getattr(self, _VERBS.get(name, name))(**given)


def _object(arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    if isinstance(arguments, Mapping):
        return dict(arguments)
    if not isinstance(arguments, str):
        raise InvalidMessage("The arguments are neither an object nor JSON text")
    try:
        found = json.loads(arguments)
    except ValueError as error:
        raise InvalidMessage(f"The arguments are no JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidMessage("The arguments are no JSON object")
    return found
