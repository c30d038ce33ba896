"""How near a text is to a topic by the words that they share, for languages that an embedding model does not speak."""

from __future__ import annotations

from collections.abc import Set

from aico_memory.domain.retrieval.tokens import character_grams, words


def word_nearness(topic: str, text: str, ignored: Set[str]) -> float:
    """Share, 0..1, of the topic's runs of characters that the text has; `ignored` words of the topic count where there is
    nothing else.

    Runs find other forms of a word ("backe" of "backen"), but no word that says the same.
    """
    named = words(topic)
    telling = [word for word in named if word not in ignored] or named
    wanted = _runs(telling)
    return len(wanted & _runs(words(text))) / len(wanted) if wanted else 0.0


def _runs(found: list[str]) -> set[str]:
    return {run for word in found for run in character_grams(word)}
