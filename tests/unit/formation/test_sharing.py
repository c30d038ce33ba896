"""A phrase of time in a sentence that lists two things: which of them it bounds."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.memory import OPEN

# 7 January 2026.
AT_US = 1_767_780_000_000_000


def bounded(text: str, tables: FormationTables) -> dict[str, bool]:
    """By value: whether it ends."""
    found = form(text, role="user", speaker="", said_at_us=AT_US, zone="UTC", recent=(), tables=tables)
    return {fact.value: fact.valid_until_us != OPEN for fact in found.facts}


@pytest.mark.parametrize(
    ("text", "stays", "ends"),
    [
        ("I have Netflix, and Disney+ until June.", "Netflix", "Disney+"),
        ("I pay for Spotify, and Audible until March.", "Spotify", "Audible"),
        ("I have Disney+ until June, and Netflix.", "Netflix", "Disney+"),
        ("I have Disney+ until June and Netflix.", "Netflix", "Disney+"),
        ("I'm learning Spanish, and Greek until August.", "Spanish", "Greek"),
        ("We have a dog, and a cat until Sunday.", "dog", "cat"),
        ("We have carpets, and a car until June.", "carpets", "car"),
        ("Ich habe Netflix, und Disney+ bis Juni.", "Netflix", "Disney+"),
        ("Ich habe Netflix und bis Juni Disney+.", "Netflix", "Disney+"),
        ("Ich lerne Spanisch und bis August Griechisch.", "Spanisch", "Griechisch"),
        ("Ich nutze Slack und bis Oktober noch Teams.", "Slack", "Teams"),
        ("Netflix ve hazirana kadar Disney+ aboneliğim var.", "Netflix", "Disney+"),
        ("İspanyolca ve ağustosa kadar Yunanca öğreniyorum.", "İspanyolca", "Yunanca"),
    ],
)
def test_an_end_that_is_said_of_one_of_two_ends_that_one(text: str, stays: str, ends: str, tables: FormationTables) -> None:
    assert bounded(text, tables) == {stays: False, ends: True}


@pytest.mark.parametrize(
    "text",
    [
        "I have Netflix and Disney+ until June.",
        "Until June I have Netflix, and Disney+.",
        "I have Netflix, Hulu, and Disney+ until June.",
        "I have Netflix, and Disney+, until June.",
        "Ich habe Netflix und Disney+ bis Juni.",
        "Ich habe bis Juni Netflix und Disney+.",
        "Hazirana kadar Netflix ve Disney+ aboneliğim var.",
    ],
)
def test_an_end_that_is_said_of_all_ends_all(text: str, tables: FormationTables) -> None:
    ends = bounded(text, tables)
    assert {"Netflix", "Disney+"} <= ends.keys()
    assert all(ends.values())


def test_since_when_is_said_of_one_of_two_as_well(tables: FormationTables) -> None:
    text = "I have Netflix, and Disney+ since June."
    facts = form(text, role="user", speaker="", said_at_us=AT_US, zone="UTC", recent=(), tables=tables).facts
    begins = {fact.value: fact.valid_from_us for fact in facts}
    assert begins["Disney+"] < begins["Netflix"] == AT_US


@pytest.mark.parametrize(
    "text", ["I have Netflix until May and Disney+ until June.", "Ich habe Netflix bis Mai und Disney+ bis Juni."]
)
def test_what_has_an_end_of_its_own_takes_no_others(text: str, tables: FormationTables) -> None:
    facts = form(text, role="user", speaker="", said_at_us=AT_US, zone="UTC", recent=(), tables=tables).facts
    ends = {fact.value: fact.valid_until_us for fact in facts}
    assert AT_US < ends["Netflix"] < ends["Disney+"] < OPEN


def test_an_end_that_opens_the_second_part_leaves_the_first_alone(tables: FormationTables) -> None:
    assert bounded("I work at Acme and until June at Globex.", tables)["Acme"] is False
