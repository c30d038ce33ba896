"""Which grammar reads a message: the one most of whose words stand in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.turkish_phrases import known_verbs
from aico_memory.domain.formation.turkish_words import genitive, looks_finite, read_verb, unpossessed
from aico_memory.domain.formation.wording import lower_in, plain_letters

_WORD = re.compile(r"[^\W\d_]+")
_GROUPS = (
    "speaker",
    "pronouns",
    "possessives",
    "determiners",
    "prepositions",
    "adverbs",
    "openers",
    "own",
    "asking",
    "empty",
    "telling",
    "particles",
)
_LETTERS = {"tr": "ğış", "de": "äß"}
_SHARED = {"tr": "öüç", "de": "öü"}
_RECENT_WEIGHT = 0.3
# Letters of a word of time that no other language has too.
_TELLING = 4
_CONTRACTED = re.compile(r"\b(?:I|[Ww]e|[Yy]ou|[Tt]hey)['’](?:m|re|ve|ll|d)\b|n['’]t\b")
# Endings of Turkish: cases behind an apostrophe, and persons of verbs.
_CASED = re.compile(r"\w'(?:[dt][ae]n?|y?[aeıiuü]|n?[ıiuü]n|y?l[ae])\b")
# Tenses whose endings no other language has ("oldu", "gidecek", "geliyor"); a known stem stands before them.
_FINITE = frozenset({"past", "told", "progressive", "future", "was"})
# What an ending of case is put to in "temmuzdan", "cumaya".
_ENDED = re.compile(r"^(?P<w>.{4,}?)(?:[dt][ae]n?|y?[ae]|[ıiuü]n)$")
_PERSONAL = re.compile(r"(?:[ıiuü]m|y[ıiuü]m|m[ıiuü]ş|d[ıiuü]m)$")


def choose_grammar(text: str, recent: Sequence[str], tables: FormationTables, language: str = "") -> Grammar | None:
    """The grammar of the language that is given or guessed; what was said before decides where the text does not."""
    if language:
        return tables.grammars.get(language)
    text = plain_letters(text)
    scores = {code: _score(text, grammar) for code, grammar in tables.grammars.items()}
    for earlier in recent[-3:]:
        for code, grammar in tables.grammars.items():
            scores[code] += _RECENT_WEIGHT * min(1.0, _score(plain_letters(earlier), grammar) / 4)
    best = max(scores, key=lambda code: scores[code], default="")
    return tables.grammars[best] if best and scores[best] > 0 else None


@lru_cache(maxsize=64)
def _telling(grammar: Grammar) -> frozenset[str]:
    calendar = grammar.calendar
    times = (calendar.weekdays, calendar.months, calendar.units)
    # "Ben moved out last weekend" is no Turkish, whatever "ben" is.
    dated = (word for words in times for word in words if len(word) >= _TELLING)
    steps = (word for words in (calendar.steps, calendar.days) for phrase in words for word in phrase.split())
    return frozenset[str]().union(
        *(grammar.words[group] for group in _GROUPS), dated, (one for one in steps if len(one) >= _TELLING)
    )


def _told(word: str, grammar: Grammar) -> bool:
    """Whether it is a known Turkish verb of somebody else's ("oldu", "taşındı")."""
    verb = read_verb(word, known_verbs(grammar)) if len(word) >= _TELLING else None
    return verb is not None and verb.tense in _FINITE


@lru_cache(maxsize=4096)
def _score(text: str, grammar: Grammar) -> float:
    # Kept, since each message is looked at again as what was said before the next ones.
    words = list(_WORD.findall(lower_in(text, grammar.code)))
    telling = _telling(grammar)
    score = float(sum(word in telling for word in words))
    score += 0.8 * sum(word in grammar.tenses for word in words)
    score += 2.0 * sum(letter in _LETTERS.get(grammar.code, "") for letter in set(text))
    score += 0.7 * sum(letter in _SHARED.get(grammar.code, "") for letter in set(text))
    if grammar.parser == "turkish":
        score += sum(1.5 if looks_finite(word) else 0.8 * _told(word, grammar) for word in words)
        ended = (_ENDED.match(word) for word in words if word not in telling)
        score += sum(found["w"] in telling for found in ended if found)
        score += 1.0 * len(_CASED.findall(text))
        score += 1.0 * sum(bool(_PERSONAL.search(word)) for word in words if len(word) > 4) * 0.5
        score += 1.5 * sum(
            bool(unpossessed(word, grammar.words["nouns"]))
            and unpossessed(word, grammar.words["nouns"]) in grammar.words["nouns"]
            for word in (*words, *(genitive(word) for word in words))
        )
    else:
        if grammar.parser == "english":
            score += 1.5 * bool(_CONTRACTED.search(text))
        score += 0.5 * sum(word in grammar.relations for word in words)
    return score
