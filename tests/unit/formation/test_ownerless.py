"""Whose a thing is that several people hear of."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.ownerless import said_of_a_thing

START = 1_772_000_000_000_000


@pytest.mark.parametrize(
    ("text", "of_all"),
    [
        ("The budget is 500 euros.", True), ("Hi all! The Wi-Fi password is tulip.", True), ("My budget is 500 euros.", False),
        ("Our budget is 500 euros.", False), ("I live in Rome.", False), ("I like tea.", False),
        ("Das Budget beträgt 500 Euro.", True), ("Mein Budget beträgt 500 Euro.", False), ("Ich wohne in Graz.", False),
        ("Wi-Fi şifresi lale.", True), ("Bütçem 300 euro.", False), ("Benim bütçem 300 euro.", False),
        ("Ankara'da yaşıyorum.", False),
    ],
)  # fmt: skip
def test_only_a_thing_that_nobody_is_said_to_have_is_of_all(tables, text: str, of_all: bool) -> None:
    formed = form(text, role="user", speaker="", said_at_us=START, zone="UTC", recent=(), tables=tables)
    assert formed.facts
    told = [said_of_a_thing(fact, text, tables.grammars[fact.language]) for fact in formed.facts]
    assert [bool(one) for one in told] == [of_all] * len(told)
    assert all(one in text for one in told)
