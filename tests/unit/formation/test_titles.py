"""A title or an initial keeps its stop: a value is what was said."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.wording import with_stops

SAID = 1_772_625_600_000_000


@pytest.mark.parametrize(
    ("language", "text", "value", "key"),
    [
        ("en", "Dr. Lee is my dentist now.", "Dr. Lee", "dr lee"),
        ("en", "Dr Lee is my dentist now.", "Dr Lee", "dr lee"),
        ("en", "My landlord, Mr. Smith, lives upstairs.", "Mr. Smith", "mr smith"),
        ("de", "Mein Hausarzt ist Dr. Müller.", "Dr. Müller", "dr müller"),
        ("tr", "Doktorum Dr. Yılmaz.", "Dr. Yılmaz", "dr yılmaz"),
    ],
)
def test_a_title_keeps_its_stop(tables: FormationTables, language: str, text: str, value: str, key: str) -> None:
    formed = form(text, role="user", speaker="", said_at_us=SAID, zone="UTC", recent=(), tables=tables, language=language)
    assert (value, key) in [(fact.value, fact.object_key) for fact in formed.facts]


@pytest.mark.parametrize(
    ("value", "text", "said"),
    [
        ("Prof Dr Ay", "Doktorum Prof. Dr. Ay.", "Prof. Dr. Ay"),
        ("C S Lewis", "I like C. S. Lewis", "C. S. Lewis"),
        ("Dr Kim", "Dr Kim it is. Kim is nice", "Dr Kim"),
        ("plan B first", "plan B first", "plan B first"),
        ("Oslo", "I saw Dr. Kim in Oslo", "Oslo"),
    ],
)
def test_stops_are_taken_from_what_was_said(value: str, text: str, said: str) -> None:
    assert with_stops(value, text) == said
