"""What was never said stays unanswered, however alike a model finds the sentences of a language it was not taught."""

from __future__ import annotations

import pytest

from aico_memory.bench.facts.run import statements_of
from aico_memory.bench.facts.streams import Said, Stream
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.recall.answer import RecallFigures, recall
from aico_memory.domain.recall.question import understand
from aico_memory.domain.recall.timeline import resolve

SAID_AT_US = 1_760_000_000_000_000
LATER_US = SAID_AT_US + 86_400_000_000
TOLD = {
    "de": "Ich wohne in Stade, arbeite bei der Feuerwehr und spreche Polnisch.",
    "tr": "Yalova'da yaşıyorum, Enerjisa'da çalışıyorum.",
}
UNSAID = [
    ("de", "Welche Blutgruppe habe ich?"), ("de", "Wie hoch ist meine Miete?"), ("de", "Wer schneidet mir die Haare?"),
    ("de", "Welchen Bus nehme ich?"), ("tr", "Saçımı kim kesiyor?"), ("tr", "Pasaportum nerede?"), ("tr", "Kan grubum ne?"),
]  # fmt: skip
SAID = [("de", "Wo wohne ich?", "Stade"), ("tr", "Nerede yaşıyorum?", "Yalova")]


def answer(language: str, question: str, tables: FormationTables) -> list[str]:
    said = (Said(SAID_AT_US, TOLD[language]),)
    held = resolve(statements_of(Stream("told", language, "develop", LATER_US, said, ()), tables))
    read = understand(question, tables.grammars[language], tables, LATER_US, "UTC")
    found = recall(read, held, LATER_US, tables, lambda texts: [0.6] * len(texts), RecallFigures())
    return [one.fact.value for one in found]


@pytest.mark.parametrize(("language", "question"), UNSAID)
def test_what_was_never_said_is_not_answered_with_what_is_only_alike(
    language: str, question: str, tables: FormationTables
) -> None:
    assert answer(language, question, tables) == []


@pytest.mark.parametrize(("language", "question", "value"), SAID)
def test_what_was_said_is_answered(language: str, question: str, value: str, tables: FormationTables) -> None:
    assert answer(language, question, tables) == [value]
