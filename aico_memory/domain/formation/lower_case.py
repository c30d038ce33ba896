"""Names that were typed in lower case ("my son theo is 7" and, from then on, "theo turned 8"), or that stand last in German."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from aico_memory.domain.formation.grammar import Grammar

# Messages before this one in which somebody may have been named.
RECENT = 6
_LEAST, _MOST, _READ = 3, 14, 1_000
_FINITE = frozenset({"is", "was", "has", "had", "'s", "ist", "hat", "war", "hatte"})
_PLAIN = (
    "adverbs", "pronouns", "prepositions", "determiners", "speaker", "possessives", "openers", "no_values", "empty", "people",
    "now", "professions", "events", "stops", "no_names",
)  # fmt: skip


def with_names(text: str, recent: Sequence[str], grammar: Grammar) -> str:
    """The text with a capital for each name that stands in lower case behind what somebody is to the speaker."""
    if grammar.parser == "turkish":
        # "annem öğretmen": what stands there is mostly no name.
        return text
    for name in sorted({name for one in (*recent[-RECENT:], text) for name in _named(one[:_READ], grammar)}):
        text = re.sub(rf"(?<![\w@/.-]){re.escape(name)}(?![\w@/])", name.capitalize(), text)
    return _in_order(text, recent, grammar)


def _in_order(text: str, recent: Sequence[str], grammar: Grammar) -> str:
    """ "Orion hat jetzt Markus übernommen" with Markus in front, where Orion was told to be led."""
    for mark in grammar.marks["object_first"]:
        match = mark.search(text)
        if match is not None and match["o"] in _led(recent, grammar):
            text = (
                f"{text[: match.start()]}{match['n']} {match['h']} {match['j']}{match['o']} {match['v']}{text[match.end() :]}"
            )
    return text


def _led(recent: Sequence[str], grammar: Grammar) -> frozenset[str]:
    texts = [one[:_READ] for one in recent[-RECENT:]]
    return frozenset(found["o"] for one in texts for mark in grammar.marks["led"] for found in mark.finditer(one))


def _named(text: str, grammar: Grammar) -> Iterator[str]:
    for match in _behind_relation(grammar).finditer(text):
        name, after = match["name"], match["after"].lower()
        low = name.lower()
        plain = any(low in grammar.words[group] for group in _PLAIN) or low in grammar.relations or low in grammar.tenses
        verb = after in grammar.tenses or after in _FINITE
        if verb and not plain and _LEAST <= len(name) <= _MOST:
            yield name


@lru_cache(maxsize=8)
def _behind_relation(grammar: Grammar) -> re.Pattern[str]:
    own = "|".join(sorted(map(re.escape, grammar.words["own"])))
    nouns = "|".join(sorted(map(re.escape, grammar.words["called_by_name"]), key=len, reverse=True))
    return re.compile(rf"(?i)(?<!\w)(?:{own}) (?:{nouns}) (?P<name>(?-i:[a-zäöüß]+))(?: |(?='s))(?P<after>'s|[^\W\d_]+)")
