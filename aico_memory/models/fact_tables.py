"""Reading what the fact rules know: the `facts` part of each language's file, and the predicates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from aico_memory.domain.formation.apart import Tellings
from aico_memory.domain.formation.grammar import (
    Beliefs,
    Calendar,
    FormationTables,
    Grammar,
    Pattern,
    Plausible,
    Predicate,
    Surface,
    compile_pattern,
    compile_question,
)  # fmt: skip
from aico_memory.domain.formation.inflection import Forms, english_forms, german_forms, turkish_stems
from aico_memory.domain.formation.observe import Signals
from aico_memory.errors import ConfigurationInvalid
from aico_memory.models.config_files import files_of, read_mapping
from aico_memory.models.injection_tables import load_injection_rules
from aico_memory.models.signal_tables import signals_of
from aico_memory.paths import Home, config_file

PREDICATES_FILE = "predicates.yaml"
FOLDER = "language"
_INFLECT: Mapping[str, Callable[[list[str]], Forms]] = {
    "english": english_forms, "german": german_forms, "turkish": turkish_stems,
}  # fmt: skip
T = TypeVar("T")
_GROUPS = (
    "doings", "earns", "finds", "ownmost", "formers",
    "for_a_time", "plural_copulas", "lives", "lives_in", "moves_out",
    "speaker", "pronouns", "subjects", "possessives", "own", "determiners", "tails", "prepositions", "stops", "adverbs", "openers",  # noqa: E501
    "empty", "favourites", "name_nouns", "professions", "no_values", "no_open", "sudden", "nouns_too", "participles", "once",
    "reflexives", "first_verbs", "events", "copulas", "perish", "announced", "switches", "naming_verbs", "provinces",
    "time_nouns",
    "states",
    "deserts",
    "lost",
    "cancels",
    "exchange_reading",
    "people",
    "compounded", "qualities", "telling", "puts", "repairs",
    "nominative", "postpositions", "not_cased", "not_possessed", "nouns", "feminine", "titles", "now", "over", "moves", "rides",
    "served_by",
    "counted_by", "vague_numbers", "countable", "off_words", "its_time", "leads", "called_by_name", "no_names", "goes_on",
    "sports", "aims", "particles", "third", "asking", "framing", "begins", "attends", "object_pronouns", "lessons",
    "sharing", "compares", "tongues", "prefers", "where_had", "fresh", "retires", "kin", "apart_kin", "codes", "ordinals",
    "light", "which", "places", "also", "listing", "negates", "only", "not_named", "takes_object",
    "strikes", "visits", "passing", "enters", "dwellings", "learns", "each", "takes_over", "debts",
    "asides", "colours", "drinks", "honours", "vehicles", "callings",
    "clock_words", "clock_names", "time_words", "money", "masses", "lengths", "spans",
)  # fmt: skip
_MARKS = (
    "afterwards", "with_us", "has_new",
    "named", "clock", "asides", "silent", "fillers", "explicit", "correct", "weak", "retract", "contrast", "elliptic", "changed",  # noqa: E501
    "ended", "stops", "change", "leaving", "apposition",
    "unsaid",
    "meant",
    "exchange",
    "succession",
    "it_is",
    "by_now",
    "instruction_denied",
    "only",
    "hearsay",
    "best_liked",
    "insist",
    "no_more", "narrowed", "for_now",
    "denied",
    "retract_of",
    "opens_sentence",
    "habit",
    "until_then",
    "adding",
    "listed",
    "instead", "swapped", "apology",
    "frequency", "object_first", "led",
    "in_its_place", "off_it", "again", "progress", "progress_of_things", "how_many", "gone", "instructions",
    "ever", "having", "same_days", "has_none",
    "before_that", "lifted", "instruction_topics", "which_of", "replaces",
    "untrue", "unsure", "asks_clock", "asks_day", "asks_amount", "asks_word", "asks_trait", "thereafter",
    "for_once", "back_then", "left_over", "same_hour", "hour_said", "sum",
    "brief", "brief_known", "meaning", "says_value", "verbal",
)  # fmt: skip


# What a language says of a predicate.
_WORDINGS = ("nouns", "say", "ask")


def load_formation_tables(home: Home) -> FormationTables:
    """Grammars of every language that has one, and the predicates; ConfigurationInvalid names file and key."""
    grammars: dict[str, Grammar] = {}
    signals: dict[str, Signals] = {}
    predicates = config_file(home, PREDICATES_FILE)
    known = read_mapping(predicates)
    contents = {code: (path, read_mapping(path)) for code, path in sorted(files_of(home, FOLDER).items())}
    for code, (path, content) in contents.items():
        _guarded(path, partial(_with_own_wordings, known, code, content.get("predicates") or {}))
    for code, (path, content) in contents.items():
        if "facts" in content:
            nouns = _guarded(predicates, partial(_nouns_of, known, code))
            beliefs = _guarded(path, partial(_beliefs, content.get("plausible") or {}))
            grammars[code] = _guarded(path, partial(_grammar, code, content["facts"], nouns, content.get("tellings"), beliefs))
        if "signals" in content:
            signals[code] = _guarded(path, partial(signals_of, content["signals"]))
    tables = _guarded(predicates, partial(_tables, known, grammars, signals))
    return replace(tables, injection=load_injection_rules(home))


def _with_own_wordings(known: Mapping[str, Any], code: str, own: Mapping[str, Mapping[str, Any]]) -> None:
    """Adds the wordings of predicates that a language's file brings itself, so that a new language is one file."""
    for name, entry in own.items():
        if name not in known["predicates"]:
            raise ValueError(f"predicates.{name} is not known in {PREDICATES_FILE}")
        if unknown := set(entry) - set(_WORDINGS):
            raise ValueError(f"unknown key predicates.{name}.{sorted(unknown)[0]}")
        known["predicates"][name][code] = entry


