"""Memory text is data: nothing in it may close its block, start a line, or pose as a role or an instruction."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HEADER = "[Long-term Memory]"
FOOTER = "[End Memory]"
# Joiners carry meaning in emoji and in Persian; every other format character can hide or reverse text.
_KEPT_FORMATS = frozenset("\u200c\u200d")
# Characters that are kept and show nothing: what is disarmed is looked for without them.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c\u200d\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_BRACKETS = str.maketrans(dict.fromkeys("[［\ufe47【〔〖〘〚⟦⁅❲", "(") | dict.fromkeys("]］\ufe48】〕〗〙〛⟧⁆❳", ")"))
# What formats of prompts call whoever speaks, in any language; what languages call them is data.
_ROLES = ("system", "assistant", "user", "human", "developer", "tool", "function", "instruction", "instructions", "ai", "bot")
# What reads as a colon: that of ratios, the modifier letters, the raised one.
_COLON = "[:\u2236\ua789\u02d0\u02f8]"
_MARKS = re.compile(r"#{2,}|`{3,}|-{3,}|={3,}|\*{3,}|~{3,}")
_LAYOUT = frozenset("\n\t")
_POINTS = {"<": "‹", ">": "›"}


@dataclass(frozen=True, slots=True)
class Markers:
    """What poses as whoever speaks, or as a tag of a chat."""

    # A role, in bold or quotes too, alone or as of a prompt; and the same as the value of a key. The colon is a group.
    role: re.Pattern[str]
    tag: re.Pattern[str]


def markers(roles: Iterable[str] = ()) -> Markers:
    """The markers of prompts, and these `roles` of other languages beside them."""
    named = sorted({role.strip() for role in (*_ROLES, *roles)} - {""}, key=lambda role: (-len(role), role))
    words = rf"(?:{'|'.join(re.escape(role) for role in named)})"
    return Markers(
        re.compile(
            rf"\b{words}(?:[\s_-]+(?:prompt|message|msg|note|turn))?[*_`\"'“”’)]*(\s*{_COLON})"
            rf"|\brole[\"'“”’]?(\s*{_COLON})(?=[\s\"'“”’]*{words}\b)",
            re.IGNORECASE,
        ),
        re.compile(rf"</?\|?[A-Za-z!/][^<>\n]*>|<\s*/?\s*{words}\b[^<>\n]*>|<<|>>|<\||\|>", re.IGNORECASE),
    )


OF_PROMPTS = markers()


def escape_text(text: str, known: Markers = OF_PROMPTS) -> str:
    """One line without brackets, control characters, role markers, chat tags or markdown rules.

    These are found by what a reader takes them for: in full-width forms (NFKC), and through characters that show nothing.
    Ordinary text stays as it is, emoji and Persian joiners included.
    """
    # What can be printed has nothing hidden in it.
    plain = text if text.isprintable() else "".join(_visible(character) for character in text)
    flat = " ".join(plain.split()).translate(_BRACKETS)
    # What is taken out of a text may bring other parts of it together; each time it has fewer of these marks.
    while (disarmed := _disarmed(flat, known)) != flat:
        flat = disarmed
    return flat


def without_controls(text: str) -> str:
    """The text without what controls a terminal, hides or turns round what is shown; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(letter if letter in _LAYOUT or letter.isprintable() else _visible(letter) for letter in text)


def _disarmed(flat: str, known: Markers) -> str:
    seen, places = _as_seen(flat)
    shown = list(flat)
    for found in known.tag.finditer(seen):
        for at in range(found.start(), found.end()):
            shown[places[at]] = _POINTS.get(seen[at], shown[places[at]])
    for found in _MARKS.finditer(seen):
        first, *others = (places[at] for at in range(found.start(), found.end()))
        # Full-width signs draw no rule; "～～～" is a way of speaking.
        if all(flat[at].isascii() for at in (first, *others)):
            shown[first + 1 : others[-1] + 1] = [""] * (others[-1] - first)
    for found in known.role.finditer(seen):
        start, end = found.span(found.lastindex or 0)
        first, last = places[start], places[end - 1]
        shown[first : last + 1] = [" -", *[""] * (last - first)]
    return "".join(shown)


def _as_seen(text: str) -> tuple[str, Sequence[int]]:
    """The text as a reader takes it, and the place in `text` of each of its characters."""
    if text.isascii() or (unicodedata.is_normalized("NFKC", text) and not _UNSEEN.search(text)):
        return text, range(len(text))
    seen: list[str] = []
    places: list[int] = []
    for at, character in enumerate(text):
        form = "" if _UNSEEN.match(character) else unicodedata.normalize("NFKC", character)
        seen.append(form)
        places += [at] * len(form)
    return "".join(seen), places


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if character.isspace() or category in ("Cc", "Zl", "Zp"):
        return " "
    if category in ("Cf", "Cs", "Co", "Cn") and character not in _KEPT_FORMATS:
        return ""
    return character
