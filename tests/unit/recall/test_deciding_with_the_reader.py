"""What becomes of the rules' answer where a reader finds other words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.reading.passage import (
    Passage,
)
from aico_memory.domain.recall.reading.picking import Reading, Run
from aico_memory.domain.recall.reading.trust import READ, RULES, SILENCE, Trust
from tests.support.reading import DAY, START, answered, finding, weighing


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
    def unsure(read: Passage) -> Reading:
        return Reading([Run(run.first, run.last, 0.6) for run in finding("Graz")(read).runs])

    lives = ["I live in Leeds.", "Graz was lovely."]
    assert answered(tables, None, "en", lives, "Where do I live?").values == ["Leeds"]
    assert answered(tables, unsure, "en", lives, "Where do I live?").values == ["Leeds"]
    assert answered(tables, lambda _: Reading(), "en", lives, "Where do I live?").values == ["Leeds"]
    assert answered(tables, finding("Graz"), "en", lives, "Where do I live?").values == ["Graz"]
    # Nothing is known of a ferry, so less is enough; and that it is known to be over speaks against a value.
    assert answered(tables, unsure, "en", ["Graz was lovely."], "Which town did I like?").values == ["Graz"]
    ended = ["I play the cello.", "I gave up the cello, I don't play it any more."]
    assert answered(tables, finding("cello"), "en", ended[:1], "Which instrument do I play?").values == ["cello"]
    assert answered(tables, finding("cello"), "en", ended, "Which instrument do I play?").values == []


def test_neither_may_be_believed(tables: FormationTables) -> None:
    nothing = Trust({READ: {"one": -3.0}, RULES: {"one": -1.0}, SILENCE: {"one": 1.0}})
    lives = ["I live in Leeds.", "Graz was lovely."]
    assert answered(tables, finding("Graz"), "en", lives, "Where do I live?", trust=nothing).values == []
    assert answered(tables, finding("Graz"), "en", lives, "Where do I live?", trust=nothing, margin=0.5).values == ["Leeds"]
    assert answered(tables, finding("Leeds"), "en", lives, "Where do I live?", trust=nothing).values == ["Leeds"], "they agree"


def test_a_margin_of_one_leaves_every_answer_to_the_rules(tables: FormationTables) -> None:
    lives = ["I live in Leeds.", "Graz was lovely."]
    sure = Trust({READ: {"one": 9.0}, RULES: {"one": -9.0}, SILENCE: {"one": 0.0}})
    assert answered(tables, finding("Graz"), "en", lives, "Where do I live?", trust=sure).values == ["Graz"]
    assert answered(tables, finding("Graz"), "en", lives, "Where do I live?", trust=sure, margin=1.0).values == ["Leeds"]


def test_what_tells_whom_to_believe(tables: FormationTables) -> None:
    def features(texts: Sequence[str], asked: str, *found: str) -> dict[str, float]:
        weighed = weighing(tables, finding(*found), "en", texts, asked)
        assert weighed.features is not None
        return dict(weighed.features)

    newer = features(["I live in Leeds.", "Graz was lovely.", "Sunny today."], "Where do I live?", "Graz")
    assert (newer["told"], newer["known"], newer["newer"], newer["older"], newer["within"]) == (1, 1, 1, 0, 0)
    assert newer["passed over"] == 0.5, "two of four messages that count"
    assert newer["covered"] == pytest.approx(1 / 3)
    assert newer["answers"] == newer["read"] == newer["read told"] > 2
    assert newer["rules' share"] < -5, "Leeds is not among what was read"
    older = features(["Graz was lovely.", "I live in Leeds."], "Where do I live?", "Graz")
    assert (older["newer"], older["older"], older["passed over"]) == (0, 1, 0)
    part = features(["I like jazz.", "I like tea."], "Which drinks do I like?", "tea")
    assert (part["within"], part["holds"], part["several told"], part["several read"]) == (1, 0, 1, 0)
    assert part["held here"] == 1
    assert part["rules' share"] > 2
    unknown = features(["Booked the Halcyon ferry."], "Who is the captain?", "ferry")
    assert (unknown["told"], unknown["no name"]) == (0, 1)
    assert "newer" not in unknown
    assert features(["Booked the Halcyon ferry."], "When is the ferry?", "Halcyon")["no measure"] == 1
    gone = features(
        ["I play the cello.", "I gave up the cello, I don't play it any more."], "Which instrument do I play?", "cello"
    )
    assert (gone["ended"], gone["denied"], gone["aware"]) == (1, 0, 1)
    denied = features(["The code is 4471.", "The code was never 4471."], "What is the code?", "4471")
    assert denied["denied"] == 1


def test_what_the_rules_know_from_messages_that_are_not_read_stands(tables: FormationTables) -> None:
    texts = ["I live in Leeds.", "Sunny today."]
    assert answered(tables, finding("today"), "en", texts, "Where do I live?", hidden=[0]).values == ["Leeds"]


def test_a_denial_counts_from_when_it_was_said_and_what_was_taken_back_never_was(tables: FormationTables) -> None:
    def denied(texts: Sequence[str], as_of_us: int) -> float:
        features = weighing(tables, finding("7391"), "en", texts, "What is the code?", as_of_us=as_of_us).features
        assert features is not None
        return features["denied"]

    changed = ["The gate opens with 7391.", "Not 7391 any more, it changed."]
    before, after = START + 5 * DAY, START + 11 * DAY
    # The reader finds the last mention, which tells nothing of the time before it.
    assert (denied(changed, after), denied(changed, before)) == (1, 0)
    taken = ["The gate opens with 7391.", "The 7391 thing was never true."]
    for moment in (before, after):
        told = weighing(tables, finding("7391"), "en", taken, "What is the code?", as_of_us=moment).told
        assert told.values == []


def test_a_value_that_was_corrected_is_believed_of_no_time(tables: FormationTables) -> None:
    said = ["My rent is 900 euros.", "Not 900 euros, 950 euros."]
    sure = Trust({READ: {"one": 9.0}, RULES: {"one": -9.0}, SILENCE: {"one": 0.0}})
    assert answered(tables, finding("950 euros"), "en", said, "What is my rent?", trust=sure).values == ["950 euros"]

    def first(read: Passage) -> Reading:
        at = list(read.words).index("900")
        return Reading([Run(at, at + 1, 0.9)], answers=0.9)

    # It was said before it was corrected, and was wrong then as well.
    weighed = weighing(tables, first, "en", said, "What is my rent?", as_of_us=START + DAY)
    assert weighed.features is None
    assert weighed.ruled.values == ["950 euros"]
    assert weighing(tables, first, "en", said, "Which sum is it?", as_of_us=START + DAY).told.values == []
    changed = ["My rent is 900 euros.", "From now on my rent is 950 euros."]
    assert weighing(tables, first, "en", changed, "Which sum is it?", as_of_us=START + DAY).told.values == ["900 euros"]


def test_a_denial_of_another_value_leaves_the_one_that_holds(tables: FormationTables) -> None:
    said = ["I live in Rome.", "It was never true that I lived in Bonn."]
    silent = Trust({READ: {"one": -9.0}, RULES: {"one": -9.0}, SILENCE: {"one": 9.0}})
    assert answered(tables, finding("Bonn"), "en", said, "Where do I live?", trust=silent).values == ["Rome"]
    assert answered(tables, finding("Bonn"), "en", said[1:], "Where do I live?", trust=silent).values == []


@pytest.mark.parametrize(("day", "values"), [(1, []), (10, ["Mr Weber"]), (110, [])])
def test_what_is_told_with_its_bounds_is_believed_within_them_alone(
    tables: FormationTables, day: int, values: list[str]
) -> None:
    said = ["My landlord is Mr Weber from March to May."]
    weighed = weighing(tables, finding("Mr Weber"), "en", said, "Who is my landlord?", as_of_us=START + day * DAY)
    assert (weighed.told.values or weighed.ruled.values) == values


def test_what_begins_later_by_its_message_speaks_against_it_and_may_be_believed(tables: FormationTables) -> None:
    texts = ["From 1 June 2026 the code is 7391."]
    weighed = weighing(tables, finding("7391"), "en", texts, "Which number do I type?", as_of_us=START + DAY)
    assert weighed.features is not None
    assert weighed.features["unbegun"] == 1
    assert weighed.features["answers unbegun"] == weighed.features["answers"] > 2
    (word,) = weighed.told.words
    assert word.from_us == START, "nothing else tells since when"


@pytest.mark.parametrize("asked", ["My dose in April?", "Dose, please?", "7391?"])
def test_a_question_needs_no_question_word(tables: FormationTables, asked: str) -> None:
    assert answered(tables, finding("20 mg"), "en", ["Prescribed: 20 mg."], asked).values == ["20 mg"]


@pytest.mark.parametrize("asked", ["Thank you!", "Hello", "???", "ok", "Tell me a joke."])
def test_what_asks_for_nothing_is_not_read(tables: FormationTables, asked: str) -> None:
    said = ["My password is hunter2.", "Graz was lovely."]
    assert answered(tables, finding("hunter2"), "en", said, asked).values == []
    assert answered(tables, finding("hunter2"), "en", said, "my password").values == ["hunter2"], "it shares a word"


def test_a_value_is_denied_within_its_part_of_a_sentence(tables: FormationTables) -> None:
    asked = "Which town is Anna's?"
    assert answered(tables, finding("Basel"), "en", ["Anna never once saw Basel."], asked).values == []
    assert answered(tables, finding("Basel"), "en", ["Not Bern, but Basel is what Anna picked."], asked).values == ["Basel"]


def test_a_message_that_names_another_than_the_question_speaks_against_what_it_says(tables: FormationTables) -> None:
    said = ["Sunday with Anna: Basel again.", "Monday with Tom: Bern."]

    def of_another(found: str) -> float:
        features = weighing(tables, finding(found), "en", said, "Which canton pleases Anna?").features
        assert features is not None
        return features["of another"]

    assert (of_another("Basel"), of_another("Bern")) == (0, 1)


def test_a_turkish_ending_is_no_part_of_a_value_in_whatever_language_one_asks(tables: FormationTables) -> None:
    assert answered(tables, finding("Ankara'da"), "en", ["Ankara'da geziyorduk."], "Which town was it?").values == ["Ankara"]
    assert answered(tables, finding("Ankara'ya"), "de", ["Ankara'ya gidiyorduk."], "Welche Stadt war es?").values == ["Ankara"]
