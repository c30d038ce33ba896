"""The reader: what it is given to read, how runs of words become values, and what becomes of the rules' answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from aico_memory.bench.facts.passages import HIDDEN, MIXED, UNSAID, WHOLE, PassageSampler
from aico_memory.bench.facts.run import Vectoriser, statements_of
from aico_memory.bench.facts.streams import Asked, Said, Stream
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.when import to_us
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.answer import RecallFigures, recalled
from aico_memory.domain.recall.deciding import Answer, answer_of
from aico_memory.domain.recall.mirrored import Utterance
from aico_memory.domain.recall.question import understand
from aico_memory.domain.recall.reading.passage import (
    ANSWERED,
    KNOWN_THEN,
    MARKS,
    OVER_AS_ASKED,
    QUESTION,
    SAID_LATER,
    SHARED,
    Passage,
    Ruled,
    passage_of,
)
from aico_memory.domain.recall.reading.picking import LONGEST, Run, Scorer, cut_of, pick_values, spans
from aico_memory.domain.recall.reading.pool import ROOM, worth_reading
from aico_memory.domain.recall.slots import slot_of
from aico_memory.domain.recall.timeline import resolve
from aico_memory.models.twin import HashedEmbedder

START, DAY = 1_772_000_000_000_000, 86_400_000_000
SILENT = Ruled((), (), ())


def said_on_days(texts: Sequence[str]) -> list[Utterance]:
    return [Utterance(b"%d" % number, text, START + number * 10 * DAY, "UTC") for number, text in enumerate(texts)]


def passage(
    tables: FormationTables, language: str, texts: Sequence[str], asked: str, as_of_us: int = START + 1_000 * DAY,
    ruled: Ruled = SILENT,
) -> Passage:  # fmt: skip
    grammar = tables.grammars[language]
    question = understand(asked, grammar, tables, as_of_us, "UTC")
    return passage_of(question, slot_of(question, grammar), said_on_days(texts), ruled, grammar, as_of_us)


def marks_of(read: Passage, word: str) -> list[int]:
    return [int(mark) for mark in read.marks[list(read.words).index(word)]]


def finding(*wanted: str) -> Scorer:
    """A reader that finds these words, the last time that they are said, the first of them the surest."""

    def read(read: Passage) -> list[Run]:
        runs = []
        for place, text in enumerate(wanted):
            words = text.split()
            at = max(
                at for at in range(read.begins, len(read.words))
                if [word.strip(".,!") for word in read.words[at : at + len(words)]] == words
            )  # fmt: skip
            runs.append(Run(at, at + len(words) - 1, 0.9 - place / 10))
        return runs

    return read


def answered(
    tables: FormationTables, read: Scorer | None, language: str, texts: Sequence[str], asked: str, hidden: Sequence[int] = ()
) -> Answer:  # fmt: skip
    """The answer to what was said; the reader does not see what is hidden."""
    grammar = tables.grammars[language]
    messages = tuple(Said(START + number * 10 * DAY, text) for number, text in enumerate(texts))
    as_of = messages[-1].at_us + DAY
    held = resolve(statements_of(Stream("told", language, "develop", as_of, messages, ()), tables))
    question = understand(asked, grammar, tables, as_of, "UTC")
    facts = recalled(question, held, as_of, tables, lambda all_: [0.0] * len(all_), RecallFigures())
    seen = [one for number, one in enumerate(said_on_days(texts)) if number not in hidden]
    return answer_of(facts, seen, held, question, grammar, as_of, read)


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


def test_what_is_read_answers_with_its_message_and_the_time_that_it_names(tables: FormationTables) -> None:
    texts = ["Booked the Halcyon ferry until 1 May 2027.", "Sunny today."]
    answer = answered(tables, finding("Halcyon"), "en", texts, "Which boat is it?")
    assert answer.values == ["Halcyon"]
    (word,) = answer.words
    assert word.utterance.text == texts[0]
    assert word.from_us == START
    assert START < word.until_us < OPEN
    assert answer.chance == pytest.approx(0.9)


def test_what_the_rules_know_as_well_is_given_as_their_fact(tables: FormationTables) -> None:
    texts = ["I live in Leeds.", "I moved to York."]
    answer = answered(tables, finding("York"), "en", texts, "Where do I live?")
    assert [one.predicate for one in answer.facts] == ["home_city"]
    assert not answer.words
    # That it is over speaks against the value of before, however sure the reader is.
    other = answered(tables, finding("Leeds"), "en", texts, "Where do I live?")
    assert other.values == ["York"]


def test_a_reader_that_is_not_sure_leaves_the_answer_to_the_rules(tables: FormationTables) -> None:
    def unsure(read: Passage) -> list[Run]:
        return [Run(run.first, run.last, 0.6) for run in finding("Graz")(read)]

    lives = ["I live in Leeds.", "Graz was lovely."]
    assert answered(tables, None, "en", lives, "Where do I live?").values == ["Leeds"]
    assert answered(tables, unsure, "en", lives, "Where do I live?").values == ["Leeds"]
    assert answered(tables, lambda _: [], "en", lives, "Where do I live?").values == ["Leeds"]
    assert answered(tables, finding("Graz"), "en", lives, "Where do I live?").values == ["Graz"]
    # Nothing is known of a ferry, so less is enough; and that it is known to be over speaks against a value.
    assert answered(tables, unsure, "en", ["Graz was lovely."], "Which town did I like?").values == ["Graz"]
    ended = ["I play the cello.", "I gave up the cello, I don't play it any more."]
    assert answered(tables, finding("cello"), "en", ended[:1], "Which instrument do I play?").values == ["cello"]
    assert answered(tables, finding("cello"), "en", ended, "Which instrument do I play?").values == []


def test_a_list_that_the_rules_know_is_not_shortened(tables: FormationTables) -> None:
    texts = ["I'm allergic to nuts.", "I'm allergic to eggs."]
    assert sorted(answered(tables, finding("eggs"), "en", texts, "What am I allergic to?").values) == ["eggs", "nuts"]


def test_what_the_rules_know_from_messages_that_are_not_read_stands(tables: FormationTables) -> None:
    texts = ["I live in Leeds.", "Sunny today."]
    assert answered(tables, finding("today"), "en", texts, "Where do I live?", hidden=[0]).values == ["Leeds"]


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
