"""What a statement means among what is stored: subjects, predicates and values that are not named in full."""

from __future__ import annotations

from typing import Any

import pytest

from aico_memory.domain.formation.formed import NEWEST
from aico_memory.domain.gate.decide import resolved
from aico_memory.domain.gate.projection import memory_of
from aico_memory.domain.gate.reference import referred
from aico_memory.domain.gate.statement import Known, Neighbour
from tests.support.statements import MODEL, said, told


def stored(number: int, value: str, predicate: str, subject: str = "user", on: float = 1, **fields: Any) -> Known:
    single = fields.pop("single_valued", True)
    statement = said(number, value, on, predicate=predicate, subject=subject, single_valued=single, language="en")
    memory = memory_of(statement, MODEL.retention, fields.pop("status", "active"))
    return Known(memory, subject, predicate, value.casefold(), single, value)


def meant(new: Any, *items: Known) -> tuple[str, str, str]:
    fact = referred(new, items).fact
    return fact.subject, fact.predicate, fact.corrected


def test_the_meeting_is_the_team_meeting_where_there_is_no_other() -> None:
    moved = said(9, "Thursday", 9, predicate="time", subject="meeting", language="en")
    team, board = stored(1, "Tuesday", "time", "team meeting"), stored(2, "Friday", "time", "board meeting")
    assert meant(moved, team)[0] == "team meeting"
    assert meant(moved, team, board)[0] == "meeting"
    assert meant(moved, stored(1, "Tuesday", "time", "dentist"))[0] == "meeting"


def test_whoever_leaves_x_for_y_has_y_of_the_kind_that_x_was() -> None:
    switched = said(9, "Vim", 9, predicate="uses", single_valued=False, corrected="emacs", language="en")
    assert meant(switched, stored(1, "Emacs", "editor")) == ("user", "editor", "emacs")
    assert referred(switched, [stored(1, "Emacs", "editor")]).fact.single_valued
    assert meant(switched, stored(1, "Emacs", "likes")) == ("user", "uses", "emacs")
    assert meant(switched, stored(1, "GNU Emacs", "uses", single_valued=False)) == ("user", "uses", "gnu emacs")


@pytest.mark.parametrize(("predicate", "closed"), [("employer", "employer"), ("pet", "team")])
def test_whoever_left_x_left_whichever_x_was(predicate: str, closed: str) -> None:
    left = said(9, "Acme", 9, act="end", predicate="team", language="en")
    assert meant(left, stored(1, "Acme", predicate))[1] == closed


def test_what_was_sold_is_what_was_had_under_whatever_name() -> None:
    sold = said(9, "old Skoda", 9, act="end", predicate="owns", single_valued=False, language="en")
    assert meant(sold, stored(1, "Skoda", "car")) == ("user", "car", "skoda")
    assert meant(sold, stored(1, "Volvo", "car")) == ("user", "owns", "")


def test_a_correction_without_a_predicate_corrects_the_value_that_it_names_or_what_was_said_last() -> None:
    first, last = stored(1, "Rome", "home_city", on=1), stored(2, "Tuesday", "time", "dentist", on=5)
    named = said(9, "Oslo", 9, act="correct", predicate="", subject="user", corrected="rome", language="en")
    assert meant(named, first, last) == ("user", "home_city", "rome")
    unnamed = said(9, "Thursday", 9, act="correct", predicate="", subject="user", corrected=NEWEST, language="en")
    assert meant(unnamed, first, last) == ("dentist", "time", "tuesday")
    assert referred(unnamed, []) is unnamed


def test_a_retraction_finds_its_value_under_any_predicate_and_among_what_is_over() -> None:
    never = said(9, "Acme", 9, act="retract", predicate="attribute:boss", language="en")
    assert meant(never, stored(1, "Acme", "employer", status="superseded")) == ("user", "employer", "acme")


def test_nothing_of_another_scope_and_nothing_that_waits_for_review_is_meant() -> None:
    left = said(9, "Acme", 9, act="end", predicate="team", language="en")
    assert meant(left, stored(1, "Acme", "employer", status="candidate"))[1] == "team"
    elsewhere = stored(1, "Acme", "employer")
    moved = said(9, "Acme", 9, act="end", predicate="team", language="en", scope=elsewhere.memory.scope._replace(id="bob"))
    assert meant(moved, elsewhere)[1] == "team"


def test_a_plain_end_through_the_gate_closes_what_is_stored_under_another_predicate() -> None:
    shelf = told([said(1, "Acme", 1, predicate="employer", language="en")])
    end = said(2, "Acme", 8, act="end", predicate="team", language="en")
    known = list(shelf.items.values())
    told_end = resolved(referred(end, known), [Neighbour(one, 0.5) for one in known])
    assert [one.action for one in shelf.tell(told_end)] == ["END"]
    assert shelf.active() == []


def test_whoever_is_back_to_x_is_back_to_what_x_was() -> None:
    back = said(9, "physics", 9, predicate="returned", single_valued=False, corrected="physics", language="en")
    over = stored(1, "physics", "studies", status="superseded")
    assert meant(back, over) == ("user", "studies", "")
    assert meant(back) == ("user", "returned", "physics")


def test_a_phone_for_an_operating_system_is_still_a_phone() -> None:
    switched = said(9, "iPhone", 9, predicate="phone", single_valued=True, corrected="android", language="en")
    uses, phone = stored(1, "Android", "uses", single_valued=False), stored(2, "OnePlus", "phone")
    assert meant(switched, uses, phone)[1] == "phone"
    assert meant(switched, uses)[1] == "uses"


def test_the_contract_is_the_mobile_contract_where_there_is_no_other() -> None:
    changed = said(9, "O2", 9, predicate="attribute:contract", language="en")
    mobile, power = stored(1, "Vodafone", "attribute:mobile contract"), stored(2, "Eon", "attribute:power contract")
    assert meant(changed, mobile)[1] == "attribute:mobile contract"
    assert meant(changed, mobile, power)[1] == "attribute:contract"
    assert meant(changed, mobile, stored(3, "Aral", "attribute:contract"))[1] == "attribute:contract"


def test_a_pupil_who_starts_somewhere_starts_at_a_school() -> None:
    started = said(9, "St Mark", 9, predicate="employer", subject="finn", language="en")
    school, job = stored(1, "Elm Primary", "school", "finn"), stored(2, "Lidl", "employer", "finn")
    assert meant(started, school)[1] == "school"
    assert meant(started, school, job)[1] == "employer"
    assert meant(said(9, "Lidl", 9, predicate="employer", language="en"), stored(1, "Uni", "school"))[1] == "employer"


def test_whoever_quit_swedish_learns_it_no_longer() -> None:
    quit_it = said(9, "Swedish", 9, act="end", predicate="employer", language="en")
    assert meant(quit_it, stored(1, "Swedish", "learning", single_valued=False))[1] == "learning"
    assert meant(quit_it, stored(1, "Swedish", "likes", single_valued=False))[1] == "employer"
