"""What was said, cut into pieces that say one thing each, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from aico_memory.domain.formation.acts import read_speech
from aico_memory.domain.formation.german_gaps import gapped_german
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.plainer import MAX_CHARACTERS
from aico_memory.domain.formation.together import gapped, person_at_start
from aico_memory.domain.formation.turkish_nominal import EXIST
from aico_memory.domain.formation.turkish_phrases import verb_of
from aico_memory.domain.formation.validity import BOUNDING
from aico_memory.domain.formation.when import TimePhrase, find_times
from aico_memory.domain.formation.wording import even, lower_in, own_words, readable, sentences, trim

_JOINING = {
    "english": frozenset({"and", "but", "so", "because", "while"}),
    "german": frozenset({"und", "aber", "denn", "weil", "sondern", "deshalb", "deswegen", "dafür"}),
    "turkish": frozenset({"ve", "ama", "fakat", "çünkü", "ancak"}),
}
_FINITE = frozenset({"present", "past", "both", "two"})
# "altın": behind such a sound the ending of a past has a d.
_UNVOICED = re.compile("[^fstkçşhp]t[ıiuü][mnk]?$")
RETRACT = "retract"
# Letters of a word that are compared.
_LONGEST = 40
CONTRACTED = frozenset({"it's", "he's", "she's", "that's", "there's"})
_CLOCK = re.compile(r"^\d{1,2}[:.]\d{2}(?:'\w+)?(?:[ap]m)?$|^\d{1,2}[ap]m$")


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it was said, and in lower case; whether it belongs to a phrase of time."""

    said: str
    low: str
    # A comma or the like stands behind it.
    closes: bool = False
    # Of a time that is a moment or a day; of one that only bounds how long something holds.
    timed: bool = False
    bounds: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """One thing that was said, with the times it names."""

    words: tuple[Word, ...]
    times: tuple[TimePhrase, ...]
    # "" | correct | retract, as the sentence opens.
    act: str = ""


def words_of(text: str, grammar: Grammar) -> frozenset[str]:
    """All words of a message, in lower case."""
    return frozenset(lower_in(trim(word)[:_LONGEST], grammar.code) for word in even(text[:MAX_CHARACTERS]).split())


# A message is cut once for the rules and once for the reader.
@lru_cache(maxsize=256)
def segments_of(text: str, grammar: Grammar, said_at_us: int, zone: str) -> tuple[Segment, ...]:
    """The pieces of what a person says in their own words and as a fact; a piece that takes something back says so.

    Quotations, questions, wishes, conditions and hearsay are left out.
    """
    return tuple(_segments(text, grammar, said_at_us, zone))


def _segments(text: str, grammar: Grammar, said_at_us: int, zone: str) -> Iterator[Segment]:
    for sentence in sentences(own_words(readable(text)[:MAX_CHARACTERS]), grammar.marks["opens_sentence"]):
        speech = read_speech(sentence, grammar)
        if speech.act != RETRACT and (speech.silent or sentence.endswith("?") or _is_unsure(sentence, grammar)):
            continue
        for piece in _pieces(_without_request(sentence, grammar), grammar):
            yield _segment(piece, grammar, said_at_us, zone, speech.act)


def _without_request(sentence: str, grammar: Grammar) -> str:
    """ "Please note: the door code is 4471" without its request."""
    match = next((found for mark in grammar.marks["explicit"] if (found := mark.match(sentence))), None)
    return sentence[match.end() :] if match and match.end() < len(sentence) else sentence


def _is_unsure(sentence: str, grammar: Grammar) -> bool:
    return any(mark.search(sentence) for mark in grammar.marks["unsure"])


def _pieces(sentence: str, grammar: Grammar) -> list[str]:
    """The sentence cut at commas and between clauses, where each side has a verb; lists stay whole."""
    pieces: list[list[str]] = [[]]
    for word in sentence.split():
        if trim(word).casefold() in _JOINING[grammar.parser] and pieces[-1]:
            pieces.append([])
        pieces[-1].append(word)
        if word[-1] in ",;:" and not word[:1].isdigit():
            pieces.append([])
    whole: list[list[str]] = []
    for piece in pieces:
        if whole and piece and not (_has_verb(piece, grammar) and _has_verb(whole[-1], grammar)):
            if said := _with_verb_of(whole[-1], piece, grammar):
                whole.append(said)
            else:
                whole[-1].extend(piece)
        elif piece:
            whole.append(piece)
    return [" ".join(piece) for piece in whole]


def _with_verb_of(before: Sequence[str], piece: Sequence[str], grammar: Grammar) -> list[str]:
    """ "Tom Kaffee" behind "Lena mag Tee", with the verb; empty where nothing is left out."""
    if grammar.parser == "english":
        return _of_another(before, piece, grammar)
    if grammar.parser != "german":
        return []
    told = piece[1:] if trim(piece[0]).casefold() in _JOINING[grammar.parser] else piece
    return gapped_german(" ".join(before).rstrip(",;"), " ".join(told).rstrip(",;"), grammar).split()


def _of_another(before: Sequence[str], piece: Sequence[str], grammar: Grammar) -> list[str]:
    """ "My dad nothing at all" behind "my mum takes blood thinners": of somebody else; empty where it is not."""
    joined = trim(piece[0]).casefold() in _JOINING["english"]
    left, right = " ".join(before).rstrip(",;"), " ".join(piece[1:] if joined else piece)
    if not joined and not before[-1].endswith((",", ";")):
        return []
    one, other = person_at_start(left, grammar), person_at_start(right, grammar)
    if one is None or other is None or one[0] == other[0] or trim(other[0][-1]).casefold() not in grammar.relations:
        return []
    return (gapped(left, right, grammar, "and" if joined else ",") or right).split()


def _has_verb(words: Sequence[str], grammar: Grammar) -> bool:
    lowered = [lower_in(trim(word), grammar.code) for word in words]
    if grammar.parser == "turkish":
        return any(low in EXIST or (verb_of(low, grammar) is not None and not _UNVOICED.search(low)) for low in lowered)
    if grammar.parser == "english":
        # "live" is the infinitive and the present; behind "to" it is no verb of a clause.
        return any(
            low in CONTRACTED or low.endswith(("'m", "'re", "'ve")) or grammar.tenses.get(low) in (*_FINITE, "infinitive")
            for low, before in zip(lowered, ["", *lowered], strict=False)
            if before not in ("to", "a", "the")
        )
    return any(
        grammar.tenses.get(low) in _FINITE and trim(word)[:1].islower()
        for word, low in zip(words, lowered, strict=True)
        if low not in grammar.words["possessives"]
    )


def _segment(piece: str, grammar: Grammar, said_at_us: int, zone: str, act: str) -> Segment:
    times = tuple(one for one in find_times(lower_in(piece, grammar.code), grammar.calendar, grammar.code, said_at_us, zone))
    words, at = [], 0
    for raw in piece.split():
        start = piece.index(raw, at)
        at = start + len(raw)
        over = [one for one in times if one.start < at and start < one.end]
        low = lower_in(trim(raw)[:_LONGEST], grammar.code)
        if not low:
            continue
        bounding = any(one.kind in BOUNDING for one in over)
        timed = bool(over) or bool(_CLOCK.match(low)) or _is_day(low, grammar)
        words.append(Word(trim(raw), low, raw[-1] in ",;:", timed and not bounding, bounding))
    return Segment(tuple(words), times, act)


def _is_day(low: str, grammar: Grammar) -> bool:
    days = grammar.calendar.weekdays
    return low in days or low.removesuffix("s") in days
