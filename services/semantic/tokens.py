"""The words of memories, as the text index and the relations between items see them."""

from __future__ import annotations

from dataclasses import dataclass

from aico_memory.domain.formation.entities import Gazetteer
from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.memory import Memory
from aico_memory.domain.retrieval.tokens import index_tokens, query_tokens


@dataclass(frozen=True, slots=True)
class FormationRules:
    """The tables that the rules of formation read."""

    languages: LanguageTable
    gazetteer: Gazetteer
    default_language: str

    def tokens(self, memory: Memory) -> list[str]:
        """What the text index holds of a memory: the words, and who said them."""
        speaker = index_tokens(memory.speaker) if memory.speaker else []
        return speaker + index_tokens(memory.text, memory.language or self.default_language)

    def content_words(self, memory: Memory) -> list[str]:
        """The stems of its words, those aside that every text has."""
        language = memory.language or self.default_language
        return query_tokens(memory.text, (language,), self.languages.function_words.get(language, frozenset()))
