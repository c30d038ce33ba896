"""What the span reader reads: the words of a question and of messages in order, and what is known of each word.

A network that reads words knows neither dates nor what the rules made of a message. Both are given to it as marks: when a
message was said, on which side of the moment that is asked about a phrase of time lies, which words the rules answer with,
hold or take for over, and which words the question has as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.plainer import MAX_CHARACTERS
from aico_memory.domain.formation.when import TimePhrase, find_times
from aico_memory.domain.formation.wording import even, lower_in, own_words, readable, trim
from aico_memory.domain.recall.alike import any_alike
from aico_memory.domain.recall.mirrored import Utterance
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.reading.marks import ACTS, KINDS, ROLES, acts_of, role_of, sentences_of, shape_of
from aico_memory.domain.recall.slots import WHAT, Slot, asks, is_asking
from aico_memory.domain.recall.timeline import Held

Marks = NDArray[np.int8]
QUESTION = -1
# Values of the marks of a word, in their order: when it was said, which time it names, what the rules say of it, whether
# the question has it; how it is written, what it does, what its sentence does, and what the question asks for (marks.py);
# and how many messages that were known then are as new as its own or newer.
KNOWN_THEN, SAID_LATER = 1, 2
NO_TIME, TIMES = 0, 10
# Columns of what the rules say, whether the question has it, what a word does, and what its sentence does.
RULED, ASKED, ROLE, ACT = 2, 3, 5, 6
ANSWERED, HOLDS_AS_ASKED, OVER_AS_ASKED, HOLDS, OVER = 1, 2, 3, 4, 5
SHARED, SORT = 1, 2
# From so many on it makes no difference.
NEWEST = 6
# How many values each mark has.
MARKS = (3, TIMES, 6, 3, 5, ROLES, ACTS, 1 + len(KINDS), NEWEST + 1)
_STARTS, _ENDS = frozenset({"since", "held", "from"}), frozenset({"until", "lasting"})
# Words of a message that are read.
MAX_WORDS = 80


@dataclass(frozen=True, slots=True)
class Ruled:
    """What the rules answer, each value with the time at which it was said last, and what they hold."""

    values: tuple[str, ...]
    said_at_us: tuple[int, ...]
    held: Sequence[Held]


@dataclass(frozen=True, slots=True)
class Passage:
    """n words: the question's first, then those of the messages, the oldest first."""

    words: tuple[str, ...]
    # Shape (n,): QUESTION, or the place of the word's message in `said`.
    message: NDArray[np.int64]
    # Shape (n, len(MARKS)).
    marks: Marks
    said: tuple[Utterance, ...]

    @property
    def begins(self) -> int:
        """The place of the first word of a message."""
        return int(np.searchsorted(self.message, 0))

    def utterance(self, word: int) -> Utterance:
        """The message that a word of it stands in."""
        return self.said[int(self.message[word])]


def passage_of(
    question: Question, slot: Slot | None, said: Sequence[Utterance], ruled: Ruled, grammar: Grammar, as_of_us: int
) -> Passage:
    """The question and the messages, marked as of then; of what is too long the end is left out."""
    ordered = sorted(said, key=lambda one: one.said_at_us)
    asked = words_in(question.text)
    keys, sort = (slot.keys, slot.optional) if slot is not None else ((), ())
    words: list[str] = list(asked)
    message: list[int] = [QUESTION] * len(asked)
    kind = KINDS[slot.kind if slot is not None else WHAT]
    told = bool(ruled.values) * ANSWERED
    rows = [
        (0, NO_TIME, told, shared, shape, role, 0, kind, 0)
        for shared, shape, role in _by_itself(asked, (0,), keys, sort, grammar)
    ]
    known_then = sum(one.said_at_us <= as_of_us for one in ordered)
    for place, utterance in enumerate(ordered):
        of_message = words_in(own_words(readable(utterance.text)[:MAX_CHARACTERS]))[:MAX_WORDS]
        times = _times(of_message, utterance, grammar, as_of_us)
        known = _known([_low(word, grammar) for word in of_message], utterance, ruled, question, as_of_us)
        when = KNOWN_THEN if utterance.said_at_us <= as_of_us else SAID_LATER
        opens = {start for start, _ in sentences_of(of_message)}
        words.extend(of_message)
        message.extend([place] * len(of_message))
        rows.extend(
            (when, time, rule, *itself, act, 0, min(max(known_then - place, 0), NEWEST))
            for time, rule, itself, act in zip(
                times, known, _by_itself(of_message, opens, keys, sort, grammar), acts_of(of_message, grammar), strict=True
            )
        )
    return Passage(
        tuple(words), np.array(message, dtype=np.int64), np.array(rows, dtype=np.int8).reshape(len(rows), len(MARKS)),
        tuple(ordered),
    )  # fmt: skip


