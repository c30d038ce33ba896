"""Lists of days of the week, told apart where they answer."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.recall.days_apart import days_in
from tests.support.reading import answered


@pytest.mark.parametrize(
    ("language", "value", "days"),
    [
        ("en", "Mondays and Wednesdays", ["Mondays", "Wednesdays"]),
        ("en", "Monday, Tuesday & Friday", ["Monday", "Tuesday", "Friday"]),
        ("en", "Mondays", []),
        ("en", "Mondays and Wednesdays at six", []),
        ("en", "Tom and Friday", []),
        ("de", "dienstags und donnerstags", ["dienstags", "donnerstags"]),
        ("tr", "pazartesi ve çarşamba günleri", ["pazartesi", "çarşamba"]),
        ("tr", "Salıları ve cumaları", ["Salıları", "cumaları"]),
    ],
)
def test_only_a_list_of_days_is_one(tables: FormationTables, language: str, value: str, days: list[str]) -> None:
    assert days_in(value, tables.grammars[language]) == days


def test_each_day_is_an_answer_of_its_own(tables: FormationTables) -> None:
    told = ["I work from home on Mondays and Wednesdays."]
    assert answered(tables, None, "en", told, "On which days do I work from home?").values == ["Mondays", "Wednesdays"]
