"""What the span reader learns from, told in other words each time: values for others like them, and words left out.

The network remembers streams that it has seen a dozen times: what was asked, and what was answered. A value that stands for
another of its sort at every sight can only be found by what is said around it, and words that are missing at random keep it
from hanging on one of them. What could be a value and is none is replaced as often, else the odd word would be the answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from span_training import Example, Numbers

# Marks by which two values may stand for each other: when they hold, whether the question has them, how they are written, what
# they do. By place in a token's marks.
_ALIKE = (1, 3, 4, 5)
# A value's chance to be another, a passage's to lose words, and a word's of such a passage.
SWAPPED, THINNED, LOST = 0.4, 0.5, 0.07
# Others than the values that are replaced, at most.
OTHERS = 3
# From so many of the values that are most like it the other one is drawn, among so many that are looked at.
NEAREST, LOOKED_AT = 16, 3000

_Key = tuple[Any, ...]
_Tokens = tuple[int, ...]


class Variations:
    """Other tellings of examples; all draw from one generator."""

    def __init__(self, words: NDArray[np.float32], mask: int, special: Sequence[int], seed: int) -> None:
        """`words`: embeddings of word pieces, shape (pieces, width); `mask`: the piece that stands for a lost one."""
        self._words, self._mask = words, mask
        self._special = np.asarray(special)
        self._rng = np.random.default_rng(seed)
        self._pool: dict[_Key, dict[_Tokens, int]] = defaultdict(dict)
        self._vectors: dict[_Key, NDArray[np.float32]] = {}
        self._near: dict[tuple[_Key, _Tokens], list[_Tokens]] = {}

    def learn(self, examples: Sequence[Example]) -> None:
        """Takes up the values of examples, which may then stand for others."""
        for one in examples:
            for begin, finish, cut in _values(one):
                mine = self._pool[_key(one, begin, finish, cut)]
                mine.setdefault(tuple(one.encoded.tokens[begin : finish + 1].tolist()), len(mine))
        self._vectors.clear()
        self._near.clear()

    def of(self, example: Example) -> Example:
        """The example with other values and without some words; its passage stays, so that it is for learning only."""
        tokens = example.encoded.tokens.copy()
        others = self._no_values(example)
        drawn = self._rng.permutation(len(others))[:OTHERS].tolist()
        for begin, finish, cut in (*_values(example), *(others[place] for place in drawn)):
            if self._rng.random() < SWAPPED:
                self._swap(tokens, example, begin, finish, cut)
        if self._rng.random() < THINNED:
            lost = (self._rng.random(len(tokens)) < LOST) & ~np.isin(tokens, self._special)
            tokens[lost] = self._mask
        return replace(example, encoded=replace(example.encoded, tokens=tokens))

    def _no_values(self, example: Example) -> list[tuple[int, int, int]]:
        """Runs of words that share none with a value, and are one elsewhere."""
        tokens = example.encoded.tokens
        found = []
        for at in example.apart.tolist():
            begin, finish = int(example.begin[at]), int(example.finish[at])
            known = self._pool.get(_key(example, begin, finish, 0), {}) if begin <= finish else {}
            if tuple(tokens[begin : finish + 1].tolist()) in known:
                found.append((begin, finish, 0))
        return found

    def _swap(self, tokens: Numbers, example: Example, begin: int, finish: int, cut: int) -> None:
        value = tuple(tokens[begin : finish + 1].tolist())
        others = self._like(_key(example, begin, finish, cut), value)
        if not others:
            return
        other = others[int(self._rng.integers(len(others)))]
        size = len(value)
        for at in np.flatnonzero(tokens[: len(tokens) - size + 1] == value[0]):
            if tuple(tokens[at : at + size].tolist()) == value:
                tokens[at : at + size] = other

    def _like(self, key: _Key, value: _Tokens) -> list[_Tokens]:
        """The values most like it, itself left out."""
        found = self._near.get((key, value))
        if found is None:
            pool = list(self._pool[key])[:LOOKED_AT]
            if key not in self._vectors:
                self._vectors[key] = np.stack([self._vector(one) for one in pool]) if pool else np.zeros((0, 1), np.float32)
            found = []
            if len(pool) > NEAREST:
                order = np.argsort(-(self._vectors[key] @ self._vector(value)))[: NEAREST + 1]
                found = [pool[place] for place in order if pool[place] != value][:NEAREST]
            self._near[key, value] = found
        return found

    def _vector(self, value: _Tokens) -> NDArray[np.float32]:
        vector = self._words[list(value)].mean(axis=0)
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), dtype=np.float32)


def _values(example: Example) -> list[tuple[int, int, int]]:
    """First and last token of the first run of each value, and the letters of its ending."""
    cuts = dict(zip(example.ends.tolist(), example.cuts.tolist(), strict=True))
    found = []
    for runs in example.gold:
        begin, finish = int(example.begin[runs[0]]), int(example.finish[runs[0]])
        if begin <= finish:
            found.append((begin, finish, cuts.get(finish, 0)))
    return found


def _key(example: Example, begin: int, finish: int, cut: int) -> _Key:
    marks = example.encoded.marks[begin : finish + 1][:, list(_ALIKE)]
    return example.sample.language, cut, marks.tobytes(), finish - begin
