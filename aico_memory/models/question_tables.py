"""Reading how questions are told apart: the home's own file instead of the shipped one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from aico_memory.domain.context.routing import Routing, RoutingTable, joined
from aico_memory.errors import ConfigurationInvalid
from aico_memory.paths import Home, config_file

FILE = "questions.yaml"


def load_routing(home: Home) -> Routing:
    """The phrases of every language; ConfigurationInvalid names the file and what is wrong with it."""
    path = config_file(home, FILE)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        return joined({str(code): _table(entry) for code, entry in content["languages"].items()})
    except (TypeError, KeyError, AttributeError, ValueError, yaml.YAMLError) as error:
        raise ConfigurationInvalid(f"{path} must hold `languages`, each with lists of phrases: {error}") from error


def _table(entry: Mapping[str, Any]) -> RoutingTable:
    phrases = {
        "intents",
        "question_words",
        "conjunctions",
        "expansion_cues",
        "expansions",
        "upcoming",
        "behind_clause",
        "also",
        "past",
    }
    known = {*phrases, "asks_anywhere"}
    if unknown := set(entry) - known:
        raise ValueError(f"unknown key {sorted(unknown)[0]!r}")
    return RoutingTable(
        intents=_lists(entry.get("intents")),
        question_words=_texts(entry.get("question_words")),
        conjunctions=_texts(entry.get("conjunctions")),
        expansion_cues=_lists(entry.get("expansion_cues")),
        expansions=_lists(entry.get("expansions")),
        upcoming=_texts(entry.get("upcoming")),
        past=_texts(entry.get("past")),
        behind_clause=_texts(entry.get("behind_clause")),
        also=_texts(entry.get("also")),
        asks_anywhere=entry.get("asks_anywhere") is True,
    )


def _lists(part: Mapping[str, Any] | None) -> dict[str, tuple[str, ...]]:
    return {str(name): _texts(phrases) for name, phrases in (part or {}).items()}


def _texts(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError("a list of texts is expected (put words like `no` in quotes)")
    return tuple(value)
