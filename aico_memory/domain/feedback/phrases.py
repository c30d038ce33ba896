"""The categories of feedback text, and the phrases a language's file gives for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

NONE: Final = "none"
# What a text may say of an answer. `none`: praise, thanks, neutral remarks, anything that is not about the answer.
CATEGORIES: Final = ("too_verbose", "too_brief", "wrong_tone", "not_helpful", "incorrect_info", NONE)


@dataclass(frozen=True, slots=True)
class Phrase:
    """One phrase as a person would write it; `language` is an ISO 639-1 code."""

    language: str
    category: str
    text: str


def phrases_of(language: str, content: Mapping[str, object]) -> tuple[Phrase, ...]:
    """The phrases of a language's file, one a line; ValueError names the key that is wrong."""
    if unknown := set(content) - {"name", "phrases", "negation", "length"}:
        raise ValueError(f"unknown key {sorted(unknown)[0]!r}")
    part = content.get("phrases")
    if not isinstance(part, Mapping):
        raise ValueError("`phrases` must hold a text for each category")  # noqa: TRY004  # one error kind for the reader
    return tuple(Phrase(language, category, text) for category, text in lines_of(part))


def lines_of(part: Mapping[str, object]) -> Sequence[tuple[str, str]]:
    """(category, line) of a mapping from categories to blocks of lines; ValueError names the category that is wrong."""
    if set(part) != set(CATEGORIES):
        wrong = sorted(set(part) ^ set(CATEGORIES))[0]
        raise ValueError(f"the category {wrong!r} is missing or unknown")
    found: list[tuple[str, str]] = []
    for category, block in part.items():
        if not isinstance(block, str) or not block.strip():
            raise ValueError(f"{category} must be a block of lines, one phrase each")
        found += [(category, line.strip()) for line in block.splitlines() if line.strip()]
    return found
