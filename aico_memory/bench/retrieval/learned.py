"""Learning the weights of a ranking profile from tabulated questions, and judging them on what they have not seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from aico_memory.bench.retrieval.local import Tabulated
from aico_memory.domain.retrieval.features import NAMES
from aico_memory.domain.retrieval.learning import Learned, Sample, learn, thinned
from aico_memory.domain.retrieval.ranking import Profile

# What is learned. Length and the telling of a time are left out: they say what answers in one kind of chat, and bend
# the order where little else speaks. The others are the same for every turn of a chat, or follow from these.
LEARNED = (
    "similarity", "words", "coverage", "window_1", "window_2", "similarity_before", "similarity_after", "words_before",
    "words_after", "session_similarity", "session_words", "answers_similar", "answers_words", "date", "day", "time_wanted",
    "asking", "asks",
)  # fmt: skip
# Families that the ablation takes away, one after the other.
FAMILIES: Mapping[str, frozenset[str]] = {
    "vectors": frozenset({"similarity", "similarity_before", "similarity_after", "session_similarity", "answers_similar"}),
    "words": frozenset(
        {"words", "coverage", "window_1", "window_2", "words_before", "words_after", "session_words", "answers_words"}
    ),
    "windows and neighbours": frozenset(
        {"window_1", "window_2", "similarity_before", "similarity_after", "words_before", "words_after"}
    ),
    "session": frozenset({"session_similarity", "session_words"}),
    "answers to a question": frozenset({"answers_similar", "answers_words", "asking", "asks"}),
    "time": frozenset({"date", "day", "time_wanted"}),
}
_HARDEST, _DRAWN = 35, 30
_RIDGE, _ROUNDS = 1e-3, 100
Progress = Callable[[str], None]


def samples_of(entries: Sequence[Tabulated], seed: int) -> list[Sample]:
    """Questions as samples: the right rows, the hardest wrong ones by words, windows and vectors, some at random."""
    rng = np.random.default_rng(seed)
    found = []
    for entry in entries:
        features = entry.features()
        found.append(thinned(features, entry.gold, _hardest(features), _DRAWN, rng))
    return found


def learned_profile(name: str, samples: Sequence[Sample], names: Sequence[str] = LEARNED) -> Profile:
    """The profile that these samples teach."""
    found: Learned = learn(samples, names, _RIDGE, _ROUNDS)
    return Profile(name, found.weights, found.scale, found.offset)


def leave_one_out(
    samples: Mapping[str, Sequence[Sample]], progress: Progress, names: Sequence[str] = LEARNED
) -> dict[str, Profile]:
    """For each conversation a profile that has seen all others only; its name says for whom."""
    found = {}
    for left_out in samples:
        progress(f"learning without {left_out}")
        others = [sample for name, own in samples.items() if name != left_out for sample in own]
        found[left_out] = learned_profile(f"without-{left_out}", others, names)
    return found


def _hardest(features: npt.NDArray[np.float32]) -> npt.NDArray[np.intp]:
    likely = np.zeros(len(features), dtype=np.float32)
    for name in ("similarity", "words", "window_1"):
        column = features[:, NAMES.index(name)]
        likely += column / max(float(column.max()), 1e-6)
    return np.argsort(-likely, kind="stable")[:_HARDEST]
