"""Who denies having said something takes it back: it is no answer any more, and what was said beside it stays."""

from __future__ import annotations

import pytest

from aico_memory.bench.facts.run import statements_of
from aico_memory.bench.facts.streams import Said, Stream
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.recall.answer import RecallFigures, recall
from aico_memory.domain.recall.question import understand
from aico_memory.domain.recall.timeline import resolve

SAID_AT_US = 1_760_000_000_000_000
MINUTE_US = 60_000_000
LATER_US = SAID_AT_US + 86_400_000_000
# Language, what was told, the denial, the question, what still answers it.
DENIED = [
    ("en", "I like coffee.", "I never said I like coffee, that was never true.", "What do I like?", []),
    ("en", "I live in Rome.", "I never said I live in Rome.", "Where do I live?", []),
    ("en", "I work at Bosch.", "No, I never told you that I work at Bosch.", "Where do I work?", []),
    ("en", "I live in Rome.", "I never told you that I live in Oslo.", "Where do I live?", ["Rome"]),
    ("en", "I like tea.", "I never said I was allergic to nuts, but I like tea.", "What do I like?", ["tea"]),
    ("de", "Ich wohne in Rom.", "Ich habe nie gesagt, dass ich in Rom wohne.", "Wo wohne ich?", []),
    ("de", "Ich arbeite bei Bosch.", "Ich habe nie behauptet, dass ich bei Bosch arbeite.", "Wo arbeite ich?", []),
    ("de", "Ich wohne in Rom.", "Ich habe nie gesagt, dass ich in Köln wohne.", "Wo wohne ich?", ["Rom"]),
]


@pytest.mark.parametrize(("language", "told", "denial", "question", "values"), DENIED)
def test_what_was_never_said_is_taken_back(
    language: str, told: str, denial: str, question: str, values: list[str], tables: FormationTables
) -> None:
    said = (Said(SAID_AT_US, told), Said(SAID_AT_US + MINUTE_US, denial))
    held = resolve(statements_of(Stream("told", language, "develop", LATER_US, said, ()), tables))
    read = understand(question, tables.grammars[language], tables, LATER_US, "UTC")
    found = recall(read, held, LATER_US, tables, lambda texts: [0.5] * len(texts), RecallFigures())
    assert [one.fact.value for one in found] == values
