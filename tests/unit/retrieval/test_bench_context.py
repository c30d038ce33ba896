"""What `bench context` asks and how it scores, without a deployment; and that its configurations are ones that there are."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from aico_memory.bench.context.run import AS_CONFIGURED, VARIANTS, Row, chosen, note, pairs, singles
from aico_memory.bench.retrieval.data import Collection, Question, Said
from aico_memory.errors import InvalidMessage
from aico_memory.settings.context import ContextSettings
from aico_memory.settings.root import Settings

SAID = tuple(Said(f"t{place}", f"text {place}", "Ana", "s", datetime(2024, 1, 1, tzinfo=UTC)) for place in range(3))
ASKED = tuple(Question(f"Question {number}?", (f"t{number % 3}",), str(1 + number % 5)) for number in range(20))
TALK = Collection("talk", SAID, ASKED)


def test_questions_are_spread_over_the_conversation_and_adversarial_ones_are_left_out() -> None:
    assert {one.category for one in singles(TALK, 99)} == {"1", "2", "3", "4"}
    assert [one.text for one in singles(TALK, 4)] == ["Question 0?", "Question 5?", "Question 10?", "Question 15?"]


def test_a_pair_asks_both_and_either_s_turns_are_right() -> None:
    first, second = pairs(TALK, 4)
    assert first.text == "Question 0? Question 5?" and first.gold == ("t0", "t2")
    assert second.gold == ("t1", "t0")


@pytest.mark.parametrize(
    ("rests_on", "recall", "reciprocal"),
    [
        ([{"t9"}, {"t0", "t1"}], 1.0, 0.5), ([{"t0"}], 0.5, 1.0), ([{"t9"}], 0.0, 0.0), ([], 0.0, 0.0),
    ],
)  # fmt: skip
def test_a_context_is_scored_by_what_its_items_rest_on(rests_on: list[set[str]], recall: float, reciprocal: float) -> None:
    row = Row()
    note(row, Question("?", ("t0", "t1"), "1"), rests_on)
    assert (row.recall, row.reciprocal) == ([recall], [reciprocal])


def test_configurations_are_chosen_by_parts_of_their_names() -> None:
    assert list(chosen(())) == list(VARIANTS)
    assert list(chosen(("parts",))) == [AS_CONFIGURED, "without parts", "parts merged by ranks", "as configured, once more"]
    with pytest.raises(InvalidMessage, match="nope"):
        chosen(("parts", "nope"))


@pytest.mark.parametrize("name", VARIANTS)
def test_each_configuration_is_valid_and_differs_where_it_says_so(name: str) -> None:
    changed = Settings.model_validate({"context": dict(VARIANTS[name])}).context
    assert (changed == ContextSettings()) is name.startswith(AS_CONFIGURED)
