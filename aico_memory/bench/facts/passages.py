"""Samples for the span reader, from development streams: whole, with messages hidden from the rules, and among others' talk.

The rules were made from many of these streams and are nearly always right there, which they are not elsewhere. What a
message says is therefore hidden from them at random, so that the reader learns to read what no rule has read.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from aico_memory.bench.facts.run import Vectoriser, statements_of
from aico_memory.bench.facts.streams import ZONE, Asked, Said, Stream
from aico_memory.bench.facts.tally import answers, tense_of
from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.wording import trim
from aico_memory.domain.recall.answer import RecallFigures, recalled
from aico_memory.domain.recall.choosing import KNOWN
from aico_memory.domain.recall.deciding import by_rules, ruled_of
from aico_memory.domain.recall.mirrored import Utterance
from aico_memory.domain.recall.question import moment_of, understand
from aico_memory.domain.recall.reading.passage import Passage, passage_of
from aico_memory.domain.recall.reading.picking import spans
from aico_memory.domain.recall.slots import slot_of
from aico_memory.domain.recall.timeline import Statement, resolve
from aico_memory.domain.recall.values import value_of

WHOLE, HIDDEN, MIXED, UNSAID = "whole", "hidden", "mixed", "unsaid"
# Chance that a message is hidden from the rules, in the variants in which some are.
_HIDE = 0.5
# Messages of others that a stream is told among.
STRANGERS = (3, 6, 10)
_TRIES = 40
# Questions that are drawn to find what was never said, and how many of those whose words were said are asked.
_VAIN_TRIES, _NEAR_MISSES = 100, 1
_DAY_US = 86_400_000_000


@dataclass(frozen=True, slots=True)
class PassageSample:
    """A passage, the runs of words of each expected value (first, last), and what the rules answer."""

    stream: str
    tense: str
    variant: str
    language: str
    passage: Passage
    expected: tuple[str, ...]
    gold: tuple[tuple[tuple[int, int], ...], ...]
    ruled: tuple[str, ...]

    @property
    def ruled_right(self) -> bool:
        """Whether the rules are right."""
        return answers(self.ruled, self.expected)


class PassageSampler:
    """Makes samples of streams; what is random follows from the stream's name and the seed."""

    def __init__(self, tables: FormationTables, vectoriser: Vectoriser, seed: int) -> None:
        self._tables, self._vectoriser, self._seed = tables, vectoriser, seed
        self._topics: dict[str, frozenset[str]] = {}

    def samples(
        self, streams: Sequence[Stream], variants: Mapping[str, float], strangers: Sequence[Stream] = ()
    ) -> Iterator[PassageSample]:
        """Each stream in each variant with that chance; `strangers`: whose talk is mixed in."""
        by_language: dict[str, list[Stream]] = {}
        for stream in strangers or streams:
            by_language.setdefault(stream.language, []).append(stream)
        for stream in streams:
            rng = random.Random(zlib.crc32(f"{stream.id} {self._seed}".encode()))
            others = by_language[stream.language]
            for variant, chance in variants.items():
                if rng.random() >= chance:
                    continue
                told = stream
                if variant == MIXED:
                    told = self._among_others(stream, others, rng)
                elif variant == UNSAID:
                    told = self.asked_in_vain(stream, others, rng)
                share = _HIDE if variant == HIDDEN or (variant in (MIXED, UNSAID) and rng.random() < _HIDE) else 0.0
                hidden = {at for at in range(len(told.said)) if rng.random() < share}
                yield from self._of(told, variant, hidden)

    def _of(self, stream: Stream, variant: str, hidden: Collection[int]) -> Iterator[PassageSample]:
        statements = statements_of(stream, self._tables)
        for asked in stream.asked:
            if (sample := self._sample(stream, asked, statements, hidden, variant)) is not None:
                yield sample

    def _sample(
        self, stream: Stream, asked: Asked, statements: Sequence[Statement], hidden: Collection[int], variant: str
    ) -> PassageSample | None:
        """None where an expected value stands nowhere as it is expected."""
        tense, as_of = tense_of(stream, asked)
        grammar = self._tables.grammars[stream.language]
        question = understand(asked.question, grammar, self._tables, stream.now_us, ZONE)
        slot = slot_of(question, grammar)
        similar = self._vectoriser.to(asked.question)
        ordered = sorted(stream.said, key=lambda one: one.at_us)
        said = [Utterance(b"%d" % number, one.text, one.at_us, ZONE) for number, one in enumerate(ordered)]
        held = resolve([one for one in statements if int(one.id.split(b".")[0]) not in hidden])
        facts = recalled(question, held, as_of, self._tables, similar, RecallFigures())
        seen = [one for number, one in enumerate(said) if number not in hidden]
        ruled = by_rules(facts, seen, held, question, slot, grammar, as_of)
        passage = passage_of(question, slot, said, ruled_of(ruled, held), grammar, moment_of(question, as_of))
        gold = tuple(gold_spans(passage, value, grammar) for value in asked.expected)
        if not all(gold) and variant != WHOLE:
            return None
        return PassageSample(
            stream.id, tense, variant, stream.language, passage, asked.expected, gold, tuple(ruled.values)
        )  # fmt: skip

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

    def asked_in_vain(self, stream: Stream, streams: Sequence[Stream], rng: random.Random) -> Stream:
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


def gold_spans(passage: Passage, value: str, grammar: Grammar) -> tuple[tuple[int, int], ...]:
    """Where a value is said: runs of words that are its words; or that are read as it; or else the shortest that hold it."""
    wanted = normalise_fact_key(value)
    exact, read, holding = [], [], []
    for start, end in zip(*spans(passage), strict=True):
        words = [trim(word) for word in passage.words[start : end + 1]]
        said = normalise_fact_key(" ".join(words))
        if wanted not in said:
            continue
        place = (int(start), int(end))
        if said == wanted:
            exact.append(place)
        elif normalise_fact_key(value_of(words, grammar)) == wanted:
            read.append(place)
        holding.append(place)
    if exact:
        return tuple(exact)
    least = min((end - start for start, end in read or holding), default=0)
    return tuple((start, end) for start, end in read or holding if end - start == least)
