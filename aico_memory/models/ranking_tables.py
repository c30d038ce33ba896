"""Reading what the ranking knows: words of time, and the ranking profiles; the home's own files over the shipped ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aico_memory.domain.retrieval.cues import CueTable, TimeCues, joined
from aico_memory.domain.retrieval.ranking import Profile, profile_of
from aico_memory.domain.retrieval.tokens import fold
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import files_of, read_mapping
from aico_memory.paths import Home, config_file
from aico_memory.settings.retrieval import RetrievalSettings

CUES_FILE = "time_cues.yaml"
FOLDER = "ranking"


def load_time_cues(home: Home) -> TimeCues:
    """Words of time of every language; ConfigurationInvalid names the file."""
    path = config_file(home, CUES_FILE)
    try:
        return joined([_cue_table(entry) for entry in read_mapping(path)["languages"].values()])
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise ConfigurationInvalid(f"{path} must hold `languages`, each with lists of words: {error}") from error


def load_profiles(home: Home) -> dict[str, Profile]:
    """All ranking profiles by name; ConfigurationInvalid names the file that is wrong."""
    return {name: _profile(name, path) for name, path in files_of(home, FOLDER).items()}


def configured_profiles(home: Home, settings: RetrievalSettings) -> dict[str, Profile]:
    """The same; ConfigurationInvalid where one that the settings name is not among them, too."""
    profiles = load_profiles(home)
    for name in (settings.profile, settings.lexical_profile):
        if name not in profiles:
            raise ConfigurationInvalid(f"No ranking profile {name!r}", f"There are: {', '.join(sorted(profiles))}.")
    return profiles


def _profile(name: str, path: Path) -> Profile:
    try:
        return profile_of(name, read_mapping(path))
    except (TypeError, ValueError, AttributeError) as error:
        raise ConfigurationInvalid(f"{path}: {error}") from error


def _cue_table(entry: Mapping[str, Any]) -> CueTable:
    def folded(key: str) -> tuple[str, ...]:
        return tuple(fold(str(word)) for word in entry.get(key, ()))

    return CueTable(
        months={fold(str(name)): int(number) for name, number in entry.get("months", {}).items()},
        ambiguous=frozenset(folded("ambiguous")),
        before_month=frozenset(folded("before_month")),
        asks_when=folded("asks_when"),
        opens_when=folded("opens_when"),
        tells_time=folded("tells_time"),
        asks_what=folded("asks_what"),
    )
