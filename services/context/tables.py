"""The data by which the read path reads questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aico_memory.domain.context.routing import Routing
from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.formation.observe import Signals, emotion_of
from aico_memory.domain.language.detection import certain_language
from aico_memory.domain.language.tables import PhraseTable
from aico_memory.domain.retrieval.escaping import Markers, markers
from aico_memory.models.language_tables import load_function_words, load_tables_and_signals
from aico_memory.models.question_tables import load_routing
from aico_memory.paths import Home

# Texts whose feeling is at hand: the turns of a conversation are read for each of its questions.
_AT_HAND = 2000


class Feelings:
    """How texts feel, by the signals of formation."""

    def __init__(self, signals: Mapping[str, Signals], words: LanguageTable) -> None:
        self._signals = signals
        self._words = words
        # By their hash: nobody's words are kept for it.
        self._known: dict[int, float] = {}

    def valence(self, text: str) -> float:
        """−1..1, in the language that the text is certainly in, else in English; 0 without any word of feeling."""
        key = hash(text)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _AT_HAND:
                self._known = {}
            found = emotion_of(text, certain_language(text, self._words) or "en", self._signals).valence
            self._known[key] = found
        return found


@dataclass(frozen=True, slots=True)
class ReadingTables:
    """Small talk, function words, phrases that tell questions apart, and words of feeling."""

    phrases: Mapping[str, PhraseTable]
    words: LanguageTable
    routing: Routing
    feelings: Feelings
    # What poses as whoever speaks in a prompt.
    markers: Markers


def load_reading_tables(home: Home) -> ReadingTables:
    """All of them; ConfigurationInvalid names file and key."""
    phrases, signals = load_tables_and_signals(home)
    words = load_function_words(home)
    known = markers(role for table in phrases.values() for role in table.roles)
    return ReadingTables(phrases, words, load_routing(home), Feelings(signals, words), known)
