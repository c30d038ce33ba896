"""Wordings of a language that mean a plainer one, put in its place before a message is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType

from aico_memory.domain.formation import english, german, turkish
from aico_memory.domain.formation.german_endings import first_person
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.likely import Likely
from aico_memory.domain.formation.turkish_endings import in_harmony
from aico_memory.domain.formation.wording import calmly, lower_in, own_words

# What a message says after this is not read.
MAX_CHARACTERS = 5_000
# Characters that wordings are looked for in together. Nobody states a fact in a sentence that is longer.
PASSAGE = 1_000
PARSERS: dict[str, ModuleType] = {"english": english, "german": german, "turkish": turkish}
_ENDS = re.compile(r"(?<=[.!?…]) ")


def plainer(text: str, grammar: Grammar) -> str:
    """The message in the plainer wording that the language's file knows for it, line by line."""
    lines = own_words(text[:MAX_CHARACTERS]).splitlines()
    return "\n".join(" ".join(_plain(part, grammar) for part in _passages(line)) for line in lines)


def _passages(line: str) -> Iterator[str]:
    """A long line by its sentences, several at a time: wordings span few of them, and time grows faster than length."""
    if len(line) <= PASSAGE:
        yield line
        return
    passage = ""
    for sentence in _ENDS.split(line):
        if passage and len(passage) + len(sentence) >= PASSAGE:
            yield passage
            passage = ""
        passage = f"{passage} {sentence}" if passage else sentence
    yield passage


# A message is read again with those that follow it.
@lru_cache(maxsize=64)
def _plain(line: str, grammar: Grammar) -> str:
    expand = PARSERS[grammar.parser].expand
    said: str = expand(first_person(calmly(line), grammar) if grammar.parser == "german" else calmly(line))
    if len(line) > PASSAGE:
        return said
    likely, low = _likely(grammar), lower_in(said, grammar.code)
    left = likely.numbers(said)
    while left:
        number = left.pop()
        wording, replacement, cues = grammar.rewrites[number]
        if cues and not any(cue in low for cue in cues):
            continue
        if (plain := wording.sub(replacement, said)) != said:
            said, low = plain, lower_in(plain, grammar.code)
            left = [later for later in likely.numbers(said) if later > number]
    return in_harmony(said) if grammar.parser == "turkish" else said


@lru_cache(maxsize=32)
def _likely(grammar: Grammar) -> Likely:
    return Likely.of([wording for wording, _, _ in grammar.rewrites])
