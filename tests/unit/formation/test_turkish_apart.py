"""Turkish sentences told one by one, and doses in one wording."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.turkish_apart import genitive_of, told_one_by_one
from aico_memory.domain.formation.turkish_doses import doses_named

APART = [
    ("Oğlum satranç ve resim kursuna gidiyor.", "Oğlum satranç kursuna gidiyor. Oğlum resim kursuna gidiyor."),
    ("Kızım fizik ve kimya dersleri için kursa gidiyor.", "Kızım fizik kursuna gidiyor. Kızım kimya kursuna gidiyor."),
    ("Yoga, pilates ve dans kursuna gidiyorum.", "Yoga kursuna gidiyorum. pilates kursuna gidiyorum. dans kursuna gidiyorum."),
    ("Ela'nın iki kedisi var: Mırnav ve Duman.", "Ela'nın iki kedisi var. Ela'nın kedisi Mırnav. Ela'nın kedisi Duman."),
    (
        "Burak Samsun'da yaşıyor, iki kızı var: Elif ve Duru.",
        "Burak Samsun'da yaşıyor, Burak'ın iki kızı var. Burak'ın kızı Elif. Burak'ın kızı Duru.",
    ),
]
DOSES = [
    ([], "Delix dozum artık 10 mg oldu.", "Delix dozum 10 mg."),
    ([], "Euthyrox'un dozu 125 mcg'ye çıktı.", "Euthyrox dozum 125 mcg."),
    ([], "Doktor Delix yazdı, günde 5 mg alıyorum.", "Doktor Delix yazdı, Delix dozum 5 mg."),
    (["Relpax kullanıyorum."], "Artık 80 mg alıyorum.", "Relpax dozum 80 mg."),
    ([], "Psikiyatristim Lustral dozunu 40 mg yaptı.", "Lustral dozum 40 mg."),
    ([], "Norvasc 5 mg kullanıyorum.", "Norvasc kullanıyorum. Norvasc dozum 5 mg."),
    ([], "Doktor Norvasc'ı 10 mg'a çıkardı.", "Norvasc dozum 10 mg."),
    ([], "Bugün 5 mg alıyorum.", "Bugün 5 mg alıyorum."),
    ([], "Babam Delix dozunu 10 mg'a çıkardı.", "Babamin Delix dozu 10 mg."),
    ([], "Annemin Delix dozunu 10 mg yaptılar.", "Annemin Delix dozu 10 mg."),
    ([], "Annem 5 mg Norvasc kullanıyor.", "Annem Norvasc kullanıyor. Annemin Norvasc dozu 5 mg."),
]


@pytest.mark.parametrize(("said", "apart"), APART)
def test_what_shares_a_head_is_told_one_by_one(said: str, apart: str) -> None:
    assert told_one_by_one(said) == apart


@pytest.mark.parametrize(
    "said", ["Annem öğretmen ve babam doktor.", "Çay ve kahve severim.", "Ali ve Veli geldi, kursuna baktım."]
)
def test_what_shares_nothing_stays_as_it_was(said: str) -> None:
    assert told_one_by_one(said) == said


@pytest.mark.parametrize(("before", "said", "named"), DOSES)
def test_doses_are_told_of_the_medicine_by_name(before: list[str], said: str, named: str) -> None:
    assert doses_named(said, before) == named


@pytest.mark.parametrize("said", ["Günde 5 mg alıyorum.", "Günde 100 gram protein alıyorum.", "Pazardan 2 kilo elma aldım."])
def test_a_dose_of_nothing_that_is_known_stays_as_it_was(said: str) -> None:
    assert doses_named(said, []) == said


@pytest.mark.parametrize(
    ("word", "name", "whose"), [("Ayşe", True, "Ayşe'nin"), ("Onur", True, "Onur'un"), ("kızım", False, "kızımın")]
)
def test_whose_it_is_follows_the_last_vowel(word: str, name: bool, whose: str) -> None:
    assert genitive_of(word, name) == whose
