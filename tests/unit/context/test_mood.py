"""How whoever asks feels, by their last messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.context.mood import CONVERSATION, Mood, Said, mood_of

MINUTE = 60_000_000
NOW = 1000 * MINUTE
FELT = {"sad": -0.7, "glad": 0.7, "tea": 0.0}


def mood(query: str, *said: tuple[str, int], messages: int = 3) -> Mood:
    texts = [Said(text, NOW - minutes_ago * MINUTE) for text, minutes_ago in said]
    return mood_of(query, texts, lambda text: FELT.get(text, 0.0), messages=messages, minutes=60, now_us=NOW)


@pytest.mark.parametrize(
    ("found", "valence"),
    [
        (mood("sad"), -0.7),
        (mood("tea", ("sad", 5)), round(-0.7 * 0.5 / 1.5, 3)),
        # It fades as people talk of other things, and what was said before the last three is not read.
        (mood("tea", ("sad", 9), ("bread", 8), ("milk", 7)), 0.0),
        (mood("glad", ("sad", 5)), round((0.7 - 0.35) / 1.5, 3)),
        # The question itself, where it has been added already, counts once.
        (mood("sad", ("tea", 5), ("sad", 1)), round(-0.7 / 1.5, 3)),
        (mood("tea", ("sad", 60)), 0.0),
        (mood("sad", ("sad", 1), messages=0), 0.0),
        (mood("tea", ("sad", 1), messages=1), 0.0),
    ],
)
def test_the_newest_message_says_most_and_old_ones_nothing(found: Mood, valence: float) -> None:
    assert found.valence == valence
    assert found.told_by == (CONVERSATION if valence else "")


def test_a_mood_says_until_when_it_holds() -> None:
    assert mood("tea", ("sad", 50), ("tea", 40)).until_us == NOW + 10 * MINUTE
    assert mood("sad").until_us == mood("tea", ("tea", 5)).until_us == 0


@given(st.lists(st.tuples(st.sampled_from([*FELT, "else"]), st.integers(0, 90)), max_size=6), st.sampled_from([*FELT]))
def test_a_mood_is_a_valence(said: list[tuple[str, int]], query: str) -> None:
    assert -0.7 <= mood(query, *said).valence <= 0.7
