"""A question, read: what goes to the vectors, which words are looked up and how much each counts, which dates it names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from aico_memory.domain.formation.grammar import Calendar
from aico_memory.domain.formation.language import LanguageTable, guess_language
from aico_memory.domain.language.detection import certain_language
from aico_memory.domain.retrieval.cues import DateCue, TimeCues
from aico_memory.domain.retrieval.participants import name_parts, name_weight, without_names
from aico_memory.domain.retrieval.relative_time import AskedAt, named_time
from aico_memory.domain.retrieval.tokens import fold, words


class AskedWord(NamedTuple):
    """A word of the question as each likely language folds it, `(language, form)`, and what it counts, 0..1."""

    forms: tuple[tuple[str, str], ...]
    weight: float


@dataclass(frozen=True, slots=True)
class Question:
    """What retrieval works on."""

    text: str
    # For the vectors: without the names of those who take part.
    vector_text: str
    # "" where nothing speaks for any.
    language: str
    # The embedding model does not speak it: words decide.
    foreign: bool
    words: tuple[AskedWord, ...]
    date: DateCue
    wants_time: bool
    # When its own words mean another time ("yesterday"); 0: they do not.
    turns_us: int = 0


NOWHEN = AskedAt()


@dataclass(frozen=True, slots=True)
class QuestionTables:
    """The data by which questions are read."""

    languages: LanguageTable
    cues: TimeCues
    default_language: str
    # By language; "last week" is read in these alone.
    calendars: Mapping[str, Calendar] = field(default_factory=dict)


def read_question(
    text: str,
    tables: QuestionTables,
    *,
    participants: Collection[str],
    spoken: Sequence[str],
    model_languages: Sequence[str],
    asked: AskedAt = NOWHEN,
) -> Question:
    """The question of a scope in which `participants` talk, in the languages `spoken` (most frequent first).

    `model_languages`: what the embedding model speaks; empty: every language. `asked`: what its "last week" counts from.
    """
    # Identifiers and numbers are of no language; their letters would pass for short words of one.
    plain = " ".join(word for word in text.split() if not any(map(str.isdigit, word)))
    language = certain_language(plain, tables.languages) or _likely(plain, tables.languages, spoken) or tables.default_language
    ignored = tables.languages.function_words.get(language, frozenset())
    parts = name_parts(participants, ignored)
    bare = without_names(text, parts)
    weight = name_weight(len(participants))
    likely = tuple(dict.fromkeys((language, *spoken)))
    found = _words(bare, likely, ignored, 1.0)
    if bare != text and weight > 0:
        kept = {word.forms for word in found}
        found += [word for word in _words(text, likely, ignored, weight) if word.forms not in kept]
    date, named = tables.cues.date_of(text), named_time(text, language, tables.calendars, asked)
    if not date and any(named.span):
        date = replace(date, span=named.span)
    if date and asked.zone:
        date = replace(date, zone=asked.zone)
    if date and not _content(tables.cues.beside_dates(bare, named.phrases), language, ignored):
        # "What did we do in July?" asks for what was said then, not for what speaks of July.
        found, date = [word for word in found if word.weight < 1.0], replace(date, alone=True)
    return Question(
        text=text,
        vector_text=bare,
        language=language,
        foreign=bool(model_languages) and language not in model_languages,
        words=tuple(found),
        date=date,
        wants_time=tables.cues.wants_time(text),
        turns_us=named.turns_us,
    )


def _likely(text: str, table: LanguageTable, spoken: Sequence[str]) -> str:
    """A weak guess where the scope speaks that language; else what the scope speaks most."""
    guess = guess_language(text, table)
    return guess if guess in spoken else next(iter(spoken), guess)


def _content(text: str, language: str, ignored: Collection[str]) -> list[str]:
    """The words of a text but those that say nothing by themselves."""
    return [word for word in words(text, language) if word not in ignored and fold(word) not in ignored]


def _words(text: str, languages: Sequence[str], ignored: Collection[str], weight: float) -> list[AskedWord]:
    """Each word once; function words only where there is nothing else."""
    by_language = {language: words(text, language) for language in languages}
    first = by_language[languages[0]]
    aligned = [(language, forms) for language, forms in by_language.items() if len(forms) == len(first)]
    found: dict[tuple[tuple[str, str], ...], AskedWord] = {}
    for place, word in enumerate(first):
        if word not in ignored and fold(word) not in ignored:
            forms = tuple((language, forms[place]) for language, forms in aligned)
            found[forms] = AskedWord(forms, weight)
    return list(found.values()) if found or not ignored else _words(text, languages, frozenset(), weight)