def _nouns_of(content: Mapping[str, Any], code: str) -> frozenset[str]:
    """Every noun that names a well-known predicate in a language."""
    return frozenset(str(noun) for entry in content["predicates"].values() for noun in entry.get(code, {}).get("nouns", ()))


def _guarded(path: Path, build: Callable[[], T]) -> T:
    try:
        return build()
    except (KeyError, TypeError, AttributeError, ValueError, re.error) as error:
        raise ConfigurationInvalid(f"{path}: the facts cannot be read ({type(error).__name__}: {error})") from error


def _grammar(
    code: str, content: Mapping[str, Any], known_nouns: frozenset[str], tellings: Mapping[str, Any] | None, beliefs: Beliefs
) -> Grammar:  # fmt: skip
    if unknown := set(content["words"]) - set(_GROUPS):
        raise ValueError(f"unknown key words.{sorted(unknown)[0]}")
    if unknown := set(content["marks"]) - set(_MARKS):
        raise ValueError(f"unknown key marks.{sorted(unknown)[0]}")
    words = {group: frozenset(str(word) for word in content["words"].get(group, ())) for group in _GROUPS}
    words["known_nouns"] = known_nouns
    macros = content.get("macros") or {}
    marks = {name: tuple(re.compile(_with_macros(mark, macros)) for mark in content["marks"].get(name, ())) for name in _MARKS}
    if content["parser"] not in _INFLECT:
        raise ValueError(f"facts.parser is {content['parser']!r}; parsers are {', '.join(sorted(_INFLECT))}")
    forms = _INFLECT[content["parser"]](str(content["verbs"]).split())
    relations = {str(noun): True for noun in content["relations"]["single"]}
    relations.update({str(noun): False for noun in content["relations"]["many"]})
    return Grammar(
        code=code,
        parser=content["parser"],
        calendar=_calendar(content["calendar"]),
        words=words,
        marks=marks,
        verbs={form: lemma for form, (lemma, _) in forms.items()},
        tenses={form: tense for form, (_, tense) in forms.items()},
        relations=relations,
        asks=tuple(
            (re.compile(rf"(?<!\w){word}(?!\w)"), str(kind))
            for word, kind in sorted(content["questions"]["asks"].items(), key=lambda pair: -len(pair[0]))
        ),
        naming=re.compile(content["questions"]["naming"]),
        former=re.compile(content["questions"]["former"]),
        before=re.compile(content["questions"]["before"]) if "before" in content["questions"] else None,
        after=re.compile(content["questions"]["after"]) if "after" in content["questions"] else None,
        yes_no=re.compile(content["questions"]["yes_no"]) if "yes_no" in content["questions"] else None,
        anything=re.compile(content["questions"]["anything"]) if "anything" in content["questions"] else None,
        doing=re.compile(content["questions"]["doing"]) if "doing" in content["questions"] else None,
        synonyms={str(one): str(other) for one, other in (content["relations"].get("same") or {}).items()},
        collectives={
            str(noun): frozenset(map(str, several)) for noun, several in (content["relations"].get("several") or {}).items()
        },
        thesaurus=_thesaurus(content.get("thesaurus") or ()),
        templates=content.get("templates") or {},
        tellings=_tellings(tellings) if tellings else None,
        past=re.compile(content["questions"]["past"]) if "past" in content["questions"] else None,
        future=re.compile(content["questions"]["future"]) if "future" in content["questions"] else None,
        asked=tuple(
            (re.compile(str(wording)), str(plainer)) for wording, plainer in content["questions"].get("rewrites") or ()
        ),
        rewrites=tuple(
            (re.compile(_with_macros(str(wording), macros)), str(plainer), tuple("|".join(cues).split("|")) if cues else ())
            for wording, plainer, *cues in content.get("rewrites") or ()
        ),
        beliefs=beliefs,
    )


