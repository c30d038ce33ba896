"""The span reader: a small network that says which words of a passage answer its question.

The encoder of the embedded model, read on by `scripts/train_span_reader.py`, beside its tables of marks; what it computes
stands in `domain/recall/reading/picking.py`. It reads every language that it was trained on, whatever model embeds.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from aico_memory.domain.recall.reading.passage import MARKS, Passage
from aico_memory.domain.recall.reading.picking import CUTS, Reading, Run, spans
from aico_memory.errors import ModelUnavailable
from aico_memory.models.onnx_session import open_session
from aico_memory.models.weights import TOKENIZER_FILE
from aico_memory.paths import Home, config_file

FOLDER, MODEL_FILE, RECIPE_FILE = "span_reader", "model.onnx", "recipe.yaml"
# Tokens that the encoder has places for.
MAX_TOKENS = 512
# Runs of one answer: what stands lower is not looked at.
MOST_RUNS = 32
# Runs that were not chosen and are told all the same, with how likely they are.
MOST_OTHERS = 8
# How far below the threshold one of several values may stand: chosen on streams that the network had not learned from.
BELOW = 0.5
# From this chance on several values are told, where they are near the threshold.
ASKED = 0.5
_CLS, _SEP = "[CLS]", "[SEP]"


@dataclass(frozen=True, slots=True)
class Encoded:
    """A passage as t tokens: ids (t,), marks (t, m), and the first and last token of each word (n,)."""

    tokens: NDArray[np.int64]
    marks: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Where the columns of the network's output are, which languages it has read, and where it comes from."""

    # Which network it is, for who asks: where from, and when it was trained.
    name: str
    # Width of the vectors of a pair.
    pair: int
    languages: tuple[str, ...]
    # Streams of the benchmark, or whole files of them, from which it has not learned.
    kept_out: tuple[str, ...]
    provenance: dict[str, Any]


class SpanReader:
    """One network, loaded when it is first asked; safe from many threads."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        self._folder = folder
        self._threads = threads
        self._loading = threading.Lock()
        self._loaded: tuple[Any, Any, Recipe] | None = None

    def __call__(self, passage: Passage) -> Reading:
        """Which runs of words answer most likely. Raises ModelUnavailable."""
        session, tokenizer, recipe = self._load()
        encoded = encode(passage, tokenizer)
        (scores,) = session.run(None, {"tokens": encoded.tokens[None], "marks": encoded.marks[None]})
        return reading_of(passage, encoded, scores[0], recipe.pair)

    @property
    def recipe(self) -> Recipe:
        """What is known of the network."""
        return self._load()[2]

    def _load(self) -> tuple[Any, Any, Recipe]:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._opened()
            return self._loaded

    def _opened(self) -> tuple[Any, Any, Recipe]:
        try:
            recipe = recipe_of(self._folder)
            tokenizer = open_tokenizer(self._folder / TOKENIZER_FILE)
            session = open_session(self._folder / MODEL_FILE, threads=self._threads, quantised=True)
        except Exception as error:
            # onnxruntime and tokenizers raise classes of their own extensions that share no root but Exception.
            raise ModelUnavailable(
                f"The span reader in {self._folder} cannot be loaded: {type(error).__name__}",
                "Restore the folder, or set recall.reader to false.",
            ) from error
        return session, tokenizer, recipe


def load_span_reader(home: Home, threads: int = 1) -> SpanReader:
    """The home's own reader, else the shipped one."""
    return SpanReader(config_file(home, FOLDER), threads)


def recipe_of(folder: Path) -> Recipe:
    """The recipe beside the network."""
    content = yaml.safe_load((folder / RECIPE_FILE).read_text(encoding="utf-8"))
    return Recipe(
        str(content["name"]),
        int(content["pair"]),
        tuple(content["languages"]),
        tuple(content["kept_out"]),
        content["provenance"],
    )


def reading_of(passage: Passage, encoded: Encoded, scores: NDArray[np.float32], pair: int) -> Reading:
    """What answers most likely, from the network's output of shape (t, 2 + 2 * pair + CUTS + 3).

    That is the best run, and, where several values are asked for, each near the threshold. A run's chance is that of anything
    answering times its share beside the runs that are not chosen; of these, its share of all.
    """
    firsts, lasts = spans(passage)
    likely, several = (1 / (1 + math.exp(-float(scores[0, place]))) for place in (-1, -3))
    if not len(firsts):
        return Reading(answers=likely, several=several)
    margins = margins_of(scores, encoded.first[firsts], encoded.last[lasts], pair)
    order = np.argsort(-margins, kind="stable")[:MOST_RUNS]
    least = scores[0, -2] - BELOW if several > ASKED else math.inf
    chosen = [int(place) for at, place in enumerate(order) if not at or margins[place] > least]
    shares = np.exp(margins - margins.max())
    total = float(shares.sum())
    rest = max(total - float(shares[chosen].sum()), 0.0)
    cuts = scores[encoded.last, 2 + 2 * pair : 2 + 2 * pair + CUTS].argmax(axis=1)

    def run(place: int, beside: float) -> Run:
        chance = likely * float(shares[place]) / beside
        return Run(int(firsts[place]), int(lasts[place]), chance, int(cuts[lasts[place]]))

    return Reading(
        [run(place, float(shares[place]) + rest) for place in chosen],
        [run(int(place), total) for place in order if int(place) not in chosen][:MOST_OTHERS],
        likely,
        several,
    )


def margins_of(
    scores: NDArray[np.float32], first: NDArray[np.int64], last: NDArray[np.int64], pair: int
) -> NDArray[np.float32]:
    """Score of each run by its first and last token."""
    begin, finish = scores[first], scores[last]
    both = (begin[:, 2 : 2 + pair] * finish[:, 2 + pair : 2 + 2 * pair]).sum(axis=1)
    return np.asarray(begin[:, 0] + finish[:, 1] + both, dtype=np.float32)


def open_tokenizer(file: Path) -> Any:
    """A tokenizer that neither pads nor cuts."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def encode(passage: Passage, tokenizer: Any) -> Encoded:
    """Question and messages, a separator behind each; what finds no room is cut at the end, its words on the last token."""
    cls, sep = tokenizer.token_to_id(_CLS), tokenizer.token_to_id(_SEP)
    none = [0] * len(MARKS)
    encoding = tokenizer.encode(list(passage.words), is_pretokenized=True, add_special_tokens=False)
    by_word: list[list[int]] = [[] for _ in passage.words]
    for token, word in zip(encoding.ids, encoding.word_ids, strict=True):
        by_word[word].append(token)
    marked = passage.marks.tolist()
    tokens, marks, first, last = [cls], [none], [], []
    for at, word in enumerate(by_word):
        if at and passage.message[at] != passage.message[at - 1]:
            tokens.append(sep)
            marks.append(none)
        first.append(min(len(tokens), MAX_TOKENS - 1))
        tokens.extend(word)
        marks.extend([marked[at]] * len(word))
        last.append(min(max(first[-1], len(tokens) - 1), MAX_TOKENS - 1))
    tokens.append(sep)
    marks.append(none)
    return Encoded(
        np.array(tokens[:MAX_TOKENS], dtype=np.int64), np.array(marks[:MAX_TOKENS], dtype=np.int64),
        np.array(first, dtype=np.int64), np.array(last, dtype=np.int64),
    )  # fmt: skip
