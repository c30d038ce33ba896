"""Samples for the reader, from development streams: whole, with messages hidden from the rules, and among others' talk.

The rules were made from these streams and are nearly always right there, which they are not elsewhere. What a message
says is therefore hidden from them at random, so that the reader learns when words that no rule has read answer better.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aico_memory.bench.facts.run import Vectoriser, statements_of
from aico_memory.bench.facts.streams import ZONE, Asked, Said, Stream
from aico_memory.bench.facts.tally import answers, tense_of
from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.recall.answer import RecallFigures, recalled
from aico_memory.domain.recall.choosing import KNOWN, by_wording
from aico_memory.domain.recall.deciding import Answer, options_for
from aico_memory.domain.recall.mirrored import Utterance
from aico_memory.domain.recall.question import understand
from aico_memory.domain.recall.reading.options import RULES, Option
from aico_memory.domain.recall.reading.reader import Floats
from aico_memory.domain.recall.slots import slot_of
from aico_memory.domain.recall.timeline import Statement, resolve

# Shares of messages that are hidden from the rules, one variant each.
HIDDEN = (0.0, 0.3, 0.6)
# Share of streams that are also told among messages of others, and how many of these.
MIXED, STRANGERS = 0.4, (3, 6, 12)
_HIDDEN_AMONG_OTHERS = 0.45
_TRIES = 40
# Questions that are drawn to find what was never said, and how many of those whose words were said are asked.
_VAIN_TRIES, _NEAR_MISSES = 200, 2
# Weight of saying nothing where no option is right.
_LEANING = 0.3
_DAY_US = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Sample:
    """The options of one question, and which of them are right."""

    stream: str
    tense: str
    # whole | hidden | mixed | unsaid
    variant: str
    values: tuple[tuple[str, ...], ...]
    # Which of the options are the rules' own answer, and which are right.
    ruled: tuple[bool, ...]
    right: tuple[bool, ...]
    # Places of the clues of each option among the sampler's names, and their values.
    places: tuple[NDArray[np.int16], ...]
    clues: tuple[Floats, ...]
    expected: tuple[str, ...]
    ruled_right: bool


class Sampler:
    """Makes samples of streams; what is random follows from the stream's name."""

    def __init__(self, tables: FormationTables, vectoriser: Vectoriser, spoken: Collection[str], seed: int) -> None:
        self._tables, self._vectoriser, self._spoken, self._seed = tables, vectoriser, frozenset(spoken), seed
        # Clues in the order in which they were met.
        self.names: dict[str, int] = {}
        self._topics: dict[str, frozenset[str]] = {}

    def samples(self, streams: Sequence[Stream], vary: bool = True) -> Iterator[Sample]:
        """Of every question that leaves something open; `vary` also with hidden messages and among others."""
        for stream in streams:
            rng = random.Random(zlib.crc32(f"{stream.id} {self._seed}".encode()))
            shares = HIDDEN if vary else HIDDEN[:1]
            yield from self._of(stream, [("hidden" if share else "whole", share) for share in shares], rng)
            if vary and rng.random() < MIXED:
                mixed = self._among_others(stream, [one for one in streams if one.language == stream.language], rng)
                yield from self._of(mixed, [("mixed", 0.0), ("mixed", _HIDDEN_AMONG_OTHERS)], rng)
            if vary:
                unsaid = self._asked_in_vain(stream, [one for one in streams if one.language == stream.language], rng)
                yield from self._of(unsaid, [("unsaid", 0.0), ("unsaid", _HIDDEN_AMONG_OTHERS)], rng)

    def _of(self, stream: Stream, variants: Sequence[tuple[str, float]], rng: random.Random) -> Iterator[Sample]:
        statements = statements_of(stream, self._tables)
        for variant, share in variants:
            hidden = {at for at in range(len(stream.said)) if rng.random() < share}
            for asked in stream.asked:
                if (sample := self._sample(stream, asked, statements, hidden, variant)) is not None:
                    yield sample

    def _sample(
        self, stream: Stream, asked: Asked, statements: Sequence[Statement], hidden: Collection[int], variant: str
    ) -> Sample | None:
        tense, as_of = tense_of(stream, asked)
        grammar = self._tables.grammars[stream.language]
        question = understand(asked.question, grammar, self._tables, stream.now_us, ZONE)
        slot = slot_of(question, grammar)
        if slot is None:
            return None
        similar = self._vectoriser.to(asked.question)
        ordered = sorted(stream.said, key=lambda one: one.at_us)
        said = [Utterance(b"%d" % number, one.text, one.at_us, ZONE) for number, one in enumerate(ordered)]
        held = resolve([one for one in statements if int(one.id.split(b".")[0]) not in hidden])
        facts = recalled(question, held, as_of, self._tables, similar, RecallFigures())
        seen = [one for number, one in enumerate(said) if number not in hidden]
        told = by_wording(facts, seen, held, question, slot, grammar, as_of)
        ruled = Answer(words=list(told)) if told else Answer(list(facts.answer))
        alike_to: Mapping[bytes, float] = {}
        if stream.language in self._spoken:
            alike_to = dict(zip([one.id for one in said], similar([one.text for one in said]), strict=True))
        options = options_for(facts, ruled, said, held, question, slot, grammar, as_of, alike_to)
        return Sample(
            stream.id, tense, variant, tuple(option.values for option in options),
            tuple(option.kind == RULES for option in options),
            tuple(answers(option.values, asked.expected) for option in options),
            tuple(self._places(option) for option in options),
            tuple(np.array(list(option.clues.values()), dtype=np.float32) for option in options),
            asked.expected, answers(ruled.values, asked.expected),
        )  # fmt: skip

    def _places(self, option: Option) -> NDArray[np.int16]:
        return np.array([self.names.setdefault(name, len(self.names)) for name in option.clues], dtype=np.int16)

    def _among_others(self, stream: Stream, streams: Sequence[Stream], rng: random.Random) -> Stream:
        """The stream with messages of others about what nobody asks here."""
        topics = self._topics_of(stream)
        first, last = min(one.at_us for one in stream.said), max(one.at_us for one in stream.said)
        told = {one.text for one in stream.said}
        strangers: list[Said] = []
        count = rng.choice(STRANGERS)
        for _ in range(_TRIES):
            other = rng.choice(streams)
            text = rng.choice(other.said).text
            if len(strangers) < count and text not in told and topics and not topics & self._topics_of(other):
                strangers.append(Said(rng.randrange(first - 20 * _DAY_US, last + 1), text))
        return replace(stream, said=tuple(sorted((*stream.said, *strangers), key=lambda one: one.at_us)))

    def _asked_in_vain(self, stream: Stream, streams: Sequence[Stream], rng: random.Random) -> Stream:
        """The stream with questions of others about what was never said in it, some of them in its words."""
        topics = self._topics_of(stream)
        told = frozenset(word for one in stream.said for word in normalise_fact_key(one.text).split())
        questions = []
        for _ in range(_VAIN_TRIES):
            other = rng.choice(streams)
            theirs = self._topics_of(other)
            if topics and theirs and not topics & theirs:
                questions.append(rng.choice(other.asked).question)
        nearest = sorted(questions, key=lambda text: len(told.intersection(normalise_fact_key(text).split())))
        return replace(
            stream, asked=tuple(Asked(None, text, ()) for text in dict.fromkeys([*questions[:1], *nearest[-_NEAR_MISSES:]]))
        )

    def _topics_of(self, stream: Stream) -> frozenset[str]:
        if stream.id not in self._topics:
            grammar = self._tables.grammars[stream.language]
            asked = [understand(one.question, grammar, self._tables, stream.now_us, ZONE) for one in stream.asked]
            self._topics[stream.id] = frozenset(
                name for question in asked for name, support in question.predicates.items() if support >= KNOWN
            )
        return self._topics[stream.id]


@dataclass(frozen=True, slots=True)
class Table:
    """Samples as numbers: clues (rows, n) of all options, whether each is right, and where each sample begins."""

    names: tuple[str, ...]
    clues: Floats
    right: Floats
    starts: np.ndarray


def table_of(samples: Sequence[Sample], names: Sequence[str]) -> Table:
    """All samples under the sampler's names; a sample without a right option leans to saying nothing."""
    rows = sum(len(one.values) for one in samples)
    clues, right = np.zeros((rows, len(names)), dtype=np.float32), np.zeros(rows, dtype=np.float32)
    starts, row = [], 0
    for one in samples:
        starts.append(row)
        for places, values, good in zip(one.places, one.clues, one.right, strict=True):
            clues[row, places] = values
            right[row] = good
            row += 1
        if not any(one.right):
            right[row - 1] = _LEANING
    return Table(tuple(names), clues, right, np.array(starts))
