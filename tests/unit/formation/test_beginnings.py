"""What the past tells the beginning of, what stands beside what was told before, and talk that only sounds like it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from aico_memory.bench.facts.run import statements_of
from aico_memory.bench.facts.streams import Said, Stream
from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.turkish_endings import in_harmony
from aico_memory.domain.formation.when import to_us
from aico_memory.domain.recall.timeline import Statement, resolve

FIRST, APART, AFTERWARDS_US = datetime(2026, 2, 4, 9, tzinfo=UTC), timedelta(days=20), 7_200_000_000
CASES = yaml.safe_load(Path(__file__).with_name("beginnings.yaml").read_text(encoding="utf-8"))


def _stated(language: str, said: list[str], tables: FormationTables) -> tuple[list[Statement], int]:
    messages = tuple(Said(to_us(FIRST + APART * number), text) for number, text in enumerate(said))
    stream = Stream("short", language, "develop", messages[-1].at_us, messages, ())
    return statements_of(stream, tables), messages[-1].at_us + AFTERWARDS_US


@pytest.mark.parametrize(("language", "said", "subject", "predicate", "value", "holds"), CASES["holds"], ids=str)
def test_what_was_begun_holds_and_what_was_before_does_not(
    tables: FormationTables, language: str, said: list[str], subject: str, predicate: str, value: str, holds: bool
) -> None:
    statements, at_us = _stated(language, said, tables)
    wanted = (subject, predicate, normalise_fact_key(value))
    held = [one for one in resolve(statements) if one.holds_at(at_us)]
    assert ((*wanted,) in [(one.subject, one.predicate, normalise_fact_key(one.fact.value)) for one in held]) == holds, [
        (one.subject, one.predicate, one.fact.value) for one in held
    ]


@pytest.mark.parametrize(("language", "said"), CASES["talk"], ids=str)
def test_nothing_is_stated_by_talk_that_sounds_like_it(tables: FormationTables, language: str, said: str) -> None:
    statements, _ = _stated(language, [said], tables)
    assert not statements, [(one.fact.act, one.fact.predicate, one.fact.value) for one in statements]


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("salon+nIn fiyatı", "salonun fiyatı"), ("davulcu+nIn fiyatı", "davulcunun fiyatı"), ("usta+nIn", "ustanın"),
        ("Anaokulu+'nA başladı", "Anaokulu'na başladı"), ("Bilkent+'ndA", "Bilkent'te"), ("Lisesi+'ndA", "Lisesi'nde"),
        ("1+1 daire", "1+1 daire"),
    ],
)  # fmt: skip
def test_turkish_endings_are_spelled_as_the_word_before_them_has_it(written: str, spelled: str) -> None:
    assert in_harmony(written) == spelled
