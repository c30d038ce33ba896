"""What a question leaves open, and which words of a statement fill it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.turkish_phrases import own_noun, verb_of
from aico_memory.domain.formation.turkish_words import genitive, split_case
from aico_memory.domain.formation.wording import even, lower_in, squeeze, trim
from aico_memory.domain.recall.alike import any_alike, is_first_person
from aico_memory.domain.recall.called import where_names_stand
from aico_memory.domain.recall.instead import put_aside
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.segments import Segment, Word
from aico_memory.domain.recall.values import listed_values

WHERE, WHEN, CLOCK, AMOUNT, WHO, WHAT = "where", "when", "clock", "amount", "who", "what"
# Words of a question that name nothing: a statement need not hold them.
_FUNCTION = (
    "asking", "determiners", "possessives", "own", "pronouns", "speaker", "subjects", "adverbs", "openers", "empty", "now",
    "third", "prepositions", "name_nouns",
)  # fmt: skip
HOUR = re.compile(r"\d[:.]\d\d|\d ?(?:uhr|am|pm)\b|^\d{1,2}$")
_NUMBER = re.compile(r"^[€$£]?\d")
LOCATIVE = frozenset({"@de"})
_MANY_ENGLISH, _MANY_TURKISH = re.compile("[^s]s$|ies$|^(?:people|children)$"), re.compile("l[ae]r")
OFTEN = "often"
# What a preposition makes of itself and an article.
_WITH_ARTICLE = {
    "in": ("im", "ins"), "an": ("am", "ans"), "auf": ("aufs",), "bei": ("beim",), "zu": ("zum", "zur"), "von": ("vom",),
    "für": ("fürs",), "über": ("übers",), "um": ("ums",),
}  # fmt: skip
# How a question ends, and what may stand behind it.
_ASKS, _BEHIND = ("?", "؟", "？"), " \t\n.!…)\"'"
_FINISHED = frozenset({"past", "participle", "progressive"})
_NOTHING = frozenset({"nothing", "none", "nothing at all"})
_VERBAL = frozenset({"present", "past", "both", "two", "participle", "infinitive", "progressive"})


@dataclass(frozen=True, slots=True)
class Slot:
    """A question without what it asks for."""

    kind: str
    # Words that a statement has to hold, lower case; those that it may hold; names among the first.
    keys: tuple[str, ...]
    optional: tuple[str, ...]
    names: frozenset[str]
    # The preposition before what is asked for ("von wem", "which … in").
    preposition: str = ""
    # It asks of the speaker.
    own: bool = False
    # The sort of thing that is asked for is one ("which office").
    single: bool = False
    # What is asked for stands last ("… ne?"), where Turkish puts it.
    last: bool = False
    # It asks for what is not so.
    denied: bool = False
    # It asks for what somebody was once ("my former wife").
    former: bool = False
    # It asks what somebody is called, and names them by what they are to somebody.
    called: bool = False


def slot_of(question: Question, grammar: Grammar) -> Slot | None:
    """The question as a slot; None where it names nothing that a statement could share, or wants a yes."""
    words = [trim(word) for word in even(question.text).split() if trim(word)]
    lowered = [lower_in(word, grammar.code) for word in words]
    asking = asks(question.text) or any(is_asking(low, grammar) for low in lowered)
    if question.yes_no or question.asks == OFTEN or not asking:
        return None
    kind, asked = _kind(lowered, question, grammar)
    keys: list[str] = []
    optional: list[str] = []
    names = set()
    for at, (word, low) in enumerate(zip(words, lowered, strict=True)):
        if is_light(low, grammar) or is_asking(low, grammar) or _negates(low, grammar):
            continue
        if at in asked or low in grammar.words["name_nouns"]:
            optional.append(low)
            continue
        if any(low in grammar.words[name] for name in _FUNCTION) or _NUMBER.match(low):
            continue
        keys.append(low)
        if is_relation(low, grammar) or (at and word[:1].isupper() and grammar.parser != "german"):
            names.add(low)
    if not keys:
        # "Which subscriptions do I have?" names nothing but the sort of thing.
        keys, optional = [low for low in optional if low not in grammar.words["name_nouns"]], []
    if not keys:
        return None
    own = any(is_first_person(low, grammar) for low in lowered if not is_asking(low, grammar))
    return Slot(
        kind, tuple(keys), tuple(optional), frozenset(names), preposition=_preposition(lowered, grammar), own=own,
        single=_is_single(optional, grammar), last=_asks_last(lowered, grammar),
        denied=question.denied, former=question.former or not grammar.words["formers"].isdisjoint(lowered),
        called=question.naming and grammar.parser == "german" and all(is_relation(key, grammar) for key in keys),
    )  # fmt: skip


def _negates(low: str, grammar: Grammar) -> bool:
    return low in grammar.words["negates"] or low.endswith("n't")


def is_light(low: str, grammar: Grammar) -> bool:
    """Whether it is a word, mostly a verb, that says nothing by itself."""
    return low in grammar.words["light"] or grammar.verbs.get(low) in grammar.words["light"]


def is_relation(low: str, grammar: Grammar) -> bool:
    """Whether it names somebody by what they are to somebody ("sister", "Bruders", "arkadaşım")."""
    bare = low.removesuffix("'s")
    if grammar.parser == "turkish":
        return own_noun(genitive(low) or low, grammar) in grammar.relations
    return bare in grammar.relations or (grammar.parser == "german" and bare.removesuffix("s") in grammar.relations)


def _kind(lowered: Sequence[str], question: Question, grammar: Grammar) -> tuple[str, frozenset[int]]:
    """What it asks for, and which of its words only say what sort of thing that is."""
    text = " ".join(lowered)
    sort: set[int] = set()
    for at, low in enumerate(lowered):
        behind = lowered[at + 1] if low in grammar.words["which"] and at + 1 < len(lowered) else ""
        if behind and not is_light(behind, grammar) and not _negates(behind, grammar) and behind not in grammar.words["asking"]:
            sort.add(at + 1)
    for kind, name in ((CLOCK, "asks_clock"), (WHEN, "asks_day"), (AMOUNT, "asks_amount")):
        for mark in grammar.marks[name]:
            if match := mark.search(text):
                covered = {at for at in range(len(lowered)) if _within(lowered, at, match)}
                return kind, frozenset(sort | covered)
    kind = {"where": WHERE, "when": WHEN, "since": WHEN, "until": WHEN, "who": WHO}.get(
        question.asks, WHO if question.naming else WHAT
    )
    return kind, frozenset(sort)


def _within(lowered: Sequence[str], at: int, match: re.Match[str]) -> bool:
    start = len(" ".join(lowered[:at])) + (1 if at else 0)
    return match.start() <= start < match.end()


def _is_single(sort: Sequence[str], grammar: Grammar) -> bool:
    """Whether the noun behind "which" is no plural; German does not tell."""
    plural = {"english": _MANY_ENGLISH, "turkish": _MANY_TURKISH}.get(grammar.parser)
    sort = [low for low in sort if low not in grammar.words["name_nouns"]]
    return bool(sort) and plural is not None and not any(plural.search(low) for low in sort)


def asks(text: str) -> bool:
    """Whether it ends as a question does: "My dose in April?" has no question word."""
    return text.rstrip(_BEHIND).endswith(_ASKS)


def is_asking(low: str, grammar: Grammar) -> bool:
    """Whether a lower-case word has the form of a question word."""
    return any(mark.fullmatch(low) for mark in grammar.marks["asks_word"])


def _asks_last(lowered: Sequence[str], grammar: Grammar) -> bool:
    asking = [at for at, low in enumerate(lowered) if is_asking(low, grammar)]
    return bool(asking) and all(is_light(low, grammar) or low == "kadar" for low in lowered[asking[-1] + 1 :])


def _preposition(lowered: Sequence[str], grammar: Grammar) -> str:
    if grammar.parser == "turkish" or len(lowered) < 2:
        return ""
    first, second = lowered[:2]
    if first in grammar.words["prepositions"] and second in grammar.words["asking"] and not is_asking(first, grammar):
        return first
    return lowered[-1] if grammar.parser == "english" and lowered[-1] in grammar.words["prepositions"] else ""


def fillers(slot: Slot, segment: Segment, taken: frozenset[int], grammar: Grammar) -> list[str]:
    """The values that the statement puts where the question asks; `taken` are the places of the words that both share."""
    spans = list(_spans(slot, segment.words, taken, grammar))
    if slot.called:
        spans = where_names_stand(spans, segment.words, taken, grammar)
    if not spans:
        return []
    start, end = min(spans, key=lambda span: _distance(span, taken, slot.last, grammar))
    start, end = _with_sort(start, end, slot, segment.words, grammar)
    if slot.kind in (WHEN, CLOCK, AMOUNT):
        return [squeeze(" ".join(word.said for word in segment.words[start:end]))]
    whole = grammar.parser == "turkish" and not _is_cased(end, slot, segment.words, grammar)
    said = [value for value in listed_values(segment.words[start:end], grammar, whole) if value]
    # "My dose of …": what only joins words is no value.
    return [value for value in said if lower_in(value, grammar.code) not in grammar.words["tails"] | _NOTHING]


def _is_cased(end: int, slot: Slot, words: Sequence[Word], grammar: Grammar) -> bool:
    """Whether Turkish values that end there may stand in a case: only places do, and nothing does before "ile" or "için"."""
    if end < len(words) and words[end].low in grammar.words["postpositions"]:
        return False
    return slot.kind == WHERE or any(split_case(low)[0] in LOCATIVE for low in slot.optional)


def _with_sort(start: int, end: int, slot: Slot, words: Sequence[Word], grammar: Grammar) -> tuple[int, int]:
    """With the sort of thing that is asked for, where it is part of the name ("Millbrook Orchestra", "Hotel Astoria")."""

    def sort(at: int) -> bool:
        named = 0 <= at < len(words) and words[at].said[:1].isupper() and words[at].low not in grammar.words["determiners"]
        return named and any_alike(slot.optional, words[at].low, grammar)

    if sort(start - 1):
        start -= 1
    return start, end + 1 if sort(end) else end


def _distance(span: tuple[int, int], taken: frozenset[int], last: bool, grammar: Grammar) -> tuple[int, int]:
    start, end = span
    before = [start - at for at in taken if at < start]
    behind = [at - end + 1 for at in taken if at >= end]
    # English says it behind what it says it of, Turkish before its verb; German on either side.
    if grammar.parser == "turkish":
        near, far = (before, behind) if last else (behind, before)
        return min([*near, *(gap + 4 for gap in far)], default=99), -start
    if grammar.parser == "english":
        return min([*before, *(gap + 3 for gap in behind)], default=99), start
    return min([*before, *behind], default=99), -(end - start)


def _spans(slot: Slot, words: Sequence[Word], taken: frozenset[int], grammar: Grammar) -> Iterator[tuple[int, int]]:
    """The places [start, end) of what might fill the slot."""
    aside = put_aside(words, grammar)
    if slot.kind in (WHEN, CLOCK):
        timed = [word.timed and at not in aside for at, word in enumerate(words)]
        for start, end in joined_runs(timed, words, grammar) if slot.kind == WHEN else runs_of(timed):
            text = " ".join(word.low for word in words[start:end])
            if slot.kind == WHEN or HOUR.search(text):
                yield start, end
        return
    free = [
        at not in taken and at not in aside and not (word.timed or word.bounds or is_function(at, words, grammar))
        for at, word in enumerate(words)
    ]
    if slot.kind == AMOUNT:
        yield from amounts_in(words, free, taken)
    elif grammar.parser == "turkish":
        yield from _turkish(slot, words, free, grammar)
    elif slot.kind == WHERE or slot.preposition:
        yield from _led(slot, words, free, grammar)
    else:
        # A German noun has its capital; of "which …" nothing else is an answer.
        named = slot.kind == WHO or (grammar.parser == "german" and bool(slot.optional))
        yield from (span for span in joined_runs(free, words, grammar) if not named or _has_name(words[slice(*span)]))


def _has_name(words: Sequence[Word]) -> bool:
    return any(word.said[:1].isupper() or word.said[:1].isdigit() for word in words)


def amounts_in(words: Sequence[Word], free: Sequence[bool], taken: frozenset[int]) -> Iterator[tuple[int, int]]:
    for at, word in enumerate(words):
        if free[at] and _NUMBER.match(word.low):
            unit = at + 1 < len(words) and not word.closes and (free[at + 1] or at + 1 in taken) and not words[at + 1].timed
            yield at, at + (2 if unit else 1)


def _led(slot: Slot, words: Sequence[Word], free: Sequence[bool], grammar: Grammar) -> list[tuple[int, int]]:
    """What stands behind a preposition of place, or behind the one of the question."""
    own = frozenset({slot.preposition, *_WITH_ARTICLE.get(slot.preposition, ())})
    leading = grammar.words["places"] if slot.kind == WHERE else own
    beside = grammar.words["determiners"] | grammar.words["possessives"]
    found = []
    for start, end in joined_runs(free, words, grammar):
        before = start - 1
        while before >= 0 and words[before].low in beside:
            before -= 1
        if before >= 0 and words[before].low in leading:
            found.append((start, end))
    if slot.kind != WHERE:
        return found
    # "In a small flat in Bristol": the place that has a name.
    return [span for span in found if any(word.said[:1].isupper() for word in words[slice(*span)])] or found


def _turkish(slot: Slot, words: Sequence[Word], free: Sequence[bool], grammar: Grammar) -> Iterator[tuple[int, int]]:
    for start, end in joined_runs(free, words, grammar):
        if slot.kind == WHERE:
            places = [at for at in range(start, end) if split_case(words[at].said)[0] in LOCATIVE]
            if places:
                yield start, places[-1] + 1
            continue
        if slot.kind != WHO or words[start].said[:1].isupper():
            yield start, end


def is_function(at: int, words: Sequence[Word], grammar: Grammar) -> bool:
    word, low = words[at], words[at].low
    if any(low in grammar.words[name] for name in _FUNCTION) or low in grammar.words["negates"] or is_light(low, grammar):
        return True
    if low.partition("'")[0] in grammar.words["pronouns"] and "'" in low:
        # "I've", "she's"
        return True
    if is_relation(low, grammar) or (at and word.said[:1].isupper() and is_relation(words[at - 1].low, grammar)):
        # "my sister Ana": who that is, is asked for by other words.
        return True
    told = grammar.parser == "english" and grammar.tenses.get(low) in _FINISHED
    if at == 0 and told and low not in grammar.words["nouns_too"]:
        # "Picked up our puppy": the capital is that of the sentence.
        return True
    if not word.said[:1].islower():
        return False
    if grammar.parser == "turkish":
        last = at == len(words) - 1 or word.closes
        return last and verb_of(low, grammar) is not None
    return grammar.tenses.get(low) in _VERBAL


def runs_of(flags: Sequence[bool], closes: Sequence[bool] = ()) -> Iterator[tuple[int, int]]:
    """[start, end) of what is true in a row; a row ends behind what closes it."""
    start = -1
    for at, flag in enumerate([*flags, False]):
        if not flag and start >= 0:
            yield start, at
            start = -1
        elif flag and start < 0:
            start = at
        if flag and closes and closes[at]:
            yield start, at + 1
            start = -1


def joined_runs(free: Sequence[bool], words: Sequence[Word], grammar: Grammar) -> Iterator[tuple[int, int]]:
    """Runs of free words; what is listed ("A, B and C") is one run, and a comma alone lists nothing."""
    runs = list(runs_of(free, [word.closes for word in words]))
    listing, beside = grammar.words["listing"], grammar.words["determiners"] | grammar.words["prepositions"]
    at = 0
    while at < len(runs):
        start, end = runs[at]
        after = at + 1
        reach, listed = end, False
        while after < len(runs):
            between = [word.low for word in words[reach : runs[after][0]]]
            joins = any(low in listing for low in between)
            if not (joins or words[reach - 1].closes) or not (listing | beside).issuperset(between):
                break
            reach = runs[after][1]
            after += 1
            listed = listed or joins
            if joins:
                end, at = reach, after - 1
        yield start, end
        at += 1
