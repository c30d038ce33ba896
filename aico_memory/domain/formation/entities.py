"""Entities by simple rules: a gazetteer, names by capitals, handles and sites. Never e-mail addresses."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

MAX_ENTITIES = 8
# What a very long message says after this is no longer searched for names.
READ_CHARACTERS = 20_000
# Bounded in front, so that a long run without spaces is not tried from every place to its end.
_EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@]+\.[^\s@]+")
_URL = re.compile(r"https?://([^/\s:?#<>\"']+)\S*", re.IGNORECASE)
_HANDLE = re.compile(r"(?<![\w@])@([A-Za-z0-9_][A-Za-z0-9_.-]{1,38})")
_WORD = re.compile(r"[^\W_](?:[\w'’&.+#-]*[\w+#])?")
_SENTENCE_END = re.compile(r"(?:[.!?…:;]|\n)[\s\"'»“”)]*$")
_LOOK_BACK = 12
# Languages that capitalise every noun: there a capital alone says nothing.
_NOUN_CAPITALS = frozenset({"de", "lb"})


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """Known names, case folded, to their URI; and words that are no names although they have a capital."""

    names: Mapping[str, str]
    not_names: frozenset[str]
    longest: int = 1
    # The first word of each name.
    openings: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "openings", frozenset(name.split()[0] for name in self.names))


def extract_entities(text: str, gazetteer: Gazetteer, language: str = "", limit: int = MAX_ENTITIES) -> tuple[str, ...]:
    """URIs `entity://<type>/<slug>` in the order of mention, each once, at most `limit`."""
    clean = _EMAIL.sub(" ", text[:READ_CHARACTERS])
    found: list[tuple[int, str]] = []
    for match in _URL.finditer(clean):
        host = match.group(1).casefold().removeprefix("www.").rstrip(".,)")
        found.append((match.start(), f"entity://site/{host}"))
    clean = _URL.sub(lambda match: " " * len(match.group()), clean)
    for match in _HANDLE.finditer(clean):
        found.append((match.start(), f"entity://handle/{match.group(1).casefold().rstrip('.-')}"))
    clean = _HANDLE.sub(lambda match: " " * len(match.group()), clean)
    words = list(_WORD.finditer(clean))
    taken = [False] * len(words)
    found += _known(words, taken, gazetteer)
    found += _names(clean, words, taken, gazetteer, language)
    ordered = dict.fromkeys(uri for _, uri in sorted(found))
    return tuple(ordered)[:limit]


def slug(name: str) -> str:
    """Case folded, NFKC, words joined by a hyphen."""
    folded = unicodedata.normalize("NFKC", name).casefold().replace("i\u0307", "i")
    return re.sub(r"[^\w+#]+", "-", folded).strip("-_")


def _known(words: list[re.Match[str]], taken: list[bool], gazetteer: Gazetteer) -> Iterator[tuple[int, str]]:
    folded = [word.group().casefold() for word in words]
    at = 0
    while at < len(words):
        longest = gazetteer.longest if folded[at] in gazetteer.openings else 0
        for length in range(min(longest, len(words) - at), 0, -1):
            phrase = " ".join(folded[at : at + length])
            uri = gazetteer.names.get(phrase)
            if uri is not None:
                taken[at : at + length] = [True] * length
                yield words[at].start(), uri
                at += length - 1
                break
        at += 1


def _names(
    text: str, words: list[re.Match[str]], taken: list[bool], gazetteer: Gazetteer, language: str
) -> Iterator[tuple[int, str]]:
    span: list[re.Match[str]] = []
    for position, word in enumerate(words):
        said = word.group()
        # "I'm", "Monday's": not told from a name by what follows the apostrophe.
        bare = _bare(said)
        ordinary = {said.casefold(), bare.casefold()} & gazetteer.not_names
        name_like = not taken[position] and _is_capitalised(bare) and not ordinary
        adjoining = not span or text[span[-1].end() : word.start()] == " "
        if name_like and adjoining:
            span.append(word)
            continue
        yield from _span(text, span, language)
        span = [word] if name_like else []
    yield from _span(text, span, language)


def _span(text: str, span: list[re.Match[str]], language: str) -> Iterator[tuple[int, str]]:
    if not span:
        return
    before = text[max(0, span[0].start() - _LOOK_BACK) : span[0].start()].rstrip(" ")
    opens_sentence = not before or bool(_SENTENCE_END.search(before))
    # The first word of a sentence has its capital anyway, unless more of the name follows.
    if len(span) == 1 and (opens_sentence or language in _NOUN_CAPITALS):
        return
    name = " ".join(_bare(word.group()) for word in span)
    yield span[0].start(), f"entity://name/{slug(name)}"


def _bare(word: str) -> str:
    # "Alice's", "Ankara'da": what follows the apostrophe is grammar; in "O'Brien" it is the name.
    parts = re.split(r"['’]", word)
    kept = 1 + next((place for place, part in enumerate(parts[1:]) if not part[:1].isupper()), len(parts) - 1)
    return "'".join(parts[:kept]) or word


def _is_capitalised(word: str) -> bool:
    return len(word) > 1 and word[0].isupper() and any(letter.islower() for letter in word[1:])
