"""Outcomes in languages that the embedding model does not speak: words alone find them, and no likeness warns."""

import pytest

from aico_memory.contracts.v1 import outcomes_pb2
from tests.unit.behavioral.advisor import rules

RUSSIAN = ["Утром я слишком устаю для бега", "После долгих прогулок болит колено", "Спортзал в этом году слишком дорогой"]
TURKISH = [
    "Sabahları koşmak için çok yorgunum", "Uzun yürüyüşlerden sonra dizim ağrıyor", "Spor salonu bu yıl çok pahalı",
    "Evde yemek yapmak çok zaman alıyor", "Patronum hafta sonları arıyor",
]  # fmt: skip
ENGLISH = ["I am too tired in the morning for running", "My knee hurts after long walks", "The gym is too expensive this year"]


def rejected(advisor, reasons):
    """Of a model that takes everything for the same."""
    advisor.model.languages = ("en",)
    for number, reason in enumerate(reasons):
        advisor.record(f"s{number}", "rejected", type="note", value="", reason=reason)
    advisor.embed()


def advise(advisor, text):
    request = outcomes_pb2.ShouldSuggestRequest(user_id="ann", type="set_light", text=text)
    return advisor.ask(request)


@pytest.mark.parametrize(
    ("reasons", "text"),
    [
        (RUSSIAN, "Сделай свет на кухне ярче"),
        (TURKISH, "Mutfağın ışığını daha parlak yap"),
        (RUSSIAN, "Make the light brighter"),
    ],
)
def test_what_the_model_cannot_read_is_no_warning(advisor, reasons, text):
    rejected(advisor, reasons)
    answer = advise(advisor, text)
    assert (answer.verdict, rules(answer), list(answer.similar)) == ("yes", {"no_history": "yes"}, [])


def test_what_it_reads_is_one(advisor):
    rejected(advisor, ENGLISH)
    answer = advise(advisor, "Make the light in the kitchen brighter")
    assert rules(answer) == {"similar_rejected": "caution"}
    assert (len(answer.similar), list(answer.degraded)) == (3, [])


def test_words_alone_find_what_the_model_cannot_read_and_the_answer_says_so(advisor):
    rejected(advisor, [*RUSSIAN, *ENGLISH])
    by_words = advisor.outcomes(query="болит колено")
    assert (by_words.answered_by, by_words.outcomes[0].suggestion_id) == ("words", "s1")
    assert list(by_words.degraded) == ["semantic: the model does not speak the language"]
    both = advisor.outcomes(query="What about the gym?")
    assert (both.answered_by, both.outcomes[0].suggestion_id) == ("hybrid", "s5")
    assert list(both.degraded) == ["semantic: 3 of 6 in a language that the model does not speak"]


def test_what_is_of_another_type_and_not_near_is_not_shown_as_similar(advisor):
    advisor.model.vectors = {"never seen": (0.0, 1.0, 0.0, 0.0)}
    advisor.record("s1", type="note", value="run")
    advisor.record("s2", type="diary", value="write")
    advisor.embed()
    shown = {
        (kind, value): [one.suggestion_id for one in advisor.advise(kind, value).similar]
        for kind, value in (("never_seen", ""), ("note", "walk"), ("never_seen", "write"))
    }
    advisor.model.vectors |= {"note walk": (0.0, 1.0, 0.0, 0.0), "never seen write": (0.0, 1.0, 0.0, 0.0)}
    away = {
        (kind, value): [one.suggestion_id for one in advisor.advise(kind, value).similar]
        for kind, value in (("never_seen", ""), ("note", "walk"), ("never_seen", "write"))
    }
    assert shown[("never_seen", "")] == away[("never_seen", "")] == []
    assert (away[("note", "walk")], away[("never_seen", "write")]) == (["s1"], ["s2"])
    assert sorted(shown[("note", "walk")]) == ["s1", "s2"], "both are near"
