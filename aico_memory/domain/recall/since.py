"""Since when, or until when, something holds: the time that its statement names, not the thing itself."""

from __future__ import annotations

from collections.abc import Sequence

from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.turkish_words import split_case
from aico_memory.domain.formation.when import TimePhrase, find_times
from aico_memory.domain.formation.wording import lower_in, trim
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.mirrored import Mirrored, Utterance
from aico_memory.domain.recall.timeline import Held

# What a question asks for by "since when" and "how long", and the kinds of phrases that tell it.
SINCE, UNTIL = "since", "until"
_TELLING = {SINCE: frozenset({"since", "held"}), UNTIL: frozenset({"until"})}
# Behind a Turkish time: "Mart'tan beri".
_SINCE_THEN = "beri"


def tells_time(one: Held, grammar: Grammar) -> bool:
    """Whether a fact's value is a time or a measure itself ("40 minutes")."""
    calendar = grammar.calendar
    known = calendar.units.keys() | calendar.months.keys() | calendar.numbers.keys()
    words = [lower_in(trim(word), grammar.code) for word in one.fact.value.split()]
    return any(any(letter.isdigit() for letter in word) or word in known for word in words)


def since_when(facts: Sequence[Held], said: Sequence[Utterance], grammar: Grammar, asks: str = SINCE) -> list[Mirrored]:
    """The times since or until which facts hold, in the words of their messages; those of which none is told are left out."""
    found: list[Mirrored] = []
    by_time = {one.said_at_us: one for one in said}
    for one in facts:
        utterance = by_time.get(one.statement.said_at_us)
        if utterance is None:
            continue
        if (told := _told(one, utterance, grammar, asks)) is not None and (value := _named(*told, grammar)):
            found.append(Mirrored(value, utterance, told[1].past[0], OPEN))
    return found


def _told(one: Held, utterance: Utterance, grammar: Grammar, asks: str) -> tuple[str, TimePhrase] | None:
    """The text that names one such time, and that phrase: the statement, else the message, which may tell of others."""
    for text in (one.fact.excerpt, one.fact.text, utterance.text):
        times = find_times(
            lower_in(text, grammar.code), grammar.calendar, grammar.code, utterance.said_at_us, utterance.zone
        )  # fmt: skip
        told = [time for time in times if time.kind in _TELLING[asks]]
        if len(told) == 1:
            return text, told[0]
    return None


def _named(text: str, time: TimePhrase, grammar: Grammar) -> str:
    """The time of "since March", "ever since 2019", Turkish "Mart'tan beri", as it was written."""
    words = [trim(word) for word in text[time.start : time.end].split() if trim(word)]
    if words and grammar.parser == "turkish":
        if len(words) > 1 and lower_in(words[-1], grammar.code) == _SINCE_THEN:
            words.pop()
        return " ".join([*words[:-1], split_case(words[-1])[1]])
    leading = grammar.words["prepositions"] | grammar.words["adverbs"] | grammar.words["openers"]
    while len(words) > 1 and lower_in(words[0], grammar.code) in leading:
        words.pop(0)
    return " ".join(words)
