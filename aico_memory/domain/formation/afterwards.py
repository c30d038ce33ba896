"""What comes after something that ends: "until May in room 214, after that in room 105"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.judging import MAX_TEXT, bare
from aico_memory.domain.formation.naming import object_key
from aico_memory.domain.formation.when import TimePhrase
from aico_memory.domain.formation.wording import lower_in, squeeze, trim
from aico_memory.domain.memory import OPEN

# A value that is named by itself.
_MOST_WORDS = 4
_ENDS = frozenset({"until", "lasting"})


def told_after(text: str, phrases: Sequence[TimePhrase], grammar: Grammar) -> tuple[int, str]:
    """Where in the sentence it is told what comes after what it bounds, and the value; the whole length and "" else.

    Only a value that is named by itself: "after that I go swimming" tells something else, in a clause of its own.
    """
    for mark in grammar.marks["afterwards"]:
        found = mark.search(text)
        if found is None or not any(phrase.kind in _ENDS and phrase.end <= found.start() for phrase in phrases):
            continue
        words = [lower_in(trim(word), grammar.code) for word in found["v"].split()]
        if len(words) <= _MOST_WORDS and not any(
            word in grammar.tenses and word not in grammar.words["nouns_too"] for word in words
        ):
            return found.start(), found["v"]
    return len(text), ""


def what_comes_after(facts: Sequence[FormedFact], said: str, grammar: Grammar, said_at_us: int) -> list[FormedFact]:
    """The newest of the facts that ends, with the value that it has from then on; nothing where none ends."""
    value = bare(said, grammar)
    ends = (fact for fact in reversed(facts) if fact.act in ("assert", "correct") and said_at_us < fact.valid_until_us < OPEN)
    was = next(ends, None)
    if was is None or not value or lower_in(value, grammar.code) in grammar.words["no_values"]:
        return []
    return [
        replace(
            was, value=value, object_key=object_key(value, grammar), act="assert", corrected="",
            text=squeeze(was.text.replace(was.value, value))[:MAX_TEXT], valid_from_us=was.valid_until_us, valid_until_us=OPEN,
            temporal_type="persistent",
        )
    ]  # fmt: skip
