"""The reader: what it is given to read, how runs of words become values, and what becomes of the rules' answer."""

from __future__ import annotations

import numpy as np
import pytest

from aico_memory.bench.facts.passages import HIDDEN, MIXED, UNSAID, WHOLE, PassageSampler
from aico_memory.bench.facts.run import Vectoriser, statements_of
from aico_memory.bench.facts.streams import Asked, Said, Stream
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.when import to_us
from aico_memory.domain.recall.question import understand
from aico_memory.domain.recall.reading.passage import (
    ANSWERED,
    KNOWN_THEN,
    MARKS,
    OVER_AS_ASKED,
    QUESTION,
    SAID_LATER,
    SHARED,
    Ruled,
)
from aico_memory.domain.recall.reading.picking import LONGEST, Run, cut_of, pick_values, spans
from aico_memory.domain.recall.reading.pool import ROOM, worth_reading
from aico_memory.domain.recall.slots import slot_of
from aico_memory.domain.recall.timeline import resolve
from aico_memory.models.twin import HashedEmbedder
from tests.support.reading import DAY, START, marks_of, passage, said_on_days


def test_question_and_messages_are_read_in_order_and_marked_by_when_they_were_said(tables: FormationTables) -> None:
    texts = ["We moved the piano upstairs.", "Now it stands in the hall."]
    read = passage(tables, "en", texts, "Where is the piano?", as_of_us=START + 5 * DAY)
    assert read.words[: read.begins] == ("Where", "is", "the", "piano?")
    assert read.message.tolist() == [QUESTION] * 4 + [0] * 5 + [1] * 6
    assert {int(mark) for mark in read.marks[read.message == 0, 0]} == {KNOWN_THEN}
    assert {int(mark) for mark in read.marks[read.message == 1, 0]} == {SAID_LATER}
    assert (read.marks >= 0).all()
    assert (read.marks < np.array(MARKS)).all()
    assert marks_of(read, "piano")[3] == SHARED


@pytest.mark.parametrize(
    ("language", "text", "asked", "word"),
    [
        ("en", "The keys are in the hall.", "Where is the key?", "keys"),
        ("tr", "Anahtarı çekmecede.", "Anahtar nerede?", "Anahtarı"),
    ],
)
def test_words_of_the_question_are_found_in_another_form(
    tables: FormationTables, language: str, text: str, asked: str, word: str
) -> None:
    assert marks_of(passage(tables, language, [text], asked), word)[3] == SHARED


@pytest.mark.parametrize(
    ("text", "word", "day", "same_as_on"),
    [("The desk is mine until 20 March 2026.", "March", 0, 10), ("Since 20 March 2026 it is hers.", "March", 60, 90)],
)
def test_a_time_is_marked_by_the_side_of_it_that_is_asked_about(
    tables: FormationTables, text: str, word: str, day: int, same_as_on: int
) -> None:
    def mark(on: int) -> int:
        return marks_of(passage(tables, "en", [text], "Whose desk is it?", START + on * DAY), word)[1]

    # START is 25 February 2026.
    assert mark(day) == mark(same_as_on) != 0
    assert mark(5) != mark(90)
    assert 0 in {mark_of[1] for mark_of in passage(tables, "en", [text], "Whose desk is it?").marks.tolist()}


def test_words_are_marked_by_what_the_rules_say_of_them(tables: FormationTables) -> None:
    texts = ["I live in Leeds.", "I moved to York."]
    messages = tuple(Said(START + number * 10 * DAY, text) for number, text in enumerate(texts))
    held = resolve(statements_of(Stream("told", "en", "develop", START + 99 * DAY, messages, ()), tables))
    ruled = Ruled(("York",), (START + 10 * DAY,), held)
    read = passage(tables, "en", texts, "Where do I live?", ruled=ruled)
    assert marks_of(read, "York.")[2] == ANSWERED
    assert marks_of(read, "Leeds.")[2] == OVER_AS_ASKED
    assert marks_of(read, "moved")[2] == 0


def test_runs_stay_within_a_message_and_are_bounded(tables: FormationTables) -> None:
    read = passage(tables, "en", ["one two three four five six seven eight nine ten", "Bern"], "What?")
    firsts, lasts = spans(read)
    assert (lasts - firsts).max() == LONGEST - 1
    assert (read.message[firsts] == read.message[lasts]).all()
    assert firsts.min() == read.begins
    assert len(spans(passage(tables, "en", [], "What?"))[0]) == 0


