"""The benchmark by the rules alone, in this process: statements formed, put on a timeline, asked through recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from aico_memory.bench.facts.streams import ZONE, Asked, Stream
from aico_memory.bench.facts.tally import Likeness, Tally, same, tense_of
from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.weight import WEAK
from aico_memory.domain.recall.answer import RecallFigures, recalled
from aico_memory.domain.recall.deciding import Reader, answer_of
from aico_memory.domain.recall.groups import Recalled
from aico_memory.domain.recall.mirrored import Utterance
from aico_memory.domain.recall.question import Question, understand
from aico_memory.domain.recall.timeline import Held, Statement, resolve
from aico_memory.models.embedder import Embedder, Vectors

RECENT = 6


class Vectoriser:
    """Likeness of a question to texts, each text embedded once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vectors] = {}

    def prepare(self, texts: Sequence[str]) -> None:
        """Embeds what is not known yet, together."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for start in range(0, len(new), 64):
            part = new[start : start + 64]
            self._known.update(zip(part, self._embedder.embed(part), strict=True))

    def to(self, question: str) -> Likeness:
        """The likeness of texts to this question."""

        def likeness(texts: Sequence[str]) -> list[float]:
            self.prepare([question, *texts])
            return [float(np.dot(self._known[question], self._known[text])) for text in texts]

        return likeness


def statements_of(stream: Stream, tables: FormationTables) -> list[Statement]:
    """What the rules form from the stream's messages."""
    found: list[Statement] = []
    recent: list[str] = []
    for number, said in enumerate(sorted(stream.said, key=lambda message: message.at_us)):
        formed = form(
            said.text, role="user", speaker="", said_at_us=said.at_us, zone=ZONE, recent=tuple(recent[-RECENT:]), tables=tables
        )
        for place, fact in enumerate((*formed.facts, *formed.foresight)):
            if fact.confidence_base <= WEAK:
                # The gate does not write it.
                continue
            found.append(Statement(f"{number}.{place}".encode(), fact, said.at_us, number * 100 + place))
        recent.append(said.text)
    return found


class Posed(NamedTuple):
    """A question of a stream, as `answer_of` and `weigh` take it."""

    facts: Recalled
    said: list[Utterance]
    held: Sequence[Held]
    question: Question
    grammar: Grammar
    as_of_us: int


def pose(stream: Stream, asked: Asked, held: Sequence[Held], tables: FormationTables, likeness: Likeness) -> tuple[str, Posed]:
    """The tense of a question, and the question with what there is to answer it."""
    tense, as_of = tense_of(stream, asked)
    grammar = tables.grammars[stream.language]
    question = understand(asked.question, grammar, tables, stream.now_us, ZONE)
    facts = recalled(question, held, as_of, tables, likeness, RecallFigures())
    said = [Utterance(b"%d" % number, one.text, one.at_us, ZONE) for number, one in enumerate(stream.said)]
    return tense, Posed(facts, said, held, question, grammar, as_of)


def run_streams(
    streams: Sequence[Stream], tables: FormationTables, embedder: Embedder, reader: Reader | None
) -> dict[tuple[str, str], Tally]:
    """Tallies by (language, half); without a reader of the rules alone."""
    vectoriser = Vectoriser(embedder)
    tallies: dict[tuple[str, str], Tally] = {}
    for stream in streams:
        tally = tallies.setdefault((stream.language, stream.half), Tally())
        statements = statements_of(stream, tables)
        held = resolve(statements)
        _count_merges(statements, held, tally)
        for asked in stream.asked:
            _ask(stream, asked, held, tables, vectoriser, reader, tally)
    return tallies


def _ask(
    stream: Stream, asked: Asked, held: Sequence[Held], tables: FormationTables, vectoriser: Vectoriser,
    reader: Reader | None, tally: Tally,
) -> None:  # fmt: skip
    likeness = vectoriser.to(asked.question)
    tense, posed = pose(stream, asked, held, tables, likeness)
    values = answer_of(*posed, reader).values
    tally.answered(stream.id, tense, asked, values)
    _count_errors(asked, held, values, posed.as_of_us, tally)
    tally.baselines(stream, tense, asked, posed.as_of_us, likeness)


def _count_merges(statements: Sequence[Statement], held: Sequence[Held], tally: Tally) -> None:
    """Statements taken for another one although they name something else; the wording decides, without any stemming."""
    by_id = {statement.id: statement.fact for statement in statements}
    for one in held:
        tally.stated += len(one.said_by)
        for said_by in one.said_by[1:]:
            tally.merged += by_id[said_by].object_key != one.fact.object_key


def _count_errors(asked: Asked, held: Sequence[Held], values: Sequence[str], as_of: int, tally: Tally) -> None:
    """A value that was formed but is closed or merged away although it was true then."""
    for expected in asked.expected:
        mine = [one for one in held if same(one.fact.value, expected)]
        if not mine:
            continue
        tally.values += 1
        if any(same(value, expected) for value in values):
            # Over in another place: who left the team leads another one.
            continue
        begun = [one for one in mine if one.from_us <= as_of]
        if begun and not any(one.holds_at(as_of) for one in begun) and any(one.closed_by for one in begun):
            tally.invalidated += 1
