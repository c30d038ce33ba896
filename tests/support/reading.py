"""Passages, readers that find given words, and what becomes of the rules' answer with them."""

from __future__ import annotations

from collections.abc import Sequence

from aico_memory.bench.facts.run import statements_of
from aico_memory.bench.facts.streams import Said, Stream
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.recall.answer import RecallFigures, recalled
from aico_memory.domain.recall.deciding import Answer, Reader, Weighed, answer_of, weigh
from aico_memory.domain.recall.groups import Recalled
from aico_memory.domain.recall.mirrored import Utterance
from aico_memory.domain.recall.question import Question, understand
from aico_memory.domain.recall.reading.passage import (
    Passage,
    Ruled,
    passage_of,
)
from aico_memory.domain.recall.reading.picking import Reading, Run, Scorer
from aico_memory.domain.recall.reading.trust import READ, RULES, SILENCE, Trust
from aico_memory.domain.recall.slots import slot_of
from aico_memory.domain.recall.timeline import Held, resolve

START, DAY = 1_772_000_000_000_000, 86_400_000_000
SILENT = Ruled((), (), ())
# What was read is as likely right as its chance says, unless the rules know that it is over, or it was denied; what the rules
# answer is right three times in four, and that they answer nothing two times in five.
TRUST = Trust({
    READ: {"read": 1.0, "ended": -9.0, "denied": -9.0}, RULES: {"told": 1.5, "one": -0.4}, SILENCE: {"one": -4.0},
})  # fmt: skip


def said_on_days(texts: Sequence[str]) -> list[Utterance]:
    return [Utterance(b"%d" % number, text, START + number * 10 * DAY, "UTC") for number, text in enumerate(texts)]


def passage(
    tables: FormationTables, language: str, texts: Sequence[str], asked: str, as_of_us: int = START + 1_000 * DAY,
    ruled: Ruled = SILENT,
) -> Passage:  # fmt: skip
    grammar = tables.grammars[language]
    question = understand(asked, grammar, tables, as_of_us, "UTC")
    return passage_of(question, slot_of(question, grammar), said_on_days(texts), ruled, grammar, as_of_us)


def marks_of(read: Passage, word: str) -> list[int]:
    return [int(mark) for mark in read.marks[list(read.words).index(word)]]


def finding(*wanted: str) -> Scorer:
    """A reader that finds these words, the last time that they are said, the first of them the surest."""

    def read(read: Passage) -> Reading:
        runs = []
        for place, text in enumerate(wanted):
            words = text.split()
            at = max(
                at for at in range(read.begins, len(read.words))
                if [word.strip(".,!") for word in read.words[at : at + len(words)]] == words
            )  # fmt: skip
            runs.append(Run(at, at + len(words) - 1, 0.9 - place / 10))
        return Reading(runs, answers=0.9)

    return read


def weighing(
    tables: FormationTables, read: Scorer | None, language: str, texts: Sequence[str], asked: str, hidden: Sequence[int] = (),
    as_of_us: int = 0,
) -> Weighed:  # fmt: skip
    """What was said, weighed as of then (0: after it); the reader does not see what is hidden."""
    return weigh(*told(tables, language, texts, asked, hidden, as_of_us), read)


def answered(
    tables: FormationTables, read: Scorer | None, language: str, texts: Sequence[str], asked: str, hidden: Sequence[int] = (),
    trust: Trust = TRUST, margin: float = 0.0,
) -> Answer:  # fmt: skip
    """The answer to what was said; the reader does not see what is hidden."""
    reader = None if read is None else Reader(read, trust, margin)
    return answer_of(*told(tables, language, texts, asked, hidden), reader)


def told(
    tables: FormationTables, language: str, texts: Sequence[str], asked: str, hidden: Sequence[int], as_of_us: int = 0
) -> tuple[Recalled, list[Utterance], list[Held], Question, Grammar, int]:
    grammar = tables.grammars[language]
    messages = tuple(Said(START + number * 10 * DAY, text) for number, text in enumerate(texts))
    as_of = as_of_us or messages[-1].at_us + DAY
    held = resolve(statements_of(Stream("told", language, "develop", as_of, messages, ()), tables))
    question = understand(asked, grammar, tables, as_of, "UTC")
    facts = recalled(question, held, as_of, tables, lambda all_: [0.0] * len(all_), RecallFigures())
    seen = [one for number, one in enumerate(said_on_days(texts)) if number not in hidden]
    return facts, seen, held, question, grammar, as_of