def _thesaurus(lists: Sequence[Sequence[str]]) -> dict[str, frozenset[str]]:
    """Each word with the others of its lists."""
    found: dict[str, set[str]] = {}
    for words in lists:
        for word in words:
            found.setdefault(str(word), set()).update(str(other) for other in words if other != word)
    return {word: frozenset(others) for word, others in found.items()}


def _beliefs(content: Mapping[str, Any]) -> Beliefs:
    def words(entry: Mapping[str, Any], name: str) -> frozenset[str]:
        return frozenset(str(word) for word in entry.get(name, ()))

    values = {}
    for predicate, entry in (content.get("values") or {}).items():
        if unknown := set(entry) - {one.name for one in fields(Plausible)}:
            raise ValueError(f"unknown key plausible.values.{predicate}.{sorted(unknown)[0]}")
        values[str(predicate)] = Plausible(
            of_people=bool(entry.get("of_people")), present=words(entry, "present"), trusted=words(entry, "trusted"),
            not_with=words(entry, "not_with"), not_after=words(entry, "not_after"),
            lasting=tuple(map(str, entry.get("lasting", ()))),
            no_doing=tuple(map(str, entry.get("no_doing", ()))),
            open_to_all=bool(entry.get("open_to_all")), no_opinions=bool(entry.get("no_opinions")),
            named=entry.get("named", ""), named_endings=tuple(map(str, entry.get("named_endings", ()))),
            doing=tuple(map(str, entry.get("doing", ()))), bare_after=words(entry, "bare_after"),
            number=bool(entry.get("number")), beside=words(entry, "beside"), type=tuple(map(str, entry.get("type", ()))),
            heads=words(entry, "heads"), endings=tuple(map(str, entry.get("endings", ()))), never=words(entry, "never"),
            most_words=int(entry.get("most_words", 0)),
        )  # fmt: skip
    lists = {name: words(content, name) for name in ("nobody", "within", "opinions", "degrees")}
    endings = tuple(map(str, content.get("past_endings", ())))
    return Beliefs(**lists, past_endings=endings, head_last=bool(content.get("head_last")), values=values)


def _tellings(content: Mapping[str, Any]) -> Tellings:
    predicates = {}
    for name, wordings in content["predicates"].items():
        speaker, other = wordings if isinstance(wordings, list) else (wordings, wordings)
        for wording in (speaker, other):
            # Fails where the file is read, not where somebody says something.
            str(wording).format(who="", whose="", value="", noun="", a="")
        predicates[str(name)] = (str(speaker), str(other))
    articles = frozenset(map(str, content.get("articles", ())))
    return Tellings(predicates, str(content.get("possessive", "{who}")), str(content.get("relation", "")), articles)


