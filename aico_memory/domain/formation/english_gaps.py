"""English clauses that leave out what the one before has said: "mine is red", "… and golf on Fridays"."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from aico_memory.domain.formation.frames import HOLDER, Party
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.together import person_at_start
from aico_memory.domain.formation.wording import lower, trim

OWNERS = {"mine": "my", "ours": "our", "hers": "her", "his": "his", "theirs": "their"}
_SPEAKERS = ("i", "we")
_NO_CARRIERS = frozenset({"be", "am", "is", "are", "was", "were", "been"})
_FINITE = ("third", "infinitive", "past", "present")
# Words of what is done, and of where.
_SHORT, _MOST = 3, 6


def with_noun_of(subject: list[str], before: Party | None, grammar: Grammar) -> list[str] | None:
    """ "Mine is red", "my dad's is green": with the noun of which the clause before told whose it is; None where none did."""
    last = lower(trim(subject[-1])) if subject else ""
    if before is None or not before.noun or before.noun in grammar.relations:
        return None if len(subject) == 1 and last in OWNERS else subject
    if len(subject) == 1 and last in OWNERS:
        return [OWNERS[last], *before.noun.split()]
    whose = last.endswith(("'s", "s'")) and (
        len(subject) == 1 or (lower(subject[0]) in grammar.words["own"] and last[:-2] in grammar.relations)
    )
    return [*subject, *before.noun.split()] if whose else subject


def runs_on(left: str, right: str, grammar: Grammar) -> bool:
    """ "I run on Mondays and swim on Tuesdays": behind a time a verb with a time of its own, even if it may be a noun."""
    words, theirs = left.split(), right.split()
    if lower(words[0]) in _SPEAKERS and len(theirs) > 2 and grammar.tenses.get(lower(theirs[0])) == "infinitive":
        # "I gave up tennis and play padel now."
        return any(mark.search(lower(right)) for mark in grammar.marks["by_now"])
    if len(words) < _SHORT or len(theirs) < 2 or not (HOLDER.search(words[-1]) and HOLDER.search(theirs[1])):
        return False
    return lower(words[0]) in _SPEAKERS and grammar.tenses.get(lower(theirs[0])) == "infinitive"


def continued(left: str, right: str, grammar: Grammar) -> str:
    """ "I play squash on Mondays and tennis on Fridays": the second with its subject and verb; empty where it is no such thing.

    Both must go on in the same way: with a time, or with the same preposition.
    """
    words = left.split()
    if lower(words[0] if words else "") in _SPEAKERS:
        subject, told = words[:1], words[1:]
    elif (person := person_at_start(left, grammar)) is not None:
        subject, told = person
    else:
        return ""
    adverbs = [*takewhile(lambda word: lower(word) in grammar.words["adverbs"], told)]
    told = told[len(adverbs) :]
    if (whole := _onward(subject, told, right, grammar)) or not told:
        return whole
    if len(told) < _SHORT or not _may_carry(told[0], grammar) or _is(told[1], "prepositions", grammar):
        return ""
    theirs = [*takewhile(lambda word: lower(trim(word)) not in ("and", "but"), right.split()[:_MOST])]
    close = next((at for at, word in enumerate(theirs, 1) if word.endswith((",", ".", "!", ";"))), len(theirs))
    where = _where(theirs[:close], grammar)
    if not 0 < where < _SHORT + 1 or _has_verb(theirs[:where], grammar):
        return ""
    if HOLDER.search(theirs[where]):
        same = bool(HOLDER.search(told[-1])) and where == close - 1
    else:
        ours = [lower(word) for word in told[2:]]
        same = lower(theirs[where]) in ours and where < close - 1 and not _has_verb(theirs[where + 1 : close], grammar)
        same = same and not any(HOLDER.search(word) for word in (*told, *theirs[:close]))
    return " ".join([*subject, told[0], right]) if same else ""


def _onward(subject: Sequence[str], told: Sequence[str], right: str, grammar: Grammar) -> str:
    """ "I'm going to Rome in May and to Oslo in July": the second with what is done; empty where it is no such thing."""
    theirs = right.split()[: _SHORT + 1]
    at = next((at for at, word in enumerate(told) if _is(word, "prepositions", grammar)), 0)
    going = at and any(grammar.tenses.get(lower(word)) == "progressive" for word in told[:at])
    if not going or len(theirs) < _SHORT or lower(theirs[0]) != lower(told[at]) or not HOLDER.search(told[-1]):
        return ""
    return " ".join([*subject, *told[:at], right]) if HOLDER.search(theirs[2]) or HOLDER.search(theirs[-1]) else ""


def whose(left: str, right: str, grammar: Grammar) -> str:
    """ "My birthday is on 3 May, my sister's on 4 June": the second with its verb; empty where it is no such thing."""
    words, theirs = left.split(), right.split()
    at = next((at for at, word in enumerate(words) if at and lower(word) in ("is", "are", "was", "were")), 0)
    end = next((at for at, word in enumerate(theirs[:2], 1) if lower(word).endswith(("'s", "s'"))), 0)
    mine = bool(at) and lower(words[0]) in grammar.words["own"]
    named = end == 1 or (end == 2 and lower(theirs[0]) in grammar.words["own"] and lower(theirs[1])[:-2] in grammar.relations)
    if not (mine or (at and words[0].endswith("'s"))) or not end or not named or len(theirs) == end:
        return ""
    rest = theirs[end : end + _MOST]
    first = words[at + 1] if at + 1 < len(words) else ""
    if _has_verb(rest, grammar):
        return ""
    timed = bool(HOLDER.search(first)) == bool(HOLDER.search(rest[0]))
    led = _is(first, "prepositions", grammar) == _is(rest[0], "prepositions", grammar)
    close = next((at for at, word in enumerate(rest, 1) if not word[-1].isalnum()), len(rest))
    return " ".join([*theirs[:end], words[at], *theirs[end:]]) if timed and led and close <= _SHORT else ""


def _where(words: Sequence[str], grammar: Grammar) -> int:
    """The place of the first preposition or time; -1 where none is."""
    return next((at for at, word in enumerate(words) if HOLDER.search(word) or _is(word, "prepositions", grammar)), -1)


def _is(word: str, group: str, grammar: Grammar) -> bool:
    return lower(trim(word)) in grammar.words[group]


def _may_carry(verb: str, grammar: Grammar) -> bool:
    low = lower(verb)
    return low not in _NO_CARRIERS and (low in ("have", "has") or grammar.tenses.get(low) in _FINITE)


def _has_verb(words: Sequence[str], grammar: Grammar) -> bool:
    """Whether there is anything that may be a verb or a subject of its own."""
    lowered = [lower(trim(word)) for word in words]
    return any(
        low in _NO_CARRIERS
        or low in ("have", "has", "do", "does")
        or any(low in grammar.words[group] for group in ("pronouns", "own", "adverbs", "negates"))
        or (grammar.tenses.get(low) in (*_FINITE, "participle") and low not in grammar.words["nouns_too"])
        for low in lowered
    )
