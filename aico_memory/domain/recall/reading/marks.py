"""What the language tables know of a word, whichever language it is of.

The span reader's encoder was made for English and reads lower case without accents. What it cannot see or does not know of a
German or Turkish word is told by these marks, so that what it learns of one language holds in the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from aico_memory.domain.formation.acts import read_speech
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.turkish_phrases import verb_of
from aico_memory.domain.formation.wording import trim
from aico_memory.domain.recall.alike import is_first_person
from aico_memory.domain.recall.segments import RETRACT
from aico_memory.domain.recall.slots import AMOUNT, CLOCK, WHAT, WHEN, WHERE, WHO, is_asking, is_relation

# How a word is written.
LOWER, OPENS, CAPITAL, CAPITALS, DIGITS = range(5)
# What it does in a sentence; the first that fits, in this order.
NO_ROLE, SPEAKER, THIRD, RELATION, NEGATES, CANCELS, OVER, NOW, ALSO, ONLY, LISTS, DETERMINES, PLACES, LEADS, ASKS = range(15)
PAST_VERB, PRESENT_VERB, OTHER_VERB, NEGATED_VERB = range(15, 19)
ROLES = 19
# What its sentence does.
TELLS, CORRECTS, TAKES_BACK, SILENT, UNSURE = range(5)
ACTS = 5
# What a question asks for; 0 is no word of a question.
KINDS = {WHERE: 1, WHEN: 2, CLOCK: 3, AMOUNT: 4, WHO: 5, WHAT: 6}
_BY_TABLE = (
    (("cancels",), CANCELS), (("over",), OVER), (("now",), NOW), (("also",), ALSO), (("only",), ONLY),
    (("listing",), LISTS), (("determiners", "possessives"), DETERMINES), (("places",), PLACES), (("prepositions",), LEADS),
)  # fmt: skip
_TENSES = {"past": PAST_VERB, "present": PRESENT_VERB, "both": PRESENT_VERB}
_ENDS = (".", "!", "?", "…")


def shape_of(word: str, opens: bool) -> int:
    """How a word is written; `opens`: it is the first of a sentence, whose capital says nothing."""
    bare = trim(word)
    if any(letter.isdigit() for letter in bare):
        return DIGITS
    if not bare[:1].isupper():
        return LOWER
    if len(bare) > 1 and bare.isupper():
        return CAPITALS
    return OPENS if opens else CAPITAL


@lru_cache(maxsize=65536)
def role_of(low: str, grammar: Grammar) -> int:
    """What a lower-case word does in a sentence."""
    bare = low.partition("'")[0]
    tables = grammar.words
    if is_asking(low, grammar) and (low in tables["asking"] or grammar.parser == "turkish"):
        return ASKS
    if is_first_person(low, grammar) or (grammar.parser != "turkish" and is_first_person(bare, grammar)):
        return SPEAKER
    if low in tables["third"] or (grammar.parser == "english" and bare in tables["third"]):
        return THIRD
    if is_relation(low, grammar):
        return RELATION
    if low in tables["negates"]:
        return NEGATES
    for names, role in _BY_TABLE:
        if any(low in tables.get(name, ()) for name in names):
            return role
    if grammar.parser == "turkish":
        verb = verb_of(low, grammar)
        if verb is None:
            return NO_ROLE
        return NEGATED_VERB if verb.negated else _TENSES.get(verb.tense, OTHER_VERB)
    tense = grammar.tenses.get(low)
    return NO_ROLE if tense is None else _TENSES.get(tense, OTHER_VERB)


def acts_of(words: Sequence[str], grammar: Grammar) -> list[int]:
    """What the sentence of each word does."""
    acts: list[int] = []
    for start, end in sentences_of(words):
        acts.extend([_act(" ".join(words[start:end]), grammar)] * (end - start))
    return acts


def sentences_of(words: Sequence[str]) -> list[tuple[int, int]]:
    """First word and the one behind the last of each sentence."""
    ends = [at + 1 for at, word in enumerate(words) if word.endswith(_ENDS)]
    if not ends or ends[-1] != len(words):
        ends.append(len(words))
    return list(zip([0, *ends], ends, strict=False))


@lru_cache(maxsize=4096)
def _act(sentence: str, grammar: Grammar) -> int:
    speech = read_speech(sentence.rstrip(".!…"), grammar)
    if speech.act == RETRACT or speech.untrue:
        return TAKES_BACK
    if speech.act:
        return CORRECTS
    if speech.silent or sentence.endswith("?"):
        return SILENT
    return UNSURE if any(mark.search(sentence) for mark in grammar.marks["unsure"]) else TELLS
