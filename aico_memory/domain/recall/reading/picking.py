"""From runs of words to values.

The span reader gives each word a score as the first and as the last word of a value and, by two vectors, one for the pair:
`s(i, j) = first_i + last_j + left_i . right_j`. Two more scores say whether anything answers at all, and from where on a run
is one of several values (a learned threshold; Zhou et al. 2021). What answers by these arrives here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.frames import shorten
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import trim
from aico_memory.domain.recall.reading.passage import Passage
from aico_memory.domain.recall.values import value_of

# Words of a value, and values of an answer.
LONGEST, MOST_VALUES = 8, 8
# An ending of so many letters or more is not cut off.
CUTS = 8
# A Turkish ending of case behind a name, in whatever language is asked; no English word ends so.
_CASE = re.compile(r"(?<=\w)'(?:n?[dt][ae]n?|[yn]?[aeıiuü]|n?[ıiuü]n|y?l[ae])$")


@dataclass(frozen=True, slots=True)
class Run:
    """The words from `first` to `last` of a passage, and how likely they are right, 0 to 1."""

    first: int
    last: int
    chance: float
    # Letters of an ending at the last word that belong to its place in the sentence ("kahveyi": 2); Turkish alone.
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """What a network makes of a passage."""

    # The runs that answer most likely, the surest first.
    runs: Sequence[Run] = ()
    # The likeliest of those that were not chosen.
    others: Sequence[Run] = ()
    # How likely it is that anything answers at all, 0 to 1.
    answers: float = 0.0
    # How likely it is that several values are asked for, 0 to 1.
    several: float = 0.0


# Who reads a passage.
Scorer = Callable[[Passage], Reading]


@dataclass(frozen=True, slots=True)
class Picked:
    """A value and the run of words that says it."""

    value: str
    run: Run


def spans(passage: Passage) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last word of every run of at most LONGEST words of one message."""
    count = len(passage.words)
    firsts = np.repeat(np.arange(passage.begins, count), LONGEST)
    lasts = firsts + np.tile(np.arange(LONGEST), count - passage.begins)
    inside = lasts < count
    firsts, lasts = firsts[inside], lasts[inside]
    same = passage.message[firsts] == passage.message[lasts]
    return firsts[same], lasts[same]


def pick_values(passage: Passage, runs: Sequence[Run], grammar: Grammar) -> list[Picked]:
    """The values that answer, the surest first, each once and none within another; none where nothing does."""
    found: list[Picked] = []
    taken: set[str] = set()
    for run in runs:
        if any(run.first <= one.run.last and one.run.first <= run.last for one in found):
            continue
        value = value_in(passage, run, grammar)
        if (key := normalise_fact_key(value)) and key not in taken:
            taken.add(key)
            found.append(Picked(value, run))
        if len(found) == MOST_VALUES:
            break
    return found


def cut_of(words: Sequence[str], value: str) -> int:
    """Letters of the last word behind a value; 0 where it does not end so, or stands before an apostrophe."""
    said = trim(words[-1])
    wanted = value.rsplit(maxsplit=1)[-1] if value.split() else ""
    behind = len(said) - len(wanted)
    if not wanted or "'" in said or not 0 < behind < CUTS:
        return 0
    return behind if said.casefold().startswith(wanted.casefold()) else 0


def value_in(passage: Passage, run: Run, grammar: Grammar) -> str:
    """The value that a run of words says."""
    words = [trim(word) for word in passage.words[run.first : run.last + 1]]
    whole = words[-1]
    if grammar.parser == "turkish" and "'" not in whole:
        words[-1] = whole[: max(2, len(whole) - run.cut)] if run.cut else whole
        return shorten(" ".join(words), grammar)
    words[-1] = _CASE.sub("", whole)
    # Only one ending of case is cut off: "Selda'ya" is Selda, not "Sel".
    return value_of(words, grammar) if words[-1] == whole else shorten(" ".join(words), grammar)
