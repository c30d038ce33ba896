"""What is told over weeks and asked afterwards: each rule of wording with a made-up case, through formation and recall."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from aico_memory.bench.facts.run import Vectoriser, statements_of
from aico_memory.bench.facts.streams import Said, Stream
from aico_memory.bench.facts.tally import answers
from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.when import to_us
from aico_memory.domain.recall.answer import RecallFigures, recall
from aico_memory.domain.recall.question import understand
from aico_memory.domain.recall.timeline import resolve
from aico_memory.models.twin import HashedEmbedder

FIRST = datetime(2026, 1, 8, 12, tzinfo=UTC)
APART = timedelta(days=10)


@dataclass(frozen=True)
class Case:
    """Messages ten days apart, and a question a day after the message of that number (-1: the last)."""

    language: str
    told: tuple[str, ...]
    question: str
    after: int
    expected: tuple[str, ...]


def case(language: str, told: str, question: str, expected: str = "", after: int = -1) -> Case:
    values = tuple(part for part in expected.split(";") if part)
    return Case(language, tuple(told.split(" | ")), question, after, values)


CASES = [case(*entry) for entry in yaml.safe_load(Path(__file__).with_name("told_and_asked.yaml").read_text(encoding="utf-8"))]


def asked(one: Case, tables: FormationTables) -> list[str]:
    said = tuple(Said(to_us(FIRST + number * APART), text) for number, text in enumerate(one.told))
    stream = Stream("told", one.language, "develop", said[-1].at_us, said, ())
    held = resolve(statements_of(stream, tables))
    as_of = said[one.after].at_us + 86_400_000_000
    question = understand(one.question, tables.grammars[one.language], tables, as_of, "UTC")
    likeness = Vectoriser(HashedEmbedder()).to(one.question)
    return [found.fact.value for found in recall(question, held, as_of, tables, likeness, RecallFigures())]


@pytest.mark.parametrize("one", CASES, ids=lambda one: f"{one.told[-1]} {one.question} {one.after}")
def test_what_was_told_answers_what_is_asked(one: Case, tables: FormationTables) -> None:
    assert answers(asked(one, tables), one.expected), asked(one, tables)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("I play padel.", "User plays padel"),
        ("By the way, we also live in Rome and work at the zoo.", "User lives in Rome"),
        ("I'm staying at my mum's until Friday.", "User is staying at User's mum until Friday"),
        ("We don't eat fish.", "User does not eat fish"),
        ("My phone is a Pixel 8. The number stays.", "User's phone is a Pixel 8"),
    ],
)
def test_a_statement_stands_alone_in_the_third_person(tables: FormationTables, said: str, text: str) -> None:
    formed = form(said, role="user", speaker="", said_at_us=to_us(FIRST), zone="UTC", recent=(), tables=tables)
    assert formed.facts[0].text == text
