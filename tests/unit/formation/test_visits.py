"""A visit that is over was when it was: it is neither where somebody is now nor the end of where they are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from aico_memory.bench.facts.run import statements_of
from aico_memory.bench.facts.streams import Said, Stream
from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.when import day_of, to_us
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.timeline import resolve

SAID = to_us(datetime(2026, 5, 28, 10, tzinfo=UTC))
FIRST, APART, AFTERWARDS_US = datetime(2026, 2, 4, 9, tzinfo=UTC), timedelta(days=3), 7_200_000_000
CASES = yaml.safe_load(Path(__file__).with_name("visits.yaml").read_text(encoding="utf-8"))


def _facts(text: str, language: str, tables: FormationTables, zone: str = "UTC", at_us: int = SAID) -> tuple[FormedFact, ...]:
    return form(text, role="user", speaker="", said_at_us=at_us, zone=zone, recent=(), tables=tables, language=language).facts


def _day(named: str) -> int:
    return to_us(datetime.fromisoformat(named).replace(tzinfo=UTC)) if named else SAID


@pytest.mark.parametrize(("language", "text", "value", "begins", "ends"), CASES["bounded"], ids=str)
def test_a_visit_is_bounded_to_when_it_was(
    tables: FormationTables, language: str, text: str, value: str, begins: str, ends: str
) -> None:
    (fact,) = _facts(text, language, tables)
    assert (fact.value, fact.valid_from_us, fact.valid_until_us) == (value, _day(begins), _day(ends))
    assert (fact.act, fact.temporal_type) == ("assert", "time_bounded")


@pytest.mark.parametrize(("language", "said", "stays", "lives"), CASES["stays"], ids=str)
def test_where_one_is_and_lives_is_untouched_by_visits(
    tables: FormationTables, language: str, said: list[str], stays: list[str], lives: list[str]
) -> None:
    messages = tuple(Said(to_us(FIRST + APART * number), text) for number, text in enumerate(said))
    stream = Stream("short", language, "develop", messages[-1].at_us, messages, ())
    at_us = messages[-1].at_us + AFTERWARDS_US
    held = [one for one in resolve(statements_of(stream, tables)) if one.holds_at(at_us) and one.subject == "user"]
    assert [one.fact.value for one in held if one.predicate == "location"] == stays
    assert [one.fact.value for one in held if one.predicate == "home_city"] == lives


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "I am travelling through Spain."), ("en", "I'm in Rome."), ("en", "I am visiting Rome."),
        ("de", "Ich übernachte in Ulm."), ("de", "Ich reise durch Spanien."), ("tr", "Roma'dayım."),
        ("tr", "Bursa'da kalıyorum."),
    ],
)  # fmt: skip
def test_a_visit_that_goes_on_is_open(tables: FormationTables, language: str, text: str) -> None:
    (fact,) = _facts(text, language, tables)
    assert (fact.valid_from_us, fact.valid_until_us) == (SAID, OPEN)


def test_the_day_of_the_message_is_that_of_the_speaker(tables: FormationTables) -> None:
    # 23:30 UTC is half past one of the next day in Berlin.
    at_us = to_us(datetime(2026, 5, 28, 23, 30, tzinfo=UTC))
    (fact,) = _facts("Ich habe Rom besucht.", "de", tables, "Europe/Berlin", at_us)
    assert (fact.valid_from_us, fact.valid_until_us) == (to_us(datetime(2026, 5, 28, 22, tzinfo=UTC)), at_us)


def test_a_visit_told_at_midnight_was_on_the_day_that_ended(tables: FormationTables) -> None:
    (fact,) = _facts("I visited Rome.", "en", tables, at_us=_day("2026-05-28"))
    assert (fact.valid_from_us, fact.valid_until_us) == (_day("2026-05-27"), _day("2026-05-28"))


def test_a_day_lasts_as_long_as_the_clocks_say() -> None:
    start, end = day_of(to_us(datetime(2026, 3, 29, 12, tzinfo=UTC)), "Europe/Berlin")
    assert end - start == 23 * 3_600_000_000
