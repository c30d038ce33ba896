"""Since when something holds: answered with the time that was told, not with the thing."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.recall.reading.passage import Passage
from aico_memory.domain.recall.reading.picking import Reading
from tests.support.reading import START, answered


@pytest.mark.parametrize(
    ("language", "told", "question", "value"),
    [
        ("en", "I have lived in Cardiff since March.", "Since when have I lived in Cardiff?", "March"),
        ("en", "I've been vegan since January 2024.", "How long have I been vegan?", "January 2024"),
        ("en", "I have played chess for ten years.", "How long have I played chess?", "ten years"),
        ("de", "Ich wohne seit März in Köln.", "Seit wann wohne ich in Köln?", "März"),
        ("de", "Ich arbeite seit 2019 bei Bosch.", "Wie lange arbeite ich schon bei Bosch?", "2019"),
        ("tr", "Ocaktan beri veganım.", "Ne zamandan beri veganım?", "Ocak"),
    ],
)
def test_since_when_is_answered_with_the_time(
    tables: FormationTables, language: str, told: str, question: str, value: str
) -> None:
    found = answered(tables, None, language, [told], question)
    assert found.values == [value]
    # It holds since that time, not since it was told.
    assert all(one.from_us < START for one in found.words)


def test_where_no_time_was_told_nothing_answers_since_when(tables: FormationTables) -> None:
    assert answered(tables, None, "en", ["I live in Cardiff."], "Since when have I lived in Cardiff?").values == []


def test_how_long_something_is_stays_a_measure(tables: FormationTables) -> None:
    assert answered(tables, None, "en", ["My commute takes 40 minutes."], "How long is my commute?").values == ["40 minutes"]


def test_a_reader_is_not_asked_about_a_time_that_a_fact_tells(tables: FormationTables) -> None:
    def read(passage: Passage) -> Reading:
        raise AssertionError(passage.words)

    told = "Ich wohne seit März in Köln. Ich mag Tee."
    assert answered(tables, read, "de", [told], "Seit wann wohne ich in Köln?").values == ["März"]
