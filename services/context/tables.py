"""The data by which the read path reads questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aico_memory.domain.context.routing import Routing
from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.language.tables import PhraseTable
from aico_memory.models.language_tables import load_function_words, load_tables
from aico_memory.models.question_tables import load_routing
from aico_memory.paths import Home


@dataclass(frozen=True, slots=True)
class ReadingTables:
    """Small talk, function words, and phrases that tell questions apart."""

    phrases: Mapping[str, PhraseTable]
    words: LanguageTable
    routing: Routing


def load_reading_tables(home: Home) -> ReadingTables:
    """All of them; ConfigurationInvalid names file and key."""
    return ReadingTables(load_tables(home), load_function_words(home), load_routing(home))
