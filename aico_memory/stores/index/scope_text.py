"""One scope's inverted index in memory: words, their forms and runs of characters, and what is known of each row.

Postings hold words as they stand. Stems and runs of characters are kept of the vocabulary only:
a question under any language finds the words whose stem is the same, and texts are never
stemmed twice. Not thread-safe; `InMemoryText` guards it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aico_memory.domain.memory import Facets
from aico_memory.domain.retrieval.evidence import Counts, Flags, Floats, Rows
from aico_memory.domain.retrieval.question import AskedWord
from aico_memory.domain.retrieval.tokens import character_grams, stem_key
from aico_memory.stores.index.facet_columns import DTYPE, as_numbers, digest63
from aico_memory.stores.index.scope_columns import Columns, Order, order_of

_FIRST_CAPACITY = 64
# Rebuilt when this share of the rows is gone.
_MOST_DEAD = 0.25
_MOST_COUNT = 65_535
# No word of the vocabulary.
_UNKNOWN = 0xFFFFFFFF
# About what a word of a row takes, a word of the vocabulary, and a row beside its columns.
_WORD_BYTES, _TERM_BYTES, _ROW_BYTES = 20, 400, 200
NO_SESSION = digest63("")


class TextRow(NamedTuple):
    """A memory as the text index takes it in."""

    key: int
    facets: Facets
    words: Sequence[str]
    language: str = ""
    # Folded; "" where nobody is named.
    speaker: str = ""
    # One of a conversation's turns: it has a turn before and after it.
    turn: bool = True
    ends_asking: bool = False
    asks: bool = False
    tells_time: bool = False
    importance: float = 0.0
    utility: float = 0.0
    confidence: float = 1.0
    uses: int = 0


class ScopeText:
    """Rows and postings of one scope; `session_gap_us` parts the turns of a conversation that has no name."""

    def __init__(self, session_gap_us: int) -> None:
        self._gap_us = session_gap_us
        self._clear()

    def _clear(self) -> None:
        self._rows = Columns(_FIRST_CAPACITY)
        self._used = self._dead = 0
        self._places: dict[int, int] = {}
        self._terms: dict[str, int] = {}
        self._term_names: list[str] = []
        self._postings: list[tuple[array[int], array[int]]] = []
        # The words of each row in their order, as numbers of the vocabulary, row after row; and where each row begins.
        self._said = array("I")
        self._begins = array("Q", [0])
        # Speakers and languages, and the place of each.
        self._names, self._named = [""], {"": 0}
        self._stems: dict[str, tuple[dict[str, list[int]], int]] = {}
        self._grams: dict[str, list[tuple[int, int]]] = {}
        self._grammed = 0
        self._linked = True
        self._order: Order | None = None
        self._shared: Rows | None = None
        self._sessions = 0
        self._last: dict[int, int] = {}
        self.speakers: Counter[str] = Counter()
        self.languages: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._used - self._dead

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        # Postings and number of each word of a row; a word of the vocabulary; a row's places and its copy in order.
        kept = len(self._said) * _WORD_BYTES + len(self._terms) * _TERM_BYTES + self._used * _ROW_BYTES
        return self._rows.nbytes + kept

    def put(self, row: TextRow) -> None:
        """Take a memory in, or what it is now."""
        known = self._places.get(row.key)
        if known is not None:
            if self._words_of(known) == array("I", [self._terms.get(word, _UNKNOWN) for word in row.words]):
                self._restate(known, row)
                return
            self.remove([row.key])
        place = self._take(row.key, row.words)
        self._describe(place, row)
        self._count(place, 1)
        self._link(place)

    def remove(self, keys: Iterable[int]) -> None:
        """Forget these; unknown ones are no error."""
        for key in keys:
            place = self._places.pop(key, None)
            if place is None:
                continue
            self._rows["alive"][place] = False
            self._count(place, -1)
            self._dead += 1
            self._linked, self._order, self._shared = False, None, None
        if self._dead > _MOST_DEAD * self._used and self._dead > _FIRST_CAPACITY:
            self._compact()

    def keys(self) -> npt.NDArray[np.int64]:
        """The key of each row, dead ones too."""
        return self._rows["key"][: self._used]

    def columns(self) -> Columns:
        """The rows' facets by name, dead rows too."""
        return self._rows.first(self._used)

    def alive(self) -> Flags:
        """Which rows are there."""
        return self._rows["alive"][: self._used]

    def lengths(self) -> Floats:
        """Words of each row, dead rows too."""
        return self._rows["words"][: self._used]

    def order(self) -> Order:
        """The order in which whoever is said after another stands behind it."""
        if not self._linked:
            self._link_all()
        if self._order is None:
            self._order = order_of(self._rows.first(self._used))
        return self._order

    def rows(self, visible: Flags) -> Rows:
        """The rows in their order, copied; `visible` is by row. Until something changes whoever sees the same shares them."""
        order, rows = self.order(), self._rows.first(self._used)
        seen = visible[order.places]
        if self._shared is not None and np.array_equal(self._shared.visible, seen):
            return self._shared
        names = ("words", "characters", "said_at_us", "ends_asking", "asks", "tells_time", "importance", "utility",
                 "confidence", "uses")  # fmt: skip
        self._shared = Rows(
            joined=order.joined, turns=order.turns, visible=seen, **{name: rows[name][order.places] for name in names}
        )
        return self._shared

    def count_words(self, asked: Sequence[AskedWord], order: Order | None = None) -> Counts:
        """How often each word, in any of its forms, stands in each row; in that order, where one is given."""
        often = np.zeros((len(asked), self._used), dtype=np.float32)
        for place, word in enumerate(asked):
            for term in self._alternatives(word):
                self._add(often[place], term, 1, order)
        return Counts(often, np.array([word.weight for word in asked], dtype=np.float32))

    def count_characters(self, asked: Sequence[AskedWord], order: Order | None = None) -> Counts:
        """How often each run of characters of these words stands in each row; in that order, where one is given."""
        self._learn_grams()
        weights: dict[str, float] = {}
        for word in asked:
            for gram in character_grams(word.forms[0][1]):
                weights[gram] = max(word.weight, weights.get(gram, 0.0))
        often = np.zeros((len(weights), self._used), dtype=np.float32)
        for place, gram in enumerate(weights):
            for term, inside in self._grams.get(gram, ()):
                self._add(often[place], term, inside, order)
        return Counts(often, np.array(list(weights.values()), dtype=np.float32))

    def _take(self, key: int, words: Sequence[str]) -> int:
        """Words of a new row; its place."""
        place = self._used
        self._make_room()
        counted = Counter(words)
        for word, often in counted.items():
            rows, counts = self._postings[self._term(word)]
            rows.append(place)
            counts.append(min(often, _MOST_COUNT))
        self._said.extend([self._terms[word] for word in words])
        self._begins.append(len(self._said))
        self._used += 1
        self._order = None
        self._places[key] = place
        self._rows["characters"][place] = sum(max(1, len(word) - 1) * often for word, often in counted.items())
        return place

    def _words_of(self, place: int) -> array[int]:
        return self._said[self._begins[place] : self._begins[place + 1]]

    def _name(self, name: str) -> int:
        place = self._named.setdefault(name, len(self._names))
        if place == len(self._names):
            self._names.append(name)
        return place

    def _add(self, into: Floats, term: int, times: int, order: Order | None) -> None:
        rows, counts = self._postings[term]
        places = np.array(rows, dtype=np.intp)
        # A row stands once in the postings of a term.
        into[places if order is None else order.positions[places]] += np.array(counts, dtype=np.float32) * times

    def _alternatives(self, word: AskedWord) -> set[int]:
        found = set()
        for language, form in word.forms:
            exact = self._terms.get(form)
            if exact is not None:
                found.add(exact)
            if language:
                found.update(self._stemmed(language).get(stem_key(form, language), ()))
        return found

    def _stemmed(self, language: str) -> dict[str, list[int]]:
        stems, done = self._stems.get(language, ({}, 0))
        for term in range(done, len(self._term_names)):
            stems.setdefault(stem_key(self._term_names[term], language), []).append(term)
        self._stems[language] = (stems, len(self._term_names))
        return stems

    def _learn_grams(self) -> None:
        for term in range(self._grammed, len(self._term_names)):
            for gram, often in Counter(character_grams(self._term_names[term])).items():
                self._grams.setdefault(gram, []).append((term, often))
        self._grammed = len(self._term_names)

    def _term(self, word: str) -> int:
        term = self._terms.get(word)
        if term is None:
            term = self._terms[word] = len(self._postings)
            self._term_names.append(word)
            self._postings.append((array("I"), array("H")))
        return term

    def _restate(self, place: int, row: TextRow) -> None:
        order = ("said_at_us", "session_id", "turn")
        former = [self._rows[name][place] for name in order]
        self._count(place, -1)
        self._describe(place, row)
        self._count(place, 1)
        if former != [self._rows[name][place] for name in order]:
            self._linked, self._order = False, None

    def _describe(self, place: int, row: TextRow) -> None:
        rows, self._shared = self._rows, None
        for name, value in zip(DTYPE.names or (), as_numbers(row.facets), strict=True):
            rows[name][place] = value
        rows["key"][place], rows["alive"][place], rows["words"][place] = row.key, True, len(row.words)
        for name in ("turn", "ends_asking", "asks", "tells_time", "importance", "utility", "confidence", "uses"):
            rows[name][place] = getattr(row, name)
        rows["speaker"][place], rows["language"][place] = self._name(row.speaker), self._name(row.language)

    def _count(self, place: int, step: int) -> None:
        for counter, column in ((self.speakers, "speaker"), (self.languages, "language")):
            value = self._names[self._rows[column][place]]
            if value:
                counter[value] += step
                if counter[value] <= 0:
                    del counter[value]

    def _link(self, place: int) -> None:
        """Join a new row to the turn before it; where it is not the last of its session all are joined anew."""
        rows = self._rows
        named, said = int(rows["session_id"][place]), int(rows["said_at_us"][place])
        last = self._last.get(named) if rows["turn"][place] else None
        former = (int(rows["said_at_us"][last]), int(rows["key"][last])) if last is not None else (0, 0)
        if last is not None and (not rows["alive"][last] or former > (said, int(rows["key"][place]))):
            self._linked = False
        elif last is not None and (named != NO_SESSION or said - rows["said_at_us"][last] <= self._gap_us):
            rows["session"][place] = rows["session"][last]
        else:
            rows["session"][place] = self._sessions
            self._sessions += 1
        # Behind all that were there before.
        rows["rank"][place] = place
        if rows["turn"][place]:
            self._last[named] = place

    def _link_all(self) -> None:
        rows = self._rows.first(self._used)
        order = np.lexsort((rows["key"], rows["said_at_us"], rows["session_id"], ~(rows["alive"] & rows["turn"])))
        turns = order[: int((rows["alive"] & rows["turn"]).sum())]
        first = np.ones(len(turns), dtype=np.bool_)
        if len(turns):
            named, said = rows["session_id"][turns], rows["said_at_us"][turns]
            first[1:] = (named[1:] != named[:-1]) | ((named[1:] == NO_SESSION) & (said[1:] - said[:-1] > self._gap_us))
        numbers = np.cumsum(first) - 1
        rows["session"][turns], rows["rank"][turns] = numbers, np.arange(len(turns))
        rest = order[len(turns) :]
        self._sessions = int(numbers[-1]) + 1 if len(turns) else 0
        rows["session"][rest] = np.arange(self._sessions, self._sessions + len(rest))
        self._sessions += len(rest)
        self._last = {int(rows["session_id"][place]): int(place) for place in turns}
        self._linked, self._order = True, None

    def _make_room(self) -> None:
        if self._used < len(self._rows):
            return
        self._rows = self._rows.grown(len(self._rows) * 3 // 2)

    def _compact(self) -> None:
        """The rows that are there, as they would be without the others."""
        rows, places, vocabulary, names = self._rows, np.flatnonzero(self.alive()).tolist(), self._term_names, self._names
        words = [self._words_of(place) for place in places]
        self._clear()
        for former, said in zip(places, words, strict=True):
            place = self._take(int(rows["key"][former]), [vocabulary[term] for term in said])
            self._rows.copy_row(place, rows, former)
            for name in ("speaker", "language"):
                self._rows[name][place] = self._name(names[rows[name][former]])
            self._count(place, 1)
            self._link(place)
