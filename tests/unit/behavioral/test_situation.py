import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.behavioral.marks import intent_by_marks
from aico_memory.domain.behavioral.situation import Situation, bucket_of, checked_time_of_day, label, part_of_day
from aico_memory.errors import InvalidMessage


def test_every_process_puts_a_situation_into_the_same_bucket():
    program = "from aico_memory.domain.behavioral.situation import bucket_of; print(bucket_of('question','neutral','morning'))"
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {str(bucket_of("question", "neutral", "morning"))}


@given(st.text(), st.text(), st.text())
def test_a_bucket_lies_within_a_hundred(intent, sentiment, time_of_day):
    assert 0 <= bucket_of(intent, sentiment, time_of_day) < 100


def test_spelling_does_not_change_the_bucket():
    assert bucket_of("Code Review", "NEUTRAL", "morning") == bucket_of("code-review", "neutral", "Morning")


def test_the_parts_of_a_context_are_not_exchangeable():
    assert Situation("a", "b", "c").bucket == bucket_of("a", "b", "c")
    assert len({bucket_of("question", "neutral", time) for time in ("morning", "afternoon", "evening", "night")}) > 1


@pytest.mark.parametrize(
    ("hour", "name"),
    [
        (0, "night"),
        (4, "night"),
        (5, "morning"),
        (11, "morning"),
        (12, "afternoon"),
        (17, "evening"),
        (21, "evening"),
        (22, "night"),
    ],
)
def test_the_day_is_divided_at_its_hours(hour, name):
    assert part_of_day(hour) == name


def test_an_unknown_time_of_day_is_refused_with_the_ones_that_exist():
    with pytest.raises(InvalidMessage, match="noon") as refusal:
        checked_time_of_day("noon")
    assert "afternoon" in refusal.value.mend


def test_labels_are_compared_without_regard_to_case_and_blanks():
    assert label("  Code-Review ") == "code_review"


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("How far is the moon?", "question"),
        ("كم تبعد القمر؟", "question"),
        ("月まではどのくらいですか？", "question"),
        ("```\nx = 1\n```", "technical"),
        ("Please review this diff: foo(bar)", "code_review"),
        ("I had a walk today.", "statement"),
    ],
)
def test_marks_tell_the_intent_where_no_model_answers(text, intent):
    assert intent_by_marks(text) == intent
