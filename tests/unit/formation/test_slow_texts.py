"""No text makes the wordings search for minutes: backtracking is bounded by the length of a passage."""

from __future__ import annotations

import time

import pytest

from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.plainer import MAX_CHARACTERS, PASSAGE, plainer
from aico_memory.domain.formation.statements import read_statements
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.paths import find_home

# Each of these takes half a second at most; one wording that backtracked without bound took more than five minutes.
FAR_TOO_LONG_S = 30.0
REPEATED = (
    "a", "a ", "a, ", "a: ", "A'dan ", "Ali Veli Ahmet ", "Ali, Veli ve Ahmet ", "Anna and Ben and ", "12 5 mg ", "und, ",
    "my dog and cat are in the big house since 5 May ", "mein Hund und meine Katze sind seit 5. Mai im Haus ",
    "annem Ali'nin evi 12 Mart 5 mg için alıyorum de bir, ", "Ankara ve Konya ve ", "Anna und Ben und ", "statt Max kommt ",
    "hem çay hem kahve ", "Mia ist 8, Ben 6 und Tom 3, ", "two sons, Max and Leo, and ",
)  # fmt: skip


@pytest.fixture(scope="module")
def tables() -> FormationTables:
    return load_formation_tables(find_home())


@pytest.mark.parametrize("code", ["en", "de", "tr"])
def test_texts_that_are_made_to_be_slow_are_read_in_time(tables: FormationTables, code: str) -> None:
    grammar = tables.grammars[code]
    cues = sorted({cue for _, _, cues in grammar.rewrites for cue in cues})
    texts = [part * MAX_CHARACTERS for part in REPEATED] + [" ".join(cues), ", ".join(cues), ". ".join(cues)]
    for text in texts:
        before = time.process_time()
        read_statements(text[:MAX_CHARACTERS], grammar, tables, 1_772_625_600_000_000, "UTC")
        assert time.process_time() - before < FAR_TOO_LONG_S, text[:60]


def test_a_long_message_is_read_sentence_by_sentence(tables: FormationTables) -> None:
    grammar = tables.grammars["en"]
    talk = "The weather was fine and we walked along the river for a while. " * 20
    assert len(talk) > PASSAGE
    told = read_statements(f"{talk}My dentist is Dr Adler. {talk}", grammar, tables, 1_772_625_600_000_000, "UTC")
    assert "Dr Adler" in {fact.value for fact in told.facts}


def test_what_is_not_rewritten_stays_word_for_word(tables: FormationTables) -> None:
    text = " ".join(f"Sentence number {number} says nothing." for number in range(100))
    assert plainer(text, tables.grammars["en"]) == text
