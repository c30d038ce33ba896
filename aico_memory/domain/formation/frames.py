"""A clause taken apart: who, the verb, what follows it, and how it is meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import lower_in, trim

# Stands in a clause for the phrase of time with that number.
HOLDER = re.compile(r"§(\d+)")


@dataclass(frozen=True, slots=True)
class Party:
    """Whom or what a phrase names: the speaker, somebody by name, or a thing that belongs to somebody."""

    # "user", or the normalised name of the owner of `noun`.
    owner: str = SPEAKER
    # "sister", "favourite colour"; empty for the speaker and for a bare name.
    noun: str = ""
    # Name as said ("Lena").
    name: str = ""
    # Whether the noun was said to be the speaker's ("my"), not only "the".
    possessed: bool = False
    # "m" or "f", where German tells by its article which pronoun may stand for them.
    gender: str = ""

    @property
    def subject(self) -> str:
        """The name under which facts about it are kept."""
        if self.name:
            return self.name.casefold()
        if self.noun:
            return self.noun if self.owner == SPEAKER else f"{self.owner} {self.noun}"
        return self.owner


@dataclass(slots=True)
class Frame:
    """One clause."""

    subject: Party
    verb: str
    # What follows the verb, in the case it was written, without time, adverbs and negation.
    rest: str = ""
    # `<verb> <rest>` in every reading that the language allows; patterns are tried on all of them.
    readings: list[str] = field(default_factory=list)
    past: bool = False
    perfect: bool = False
    future: bool = False
    # "used to", "früher", "eskiden"
    once: bool = False
    negated: bool = False
    never: bool = False
    # "no longer", "nicht mehr", "artık … değil"
    ended: bool = False
    # Something was done by a verb that no table knows ("ist im Krieg geflohen"): nobody is where it was.
    done: bool = False
    # The clause starts something (started working), so the time named is its beginning.
    begun: bool = False
    # It has started or ended already ("I quit smoking on 1 March"): the time named is past.
    happened: bool = False
    # In progress ("I'm moving"), where the language says so.
    progressive: bool = False
    # A wish or a possibility, not a state.
    unreal: bool = False
    intended: bool = False
    # Numbers of the phrases of time in this clause.
    times: tuple[int, ...] = ()
    # Those of them that only bound how long the clause holds (since, from, until).
    bounds: frozenset[int] = frozenset()
    text: str = ""
    # The subject was not said but taken from the clause before.
    inherited: bool = False


def take_times(tokens: Sequence[str]) -> tuple[list[str], tuple[int, ...]]:
    """The tokens without the holders of time, and the numbers of these."""
    kept: list[str] = []
    times: list[int] = []
    for token in tokens:
        found = HOLDER.findall(token)
        if found:
            times.extend(map(int, found))
            if tail := trim(HOLDER.sub("", token)):
                kept.append(tail)
            elif kept and token.endswith(",") and not kept[-1].endswith(","):
                # "To Bala on Saturday, sea view and all": the comma closes the place.
                kept[-1] += ","
        else:
            kept.append(token)
    return kept, tuple(times)


def without(tokens: Sequence[str], group: frozenset[str], language: str) -> list[str]:
    """The tokens that are not in a group of words."""
    return [token for token in tokens if lower_in(trim(token), language) not in group]


def shorten(value: str, grammar: Grammar) -> str:
    """The shortest phrase: no determiner in front, no function word at the edges."""
    words = trim(value).split()
    lead, tail = grammar.words.get("determiners", frozenset()), grammar.words.get("tails", frozenset())
    while len(words) > 1 and lower_in(words[0], grammar.code) in lead and words[0] != "A":
        if (
            any(word[:1].isdigit() for word in words)
            and lower_in(words[0], grammar.code).removesuffix("s") in grammar.calendar.weekdays
        ):
            # "samstags um 9"
            break
        words.pop(0)
    while (
        len(words) > 2
        and lower_in(words[1], grammar.code) in lead
        and lower_in(words[0], grammar.code) in grammar.words["empty"]
    ):
        # "eski bir Tofaş"
        words = words[2:]
    while len(words) > 1 and lower_in(trim(words[-1]), grammar.code) in tail:
        words.pop()
    return trim(" ".join(words))
