"""Places of things in Turkish: "mavi saksının altında", "mutfak çekmecesinde", and what somebody puts there."""

from __future__ import annotations

import re

from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.turkish_phrases import own_noun
from aico_memory.domain.formation.turkish_words import harden, maybe_cases, split_case
from aico_memory.domain.formation.wording import lower_in

# Parts of a place, as they are possessed by it: under, on, in, beside, behind, before, between, at the bottom of, opposite.
_PARTS = (
    "altı",
    "üstü",
    "üzeri",
    "içi",
    "yanı",
    "arkası",
    "önü",
    "arası",
    "dibi",
    "karşısı",
    "kenarı",
    "köşesi",
    "gözü",
    "rafı",
)
_AT = re.compile(rf"^(?P<part>{'|'.join(_PARTS)})n?(?P<case>[dt][ae]|[ae])$")
_OF = re.compile(r"^.{2,}[ıiuü]n$")
# "mutfaktaki", "yatak odasındaki"
_WHICH_IS_AT = re.compile(r"^.{2,}[dt][ae]ki$")
# The second noun of a compound ("mutfak çekmecesinde").
_COMPOUND = re.compile(r"^.{2,}s[ıiuü]n[dt]?[ae](?:ki)?$|^.{2,}s[ıiuü]n[ıiuü]n$")
# "yedi yaşında"
_NO_PLACES = frozenset({"yaşında", "yaşta", "halinde", "arasında", "sayesinde", "hakkında"})
_BACK = "aıou"


def is_part_of_place(words: list[str]) -> bool:
    """Whether a phrase ends as "saksının altında" does."""
    return len(words) > 1 and bool(_AT.match(lower_in(words[-1], "tr"))) and bool(_OF.match(lower_in(words[-2], "tr")))


def place_start(words: list[str], grammar: Grammar) -> int:
    """Where the place begins in "yedek anahtar mavi saksının altında"; 0 where there is none."""
    low = [lower_in(word, "tr") for word in words]
    if (
        len(words) < 2
        or "'" in "".join(words)
        or low[-1] in grammar.words["not_cased"] | _NO_PLACES
        or any(len(word) < 2 for word in low)
    ):
        return 0
    part = _AT.match(low[-1])
    case, _ = split_case(words[-1])
    if case != "@de" and not (part and part["case"][0] in "dt"):
        return 0
    return _start(words, low, grammar)


def _start(words: list[str], low: list[str], grammar: Grammar) -> int:
    last = len(low) - 1
    at = next((i for i, word in enumerate(low) if i and _WHICH_IS_AT.match(word)), 0)
    if not at:
        at = last
        if _AT.match(low[last]) and last > 1 and _OF.match(low[last - 1]):
            at = last - 1
    if at and _COMPOUND.match(low[at]) and at > 1 and words[at - 1][:1].islower():
        at -= 1
    while at > 1 and low[at - 1] in grammar.words["qualities"]:
        at -= 1
    return at if at and not any(word in grammar.words["pronouns"] for word in low[:at]) else 0


def place_named(words: list[str]) -> str:
    """The place without its case; a part of a place keeps it ("saksının altında"), for without it it is no place."""
    low = lower_in(words[-1], "tr")
    if match := _AT.match(low):
        front = "da" if any(letter in _BACK for letter in match["part"][-1]) else "de"
        return " ".join([*words[:-1], f"{match['part']}n{front}"])
    if (inner := re.match(r"^(.{2,}s[ıiuü])n[dt]?[ae]$", low)) is not None:
        return " ".join([*words[:-1], words[-1][: len(inner[1])]])
    case, stem = split_case(words[-1])
    if not case:
        stem = next((stem for case, stem in maybe_cases(words[-1], compound=len(words) > 1) if case == "@e"), words[-1])
    return " ".join([*words[:-1], stem])


def put_somewhere(words: list[str], grammar: Grammar) -> str:
    """ "Anahtarı mavi saksının altına": `@i <thing> @e <place>`; empty where there is no such thing."""
    for at, word in enumerate(words[:-1]):
        low = lower_in(word, "tr")
        if low in grammar.words["qualities"] or low in grammar.words["nominative"]:
            continue
        thing = next((stem for case, stem in maybe_cases(word) if case == "@i"), "")
        if "'" in word and split_case(word)[0] == "@i":
            thing = split_case(word)[1]
        if (owned := re.match(r"^(.{2,}[ıiuü])n[ıiuü]$", low)) is not None and at:
            # "evin anahtarını"
            thing = word[: len(owned[1])]
        if not thing:
            continue
        thing = own_noun(lower_in(harden(thing), "tr"), grammar) or harden(thing)
        if lower_in(thing, "tr").removesuffix("lar").removesuffix("ler") in grammar.relations:
            # Who is brought to school is nowhere for long.
            return ""
        place = words[at + 1 :]
        dative = split_case(place[-1])[0] == "@e" or re.search(r"[ae]$", lower_in(place[-1], "tr"))
        if not dative or any("'" in one for one in place[:-1]):
            return ""
        return f"@i {' '.join([*words[:at], thing])} @e {place_named(place)}"
    return ""
