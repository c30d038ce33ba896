"""Texts that nobody writes by hand: one of them must not hold up what everybody else says.

Rules look back and forth; without a bound on what they look at, these texts kept them busy for minutes, up to for ever.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.wording import LONGEST_RUN, LONGEST_SENTENCE, MOST_READ, readable, sentences
from aico_memory.settings.write_path import ObserveSettings

PIECES = st.sampled_from(["\n", " ", "\t", "a", "tea ", "a%20", "\u00a0", " \n", "x-", "茶", ". ", "I like tea and "])


HEADS = {"yaşıyorum": "Adım Zoe. ", "çay ve kahve ": "Adım Zoe. ", "ich mag ": "Ich heiße Zoe. "}


def repeated(piece: str, length: int) -> str:
    return (piece * (length // len(piece) + 1))[:length]


@given(st.lists(st.tuples(PIECES, st.integers(1, 3000)), max_size=12))
def test_nothing_that_is_read_is_endless(parts: list[tuple[str, int]]) -> None:
    text = readable("".join(piece * count for piece, count in parts))
    assert len(text) <= MOST_READ
    assert not re.search(r"[^\S\n]{2}|\n *\n *\n", text)
    assert all(len(run) < LONGEST_RUN or "茶" in run for run in text.split())
    assert all(len(sentence) <= LONGEST_SENTENCE for sentence in sentences(text))


@pytest.mark.parametrize(
    "text", ["", "I live in Rome.\n\nI like tea.", "- one\n- two", "https://example.org/a?b=c", "東京に住んでいます。" * 300]
)
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert readable(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        "x",
        "\n",
        " ",
        "a%20",
        "I like a and ",
        "I live in Rome and ",
        "I like a, ",
        "and ",
        "yaşıyorum",
        "çay ve kahve ",
        "ich mag ",
        '"I like',
        "- a\n",
    ],
)
@pytest.mark.parametrize("length", [5_000, 1_000_000])
def test_a_message_of_one_thing_over_and_over_is_formed_like_any_other(
    tables: FormationTables, piece: str, length: int
) -> None:
    said = HEADS.get(piece, "My name is Zoe. ") + repeated(piece, length)
    # Nothing is held back: what is asked is how such a text is read where it is.
    tables = replace(tables, observe=ObserveSettings(filters=()))
    formed = form(said, role="user", speaker="", said_at_us=1_700_000_000_000_000, zone="UTC", recent=(said,), tables=tables)
    assert [fact.value for fact in formed.facts if fact.predicate == "name"] == ["Zoe"]
