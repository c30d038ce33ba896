"""What is kept under one noun is no answer to a question that names another one of its kind."""

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
FAVOURITES = ("en", "My favourite tea is Earl Grey.")
# Language, what is told, the question, how like both are to the model, the answer.
ASKED = [
    (*FAVOURITES, "What is my favourite tea?", 0.9, ["Earl Grey"]),
    (*FAVOURITES, "What is my favourite colour?", 0.43, []),
    (*FAVOURITES, "What is my favourite tree?", 0.5, []),
    ("en", "My favourite dish is lasagne.", "What is my favourite food?", 0.55, ["lasagne"]),
    ("tr", "En sevdiğim çay Earl Grey.", "En sevdiğim renk ne?", 0.9, []),
    ("tr", "En sevdiğim çay Earl Grey.", "En sevdiğim çay ne?", 0.2, ["Earl Grey"]),
    ("en", "My wifi password is tulip7.", "What is my email password?", 0.8, []),
    ("en", "My wifi password is tulip7.", "What's my current password?", 0.8, ["tulip7"]),
    ("de", "Mein WLAN-Passwort ist tulpe7.", "Was ist mein Mailpasswort?", 0.8, []),
    ("de", "Mein WLAN-Passwort ist tulpe7.", "Was ist mein Passwort?", 0.2, ["tulpe7"]),
    ("de", "Mein WLAN-Passwort ist tulpe7.", "Was ist mein WLAN-Passwort?", 0.2, ["tulpe7"]),
    ("tr", "Kız kardeşimin adı Ada.", "Erkek kardeşimin adı ne?", 0.9, []),
    ("tr", "Kız kardeşimin adı Ada.", "Kız kardeşimin adı ne?", 0.2, ["Ada"]),
    ("tr", "Kız kardeşimin adı Ada.", "Kardeşimin adı ne?", 0.2, ["Ada"]),
]


@pytest.mark.parametrize(("language", "told", "question", "like", "values"), ASKED)
def test_what_is_named_otherwise_is_another_thing(
    language: str, told: str, question: str, like: float, values: list[str], tables: FormationTables
) -> None:
    stream = Stream("told", language, "develop", LATER_US, (Said(SAID_AT_US, told),), ())
    held = resolve(statements_of(stream, tables))
    read = understand(question, tables.grammars[language], tables, LATER_US, "UTC")
    found = recall(read, held, LATER_US, tables, lambda texts: [like] * len(texts), RecallFigures())
    assert [one.fact.value for one in found] == values
