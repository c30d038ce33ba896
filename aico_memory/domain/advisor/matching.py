"""Finding outcomes by words and by likeness: BM25 over runs of characters, cosine of embeddings, and both together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from aico_memory.domain.retrieval.bm25 import scored
from aico_memory.domain.retrieval.evidence import Counts, Floats
from aico_memory.domain.retrieval.tokens import character_grams, words

_BAGS = 4096


def word_scores(texts: Sequence[str], query: str) -> Floats:
    """BM25 of each text, shape (n,); runs of four characters find the forms of a word in any language."""
    wanted = sorted(_bag(query))
    bags = [_bag(text) for text in texts]
    often = np.array([[bag[gram] for bag in bags] for gram in wanted], dtype=np.float32).reshape(len(wanted), len(bags))
    lengths = np.array([bag.total() for bag in bags], dtype=np.float32)
    visible = np.ones(len(bags), dtype=np.bool_)
    return scored(Counts(often, np.ones(len(wanted), dtype=np.float32)), lengths, visible).bm25


def likeness(vectors: Sequence[NDArray[np.float32] | None], query: NDArray[np.float32]) -> Floats:
    """Cosine to each unit vector, shape (n,); NaN where an outcome has none yet."""
    fits = (float(one @ query) if one is not None and one.shape == query.shape else np.nan for one in vectors)
    return np.fromiter(fits, dtype=np.float32, count=len(vectors))


def hybrid(by_likeness: Floats, by_words: Floats, semantic: float, lexical: float) -> Floats:
    """semantic · cosine + lexical · BM25, both cut to 0..1; where there is no vector (NaN), BM25 stands for the cosine."""
    text = np.clip(by_words, 0.0, 1.0)
    like = np.where(np.isnan(by_likeness), text, np.clip(np.nan_to_num(by_likeness), 0.0, 1.0))
    return (semantic * like + lexical * text).astype(np.float32)


@lru_cache(maxsize=_BAGS)
def _bag(text: str) -> Counter[str]:
    # Read only: the same texts are asked of again and again.
    return Counter(gram for word in words(text) for gram in character_grams(word))
