"""Questions about several named entities at once: one question for each of them ("What do Anna and Ben do?")."""

from __future__ import annotations

import re
from collections.abc import Callable

# Languages that capitalise every noun: there a capital tells no name.
NOUN_CAPITALS = frozenset({"de", "lb"})
_NAME, _TIE, _COMMA, _OTHER = "ntco"
# Names of several words each, and what stands between them in a list.
_LISTED = re.compile(f"{_NAME}+(?:{_COMMA}{_NAME}+)*{_COMMA}?{_TIE}{_NAME}+")
_NAMES = re.compile(f"{_NAME}+")


def tokens_by(ties: str) -> re.Pattern[str]:
    """Finds the words of a question, its commas, and what ties names in its language (`ties`, alternatives)."""
    return re.compile(rf"(?P<{_TIE}>{ties})|(?P<{_NAME}>[^\W\d_][\w'’-]*)|(?P<{_COMMA}>[,،、])|\S", re.IGNORECASE)


def each_named(question: str, tokens: re.Pattern[str], is_other: Callable[[str], object], most: int) -> tuple[str, ...]:
    """The question once for each of up to `most` names that are tied together; () where it is about no two.

    `tokens` as by `tokens_by`; `is_other` says of a word that it is no name although it has a capital.
    """
    found = list(tokens.finditer(question))
    kinds = "".join(_kind_of(token, is_other) for token in found)
    for listed in _LISTED.finditer(kinds):
        places = [(found[one.start()].start(), found[one.end() - 1].end()) for one in _NAMES.finditer(kinds, *listed.span())]
        names = dict.fromkeys(question[start:end] for start, end in places)
        if len({name.casefold() for name in names}) > 1:
            before, behind = question[: places[0][0]], question[places[-1][1] :]
            return tuple(" ".join(f"{before}{name}{behind}".split()).strip(" ?¿") for name in names)[:most]
    return ()


def _kind_of(token: re.Match[str], is_other: Callable[[str], object]) -> str:
    kind, said = token.lastgroup or _OTHER, token.group()
    if kind != _NAME:
        return kind
    return _NAME if said[0].isupper() and any(map(str.islower, said[1:])) and not is_other(said) else _OTHER
