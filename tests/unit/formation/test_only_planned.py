"""What one will do is a plan with an end, and neither where one is nor what one does."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.formed import Formed
from aico_memory.domain.formation.grammar import FormationTables

SAID_AT_US = 1_760_000_000_000_000
WEEK_US = 7 * 86_400_000_000
PLANNED = [
    ("I'm going to visit Rome.", "visit Rome"),
    ("I will visit Rome in May.", "visit Rome"),
    ("I will paint the kitchen next week.", "paint kitchen"),
    ("Ich werde nächste Woche die Küche streichen.", "Küche streichen"),
    ("Haftaya mutfağı boyayacağım.", "mutfağı boya"),
]


def formed(text: str, tables: FormationTables) -> Formed:
    return form(text, role="user", speaker="", said_at_us=SAID_AT_US, zone="UTC", recent=(), tables=tables)


@pytest.mark.parametrize(("text", "value"), PLANNED)
def test_what_one_will_do_is_a_plan_that_ends(text: str, value: str, tables: FormationTables) -> None:
    said = formed(text, tables)
    assert not said.facts
    (plan,) = said.foresight
    assert (plan.kind, plan.temporal_type) == ("plan", "time_bounded")
    assert value.casefold().split()[-1] in plan.value.casefold()
    assert plan.valid_from_us == SAID_AT_US < plan.valid_until_us
    assert not any(line.startswith("assert") for line in said.trace)


def test_without_a_time_a_plan_holds_a_week(tables: FormationTables) -> None:
    (plan,) = formed("I'm going to visit Rome.", tables).foresight
    assert plan.valid_until_us == SAID_AT_US + WEEK_US


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("I'll stay at the Hilton next week.", "location"),
        ("My rent will be 900 euros from May.", "attribute:rent"),
        ("I'm visiting Rome.", "location"),
        ("I'm going to Paris tomorrow.", "trip"),
    ],
)
def test_what_will_hold_and_what_holds_are_facts(text: str, predicate: str, tables: FormationTables) -> None:
    said = formed(text, tables)
    assert predicate in [fact.predicate for fact in said.facts] and not said.foresight


def test_what_is_only_said_to_be_done_makes_no_plan(tables: FormationTables) -> None:
    said = formed("I'll try that.", tables)
    assert not said.facts and not said.foresight
