"""Which messages are read for a question, where there are more than find room."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import lower_in, sentences, trim
from aico_memory.domain.recall.alike import any_alike
from aico_memory.domain.recall.mirrored import Utterance
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.reading.passage import MAX_WORDS, words_in
from aico_memory.domain.recall.segments import words_of
from aico_memory.domain.recall.slots import Slot, asks, is_asking

# Words that are read together: the network has places for 512 tokens, of which a Turkish word takes three.
ROOM = 160
# Letters of the parts of words that are compared.
_GRAM = 4
# Weight of what the rules have read of the question, beside words in common (0 to 1) and their parts (0 to 1).
_READ = 2.0
_CLAUSES = re.compile(r"[,;:–—]\s|\s-\s")
# Fewer words with a question mark tell nothing.
_LEAST_TELLING = 3


def worth_reading(
    question: Question, slot: Slot | None, said: Sequence[Utterance], read_us: Collection[int], grammar: Grammar
) -> list[Utterance]:
    """The messages that bear most on the question, and what was said right after each, the oldest first.

    `read_us`: when the messages were said of which the rules have read something that was asked for.
    """
    ordered = sorted(said, key=lambda one: one.said_at_us)
    lengths = [min(len(words_in(one.text)), MAX_WORDS) for one in ordered]
    if sum(lengths) <= ROOM:
        return ordered
    keys = (*slot.keys, *slot.optional) if slot is not None else tuple(sorted(question.words))
    wanted = frozenset(gram for key in keys for gram in _grams(key))

    def bearing(place: int) -> tuple[float, int]:
        one = ordered[place]
        words = words_of(one.text, grammar)
        shared = sum(any(any_alike((key,), word, grammar) for word in words) for key in keys) / max(1, len(keys))
        held = frozenset(gram for word in words for gram in _grams(word))
        parts = len(wanted & held) / max(1, len(wanted))
        return _READ * (one.said_at_us in read_us) + shared + parts, one.said_at_us

    chosen: set[int] = set()
    left = ROOM
    for place in sorted(range(len(ordered)), key=bearing, reverse=True):
        # A correction stands behind what it corrects.
        for at in (place, place + 1):
            if at < len(ordered) and at not in chosen and lengths[at] <= left:
                chosen.add(at)
                left -= lengths[at]
    return [ordered[place] for place in sorted(chosen)]


def only_asks(text: str, grammar: Grammar) -> bool:
    """Whether a message is nothing but a question ("What tea should I buy?", "x?"): it tells nothing, however often one asks.

    What is asked without a question word may tell something ("Did I say that I moved to Rome?"), and so may a clause without
    one beside another that has it ("Guess what, I moved to Rome?").
    """
    if not asks(text):
        return False
    parts = sentences(text)
    clauses = [clause for part in parts for clause in _CLAUSES.split(part)]
    if len(clauses) == 1 and len(words_in(text)) < _LEAST_TELLING:
        return True
    return bool(parts) and all(map(asks, parts)) and all(_has_a_question_word(clause, grammar) for clause in clauses)


def _has_a_question_word(clause: str, grammar: Grammar) -> bool:
    lows = [lower_in(trim(word), grammar.code) for word in words_in(clause)]
    # Turkish asks where the answer would stand; elsewhere a later one may join a clause ("Do you know where I live?").
    first = lows if grammar.parser == "turkish" else lows[:2]
    return any(is_asking(low, grammar) for low in first)


def _grams(word: str) -> frozenset[str]:
    """Its runs of four letters, with the edges."""
    padded = f"  {word} "
    return frozenset(padded[at : at + _GRAM] for at in range(len(padded) - _GRAM + 1))
