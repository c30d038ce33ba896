"""German as it is spoken: the first person without its ending ("ich lern", "fahr ich")."""

from __future__ import annotations

import re

from aico_memory.domain.formation.grammar import Grammar

_AFTER = re.compile(r"(?<=\b[Ii]ch )[a-zäöüß]{3,}\b")
_BEFORE = re.compile(r"\b[A-Za-zÄÖÜäöüß]{3,}(?= ich\b)")


_OPENING = re.compile(r"(?:^|(?<=[.!] ))[a-zäöü]{3,}(?= (?!ich\b|wir\b|du\b|er\b|sie\b|es\b)[\wäöüß])")
_LEAST_PART = 4
# "schlüssel für das gartenhaus"
_MEANT_FOR = re.compile(r"^(?P<n>\w+) (?:für|fürs|zum|zur|vom|von) (?:das |die |den |der |dem |unser\w* |mein\w* )?(?P<o>\w+)$")


def first_person(text: str, grammar: Grammar) -> str:
    """The text with the -e that a verb beside "ich" has lost, where only with it the word is a form of a verb."""

    def whole(match: re.Match[str]) -> str:
        word = match.group()
        low = word.lower()
        lost = low not in grammar.tenses and grammar.tenses.get(f"{low}e") == "present"
        return f"{word}e" if lost else word

    def opening(match: re.Match[str]) -> str:
        # "lern grad Walisisch": no "ich" at all.
        word = match.group().lower()
        known = word in grammar.words["first_verbs"] or f"{word}e" in grammar.words["first_verbs"]
        return f"ich {word}" if known else match.group()

    return _BEFORE.sub(whole, _AFTER.sub(whole, _OPENING.sub(opening, text)))


def parts_of(word: str, grammar: Grammar) -> tuple[str, str]:
    """ "zahnarzttermin" -> ("zahnarzt", "termin"): a compound whose last part is an event, or a thing that is
    named by what it is for; ("", "") where it is none."""
    low = word.lower()
    for event in sorted(grammar.words["events"] | grammar.words["compounded"], key=len):
        before = low.removesuffix(event).rstrip("-")
        if before != low and len(before) >= _LEAST_PART and low != event:
            return before, event
    return "", ""


def taken_apart(noun: str, grammar: Grammar) -> str:
    """A noun phrase with its compounds in two parts ("zahnarzttermin" -> "zahnarzt-termin"), also where it is said what for."""
    if (match := _MEANT_FOR.match(noun)) and match["n"] in grammar.words["compounded"]:
        return f"{match['o']}-{match['n']}"
    return " ".join("-".join(parts) if (parts := parts_of(word, grammar))[0] else word for word in noun.split())
