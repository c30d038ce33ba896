"""Reading the language tables: one file a language, the home's own files over the shipped ones."""

from __future__ import annotations

import re
from collections.abc import Mapping

from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.formation.observe import Signals
from aico_memory.domain.language.tables import PhraseTable, table_of
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import files_of, read_mapping
from aico_memory.models.signal_tables import signals_of
from aico_memory.paths import Home, config_file

FOLDER = "language"
FUNCTION_WORDS = "stopwords.yaml"


def load_tables(home: Home) -> dict[str, PhraseTable]:
    """All tables by language code, English first; ConfigurationInvalid names file and key."""
    return load_tables_and_signals(home)[0]


def load_tables_and_signals(home: Home) -> tuple[dict[str, PhraseTable], dict[str, Signals]]:
    """The same, and the signals of the languages that have some; each file is read once, which takes its time."""
    files = files_of(home, FOLDER)
    tables: dict[str, PhraseTable] = {}
    signals: dict[str, Signals] = {}
    for code in sorted(files, key=lambda code: (code != "en", code)):
        content = read_mapping(files[code])
        try:
            tables[code] = table_of(code, content)
            if "signals" in content:
                signals[code] = signals_of(content["signals"])
        except (TypeError, AttributeError, ValueError, re.error) as error:
            raise ConfigurationInvalid(f"{files[code]}: {error}") from error
    return tables, signals


def load_function_words(home: Home) -> LanguageTable:
    """Function words and letters by which a text's language is guessed (`stopwords.yaml`)."""
    path = config_file(home, FUNCTION_WORDS)
    content = read_mapping(path)
    try:
        languages: Mapping[str, Mapping[str, list[str]]] = content["languages"]
        return LanguageTable(
            {code: frozenset(entry.get("words", ())) for code, entry in languages.items()},
            {code: frozenset(entry.get("letters", ())) for code, entry in languages.items()},
        )
    except (TypeError, KeyError, AttributeError) as error:
        raise ConfigurationInvalid(f"{path} must hold `languages`, each with `words` and `letters`") from error
