"""Bounds that are told by the edge of a month, by a day with a name of its own, and by two weekdays."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.when import to_us
from aico_memory.domain.memory import OPEN


def _at(year: int, month: int, day: int) -> int:
    return to_us(datetime(year, month, day, tzinfo=UTC))


# A Thursday.
SAID = to_us(datetime(2026, 12, 10, 10, tzinfo=UTC))


def told(tables: FormationTables, text: str, said_at_us: int = SAID) -> FormedFact:
    (fact,) = form(text, role="user", speaker="", said_at_us=said_at_us, zone="UTC", recent=(), tables=tables).facts
    return fact


@pytest.mark.parametrize(
    ("text", "value", "ends"),
    [
        ("I'm in Rome until New Year's Eve.", "Rome", _at(2027, 1, 1)),
        ("I'm in Rome until New Year's Day.", "Rome", _at(2027, 1, 2)),
        ("I'm in Rome until New Year.", "Rome", _at(2027, 1, 2)),
        ("Ich bin bis Silvester in Rom.", "Rom", _at(2027, 1, 1)),
        ("Ich bin bis Neujahr in Rom.", "Rom", _at(2027, 1, 2)),
        ("I live in Rome until mid-April.", "Rome", _at(2027, 4, 17)),
        ("I live in Rome until mid April.", "Rome", _at(2027, 4, 17)),
        ("I'm in Rome until early January.", "Rome", _at(2027, 1, 2)),
        ("I'm in Rome until late January.", "Rome", _at(2027, 2, 1)),
        ("Ich wohne bis Mitte April in Rom.", "Rom", _at(2027, 4, 17)),
        ("Aralığa kadar Roma'da yaşıyorum.", "Roma", _at(2027, 1, 1)),
        ("Ocağa kadar Roma'da yaşıyorum.", "Roma", _at(2027, 1, 1)),
        ("Ocağın sonuna kadar Roma'da yaşıyorum.", "Roma", _at(2027, 2, 1)),
        ("Ay sonuna kadar Roma'dayım.", "Roma", _at(2027, 1, 1)),
    ],
)
def test_until_an_edge_ends_there(tables: FormationTables, text: str, value: str, ends: int) -> None:
    fact = told(tables, text)
    assert (fact.value, fact.valid_from_us, fact.valid_until_us) == (value, SAID, ends)


@pytest.mark.parametrize(
    ("text", "said_at_us", "begins", "ends"),
    [
        ("I'm in Rome from Monday to Friday.", _at(2026, 12, 12), _at(2026, 12, 14), _at(2026, 12, 19)),
        ("We're staying in Rome from Saturday to Monday.", SAID, _at(2026, 12, 12), _at(2026, 12, 15)),
        # Said in between.
        ("I'm in Rome from Monday to Friday.", SAID, _at(2026, 12, 7), _at(2026, 12, 12)),
    ],
)
def test_from_one_weekday_to_another_is_all_between(
    tables: FormationTables, text: str, said_at_us: int, begins: int, ends: int
) -> None:
    fact = told(tables, text, said_at_us)
    assert (fact.value, fact.valid_from_us, fact.valid_until_us) == ("Rome", begins, ends)


def test_what_moves_from_one_weekday_to_another_is_on_the_other(tables: FormationTables) -> None:
    fact = told(tables, "The meeting has moved from Monday to Friday.")
    assert (fact.value, fact.valid_until_us) == ("Friday", OPEN)


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("I moved to Rome on New Year's Eve.", _at(2026, 12, 31)),
        ("I've lived in Rome since New Year's Eve.", _at(2026, 12, 31)),
        ("I moved to Rome on New Year's Day.", _at(2027, 1, 1)),
        ("Ich bin an Silvester nach Rom gezogen.", _at(2026, 12, 31)),
        ("Ich wohne seit Silvester in Rom.", _at(2026, 12, 31)),
        ("Ich wohne seit Neujahr in Rom.", _at(2027, 1, 1)),
    ],
)
def test_the_last_day_of_the_year_is_not_the_first(tables: FormationTables, text: str, begins: int) -> None:
    fact = told(tables, text, _at(2027, 1, 3))
    assert (fact.value[:3], fact.valid_from_us) == ("Rom", begins)
