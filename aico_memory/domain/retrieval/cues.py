"""What a question says of time: the dates it names, and whether it asks for one. Words come from a table."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from aico_memory.domain.formation.when import LONGEST_DAY_US
from aico_memory.domain.retrieval.tokens import fold
from aico_memory.domain.retrieval.wall_clock import wall_clock

_DAY_US = 86_400_000_000
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_ISO = re.compile(r"(?<!\d)((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?(?!\d)")
_DAY = re.compile(r"(?<!\d)(\d{1,2})(?:st|nd|rd|th|\.|er|º|日|号)?(?![\d:])")
# Days after a named day on which it is still told of ("yesterday we …").
DAYS_AFTER = 2
# What is said on these counts so much where whatever there was on the day is asked for: what was said on the day goes first.
SHARE_AFTER = 0.8
# Days of the next month on which the named month is still told of.
MONTH_TAIL_DAYS = 9


@dataclass(frozen=True, slots=True)
class CueTable:
    """One language's words of time; all folded."""

    months: Mapping[str, int]
    # Month names that are other words too: they count beside a number or after one of `before_month` only.
    ambiguous: frozenset[str]
    before_month: frozenset[str]
    # Phrases by which a question asks for a time; those of `opens_when` only where a sentence begins.
    asks_when: tuple[str, ...]
    opens_when: tuple[str, ...]
    # Words and phrases by which a text tells a time; a trailing * stands for any ending.
    tells_time: tuple[str, ...]
    # Words by which a question asks for whatever there was at a time ("what happened"); they say nothing of what is meant.
    asks_what: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DateCue:
    """Dates that a question names; empty parts say nothing."""

    years: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    # Or an interval [from, until) in Unix microseconds, where it names a time from where it stands; (0, 0): none.
    span: tuple[int, int] = (0, 0)
    # IANA zone of days, months and years; "": UTC.
    zone: str = ""
    # The question names nothing else: what was said in the month is meant, not what may be told of it later.
    alone: bool = field(default=False, compare=False)

    def __bool__(self) -> bool:
        return bool(self.years or self.months or self.span[1])


@dataclass(frozen=True, slots=True)
class TimeCues:
    """Tables of every language, joined: a date may be named in another language than the question."""

    months: Mapping[str, int]
    ambiguous: frozenset[str]
    before_month: frozenset[str]
    asks_when: re.Pattern[str]
    # Words by which a text tells a time; beginnings of such words; and phrases of several words or of unspaced writing.
    time_words: frozenset[str]
    time_beginnings: frozenset[str]
    time_phrases: re.Pattern[str]
    unspaced_phrases: re.Pattern[str]
    asks_what: re.Pattern[str]
    months_pattern: re.Pattern[str] = field(repr=False)

    def date_of(self, question: str) -> DateCue:
        """The dates that the question names."""
        text = fold(question)
        years = {int(found.group()) for found in _YEAR.finditer(text)}
        months: set[int] = set()
        days: set[int] = set()
        for found in _ISO.finditer(text):
            if 1 <= int(found.group(2)) <= 12:
                months.add(int(found.group(2)))
                if found.group(3):
                    days.add(int(found.group(3)))
        for found in self.months_pattern.finditer(text):
            name = found.group()
            if name in self.ambiguous and not self._is_month(text, found.start(), found.end()):
                continue
            months.add(self.months[name])
            around = f"{text[max(0, found.start() - 12) : found.start()]} {text[found.end() : found.end() + 8]}"
            days |= {int(day) for day in _DAY.findall(_YEAR.sub(" ", around)) if 1 <= int(day) <= 31}
        return DateCue(frozenset(years), frozenset(months), frozenset(days if months else ()))

    def beside_dates(self, question: str, phrases: Sequence[str] = ()) -> str:
        """The folded question without the dates it names, these phrases of time, and what asks for whatever there was then."""
        text = fold(question)
        for phrase in phrases:
            text = text.replace(fold(phrase), " ")
        for pattern in (_ISO, self.months_pattern, _YEAR, _DAY, self.asks_what):
            text = pattern.sub(" ", text)
        return text

    def wants_time(self, question: str) -> bool:
        """Whether the question asks when something was."""
        return bool(self.asks_when.search(fold(question)))

    def has_time(self, text: str, words: Collection[str]) -> bool:
        """Whether the text, of these folded words, tells a time."""
        if not self.time_words.isdisjoint(words) or any(len(word) == 4 and _YEAR.match(word) for word in words):
            return True
        lengths = self._lengths
        if any(word[:length] in self.time_beginnings for word in words for length in lengths):
            return True
        if not text.isascii() and self.unspaced_phrases.search(text):
            return True
        return bool(self.time_phrases.search(" ".join(words)))

    @property
    def _lengths(self) -> tuple[int, ...]:
        return _lengths(self.time_beginnings)

    def _is_month(self, text: str, start: int, end: int) -> bool:
        before = text[:start].split()
        after = text[end:].lstrip(" ,.")
        return bool((before and (before[-1] in self.before_month or before[-1][0].isdigit())) or after[:1].isdigit())


