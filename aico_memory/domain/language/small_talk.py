"""The gate: messages that need no long-term memory."""

from __future__ import annotations

import re
from collections.abc import Iterable

from aico_memory.domain.language.tables import PhraseTable, fold

_MAX_WORDS = 6
_COMMAND = re.compile(r"/[a-z][\w-]*(\s|$)")
_NO_LETTERS = re.compile(r"[\W_]+")


def small_talk(text: str, tables: Iterable[PhraseTable]) -> str:
    """`command`, `greeting`, `acknowledgement` or `empty` where the whole message is nothing else; else an empty text.

    A message counts as greeting or acknowledgement if it is a run of such phrases of one language ("ok, thanks!").
    """
    stripped = text.strip()
    if not stripped or _NO_LETTERS.fullmatch(stripped):
        return "empty"
    if _COMMAND.match(stripped):
        return "command"
    if "?" in stripped and len(stripped.split()) > 3:
        return ""
    folded = fold(stripped)
    for table in tables:
        kind = _only(folded, table)
        if kind:
            return kind
    return ""


def _only(folded: str, table: PhraseTable) -> str:
    if folded in table.greetings:
        return "greeting"
    if folded in table.acknowledgements:
        return "acknowledgement"
    if not table.spaced:
        return ""
    words = folded.split()
    if len(words) > _MAX_WORDS:
        return ""
    at, kinds = 0, []
    while at < len(words):
        for length in range(min(4, len(words) - at), 0, -1):
            phrase = " ".join(words[at : at + length])
            if phrase in table.greetings or phrase in table.acknowledgements:
                kinds.append("greeting" if phrase in table.greetings else "acknowledgement")
                at += length
                break
        else:
            return ""
    return kinds[0] if kinds else ""
