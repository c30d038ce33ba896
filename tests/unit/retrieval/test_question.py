"""How a question is read: names, words, dates, languages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from aico_memory.domain.retrieval.cues import DateCue, nearness
from aico_memory.domain.retrieval.participants import name_parts, name_weight, without_names
from aico_memory.domain.retrieval.question import QuestionTables, read_question
from aico_memory.domain.retrieval.relative_time import AskedAt
from aico_memory.domain.retrieval.wall_clock import wall_clock
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.language_tables import load_function_words
from aico_memory.models.ranking_tables import load_profiles, load_time_cues
from aico_memory.paths import Home


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> QuestionTables:
    home = Home(Path(tmp_path_factory.mktemp("home")))
    calendars = {code: grammar.calendar for code, grammar in load_formation_tables(home).grammars.items()}
    return QuestionTables(load_function_words(home), load_time_cues(home), "en", calendars)


def read(tables: QuestionTables, text: str, people: tuple[str, ...] = (), spoken: tuple[str, ...] = ("en",)):
    return read_question(text, tables, participants=people, spoken=spoken, model_languages=("en",))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("What did Ada's brother buy?", "What did brother buy?"),
        ("Where does ADA live?", "Where does live?"),
        ("Ada", "Ada"),
        ("Is Adamant a word?", "Is Adamant a word?"),
        ("Ali'nin arabası nerede?", "arabası nerede?"),
        ("小明喜欢什么?", "喜欢什么?"),
    ],
)
def test_names_of_those_who_take_part_are_taken_out_whole(text, left):
    assert without_names(text, name_parts(["Ada", "Ali", "小明"])) == left


def test_first_names_count_and_common_words_do_not():
    assert name_parts(["Will Smith"], frozenset({"will"})) == ("Will Smith", "Smith")


def test_a_name_is_worth_more_the_more_people_there_are():
    weights = [name_weight(people) for people in (1, 2, 3, 10, 100)]
    assert weights[0] == weights[1] == 0 < weights[2] < weights[3] < weights[4] < 1


def test_a_question_of_names_alone_keeps_them(tables):
    question = read(tables, "Ada", ("Ada", "Ben"))
    assert (question.vector_text, [word.forms[0][1] for word in question.words]) == ("Ada", ["ada"])


def test_in_a_crowd_a_name_is_still_looked_up_and_counts_less(tables):
    question = read(tables, "What did Ada say about trains?", ("Ada", "Ben", "Cem", "Dora"))
    weights = {word.forms[0][1]: word.weight for word in question.words}
    assert weights["trains"] == 1 > weights["ada"] > 0
    assert "Ada" not in question.vector_text


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("Where was I in June 2023?", DateCue(frozenset({2023}), frozenset({6}), frozenset())),
        ("What happened on 4 May?", DateCue(frozenset(), frozenset({5}), frozenset({4}))),
        ("May I ask you something?", DateCue()),
        ("Was geschah am 3. Oktober 2024?", DateCue(frozenset({2024}), frozenset({10}), frozenset({3}))),
        ("Mayısta ne yaptım?", DateCue(frozenset(), frozenset({5}), frozenset())),
        ("2024-02-29?", DateCue(frozenset({2024}), frozenset({2}), frozenset({29}))),
    ],
)
def test_dates_are_read_in_many_languages(tables, text, cue):
    assert read(tables, text).date == cue


@pytest.mark.parametrize(
    ("text", "month"),
    [("我十一月去了哪里?", 11), ("三月发生了什么?", 3), ("3月に何をしましたか", 3), ("过去三个月我做了什么?", None)],
)
def test_a_month_is_read_between_letters_where_words_are_not_spaced(tables, text, month):
    assert read(tables, text, spoken=("zh", "ja")).date.months == ({month} if month else frozenset())


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What did we do in July?", "en"),
        ("What happened last week?", "en"),
        ("What did Ben do on 14 November 2022?", "en"),
        ("Was war vor drei Tagen?", "de"),
        ("Was haben wir im März gemacht?", "de"),
        ("Geçen hafta neler oldu?", "tr"),
        ("Mart ayında ne yaptım?", "tr"),
        ("三月发生了什么?", "zh"),
        ("¿Qué pasó en marzo?", "es"),
    ],
)
def test_who_asks_what_was_at_a_time_asks_for_no_text_that_speaks_of_that_time(tables, text, language):
    asked = AskedAt(int(datetime(2023, 5, 17, 12, tzinfo=UTC).timestamp() * 1e6))
    question = read_question(
        text, tables, participants=("Ada", "Ben"), spoken=(language,), model_languages=("en",), asked=asked
    )
    assert question.date and question.words == ()


@pytest.mark.parametrize(
    ("text", "word"),
    [("What did we paint in July?", "july"), ("Wen traf Ada im März?", "märz"), ("What happened?", "happened")],
)
def test_beside_something_else_and_without_a_date_every_word_counts(tables, text, word):
    assert word in [form for one in read(tables, text).words for _, form in one.forms]


def test_in_a_crowd_who_is_named_counts_beside_a_time(tables):
    question = read(tables, "What did Ada do in July?", ("Ada", "Ben", "Cem", "Dora"))
    assert [word.forms[0][1] for word in question.words] == ["ada"]


@pytest.mark.parametrize(
    ("text", "wants"),
    [
        ("When did we meet?", True),
        ("What should I take when I travel?", False),
        ("Seit wann wohnst du hier?", True),
        ("Ali ne zaman geldi?", True),
        ("我什么时候搬家的?", True),
    ],
)
def test_whether_a_time_is_asked_for(tables, text, wants):
    assert read(tables, text).wants_time is wants


def test_what_is_told_a_little_later_is_near_the_date_too():
    days = [datetime(2023, 5, day, tzinfo=UTC) for day in (3, 4, 6, 20)] + [datetime(2023, 7, 1, tzinfo=UTC)]
    said = np.array([int(day.timestamp() * 1e6) for day in days], dtype=np.int64)
    inside, on_day = nearness(DateCue(frozenset({2023}), frozenset({5}), frozenset({4})), said)
    assert (inside.tolist(), on_day.tolist()) == ([1, 1, 1, 1, 0], [0, 1, 1, 0, 0])


def test_named_dates_are_those_of_the_zone_where_clocks_change_too(tables):
    # In Berlin: 1 March and 10 April, half past midnight, and 29 October, the hour that comes twice.
    said = [datetime(2023, 2, 28, 23, 30), datetime(2023, 4, 9, 22, 30), datetime(2023, 10, 29, 0, 30)]
    said += [datetime(2023, 10, 29, 1, 30), datetime(2023, 12, 31, 23, 30), datetime(1, 1, 1)]
    moments = np.array([(one - datetime(1970, 1, 1)) // timedelta(microseconds=1) for one in said], dtype=np.int64)

    def dated(text, zone):
        asked = AskedAt(0, zone)
        date = read_question(text, tables, participants=(), spoken=("en",), model_languages=(), asked=asked).date
        return [one.tolist() for one in nearness(date, moments)]

    assert dated("Whom did I meet on 1 March?", "Europe/Berlin") == [[1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]]
    assert dated("Whom did I meet on 1 March?", "") == [[0, 1, 0, 0, 0, 0], [0] * 6]
    assert dated("Whom did I meet in 2024?", "Europe/Berlin")[0] == [0, 0, 0, 0, 1, 0]
    assert dated("Whom did I meet in 2024?", "no such zone")[0] == [0] * 6
    shown = wall_clock(moments[2:4], "Europe/Berlin") - moments[2:4]
    assert shown.tolist() == [7_200_000_000, 3_600_000_000]


def test_what_is_told_after_a_month_is_near_it_unless_the_month_is_all_that_is_asked_for(tables):
    days = [datetime(2023, month, day, tzinfo=UTC) for month, day in ((3, 1), (3, 31), (4, 5), (4, 20))]
    said = np.array([int(day.timestamp() * 1e6) for day in days], dtype=np.int64)
    found = [
        nearness(read(tables, text).date, said)[0].tolist()
        for text in ("What did we paint in March?", "What happened in March?")
    ]
    assert found == [[1, 1, 1, 0], [1, 1, 0, 0]]


@pytest.mark.parametrize(
    ("text", "span"),
    [
        # Asked on a Wednesday, 2023-05-17.
        ("What did I do yesterday?", ("2023-05-16", "2023-05-17")),
        ("What did I do last week?", ("2023-05-08", "2023-05-15")),
        ("Where was I two weeks ago?", ("2023-04-30", "2023-05-07")),
        ("Was habe ich vorgestern gegessen?", ("2023-05-15", "2023-05-16")),
        ("Wo war ich letzten Monat?", ("2023-04-01", "2023-05-01")),
        ("Geçen hafta ne yaptım?", ("2023-05-08", "2023-05-15")),
        ("Üç gün önce nereye gittim?", ("2023-05-14", "2023-05-15")),
        # It may be the next one; it is not over; a date is named as such.
        ("What do I do on Monday?", None),
        ("What did I plan for next week?", None),
        ("Was mache ich heute?", None),
        ("Where was I yesterday a year before June 2023?", None),
        ("Qu'ai-je fait hier ?", None),
    ],
)
def test_the_past_that_a_question_names_from_where_it_stands_is_read(tables, text, span):
    asked = AskedAt(int(datetime(2023, 5, 17, 12, tzinfo=UTC).timestamp() * 1e6))
    question = read_question(text, tables, participants=(), spoken=("en",), model_languages=(), asked=asked)
    wanted = tuple(int(datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp() * 1e6) for day in span or ())
    assert question.date.span == (wanted or (0, 0))


def test_yesterday_is_that_of_the_zone_and_ends_at_its_midnight(tables):
    asked_us = int(datetime(2023, 5, 17, 22, 30, tzinfo=UTC).timestamp() * 1e6)
    hour = 3_600_000_000

    def ask(zone):
        return read_question(
            "yesterday", tables, participants=(), spoken=("en",), model_languages=(), asked=AskedAt(asked_us, zone)
        )

    there, here = ask("Europe/Berlin"), ask("no such zone")
    assert there.date.span[1] - here.date.span[1] == 22 * hour
    assert (there.turns_us - asked_us, here.turns_us - asked_us) == (23.5 * hour, 1.5 * hour)
    assert read(tables, "yesterday").turns_us == 0


def test_what_is_told_a_little_after_a_day_is_near_it_but_not_what_is_told_after_a_week():
    day_us = 86_400_000_000
    said = np.array([9, 10, 11, 12, 13], dtype=np.int64) * day_us
    inside, on_day = nearness(DateCue(span=(10 * day_us, 11 * day_us)), said)
    assert inside.tolist() == on_day.tolist() == [0, 1, 1, 1, 0][: len(said)]
    inside, on_day = nearness(DateCue(span=(4 * day_us, 10 * day_us)), said)
    assert (inside.tolist(), on_day.tolist()) == ([1, 0, 0, 0, 0], [0, 0, 0, 0, 0])


@pytest.mark.parametrize("question", ["What did we do on 4 May 2023?", "What did we do the day before yesterday?"])
def test_where_whatever_there_was_on_a_day_is_asked_for_the_day_goes_before_what_is_told_after_it(tables, question):
    said = np.array([int(datetime(2023, 5, day, tzinfo=UTC).timestamp() * 1e6) for day in (3, 4, 5, 6, 7)], dtype=np.int64)
    asked = AskedAt(int(datetime(2023, 5, 6, 12, tzinfo=UTC).timestamp() * 1e6), "")
    alone = read_question(question, tables, participants=(), spoken=("en",), model_languages=(), asked=asked)
    inside, on_day = nearness(alone.date, said)
    assert inside[1] == on_day[1] == 1
    assert on_day.tolist() == pytest.approx([0, 1, 0.8, 0.8, 0])


def test_the_scope_s_language_decides_where_the_question_gives_no_sign(tables):
    assert read(tables, "bisiklet", spoken=("tr", "en")).foreign
    assert not read(tables, "bicycle", spoken=("en", "tr")).foreign


@pytest.mark.parametrize("word", ["சென்னை", "თბილისი", "គ្រូពេទ្យ", "ဆရာဝန်"])
def test_a_word_in_a_script_that_the_model_does_not_read_is_foreign(tables, word):
    assert read(tables, word).foreign


def test_letters_of_an_identifier_are_no_words_of_a_language(tables):
    assert not read(tables, "fuse clock 4c1d9e0a7l2d5c8n3d").foreign


def test_every_shipped_profile_is_read(tmp_path):
    profiles = load_profiles(Home(tmp_path))
    assert {"default", "lexical", "cognitive", "bounded", "utility", "hybrid", "rrf", "bm25"} <= set(profiles)
    assert profiles["default"].provenance["kind"] == "learned"
