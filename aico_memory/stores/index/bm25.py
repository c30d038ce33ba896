"""In-memory twin of the text index."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from aico_memory.domain.memory import Scope
from aico_memory.stores.index.text_port import K1, LEAST_IDF, B, TextHit


class MemoryTextIndex:
    """BM25 by looking at each text, with the statistics of all scopes together, as FTS5 has them."""

    def __init__(self) -> None:
        self._texts: dict[int, tuple[Scope, Counter[str]]] = {}

    def put(self, key: int, scope: Scope, tokens: Sequence[str]) -> None:
        self._texts[key] = (scope, Counter(tokens))

    def remove(self, keys: Iterable[int]) -> None:
        for key in keys:
            self._texts.pop(key, None)

    def ranked(self, tokens: Sequence[str], scopes: Sequence[Scope]) -> Iterator[TextHit]:
        total = len(self._texts)
        if not total:
            return
        # The scope is one token of each text.
        average = sum(words.total() + 1 for _, words in self._texts.values()) / total
        weights = {}
        for token in dict.fromkeys(tokens):
            holding = sum(token in words for _, words in self._texts.values())
            weights[token] = max(math.log((total - holding + 0.5) / (holding + 0.5)), LEAST_IDF)
        found = []
        for key, (scope, words) in self._texts.items():
            if scope in scopes and any(token in words for token in weights):
                penalty = K1 * (1 - B + B * (words.total() + 1) / average)
                score = sum(
                    weight * words[token] * (K1 + 1) / (words[token] + penalty)
                    for token, weight in weights.items()
                    if token in words
                )
                found.append(TextHit(key, score))
        yield from sorted(found, key=lambda hit: (-hit.score, hit.key))

    def count(self) -> int:
        return len(self._texts)
