"""Reading what marks rules and instructions in a text, by language."""

from __future__ import annotations

from typing import Final

from aico_memory.domain.sleep.places import PlaceCues, pattern_of
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import read_mapping
from aico_memory.paths import Home, config_file

PLACES_FILE: Final = "places.yaml"


def load_place_cues(home: Home) -> dict[str, PlaceCues]:
    """By language; ConfigurationInvalid names the file that is wrong."""
    path = config_file(home, PLACES_FILE)
    try:
        return {
            str(code): PlaceCues(pattern_of(map(str, entry["rule"]), code), pattern_of(map(str, entry["how_to"]), code))
            for code, entry in read_mapping(path)["languages"].items()
        }
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise ConfigurationInvalid(f"{path} must hold `languages`, each with `rule` and `how_to`: {error}") from error
