"""Whether what stands behind a word for somebody is a name: "kommt mein Bruder Tim", but "spielt meine Tochter Geige"."""

from __future__ import annotations

from aico_memory.domain.formation.german_clauses import BE, HAVE, MODALS, PREFIXES, WILL
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import lower

# Verbs that have no object: a noun behind who does it is a name.
_ALONE = frozenset(
    [
        "kommen", "gehen", "wohnen", "leben", "arbeiten", "heißen", "sterben", "ziehen", "umziehen", "einziehen", "ausziehen",
        "anrufen", "ankommen", "heiraten", "mitkommen", "schlafen", "wegziehen", "zurückkommen", "vorbeikommen", "bleiben",
        "kündigen", "helfen", "fehlen", "warten", "verreisen", "auswandern", "aufstehen", "einschlafen", "aufwachsen",
    ]
)  # fmt: skip
# What is done to somebody without anything else: a noun behind whom it is done to is a name.
_TO_SOMEBODY = frozenset({"helfen", "danken", "gratulieren", "begegnen", "vertrauen", "zuhören", "folgen", "antworten"})
# To whom something is given or done.
_DATIVES = frozenset({"meinem", "meiner", "unserem", "unserer"})
# What is done with somebody, beside the doings: a noun behind them is what one does.
_DONE_WITH = frozenset({"spielen", "lernen", "fahren", "machen", "üben", "laufen"})


def without_object(words: list[str], length: int, lemma: str, grammar: Grammar) -> int:
    """How many of `length` words name the subject: not the last one where it is what is done ("spielt meine Tochter Geige")."""
    if length < 2 or lower(words[length - 2]) not in grammar.relations or not words[length - 1][:1].isupper():
        return length
    behind = words[length:]
    beside = grammar.words["prepositions"] | grammar.words["determiners"]
    if any(not word[:1].islower() or lower(word) in beside for word in behind):
        return length
    last = lower(behind[-1]) if behind else ""
    if lemma == BE or (lemma == WILL and grammar.tenses.get(last) in ("participle", "two")):
        return length if behind else length - 1
    if last and (lemma in MODALS or lemma in (HAVE, WILL)):
        lemma = grammar.verbs.get(last, last)
    elif last in PREFIXES:
        lemma = last + lemma
    return length if lemma in _ALONE else length - 1


def names_beside(names: list[str], words: list[str], at: int, end: int, verb: str, grammar: Grammar) -> list[str]:
    """Those of the nouns behind a relation that name it; `at`: the place of "mein", `end`: where the nouns begin."""
    led = at > 0 and lower(words[at - 1]) in grammar.words["prepositions"]
    behind = lower(words[end + len(names)]) if end + len(names) < len(words) else ""
    if lower(words[at]) in _DATIVES and not led:
        # "Ich kaufe meiner Mutter (Ulla) Blumen"
        named = verb in _TO_SOMEBODY or len(names) > 1 or behind in grammar.words["determiners"]
        return names[:1] if named else []
    # "Ich spiele Tischtennis mit meinem Bruder Tim": what is done has been said.
    said = at > 1 and words[at - 2][:1].isupper()
    if led and len(names) == 1 and not behind and not said and (verb in _DONE_WITH or verb in grammar.words["doings"]):
        # "Ich spiele mit meinem Bruder Schach"
        return []
    return names
