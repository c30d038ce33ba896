from __future__ import annotations

from collections.abc import Sequence

import pytest

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.recall.answer import RecallFigures, recall
from aico_memory.domain.recall.question import understand
from aico_memory.domain.recall.timeline import Statement, resolve

DAY = 86_400_000_000
START = 1_767_268_800_000_000


def nothing_alike(texts: Sequence[str]) -> list[float]:
    return [0.0] * len(texts)


def ask(tables: FormationTables, story: Sequence[str], question: str, day: int, language: str = "en") -> list[str]:
    statements = []
    for number, text in enumerate(story):
        said = START + number * 10 * DAY
        formed = form(
            text,
            role="user",
            speaker="",
            said_at_us=said,
            zone="UTC",
            recent=tuple(story[:number]),
            tables=tables,
            language=language,
        )
        statements += [Statement(f"{number}.{i}".encode(), fact, said, number * 100 + i) for i, fact in enumerate(formed.facts)]
    at = START + day * DAY
    asked = understand(question, tables.grammars[language], tables, at, "UTC")
    return [held.fact.value for held in recall(asked, resolve(statements), at, tables, nothing_alike, RecallFigures())]


@pytest.mark.parametrize(
    ("language", "story", "question", "then", "now"),
    [
        ("en", ["I live in Leeds.", "I moved to Bath."], "Where do I live?", ["Leeds"], ["Bath"]),
        ("de", ["Ich wohne in Ulm.", "Ich bin nach Hof gezogen."], "Wo wohne ich?", ["Ulm"], ["Hof"]),
        ("tr", ["Bursa'da yaşıyorum.", "Bolu'ya taşındım."], "Nerede yaşıyorum?", ["Bursa"], ["Bolu"]),
        ("en", ["My boss is Ann.", "I have a new boss, Bea."], "Who is my boss?", ["Ann"], ["Bea"]),
        ("de", ["Meine Chefin ist Ann.", "Mein neuer Chef ist Ben."], "Wer ist mein Chef?", ["Ann"], ["Ben"]),
        ("tr", ["Patronum Ayla.", "Yeni patronum Cem."], "Patronum kim?", ["Ayla"], ["Cem"]),
    ],
)
def test_a_question_finds_what_was_true_when(
    tables: FormationTables, language: str, story: list[str], question: str, then: list[str], now: list[str]
) -> None:
    assert ask(tables, story, question, 5, language) == then
    assert ask(tables, story, question, 15, language) == now


def test_many_values_are_all_answered_and_one_that_ended_is_not(tables: FormationTables) -> None:
    story = ["I'm allergic to nuts.", "I'm allergic to eggs.", "I'm no longer allergic to nuts."]
    assert sorted(ask(tables, story, "What am I allergic to?", 15)) == ["eggs", "nuts"]
    assert ask(tables, story, "What am I allergic to?", 25) == ["eggs"]


def test_somebody_elses_facts_never_answer_for_the_speaker(tables: FormationTables) -> None:
    story = ["My sister Lena lives in Porto."]
    assert ask(tables, story, "Where do I live?", 5) == []
    assert ask(tables, story, "Where does my sister live?", 5) == ["Porto"]
    assert ask(tables, story, "Where does Lena live?", 5) == ["Porto"]


def test_where_one_is_for_a_while_does_not_move_the_home(tables: FormationTables) -> None:
    story = ["I live in Porto.", "Until Friday I'm in Ghent."]
    assert ask(tables, story, "Where am I?", 11) == ["Ghent"]
    assert ask(tables, story, "Where do I live?", 11) == ["Porto"]
    assert ask(tables, story, "Where am I?", 20) == ["Porto"]


def test_nothing_is_answered_before_anything_was_true(tables: FormationTables) -> None:
    assert ask(tables, ["I live in Leeds."], "Where do I live?", -3) == []


def test_what_one_used_to_do_is_asked_for_by_its_words(tables: FormationTables) -> None:
    story = ["I live in Leeds.", "I moved to Bath."]
    assert ask(tables, story, "Where did I use to live?", 15) == ["Leeds"]


def test_when_and_until_when_something_held_is_asked_of_that_alone(tables: FormationTables) -> None:
    story = ["I live in Rome.", "I live in Oslo now.", "I live in Rome again."]
    for asked in ("When did I live in Rome?", "Until when did I live in Rome?", "Since when do I live in Rome?"):
        assert ask(tables, story, asked, 15) == ["Rome"]
    assert ask(tables, story, "When did I live in Oslo?", 25) == ["Oslo"]
    assert ask(tables, story, "When did I live in Oslo?", 5) == [], "nobody knew of it yet"
