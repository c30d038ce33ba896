"""Port of the text index: BM25 over tokens that were made elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from aico_memory.domain.memory import Scope

# Okapi BM25 with the customary constants.
K1 = 1.2
B = 0.75
# Inverse document frequency of a word that stands in half of all texts or more.
LEAST_IDF = 1e-6


class TextHit(NamedTuple):
    """A memory that shares words with the question; a higher score is better."""

    key: int
    score: float


class TextIndex(Protocol):
    """Memories by words; `key` is the memory's row."""

    def put(self, key: int, scope: Scope, tokens: Sequence[str]) -> None:
        """Take a text in, or replace what stands under its key."""

    def remove(self, keys: Iterable[int]) -> None:
        """Forget these texts; unknown ones are no error."""

    def ranked(self, tokens: Sequence[str], scopes: Sequence[Scope]) -> Iterator[TextHit]:
        """All texts of these scopes with at least one of the tokens, best first; read only as far as needed."""

    def count(self) -> int:
        """How many texts are indexed."""
