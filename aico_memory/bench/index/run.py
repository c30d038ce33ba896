"""The exact index and Chroma over the same vectors: how long they take to build and to answer, and what Chroma misses."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from aico_memory.bench.statistics import percentile
from aico_memory.domain.memory import Facets, Scope, View
from aico_memory.stores.index.exact import ExactVectorIndex
from aico_memory.stores.index.naive import KeptSource
from aico_memory.stores.index.vector_port import Vector, VectorEntry, VectorIndex

DIMENSIONS, LIMIT, BATCH = 384, 500, 2_000
# As many directions as a person has topics, and how far a sentence lies from its topic.
TOPICS, SPREAD = 300, 0.8
SCOPE = Scope("user", "bench")
_NOW_US = 1_000_000_000_000_000
_FACETS = Facets("record", "episodic", "active", "s", 1, 1, 1 << 62, 1, 1 << 62)
_VIEW = View((SCOPE,), _NOW_US)


@dataclass(frozen=True, slots=True)
class Row:
    """One index at one size. Times in s to build and ms of the clock for a question; recall of the exact best LIMIT."""

    index: str
    vectors: int
    build_s: float
    p50: float
    p95: float
    # Three vectors at once, as a question of several parts has them.
    three_p50: float
    recall: float


def run_index(
    sizes: Sequence[int], questions: int, seed: int, progress: Callable[[str], None], approximate: bool = True
) -> list[Row]:
    """A row each for the exact index and Chroma at each size; the vectors follow from the seed."""
    # Chroma is heavy: who measures nothing does not load it.
    from aico_memory.stores.index.chroma import ChromaVectorIndex

    rng = Generator(PCG64(seed))
    topics = rng.standard_normal((TOPICS, DIMENSIONS)).astype(np.float32)
    asked = _near(topics, questions + 2, rng)
    rows = []
    for size in sizes:
        entries = [VectorEntry(key, SCOPE, _FACETS, row) for key, row in enumerate(_near(topics, size, rng), 1)]
        source = KeptSource(lambda kept=entries: kept)  # type: ignore[misc]
        exact = ExactVectorIndex(source, 1 << 40, BATCH)
        progress(f"{size:,} vectors: exact")
        before = time.monotonic()
        exact.similarities([asked[0]], _VIEW, LIMIT)
        built = time.monotonic() - before
        truth = [_best(exact, vector) for vector in asked[2:]]
        rows.append(_row(exact, size, built, asked, truth))
        if approximate:
            progress(f"{size:,} vectors: building Chroma")
            before = time.monotonic()
            chroma = ChromaVectorIndex(source, f"bench|{DIMENSIONS}|{size}", BATCH)
            chroma.build()
            built = time.monotonic() - before
            progress(f"{size:,} vectors: Chroma")
            rows.append(_row(chroma, size, built, asked, truth))
            chroma.drop()
        exact.close()
    return rows


def _row(index: VectorIndex, size: int, built: float, asked: Vector, truth: Sequence[set[int]]) -> Row:
    index.similarities([asked[1]], _VIEW, LIMIT)
    one = [_timed(index, [vector]) for vector in asked[2:]]
    three = [_timed(index, [asked[at], asked[at - 1], asked[at - 2]]) for at in range(2, len(asked))]
    found = [len(_best(index, vector) & right) / len(right) for vector, right in zip(asked[2:], truth, strict=True)]
    return Row(
        index.name, size, built, percentile(one, 0.5), percentile(one, 0.95), percentile(three, 0.5), float(np.mean(found))
    )


def _timed(index: VectorIndex, vectors: Sequence[Vector]) -> float:
    before = time.perf_counter()
    index.similarities(vectors, _VIEW, LIMIT)
    return (time.perf_counter() - before) * 1000


def _best(index: VectorIndex, vector: Vector) -> set[int]:
    return {one.key for one in index.search(vector, _VIEW, LIMIT)}


def _near(topics: NDArray[np.float32], count: int, rng: Generator) -> Vector:
    """Vectors of length 1, each near one of the topics; count x DIMENSIONS."""
    rows = topics[rng.integers(0, len(topics), count)]
    rows = rows + SPREAD * rng.standard_normal(rows.shape).astype(np.float32)
    found: Vector = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return found
