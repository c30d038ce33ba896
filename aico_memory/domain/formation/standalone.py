"""A statement that stands alone: no filler in front, and said of whom it is about ("I play" → "User plays")."""

from __future__ import annotations

import re

from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.inflection import english_third
from aico_memory.domain.formation.wording import lower, squeeze, trim

_SUBJECT = re.compile(r"\b(?:I|[Ww]e)\b((?: \w+){1,3})")
_AGREE = {"am": "is", "are": "is", "were": "was", "have": "has", "do": "does"}
_JOINED = re.compile(r"\b(and|but|or) ((?:\w+ )??)(\w+)\b")
_PRONOUN = re.compile(r"^(?:he|she|they|it|er|sie|es|o)\b(?= \w)", re.IGNORECASE)
_OPENERS = ("fillers", "explicit")
MOST_OPENERS = 4


def standalone(sentence: str, subject: str, grammar: Grammar) -> str:
    """The sentence without fillers, with who it speaks of: "User …" for the speaker, "lena: …" for others."""
    text = _without_openers(sentence, grammar)
    if grammar.templates:
        text = _third_person(text, grammar)
        for mark, replacement in grammar.templates.items():
            text = re.sub(mark, replacement, text)
    if subject != SPEAKER and _PRONOUN.match(text):
        text = _PRONOUN.sub(lambda match: subject.title() if match.group() else "", text, count=1)
    who = "" if subject == SPEAKER or subject in text.casefold() else f"{subject}: "
    return squeeze(who + trim(text))


def _without_openers(sentence: str, grammar: Grammar) -> str:
    text = sentence
    for _ in range(MOST_OPENERS):
        rest = next(
            (text[match.end() :] for name in _OPENERS for mark in grammar.marks[name] if (match := mark.match(text))), text
        )  # fmt: skip
        if rest == text or len(rest.split()) < 2:
            return text
        text = squeeze(rest.lstrip(" ,:;.-–"))
    return text


def _third_person(text: str, grammar: Grammar) -> str:
    """Verbs of the speaker agree with a name: "I play and sing" → "I plays and sings", whose I is replaced then."""
    plain = 0

    def agreed(match: re.Match[str]) -> str:
        nonlocal plain
        for word in match.group(1).split():
            if lower(word) in grammar.words["adverbs"]:
                continue
            form = _agreeing(word, grammar)
            if form != word:
                plain = plain or match.start() + 1
            return re.sub(rf"\b{re.escape(word)}\b", form, match.group(), count=1)
        return match.group()

    text = _SUBJECT.sub(agreed, text)
    if not plain:
        return text

    def joined(match: re.Match[str]) -> str:
        between, verb = match.group(2).strip(), match.group(3)
        if match.start() < plain or (between and lower(between) not in grammar.words["adverbs"]):
            return match.group()
        after = lower(text[match.end() :].partition(" ")[2].partition(" ")[0])
        noun = verb in grammar.words["nouns_too"] and after not in grammar.words["prepositions"] | grammar.words["determiners"]
        if noun or _auxiliary(text[: match.start()]):
            return match.group()
        return match.group()[: len(match.group()) - len(verb)] + _agreeing(verb, grammar)

    return _JOINED.sub(joined, text)


def _auxiliary(before: str) -> bool:
    """Whether the verb in front stands behind "does not", "to" or the like, so that what is joined is bare too."""
    return re.search(r"\b(?:does|do|did|not|to|will|would|can|could|should|must|may|might)\b", before) is not None


def _agreeing(verb: str, grammar: Grammar) -> str:
    low = lower(verb)
    if low in _AGREE:
        return _AGREE[low]
    return english_third(verb) if grammar.tenses.get(low) == "infinitive" else verb
