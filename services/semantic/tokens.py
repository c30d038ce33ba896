"""The words of memories, as the text index and the relations between items see them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from aico_memory.domain.formation.entities import Gazetteer
from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.memory import Memory
from aico_memory.domain.retrieval.tokens import index_tokens, query_tokens, words


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

    def content_words(self, memory: Memory) -> frozenset[str]:
        """The stems of its words, those aside that every text has."""
        return self.content_words_of(memory.text, memory.language)

    def content_words_of(self, text: str, language: str) -> frozenset[str]:
        """The same of a text in this language; empty: the default one."""
        language = language or self.default_language
        return _content(text, language, self.languages.function_words.get(language, frozenset()))

    def is_about_something(self, text: str, language: str) -> bool:
        """Whether a text has any word that not every text has; `content_words_of` falls back to all of them."""
        language = language or self.default_language
        return not set(words(text, language)) <= self.languages.function_words.get(language, frozenset())


# The same neighbours are compared with one statement after the other.
@lru_cache(maxsize=4096)
def _content(text: str, language: str, ignored: frozenset[str]) -> frozenset[str]:
    return frozenset(query_tokens(text, (language,), ignored))