def _with_macros(expression: str, macros: Mapping[str, str]) -> str:
    """`<N>` stands for what the file's `macros` say of N."""
    for name, body in macros.items():
        expression = expression.replace(f"<{name}>", str(body))
    return expression


def _calendar(content: Mapping[str, Any]) -> Calendar:
    words = {
        name: {str(word): value for word, value in content[name].items()}
        for name in ("weekdays", "months", "units", "numbers", "days", "steps")
    }
    forms = {name: tuple(part) for name, part in content["forms"].items()}
    words["seasons"] = {str(word): int(month) for word, month in content.get("seasons", {}).items()}
    words["holidays"] = {str(word): _holiday(str(day)) for word, day in content.get("holidays", {}).items()}
    cues = frozenset().union(*(words[name] for name in ("weekdays", "months", "units", "days", "seasons", "holidays")))
    return Calendar(**words, forms=forms, cues=cues)


def _holiday(day: str) -> tuple[int, int]:
    """ "12-25" or "easter+49"."""
    if day.startswith("easter"):
        return 0, int(day.removeprefix("easter") or 0)
    month, _, of_month = day.partition("-")
    return int(month), int(of_month)


def _tables(content: Mapping[str, Any], grammars: Mapping[str, Grammar], signals: Mapping[str, Signals]) -> FormationTables:
    predicates = {
        name: Predicate(
            name=name,
            single_valued=bool(entry["single_valued"]),
            kind=str(entry["kind"]),
            surfaces={code: _surface(entry[code], grammar) for code, grammar in grammars.items() if code in entry},
            falls_back=tuple(entry.get("falls_back", ())),
            opposite=str(entry.get("opposite", "")),
            ends=tuple(entry.get("ends", ())),
            temporal=bool(entry.get("temporal", False)),
            relation=bool(entry.get("relation", False)),
            general=bool(entry.get("general", False)),
            type=str(entry.get("type", "")),
            names=str(entry.get("names", "")),
            remembered=bool(entry.get("remembered", False)),
            reached=str(entry.get("reached", "")),
            permanent=bool(entry.get("permanent", False)),
            not_asked=tuple(entry.get("not_asked", ())),
            planned=bool(entry.get("planned", False)),
            over=tuple(entry.get("over", ())),
        )
        for name, entry in content["predicates"].items()
    }
    if unknown := {one.reached for one in predicates.values()} - {"", *predicates}:
        raise ValueError(f"predicates.*.reached names {sorted(unknown)[0]}, which is no predicate")
    types: dict[str, set[str]] = {}
    for entry in content["types"].values():
        for kind, known in entry.items():
            if isinstance(known, list):
                types.setdefault(kind, set()).update(str(word) for word in known)
    endings = {code: tuple(map(str, known)) for code, known in content["profession_endings"].items()}
    known_types = {kind: frozenset(known) for kind, known in types.items()}
    asked = {name for grammar in grammars.values() for rule in grammar.beliefs.values.values() for name in rule.type}
    if unknown := asked - known_types.keys():
        raise ValueError(f"plausible.values asks for the type {sorted(unknown)[0]}, which `types` does not know")
    parts = {str(kind): tuple(map(str, known)) for kind, known in content.get("type_parts", {}).items()}
    return FormationTables(grammars, predicates, known_types, signals, endings, parts)


def _surface(entry: Mapping[str, Any], grammar: Grammar) -> Surface:
    say: list[Pattern] = [compile_pattern(str(text), grammar.words["stops"]) for text in entry.get("say", ())]
    at: dict[str, set[int]] = {}
    for place, pattern in enumerate(say):
        for word in pattern.starts:
            at.setdefault(word, set()).add(place)
    return Surface(
        say=tuple(say),
        at={word: frozenset(places) for word, places in at.items()},
        open_at=frozenset(place for place, pattern in enumerate(say) if not pattern.starts),
        ask=tuple(compile_question(str(text), grammar.code) for text in entry.get("ask", ())),
        nouns=frozenset(str(noun) for noun in entry.get("nouns", ())),
    )