def joined(tables: Sequence[CueTable]) -> TimeCues:
    """One set of cues from the tables of all languages."""
    told = [phrase for table in tables for phrase in table.tells_time]
    months: dict[str, int] = {}
    for table in tables:
        months.update(table.months)
    names = sorted(months, key=lambda name: (-len(name), name))
    spaced = "|".join(re.escape(name) for name in names if _is_spaced(name))
    unspaced = [re.escape(name) for name in names if not _is_spaced(name)]
    return TimeCues(
        months,
        frozenset().union(*(table.ambiguous for table in tables)),
        frozenset().union(*(table.before_month for table in tables)),
        re.compile(
            _phrases([phrase for table in tables for phrase in table.asks_when]).pattern
            + rf"|(?:^|[.!?;:。？！]\s*)(?:{_phrases([phrase for table in tables for phrase in table.opens_when]).pattern})"
        ),
        frozenset(phrase for phrase in told if _is_word(phrase) and not phrase.endswith("*")),
        frozenset(phrase[:-1] for phrase in told if _is_word(phrase) and phrase.endswith("*")),
        _phrases([phrase for phrase in told if _is_spaced(phrase) and not _is_word(phrase)]),
        _phrases([phrase for phrase in told if not _is_spaced(phrase)]),
        _phrases([phrase for table in tables for phrase in table.asks_what], whole=True),
        # Where words are not spaced a month stands between letters; the longest name comes first.
        re.compile("|".join((rf"(?<![^\W\d])(?:{spaced})(?![^\W\d])", *unspaced)) if names else r"(?!)"),
    )


def nearness(cue: DateCue, said_at_us: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """For each moment: said in a named month or year (or just after), 0 or 1, and said on a named day, 0 or 1; just after that
    1 as well, less where nothing but the day is asked for.

    By the wall clock of the cue's zone: what was said after midnight is of the new day there.
    """
    nothing = np.zeros(len(said_at_us), dtype=np.float32)
    if not cue:
        return nothing, nothing
    if cue.span[1]:
        start, end = cue.span
        day = end - start <= LONGEST_DAY_US
        # Of a day it is still told on the next ones; "last week", asked on a Monday, is not today.
        tail = DAYS_AFTER * _DAY_US if day else 0
        told = ((said_at_us >= start) & (said_at_us < end + tail)).astype(np.float32)
        return told, told * _shares(said_at_us >= end, cue) if day else nothing
    moments = wall_clock(said_at_us, cue.zone).astype("datetime64[us]")
    months = moments.astype("datetime64[M]").astype(np.int64)
    days = (moments.astype("datetime64[D]") - moments.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64) + 1
    year, month = months // 12 + 1970, months % 12 + 1
    inside = np.isin(year, list(cue.years)) if cue.years else np.ones(len(months), dtype=np.bool_)
    on_day = np.zeros(len(months), dtype=np.float32)
    if cue.months:
        named = np.isin(month, list(cue.months))
        after = np.isin((month - 2) % 12 + 1, list(cue.months)) & (days <= MONTH_TAIL_DAYS)
        inside &= named if cue.alone else named | after
        for later in range(DAYS_AFTER + 1):
            back = (moments - np.timedelta64(later * _DAY_US, "us")).astype("datetime64[D]")
            of_month = (back - back.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64) + 1
            its_month = back.astype("datetime64[M]").astype(np.int64) % 12 + 1
            named_day = np.isin(of_month, list(cue.days)) & np.isin(its_month, list(cue.months)) & inside
            on_day = np.maximum(on_day, named_day * (SHARE_AFTER if cue.alone and later else 1.0))
    return inside.astype(np.float32), on_day.astype(np.float32)


def _shares(after: npt.NDArray[np.bool_], cue: DateCue) -> npt.NDArray[np.float32]:
    """What moments count: 1, and less `after` a day that alone is asked for."""
    return np.where(after & cue.alone, np.float32(SHARE_AFTER), np.float32(1.0))


def _is_spaced(phrase: str) -> bool:
    return all(ord(letter) < 0x2E80 for letter in phrase)


def _is_word(phrase: str) -> bool:
    return _is_spaced(phrase) and phrase.rstrip("*").isalpha()


@lru_cache(maxsize=8)
def _lengths(beginnings: frozenset[str]) -> tuple[int, ...]:
    return tuple(sorted({len(beginning) for beginning in beginnings}))


def _behind_its_beginning(phrase: str, ending: str) -> str:
    return re.escape(phrase.rstrip("*")) + (ending if phrase.endswith("*") else r"(?!\w)")


def _phrases(phrases: Sequence[str], *, whole: bool = False) -> re.Pattern[str]:
    """Whether one of them stands somewhere. What begins a word is looked for at the beginnings of words alone.

    `whole`: what is found reaches to the end of that word.
    """
    ordered = sorted(set(phrases), key=lambda one: (-len(one), one))
    ending = r"\w*" if whole else ""
    spaced = [_behind_its_beginning(phrase, ending) for phrase in ordered if _is_spaced(phrase)]
    found = [rf"(?<!\w)(?:{'|'.join(spaced)})"] * bool(spaced)
    found += (re.escape(phrase.rstrip("*")) for phrase in ordered if not _is_spaced(phrase))
    return re.compile("|".join(found) or "(?!)")
