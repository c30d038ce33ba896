"""When something that was only read ended."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.deciding import Reader, answer_of
from aico_memory.domain.recall.groups import Recalled
from aico_memory.domain.recall.mirrored import Mirrored, Utterance
from aico_memory.domain.recall.question import understand
from aico_memory.domain.recall.reading.ending import LOOKS, with_end
from aico_memory.domain.recall.reading.passage import KNOWN_THEN, Passage, Ruled, passage_of
from aico_memory.domain.recall.reading.picking import Reading, Run, Scorer
from aico_memory.domain.recall.reading.trust import READ, RULES, SILENCE, Trust
from aico_memory.domain.recall.slots import slot_of

START, DAY = 1_772_000_000_000_000, 86_400_000_000
NAMES = ("Graz", "Linz", "Wels", "Steyr", "Enns", "Ried")
BELIEVING = Trust({READ: {"one": 9.0}, RULES: {"one": 0.0}, SILENCE: {"one": -9.0}})


def said(*texts: str) -> list[Utterance]:
    return [Utterance(b"%d" % number, text, START + number * 10 * DAY) for number, text in enumerate(texts)]


def newest(chance: float = 0.9) -> Scorer:
    """Reads the last town that was told by then."""

    def read(passage: Passage) -> Reading:
        known = [
            at for at, word in enumerate(passage.words) if word.strip(".") in NAMES and int(passage.marks[at, 0]) == KNOWN_THEN
        ]
        return Reading([Run(known[-1], known[-1], chance)] if known else [], answers=chance)

    return read


def ended(tables: FormationTables, texts: list[str], read: Scorer, value: str = "Graz", day: int = 1) -> int:
    """When the value of the first message is found to end, in days after it; OPEN where it is not."""
    grammar = tables.grammars["en"]
    question = understand("Where is the boat?", grammar, tables, START + 999 * DAY, "UTC")
    slot = slot_of(question, grammar)
    told = said(*texts)

    def passage_at(moment_us: int) -> Passage:
        return passage_of(question, slot, told, Ruled((), (), ()), grammar, moment_us)

    word = Mirrored(value, told[0], START)
    found = with_end(word, START + day * DAY, told[-1].said_at_us, passage_at, read, slot, grammar)
    assert (found.value, found.from_us) == (value, START)
    return found.until_us if found.until_us == OPEN else (found.until_us - START) // DAY


def test_it_ends_with_what_came_in_its_place(tables: FormationTables) -> None:
    texts = ["They took the boat to Graz.", "Sunny today.", "They took the boat to Linz.", "And then to Wels."]
    assert ended(tables, texts, newest()) == 20
    assert ended(tables, texts, newest(), day=25) == 30, "Linz was asked for in vain: what holds from then on is Wels"


def test_it_is_open_where_nothing_else_is_read_or_nobody_is_sure(tables: FormationTables) -> None:
    texts = ["They took the boat to Graz.", "They took the boat to Linz."]
    assert ended(tables, texts[:1], newest()) == OPEN
    assert ended(tables, [texts[0], "Sunny today."], newest()) == OPEN
    assert ended(tables, texts, newest(0.4)) == OPEN
    assert ended(tables, texts, lambda _: Reading()) == OPEN
    assert ended(tables, [texts[0], texts[1], texts[0]], newest()) == OPEN, "it is there again"


def test_so_many_moments_are_looked_at_and_no_more(tables: FormationTables) -> None:
    asked = []

    def counting(passage: Passage) -> Reading:
        asked.append(passage)
        return newest()(passage)

    assert ended(tables, [f"They took the boat to {name}." for name in NAMES], counting) == 20
    assert len(asked) == LOOKS


def test_what_the_wording_answers_ends_as_well(tables: FormationTables) -> None:
    grammar = tables.grammars["en"]
    question = understand("Where did they take the boat?", grammar, tables, START + DAY, "UTC")
    told = said("They took the boat to Graz.", "Now it floats in Linz.")
    reader = Reader(newest(), BELIEVING)
    (alone,) = answer_of(Recalled([]), told, [], question, grammar, START + DAY, None).words
    (word,) = answer_of(Recalled([]), told, [], question, grammar, START + DAY, reader).words
    assert (alone.value, alone.until_us) == ("Graz", OPEN)
    assert (word.value, word.until_us) == ("Graz", told[1].said_at_us)


@pytest.mark.parametrize(("day", "value", "until"), [(1, "Graz", 10), (11, "Linz", OPEN)])
def test_an_answer_of_what_was_read_tells_its_end(tables: FormationTables, day: int, value: str, until: int) -> None:
    grammar = tables.grammars["en"]
    question = understand("Which town has the boat?", grammar, tables, START + day * DAY, "UTC")
    told = said("They took it to Graz.", "They took it to Linz.")
    reader = Reader(newest(), BELIEVING)
    (word,) = answer_of(Recalled([]), told, [], question, grammar, START + day * DAY, reader).words
    assert word.value == value
    assert word.until_us == (OPEN if until == OPEN else START + until * DAY)
