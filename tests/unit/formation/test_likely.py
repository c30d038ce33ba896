"""Patterns that are left out could not have matched."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.bench.facts.streams import load_streams
from aico_memory.domain.formation.likely import Likely, even_letters, required_strings
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.paths import find_home

# One in so many of the messages of the streams.
EVERY = 23
ATOMS = (
    "abc",
    "Abd",
    "bca",
    "[ab]c",
    "a?bc",
    "[^a]bc",
    r"\w",
    ".",
    "(?:abc|bcd)",
    "(?i:aBc)",
    r"\bca",
    "İıi",
    "ſtk",
    "ça",
    "aβc",
    "вab",
)
WRAPS = ("{}", "(?:{})?", "(?:{})+", "(?:{}){{2,3}}", "(?={})a", "(?!{})b", "(?<=abc){}", "(?P<n{{}}>{})", "(?:{}|abcd)", "{}$")
LETTERS = "abcdABCiIıİsSſkKtçβϐв\u1c80 "

parts = st.tuples(st.sampled_from(ATOMS), st.sampled_from(WRAPS))
patterns = st.tuples(st.booleans(), st.lists(parts, min_size=1, max_size=4))


def written(given_parts: tuple[bool, list[tuple[str, str]]]) -> str:
    ignores, chosen = given_parts
    text = "".join(wrap.format(atom).replace("{}", str(number)) for number, (atom, wrap) in enumerate(chosen))
    return f"(?i){text}" if ignores else text


@given(st.lists(patterns, min_size=1, max_size=6), st.lists(st.text(LETTERS, max_size=24), min_size=1, max_size=4))
def test_whatever_matches_is_among_the_likely_ones(several, texts):
    compiled = [re.compile(written(one)) for one in several]
    likely = Likely.of(compiled)
    for text in texts:
        matching = {number for number, pattern in enumerate(compiled) if pattern.search(text)}
        assert matching <= set(likely.numbers(text))


@pytest.mark.parametrize("language", ["en", "de", "tr"])
def test_no_wording_of_a_language_is_left_out_where_it_matches(language):
    grammar = load_formation_tables(find_home()).grammars[language]
    wordings = [wording for wording, _, _ in grammar.rewrites]
    likely = Likely.of(wordings)
    texts = [said.text for stream in load_streams() if stream.half == "develop" for said in stream.said][::EVERY]
    tried = 0
    for text in texts:
        numbers = likely.numbers(text)
        tried += len(numbers)
        assert numbers == sorted(numbers, reverse=True)
        left_out = set(range(len(wordings))) - set(numbers)
        assert [wordings[number].pattern for number in left_out if wordings[number].search(text)] == []
    # That is what it is for.
    assert tried < len(texts) * len(wordings) / 5


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(?i)I live in", {"i live in"}),
        (r"\b[Mm]y (?:new )?flat", {"my flat", "my new flat"}),
        ("(?:that is|this is|it is) mine", {"that is mine", "this is mine", "it is mine"}),
        ("(?:quite )?[a-z]+ gone", {" gone"}),
        ("(?=.*later)soon", {"later"}),
        ("[a-z]+", set()),
        ("(?:abc)*", set()),
        ("(?:abc|[a-z])", set()),
        ("ab", set()),
    ],
)
def test_what_a_pattern_cannot_do_without(pattern, expected):
    assert required_strings(re.compile(pattern)) == expected


def test_letters_that_patterns_do_not_tell_apart_are_one():
    assert even_letters("İSTANBUL Iıi ſK") == "istanbul iii sk"
    for text in ("İ", "ẞ", "ﬁ", "ŉ", "\u0130\u0307"):
        assert len(even_letters(text)) == len(text)