def test_values_are_picked_once_without_overlap_and_without_article(tables: FormationTables) -> None:
    read = passage(tables, "en", ["The Golden Hart, then Fox.", "the Fox"], "Which pub?")
    at = read.begins
    runs = [Run(at, at + 2, 0.5), Run(at + 1, at + 1, 0.4), Run(at + 4, at + 4, 0.3), Run(at + 5, at + 6, 0.2)]
    assert [one.value for one in pick_values(read, runs, tables.grammars["en"])] == ["Golden Hart", "Fox"]


@pytest.mark.parametrize(
    ("text", "word", "cut", "value"),
    [
        ("Artık Bursa'da oturuyorum.", "Bursa'da", 0, "Bursa"),
        ("Sabahları kahveyi bıraktım.", "kahveyi", 2, "kahve"),
        ("Yeni müdür Ferda.", "Ferda.", 0, "Ferda"),
        ("Onu aldım.", "Onu", 7, "On"),
    ],
)
def test_a_turkish_value_is_given_without_the_ending_that_was_read(
    tables: FormationTables, text: str, word: str, cut: int, value: str
) -> None:
    read = passage(tables, "tr", [text], "Ne?")
    place = list(read.words).index(word)
    assert [one.value for one in pick_values(read, [Run(place, place, 1.0, cut)], tables.grammars["tr"])] == [value]


@pytest.mark.parametrize(
    ("words", "value", "cut"),
    [
        (["her", "kahveyi,"], "kahve", 2), (["kahve"], "kahve", 0), (["Bursa'da"], "Bursa", 0), (["çay"], "kahve", 0),
        (["kahvelerimizdekiler"], "kahve", 0), (["Kahveyi"], "kahve", 2), (["çay"], "", 0),
    ],
)  # fmt: skip
def test_an_ending_is_what_stands_behind_the_value(words: list[str], value: str, cut: int) -> None:
    assert cut_of(words, value) == cut


def test_among_many_messages_those_that_bear_on_it_are_read_with_what_follows(tables: FormationTables) -> None:
    grammar = tables.grammars["en"]
    question = understand("Which ferry do I take?", grammar, tables, START, "UTC")
    slot = slot_of(question, grammar)
    texts = [f"Small talk number {number}." for number in range(120)]
    texts[7], texts[8], texts[90] = "I take the ferry called Halcyon.", "No, the other one.", "She has left."
    said = said_on_days(texts)
    read = [one.text for one in worth_reading(question, slot, said, {said[90].said_at_us}, grammar)]
    assert {texts[7], texts[8], texts[90]} <= set(read)
    assert sum(len(text.split()) for text in read) <= ROOM
    assert read == [text for text in texts if text in read]
    assert worth_reading(question, slot, said[:9], (), grammar) == said[:9]


def test_samples_tell_streams_whole_hidden_mixed_and_ask_in_vain(tables: FormationTables) -> None:
    stream = Stream(
        "one", "en", "develop", START + 40 * DAY,
        (Said(START, "I live in Leeds."), Said(START + 20 * DAY, "I live in York now.")),
        (Asked(None, "Where do I live?", ("York",)),),
    )  # fmt: skip
    other = Stream(
        "two", "en", "develop", START + 40 * DAY, (Said(START, "My dog is called Rex."),),
        (Asked(None, "What is my dog called?", ("Rex",)),),
    )  # fmt: skip
    variants = {WHOLE: 1.0, HIDDEN: 1.0, MIXED: 1.0, UNSAID: 1.0}
    samples = [
        one
        for seed in range(8)
        for one in PassageSampler(tables, Vectoriser(HashedEmbedder()), seed).samples([stream], variants, [stream, other])
    ]
    whole = next(one for one in samples if one.variant == WHOLE)
    assert whole.ruled_right
    ((first, last),) = whole.gold[0]
    assert whole.passage.words[first : last + 1] == ("York",)
    assert any(not one.ruled_right for one in samples if one.variant == HIDDEN)
    assert any(len(one.passage.said) > 2 for one in samples if one.variant == MIXED)
    assert all(not one.gold and not one.expected for one in samples if one.variant == UNSAID)
    again = list(PassageSampler(tables, Vectoriser(HashedEmbedder()), 0).samples([stream], variants, [stream, other]))
    assert len({one.variant for one in again}) >= 3
    assert [one.passage.words for one in again] == [one.passage.words for one in samples[: len(again)]]


def test_the_side_of_a_time_is_that_of_the_clock_of_whoever_said_it() -> None:
    # What the tests above take for the day of START.
    from datetime import UTC, datetime

    assert to_us(datetime(2026, 2, 25, 6, 13, 20, tzinfo=UTC)) == START
