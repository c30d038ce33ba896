"""Reading the language tables: one file a language, the home's own files over the shipped ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.language.tables import PhraseTable, table_of
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import files_of, read_mapping
from aico_memory.paths import Home, config_file

FOLDER = "language"
FUNCTION_WORDS = "stopwords.yaml"


def load_tables(home: Home) -> dict[str, PhraseTable]:
    """All tables by language code, English first; ConfigurationInvalid names file and key."""
    files = files_of(home, FOLDER)
    order = sorted(files, key=lambda code: (code != "en", code))
    return {code: _read(code, files[code]) for code in order}


def _read(code: str, path: Path) -> PhraseTable:
    content = read_mapping(path)
    try:
        return table_of(code, content)
    except ValueError as error:
        raise ConfigurationInvalid(f"{path}: {error}") from error


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
