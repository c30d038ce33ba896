"""Facts of one sentence told apart: each its own text, so that one can change without the others seeming to say the old.

"I live in Graz with my wife Anna" states two facts. As long as both carried the whole sentence, the wife would still be told
with Graz after a move to Linz.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aico_memory.domain.formation.formed import SPEAKER, FormedFact

# Acts that say what is; what is over or taken back keeps the sentence in which that was said.
_STATES = frozenset({"assert", "correct"})
_ATTRIBUTES = frozenset({"attribute", "favourite"})
_MOST_VALUE = 120


@dataclass(frozen=True, slots=True)
class Tellings:
    """How one fact is told by itself in a language; data of `config/language/<code>.yaml`."""

    # Predicate (or `attribute`, `favourite`) -> wordings of the speaker, and of somebody else.
    predicates: Mapping[str, tuple[str, str]]
    # Genitive of a name, and what relates somebody without a name to the speaker ("User's sister"); empty where there is none.
    possessive: str = "{who}"
    relation: str = ""
    # Words before a value that belong to it ("the violin"), where the wording does not bring its own.
    articles: frozenset[str] = frozenset()


def told_apart(
    facts: Sequence[FormedFact], tellings: Tellings | None, relations: Mapping[str, bool], said: str, said_at_us: int
) -> tuple[FormedFact, ...]:
    """The facts, those that share a sentence each with a text of its own where the language has a wording for it."""
    if tellings is None:
        return tuple(facts)
    sharing: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for fact in facts:
        sharing[fact.text].add((fact.subject, fact.predicate, fact.object_key))
    return tuple(
        replace(fact, text=_told(fact, tellings, relations, said))
        if len(sharing[fact.text]) > 1 and _states(fact, said_at_us)
        else fact
        for fact in facts
    )


def _states(fact: FormedFact, said_at_us: int) -> bool:
    # What is over already is told in the past, which the wordings do not know.
    return fact.act in _STATES and 0 < len(fact.value) <= _MOST_VALUE and fact.valid_until_us > said_at_us


def _told(fact: FormedFact, tellings: Tellings, relations: Mapping[str, bool], said: str) -> str:
    family, _, noun = fact.predicate.partition(":")
    wordings = tellings.predicates.get(fact.predicate) or (tellings.predicates.get(family) if family in _ATTRIBUTES else None)
    who = _who(fact.subject, tellings, relations, said)
    if wordings is None or not who:
        return fact.text
    whose = tellings.possessive.format(who=who)
    wording = wordings[fact.subject != SPEAKER]
    value = fact.value if "{a}" in wording else _with_article(fact.value, fact.text, tellings.articles)
    article = "an" if fact.value[:1].casefold() in "aeiou" else "a"
    return wording.format(who=who, whose=whose, value=value, noun=noun, a=article)


def _with_article(value: str, text: str, articles: frozenset[str]) -> str:
    """As it was said: values are kept without the article before them."""
    found = re.search(rf"(\w+) {re.escape(value)}(?!\w)", text, re.IGNORECASE)
    return f"{found[1].casefold()} {value}" if found and found[1].casefold() in articles else value


def _who(subject: str, tellings: Tellings, relations: Mapping[str, bool], said: str) -> str:
    """The subject as a name; empty where it is neither the speaker, a relation of theirs nor named in the text."""
    if subject == SPEAKER:
        return SPEAKER.capitalize()
    if subject in relations:
        return tellings.relation.format(noun=subject) if tellings.relation else ""
    named = re.search(rf"(?<!\w){re.escape(subject)}(?!\w)", said, re.IGNORECASE)
    return named.group() if named and named.group()[:1].isupper() else ""
