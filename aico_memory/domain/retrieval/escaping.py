"""Memory text is data: nothing in it may close its block, start a line, or pose as a role or an instruction."""

from __future__ import annotations

import re
import unicodedata

HEADER = "[Long-term Memory]"
FOOTER = "[End Memory]"
# Joiners carry meaning in emoji and in Persian; every other format character can hide or reverse text.
_KEPT_FORMATS = frozenset("\u200c\u200d")
_BRACKETS = str.maketrans({"[": "(", "]": ")", "［": "(", "］": ")", "【": "(", "】": ")", "〔": "(", "〕": ")"})
_ROLE = re.compile(r"\b(system|assistant|user|human|developer|tool|function|instructions?|ai|bot)(\s*)[:：]", re.IGNORECASE)
_TAG = re.compile(r"<(/?\|?[A-Za-z!/][^<>\n]{0,40})>|<<|>>|<\||\|>")
_MARKS = re.compile(r"#{2,}|`{3,}|-{3,}|={3,}|\*{3,}|~{3,}")


def escape_text(text: str) -> str:
    """One line without brackets, control characters, role markers, chat tags or markdown rules."""
    # What can be printed has nothing hidden in it.
    plain = text if text.isprintable() else "".join(_visible(character) for character in text)
    flat = " ".join(plain.split()).translate(_BRACKETS)
    flat = _TAG.sub(lambda found: found.group().replace("<", "‹").replace(">", "›"), flat)
    flat = _MARKS.sub(lambda found: found.group()[0], flat)
    return _ROLE.sub(lambda found: f"{found.group(1)}{found.group(2)} -", flat)


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if character.isspace() or category in ("Cc", "Zl", "Zp"):
        return " "
    if category in ("Cf", "Cs", "Co", "Cn") and character not in _KEPT_FORMATS:
        return ""
    return character
