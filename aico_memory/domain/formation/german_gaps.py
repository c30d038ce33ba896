"""German clauses that leave out their verb, which the clause before them has said."""

from __future__ import annotations

from aico_memory.domain.formation.frames import HOLDER
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.together import gapped, person_at_start
from aico_memory.domain.formation.wording import lower

_FINITE = frozenset({"present", "past", "both", "two"})
# Who speaks, alone or with others; who may be meant by what goes on without a verb.
_SPEAKS = frozenset({"ich", "wir"})
_GOES_ON = _SPEAKS | {"er", "sie"}
# What opens a clause that tells how it is since then, beside the words for "now".
_SINCE = frozenset({"heute", "seitdem"})
_ARTICLES = frozenset({"ein", "eine", "einen"})
_IS = {"ich": "bin", "wir": "sind", "er": "ist", "sie": "ist"}
# How names of two words begin: "New York" tells nothing of somebody called New.
_FIRST_OF_TWO = frozenset({"new", "san", "santa", "los", "las", "bad", "sankt", "rio", "tel", "den", "la", "le", "el", "costa"})


def gapped_german(left: str, right: str, grammar: Grammar) -> str:
    """ "Tom Kaffee" behind "Lena mag Tee", as "Tom mag Kaffee"; empty where it is no such clause."""
    if not left.strip() or any(_is_finite(word, grammar) for word in right.split()):
        return ""
    if whole := gapped(left, right, grammar):
        return whole
    right = right.rstrip(".!")
    words, theirs = left.split(), right.split()
    if len(theirs) > 2 and (lower(theirs[0]) in _SINCE or lower(theirs[0]) in grammar.words["now"]):
        return _by_now(words, theirs, grammar)
    one, other = _who(left, grammar), _who(right, grammar)
    if one is None or other is None or len(one[1]) < 2 or not _is_finite(one[1][0], grammar):
        return ""
    begins = lower(other[0][0])
    if _is_own(one[0], grammar) != _is_own(other[0], grammar) or begins in _FIRST_OF_TWO or begins in grammar.words["titles"]:
        return ""
    behind = _in_place(other[1], [word.strip(",") for word in one[1][1:]], grammar)
    return " ".join([*other[0], one[1][0], *behind]) if behind else ""


def _in_place(theirs: list[str], rest: list[str], grammar: Grammar) -> list[str]:
    """What stands behind the verb: `rest` with what the other clause puts in its place; empty where they are not alike."""
    first = lower(theirs[0])
    if len(theirs) == 1 and HOLDER.fullmatch(theirs[0]):
        held = [at for at, word in enumerate(rest) if HOLDER.fullmatch(word)]
        return [*rest[: held[0]], theirs[0], *rest[held[0] + 1 :]] if len(held) == 1 else []
    if first in grammar.words["prepositions"] and len(theirs) > 1:
        at = next((at for at, word in enumerate(rest) if lower(word) == first), -1)
        # "Lena fährt gern mit dem Bus hin, Tom mit dem Rad": what belongs to the verb is said of both.
        tail = [word for word in rest[-1:] if at < len(rest) - 1 and word[:1].islower()]
        return [*(word for word in rest[:at] if word[:1].islower()), *theirs, *tail] if at >= 0 else []
    if first in _ARTICLES:
        return theirs if lower(rest[0]) in _ARTICLES else []
    plain = len(rest) == len(theirs) == 1 and rest[0][:1].isupper() and theirs[0][:1].isupper()
    return theirs if plain else []


def _by_now(words: list[str], theirs: list[str], grammar: Grammar) -> str:
    """ "Früher habe ich in Köln gewohnt, jetzt in Bonn": as "jetzt wohnen ich in Bonn", which is read like any form."""
    lowered = [lower(word) for word in words]
    who = next((word for word, low in zip(words, lowered, strict=True) if low in _GOES_ON), "")
    finite = next((word for word in words if _is_finite(word, grammar)), "")
    preposition = lower(theirs[1])
    if not who or not finite or preposition not in grammar.words["prepositions"] or preposition not in lowered:
        return ""
    low = lower(finite)
    if grammar.verbs.get(low) in ("haben", "sein") and grammar.tenses.get(lowered[-1]) in ("participle", "two"):
        finite = grammar.verbs[lowered[-1]]
    elif grammar.verbs.get(low) == "sein":
        finite = _IS[lower(who)]
    elif grammar.tenses.get(low) == "past":
        finite = grammar.verbs[low]
    return " ".join([theirs[0], finite, who, *theirs[1:]])


def _is_finite(word: str, grammar: Grammar) -> bool:
    low = lower(word).strip(",.!")
    return word[:1].islower() and low not in grammar.words["possessives"] and grammar.tenses.get(low) in _FINITE


def _who(text: str, grammar: Grammar) -> tuple[list[str], list[str]] | None:
    words = text.split()
    if len(words) > 1 and lower(words[0]) in _SPEAKS:
        return words[:1], words[1:]
    return person_at_start(text, grammar)


def _is_own(who: list[str], grammar: Grammar) -> bool:
    """Whether it is who speaks or somebody of theirs, and no name."""
    low = lower(who[0])
    return low in _SPEAKS or low in grammar.words["own"]
