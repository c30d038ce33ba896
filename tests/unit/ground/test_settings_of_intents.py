from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from aico_memory.domain.graph.relations import TYPES
from aico_memory.domain.kinds import ITEM_KINDS
from aico_memory.settings.context import RELATIONS, ContextSettings
from aico_memory.settings.memory_model import KindsSettings


def test_one_figure_of_an_intent_leaves_its_others_as_they_are() -> None:
    given = {"temporal": {"limit": 12}, "causal": {"utility": 0.1}, "preference": {"limit": 9}, "entity_profile": {"hub": 0}}
    intents, shipped = ContextSettings.model_validate({"intents": given}).intents, ContextSettings().intents
    assert intents.temporal == shipped.temporal.model_copy(update={"limit": 12})
    assert intents.causal == shipped.causal.model_copy(update={"utility": 0.1})
    assert intents.preference == shipped.preference.model_copy(update={"limit": 9})
    assert intents.entity_profile == shipped.entity_profile.model_copy(update={"hub": False})
    assert intents.factual == shipped.factual


@pytest.mark.parametrize(
    "given",
    [
        {"intents": {"factual": {"kinds": ["bogus"]}}},
        {"intents": {"causal": {"relations": ["nope"]}}},
        {"intents": {"curious": {"limit": 3}}},
        {"boosts": {"sub_tiers": {"bogus": 2.0}}},
        {"boosts": {"sub_tiers": {"personal": -1.0}}},
    ],
)
def test_what_there_is_not_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ContextSettings.model_validate(given)


def test_names_in_the_settings_are_those_of_the_rules() -> None:
    assert frozenset(TYPES) == RELATIONS
    assert KindsSettings.model_fields.keys() == set(ITEM_KINDS)


def test_the_documented_defaults_are_those_in_force() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "CONFIGURATION.md").read_text(encoding="utf-8")
    for name, figures in ContextSettings().intents:
        for figure, value in figures:
            assert f"| `context.intents.{name}.{figure}` | `{value!r}` |" in page
