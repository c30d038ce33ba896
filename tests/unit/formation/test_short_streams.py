"""Small streams as people chat: what is said, asked and answered, by rule alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from aico_memory.bench.facts.run import statements_of
from aico_memory.bench.facts.streams import Said, Stream
from aico_memory.bench.facts.tally import answers
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.when import to_us
from aico_memory.domain.recall.answer import RecallFigures, recall
from aico_memory.domain.recall.question import understand
from aico_memory.domain.recall.timeline import resolve

FIRST = datetime(2026, 2, 4, 9, tzinfo=UTC)
APART, AFTERWARDS_US = timedelta(days=20), 7_200_000_000
LISTS = ("short_streams.yaml", "idioms.yaml")
STREAMS = [one for name in LISTS for one in yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("language", "said", "asked"), STREAMS, ids=lambda part: str(part)[:60])
def test_what_was_said_is_answered(
    tables: FormationTables, language: str, said: list[str], asked: list[tuple[int, str, list[str]]]
) -> None:
    messages = tuple(Said(to_us(FIRST + APART * number), text) for number, text in enumerate(said))
    statements = statements_of(Stream("short", language, "develop", messages[-1].at_us, messages, ()), tables)
    if not asked:
        assert not statements, [(one.fact.act, one.fact.predicate, one.fact.value) for one in statements]
    held = resolve(statements)
    for number, question, values in asked:
        at_us = messages[number - 1].at_us + AFTERWARDS_US
        read = understand(question, tables.grammars[language], tables, at_us, "Europe/Berlin")
        found = recall(read, held, at_us, tables, lambda texts: [0.0] * len(texts), RecallFigures())
        assert answers([one.fact.value for one in found], tuple(values)), [one.fact.value for one in found]