def asks_of(passage: Passage, grammar: Grammar) -> bool:
    """Whether the question asks for something, or shares a word with what was told: "Thank you!" asks for nothing."""
    question = passage.words[: passage.begins]
    if asks(" ".join(question)) or any(is_asking(_low(word, grammar), grammar) for word in question):
        return True
    return bool((passage.marks[passage.begins :, ASKED] == SHARED).any())


def words_in(text: str) -> list[str]:
    """The words of a text as they were written, with what stands at their edges."""
    return [word for word in even(text).split() if trim(word)]


def _by_itself(
    words: Sequence[str], opens: Collection[int], keys: Sequence[str], sort: Sequence[str], grammar: Grammar
) -> Iterator[tuple[int, int, int]]:
    """Of each word whether the question has it, how it is written and what it does; `opens` are the places of first words."""
    for at, word in enumerate(words):
        low = _low(word, grammar)
        yield _shared(low, keys, sort, grammar), shape_of(word, at in opens), role_of(low, grammar)


def _low(word: str, grammar: Grammar) -> str:
    return lower_in(trim(word), grammar.code)


def _shared(low: str, keys: Sequence[str], sort: Sequence[str], grammar: Grammar) -> int:
    if any_alike(keys, low, grammar):
        return SHARED
    return SORT if any_alike(sort, low, grammar) else 0


def _times(words: Sequence[str], utterance: Utterance, grammar: Grammar, as_of_us: int) -> list[int]:
    """The mark of the time that each word belongs to."""
    text = " ".join(words)
    found = find_times(lower_in(text, grammar.code), grammar.calendar, grammar.code, utterance.said_at_us, utterance.zone)
    marks, at = [], 0
    for word in words:
        over = next((one for one in found if one.start < at + len(word) and at < one.end), None)
        marks.append(NO_TIME if over is None else _side(over, as_of_us))
        at += len(word) + 1
    return marks


def _side(time: TimePhrase, as_of_us: int) -> int:
    """Which edge it names, and whether that lies before the moment asked about, after it, or either, as it is read."""
    edge, sort = (0, 0) if time.kind in _STARTS else (1, 1) if time.kind in _ENDS else (0, 2)
    begun = [span[edge] <= as_of_us for span in (time.past, time.future)]
    return 1 + 3 * sort + (0 if all(begun) else 1 if not any(begun) else 2)


def _known(lows: Sequence[str], utterance: Utterance, ruled: Ruled, question: Question, as_of_us: int) -> list[int]:
    """What the rules say of each word: the least of ANSWERED … OVER, 0 for nothing."""
    marks = [0] * len(lows)
    keys = [normalise_fact_key(low) for low in lows]

    def mark(value: str, kind: int) -> None:
        for start, end in _places(normalise_fact_key(value).split(), keys):
            for at in range(start, end):
                marks[at] = min(marks[at] or kind, kind)

    for held, kind in _held_here(utterance, ruled, question, as_of_us):
        mark(held.fact.value, kind)
    for value, said_at_us in zip(ruled.values, ruled.said_at_us, strict=True):
        if said_at_us == utterance.said_at_us:
            mark(value, ANSWERED)
    return marks


def _held_here(utterance: Utterance, ruled: Ruled, question: Question, as_of_us: int) -> Iterator[tuple[Held, int]]:
    for held in ruled.held:
        if held.statement.said_at_us == utterance.said_at_us:
            asked = held.predicate in question.predicates
            if held.holds_at(as_of_us):
                yield held, HOLDS_AS_ASKED if asked else HOLDS
            else:
                yield held, OVER_AS_ASKED if asked else OVER


def _places(value: Sequence[str], keys: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where the words of a value stand in a row; the last of them may have an ending."""
    count = len(value)
    for start in range(len(keys) - count + 1) if count else ():
        run = keys[start : start + count]
        if run[:-1] == list(value[:-1]) and run[-1].startswith(value[-1]):
            yield start, start + count
