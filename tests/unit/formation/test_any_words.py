"""Whatever is said in whatever order, reading it raises nothing: of a message that cannot be read only the record stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.domain.formation.form import form
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.recall.question import understand
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.paths import find_home

AT_US = 1_767_600_000_000_000
BEFORE = ("My dog is called Rex.", "Ich wohne in Graz und arbeite bei Siemens.", "Kedimin adı Pamuk.")
# Words that open readings, marks that empty them, and what stands between languages.
SAID = """
my the I a her our no not never am is was are have had has been call named live lived work moved switched from to at in on
with of and but so since until for dog sister brother team favourite password name age home job allergic like hate prefer
support located actually sorry anymore every Tuesday tomorrow 12 3.5 17:30 2026 - -- ! !!! ? . … , ; : ' " ( ) @ # /
ich mein meine bin habe hatte war das ist heißt wohne arbeite seit bei nicht mehr doch schwester hund passwort mag
ben benim evim köpeğim kız kardeşim adı var yok çalışıyorum oturuyorum artık değil seviyorum dün 'da
Anna Acme Graz İzmir wifi ❤ ١٢ 東京
"""
WORDS = (*SAID.split(), "\u200b", "\n", "")
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)


@pytest.fixture(scope="module")
def tables() -> FormationTables:
    return load_formation_tables(find_home())


@settings(max_examples=400, deadline=None)
@given(text=SENTENCES)
def test_any_words_in_any_order_are_read(tables: FormationTables, text: str) -> None:
    read = form(text, role="user", speaker="", said_at_us=AT_US, zone="Europe/Berlin", recent=BEFORE, tables=tables)
    assert all(fact.valid_from_us <= fact.valid_until_us for fact in read.facts if fact.act == "assert")


@settings(max_examples=200, deadline=None)
@given(text=SENTENCES, code=st.sampled_from(["en", "de", "tr"]))
def test_any_words_in_any_order_may_be_asked(tables: FormationTables, text: str, code: str) -> None:
    assert understand(f"{text}?", tables.grammars[code], tables, AT_US, "Europe/Berlin") is not None
