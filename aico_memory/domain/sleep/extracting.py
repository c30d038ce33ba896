"""A short text of the items' own sentences: which of them, in which order, under which title. No language model.

Sentences are chosen one by one: each time the one whose words, as far as nothing
chosen holds them yet, stand in most of the other items, for its length (greedy
maximum coverage, Nemhauser, Wolsey & Fisher 1978; weights after Luhn 1958).
Nothing is known of the language but the words that the caller cut.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aico_memory.domain.sleep.clusters import Piece

# A mark that ends a sentence, what closes behind it, and the gap; none is needed behind an ideographic full stop.
_END = re.compile(r"(?<=[.!?…؟।])[\"'»”’)\]]*\s+|(?<=[。！？])")
# "Dr. Smith", "No. 5", "3. May": a short word or a number before the full stop ends no sentence.
_SHORT = re.compile(r"(?:^|\s)(?:[A-ZÄÖÜ]\w{0,2}|\d{1,2})\.$")
_CLOSED = re.compile(r"[.!?…؟।。！？]['\"»”’)\]]*$")
_HAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
Words = Callable[[str], frozenset[str]]


class Sentence(NamedTuple):
    """A sentence of an item: which, in what place, and its content words."""

    piece: Piece
    place: int
    text: str
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Extract:
    """What was chosen."""

    text: str
    # Items with a sentence in it, in the order in which it tells them; and those it tells whole.
    sources: tuple[Piece, ...]
    whole: tuple[Piece, ...]


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order; never empty where the text is not."""
    found: list[str] = []
    for part in _END.split(text):
        if found and _SHORT.search(found[-1]):
            found[-1] = f"{found[-1]} {part}"
        elif part.strip():
            found.append(part.strip())
    return found


def closed(sentence: str) -> str:
    """With a full stop where nothing ends it."""
    if _CLOSED.search(sentence):
        return sentence
    return sentence + ("。" if _HAN.search(sentence[-1:]) else ".")


def extract(pieces: Sequence[Piece], words_of: Words, most_sentences: int, most_characters: int, title: str = "") -> Extract:
    """A text of at most so many sentences and characters, the title with it; the sentences in the order of saying."""
    of_piece = [
        [
            Sentence(piece, place, closed(text), words_of(text) or frozenset({text.casefold()}))
            for place, text in enumerate(sentences(piece.memory.text))
        ]
        for piece in pieces
    ]
    every = [one for said in of_piece for one in said]
    often = Counter(word for said in of_piece for word in frozenset[str]().union(*(one.words for one in said)))
    room = most_characters - (len(title) + 2 if title else 0)
    chosen = _chosen(every, often, most_sentences, room)
    chosen.sort(key=lambda one: (*one.piece.order, one.place))
    told = {_alike(one.text) for one in chosen}
    kept = [[_alike(one.text) in told for one in said] for said in of_piece]
    sources = tuple(piece for piece, there in zip(pieces, kept, strict=True) if any(there))
    whole = tuple(piece for piece, there in zip(pieces, kept, strict=True) if there and all(there))
    text = "".join(_spaced(chosen))
    return Extract(f"{title}: {text}" if title and text else text, sources, whole)


def title_of(uris: Iterable[str], texts: Sequence[str]) -> str:
    """Names of entities as the texts write them."""
    return ", ".join(dict.fromkeys(display_name(uri, texts) for uri in uris))


def display_name(uri: str, texts: Iterable[str]) -> str:
    """An entity's name as it stands in one of the texts; from its URI where it stands in none."""
    name = uri.removeprefix("entity://").partition("/")[2] or uri
    parts = [re.escape(part) for part in name.split("-") if part]
    pattern = re.compile(r"(?<!\w)" + r"[\W_]+".join(parts) + r"(?!\w)", re.IGNORECASE)
    for text in texts:
        found = pattern.search(text)
        if found:
            return found.group()
    return name.replace("-", " ")


def _chosen(every: Sequence[Sentence], often: Counter[str], most: int, room: int) -> list[Sentence]:
    left, held, chosen = list(every), set[str](), list[Sentence]()
    told: set[str] = set()
    while left and len(chosen) < most:
        left = [one for one in left if len(one.text) < room and _alike(one.text) not in told]
        if not left:
            break
        best = min(left, key=lambda one: (-_gain(one, often, held), -one.piece.memory.importance, *one.piece.order, one.place))
        left.remove(best)
        chosen.append(best)
        told.add(_alike(best.text))
        held |= best.words
        room -= len(best.text) + 1
    return chosen


def _gain(one: Sentence, often: Counter[str], held: set[str]) -> float:
    # What is said already still tells what the matter is: a word of it counts half.
    weight = sum(often[word] if word not in held else often[word] / 2 for word in one.words)
    return round(weight / math.sqrt(len(one.words)), 6)


def _alike(sentence: str) -> str:
    return " ".join(sentence.casefold().split()).rstrip(".。!！?？… ")


def _spaced(chosen: Sequence[Sentence]) -> Iterable[str]:
    for place, one in enumerate(chosen):
        yield one.text if not place or chosen[place - 1].text.endswith(("。", "！", "？")) else f" {one.text}"
