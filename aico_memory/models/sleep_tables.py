"""Reading the words of sleep: how habits are told, what kinds are called, which words carry no meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from aico_memory.domain.retrieval.tokens import fold
from aico_memory.domain.sleep.patterns import HabitWording
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import read_mapping
from aico_memory.models.ranking_tables import CUES_FILE
from aico_memory.paths import Home, config_file

SLEEP_FILE: Final = "sleep.yaml"
_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class SleepWords:
    """What sleep knows of a language."""

    habit: HabitWording
    # Words without which a sentence says the same.
    empty: frozenset[str]
    # Words of time, and beginnings of such.
    times: frozenset[str]
    time_beginnings: tuple[str, ...]

    def tells_time(self, word: str) -> bool:
        """Whether a folded word tells a time."""
        return word in self.times or word.startswith(self.time_beginnings)


def load_sleep_words(home: Home) -> dict[str, SleepWords]:
    """By language; ConfigurationInvalid names the file that is wrong."""
    path, cues = config_file(home, SLEEP_FILE), read_mapping(config_file(home, CUES_FILE)).get("languages", {})
    try:
        return {
            str(code): _words(entry, cues.get(code, {}), str(code)) for code, entry in read_mapping(path)["languages"].items()
        }
    except (TypeError, KeyError, AttributeError, ValueError, IndexError) as error:
        raise ConfigurationInvalid(f"{path} must hold `languages`, each with its wordings: {error}") from error


def _words(entry: Mapping[str, Any], cues: Mapping[str, Any], code: str) -> SleepWords:
    often, weekday, days = str(entry["often"]), str(entry["weekday"]), tuple(str(day) for day in entry["days"])
    if len(days) != _DAYS:
        raise ValueError(f"{code} needs seven `days`")
    # A wording that asks for something else fails here and not in the night.
    often.format(names="x"), weekday.format(names="x", day=days[0])
    habit = HabitWording(often, weekday, days, {str(kind): str(title) for kind, title in entry["kinds"].items()})
    told = [fold(str(word), code) for word in cues.get("tells_time", ())]
    return SleepWords(
        habit, frozenset(fold(str(word), code) for word in entry["empty"]),
        frozenset(word for word in told if not word.endswith("*")),
        tuple(word.rstrip("*") for word in told if word.endswith("*")),
    )  # fmt: skip
