"""The benchmark: statements formed by the rules, put on a timeline, asked through recall; and two baselines beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from aico_memory.bench.facts.streams import ZONE, Asked, Stream
from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.recall.answer import RecallFigures, recall
from aico_memory.domain.recall.question import understand
from aico_memory.domain.recall.timeline import Held, Statement, resolve
from aico_memory.models.embedder import Embedder, Vectors

# Least likeness for "latest statement".
BASELINE_LIKENESS = 0.35
RECENT = 6


@dataclass(slots=True)
class Tally:
    """Right answers among those asked, and the errors of the memory behind them."""

    asked: dict[str, int] = field(default_factory=lambda: {"now": 0, "then": 0})
    right: dict[str, dict[str, int]] = field(
        default_factory=lambda: {name: {"now": 0, "then": 0} for name in ("recall", "latest", "similar")}
    )
    # Statements that stand on the timeline, and those of them that were merged into another value.
    stated: int = 0
    values: int = 0
    merged: int = 0
    invalidated: int = 0
    misses: list[str] = field(default_factory=list)

    def share(self, name: str, tense: str) -> float:
        """Right answers as a share."""
        return self.right[name][tense] / max(1, self.asked[tense])


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

    def to(self, question: str) -> Callable[[Sequence[str]], list[float]]:
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
            found.append(Statement(f"{number}.{place}".encode(), fact, said.at_us, number * 100 + place))
        recent.append(said.text)
    return found


def run_streams(streams: Sequence[Stream], tables: FormationTables, embedder: Embedder) -> dict[tuple[str, str], Tally]:
    """Tallies by (language, half)."""
    vectoriser = Vectoriser(embedder)
    tallies: dict[tuple[str, str], Tally] = {}
    for stream in streams:
        tally = tallies.setdefault((stream.language, stream.half), Tally())
        statements = statements_of(stream, tables)
        held = resolve(statements)
        _count_merges(statements, held, tally)
        for asked in stream.asked:
            _ask(stream, asked, held, tables, vectoriser, tally)
    return tallies


def _ask(
    stream: Stream, asked: Asked, held: Sequence[Held], tables: FormationTables, vectoriser: Vectoriser, tally: Tally
) -> None:
    tense = "now" if asked.as_of_us is None else "then"
    as_of = stream.now_us if asked.as_of_us is None else asked.as_of_us
    question = understand(asked.question, tables.grammars[stream.language], tables, stream.now_us, ZONE)
    likeness = vectoriser.to(asked.question)
    answer = recall(question, held, as_of, tables, likeness, RecallFigures())
    values = [one.fact.value for one in answer]
    right = answers(values, asked.expected)
    tally.asked[tense] += 1
    tally.right["recall"][tense] += right
    _count_errors(asked, held, as_of, tally)
    if not right:
        tally.misses.append(f"{stream.id} [{tense}] {asked.question}  expected {list(asked.expected)}, got {values}")
    known = [said for said in stream.said if said.at_us <= as_of]
    scores = likeness([said.text for said in known]) if known else []
    near = [said for said, score in zip(known, scores, strict=True) if score >= BASELINE_LIKENESS]
    latest = max(near, key=lambda said: said.at_us).text if near else ""
    similar = known[int(np.argmax(scores))].text if known else ""
    for name, text in (("latest", latest), ("similar", similar)):
        tally.right[name][tense] += bool(text) and len(asked.expected) == 1 and same(asked.expected[0], text, whole=False)


def answers(values: Sequence[str], expected: Sequence[str]) -> bool:
    """Every expected value once, and nothing else."""
    if len(set(map(normalise_fact_key, values))) != len(expected):
        return False
    return all(any(same(value, one) for value in values) for one in expected)


def same(value: str, expected: str, whole: bool = True) -> bool:
    """One holds the other, word for word; `whole` refuses a value that is a sentence."""
    one, other = f" {normalise_fact_key(value)} ", f" {normalise_fact_key(expected)} "
    if whole and len(one.split()) > len(other.split()) + 4:
        return False
    return one in other or other in one


def _count_merges(statements: Sequence[Statement], held: Sequence[Held], tally: Tally) -> None:
    """Statements taken for another one although they name something else; the wording decides, without any stemming."""
    by_id = {statement.id: statement.fact for statement in statements}
    for one in held:
        tally.stated += len(one.said_by)
        for said_by in one.said_by[1:]:
            tally.merged += by_id[said_by].object_key != one.fact.object_key


def _count_errors(asked: Asked, held: Sequence[Held], as_of: int, tally: Tally) -> None:
    """A value that was formed but is closed or merged away although it was true then."""
    for expected in asked.expected:
        mine = [one for one in held if same(one.fact.value, expected)]
        if not mine:
            continue
        tally.values += 1
        begun = [one for one in mine if one.from_us <= as_of]
        if begun and not any(one.holds_at(as_of) for one in begun) and any(one.closed_by for one in begun):
            tally.invalidated += 1
