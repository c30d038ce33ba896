"""From a clause to predicates and values: well-known ones by patterns, open ones by verb or noun."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from aico_memory.domain.formation.attributes import (
    TIME,
    Found,
    attribute,
    cut,
    predicate_of,
    restore,
    unpreposed,
    with_times,
)  # fmt: skip
from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.frames import Frame, shorten
from aico_memory.domain.formation.grammar import FormationTables, Grammar, Predicate
from aico_memory.domain.formation.kinds_of_things import is_a
from aico_memory.domain.formation.losses import ended_noun, losses
from aico_memory.domain.formation.turkish_words import maybe_cases, split_case
from aico_memory.domain.formation.wording import COMMA, commas, first_of, lower_in, squeeze

MAX_VALUE_WORDS = 12
EMPLOYER = "employer"


def name_facts(frame: Frame, phrases: Sequence[str], tables: FormationTables, grammar: Grammar) -> list[Found]:
    """What the clause says, each as subject, predicate, value; the most specific reading first."""
    if not frame.verb:
        return []
    if frame.subject.owner == "":
        # "They moved the meeting to …": only what names its own subject.
        return [found for found in _patterns(frame, phrases, tables, grammar) if found.subject]
    found = list(_alias(frame, grammar, tables))
    main = list(losses(frame, tables, grammar)) or list(attribute(frame, phrases, tables, grammar))
    main = main or list(_apposition(frame, tables, grammar))
    main = main or _specific(list(_patterns(frame, phrases, tables, grammar)), tables)
    if not main:
        main = list(_open(frame, phrases, tables, grammar))
    return found + [_typed(one, tables, grammar) for whole in main for one in _separate(whole, tables, grammar)]


def _specific(found: list[Found], tables: FormationTables) -> list[Found]:
    """Without the general readings where there is a specific one."""
    below = {name: one.value.split() for one in found if (known := tables.predicates.get(one.predicate)) for name in known.over}
    # "I'm in the payments team at Revolut" names an employer beside the team, "I'm in the payments team" does not.
    found = [
        one for one in found
        if one.predicate not in below
        or (one.predicate == EMPLOYER and one.value and not set(one.value.split()) & set(below[EMPLOYER]))
    ]  # fmt: skip
    general = {one.predicate for one in found if (known := tables.predicates.get(one.predicate)) and known.general}
    return [one for one in found if one.predicate not in general] or found


def _typed(found: Found, tables: FormationTables, grammar: Grammar) -> Found:
    """ "I use Firefox": the browser, because that is what it is."""
    if found.act == "end" and (ended := ended_noun(found, tables, grammar)):
        return ended
    known = tables.predicates.get(found.predicate)
    if known is None or not known.general:
        return found
    for predicate in tables.predicates.values():
        if predicate.type and is_a(found.value, predicate.type, tables, grammar):
            return replace(found, predicate=predicate.name, single_valued=predicate.single_valued, kind=predicate.kind)
    return found


def _alias(frame: Frame, grammar: Grammar, tables: FormationTables) -> Iterator[Found]:
    """ "My sister Lena lives …" says also who the sister is."""
    party = frame.subject
    if party.noun and party.name and party.possessed and not frame.negated and not frame.inherited:
        predicate, single, kind = predicate_of(party.noun, tables, grammar)
        yield Found(party.owner, predicate, party.name, single, kind, act="alias")


def _apposition(frame: Frame, tables: FormationTables, grammar: Grammar) -> Iterator[Found]:
    """ "I bought a new car, a Kia": the noun says what it is, the name which one."""
    if frame.negated or frame.verb not in ("have", "get", "buy", "adopt", "own", "drive", "use", "haben", "kaufen", "bekommen", "holen",  # noqa: E501
                                           "adoptieren", "fahren", "zulegen"):  # fmt: skip
        return
    for mark in grammar.marks["apposition"]:
        if match := mark.match(frame.rest):
            noun = lower_in(match["n"], grammar.code)
            value = shorten(cut(match["v"], grammar), grammar)
            yield Found(frame.subject.subject, *_noun_fields(noun, value, tables, grammar))
            if is_a(noun, "animal", tables, grammar):
                yield Found(frame.subject.subject, "pet", noun, False, "fact")
            return


def _patterns(frame: Frame, phrases: Sequence[str], tables: FormationTables, grammar: Grammar) -> Iterator[Found]:
    raw = _raw_readings(frame, phrases, grammar) if frame.times else []
    seen: set[str] = set()
    for predicate in tables.predicates.values():
        if grammar.code not in predicate.surfaces or (predicate.planned and not _may_be_to_come(frame, grammar)):
            continue
        if (
            predicate.name == TIME
            and not (frame.subject.noun and frame.subject.noun not in grammar.relations)
            and frame.subject.owner == SPEAKER
        ):
            by_noun = True
        else:
            by_noun = False
        readings = [*raw, *frame.readings] if predicate.temporal else frame.readings
        found = None
        if predicate.single_valued and not predicate.temporal:
            # What stands behind a comma is said beside it ("I live in Antwerp, near the station").
            short = [first_of(reading) for reading in readings]
            found = _match(predicate, short, frame, tables, grammar) if short != readings else None
        found = found or _match(predicate, readings, frame, tables, grammar)
        if found and not (by_noun and found.subject == frame.subject.subject and not frame.subject.name):
            key = found.predicate + "|" + found.act
            if key not in seen:
                seen.add(key)
                value = unpreposed(found.value, grammar) if predicate.temporal else found.value
                if found.predicate == TIME and not value and found.act == "":
                    value = _time_said(frame, phrases, grammar)
                    if not value:
                        continue
                yield replace(found, temporal=predicate.temporal, value=value)


def _may_be_to_come(frame: Frame, grammar: Grammar) -> bool:
    """Whether the clause may announce something; only English tells by its form ("I'm going to …")."""
    return grammar.code != "en" or frame.negated or frame.progressive or frame.future or frame.past or bool(frame.times)


def _raw_readings(frame: Frame, phrases: Sequence[str], grammar: Grammar) -> list[str]:
    """The readings with the phrases of time in their places."""
    whole = squeeze(restore(with_times(frame), phrases))
    if grammar.code != "tr":
        return [f"{frame.verb} {whole}", f"{frame.verb} {squeeze(restore(frame.rest, phrases))}"]
    words = whole.split()
    bare = " ".join([*words[:-1], split_case(words[-1])[1]]) if words else ""
    about = (
        next(
            (stem for case, stem in maybe_cases(words[0]) if case == "@i" and lower_in(stem, "tr") in grammar.words["events"]),
            "",
        )
        if words
        else ""
    )
    if about:
        # "Toplantıyı perşembe gününe aldık".
        return [f"{frame.verb} {about} @e {' '.join(words[1:])}"]
    cased = [" ".join([*words[:-1], stem]) for _, stem in maybe_cases(words[-1])] if words else []
    return [f"{frame.verb} {case} {value}" for case in ("@e", "@de") for value in (bare, *cased)] + [f"{frame.verb} {whole}"]


def _time_said(frame: Frame, phrases: Sequence[str], grammar: Grammar) -> str:
    """The words of time in a clause that has nothing else beside its noun ("salı günü toplantımız var")."""
    if not frame.times:
        return ""
    noun = set(frame.rest.split())
    words = [
        word for word in restore(with_times(frame), phrases).split() if word not in noun or word[:1].isdigit() or word == "saat"
    ]
    return unpreposed(" ".join(words), grammar)


def _match(
    predicate: Predicate, readings: Sequence[str], frame: Frame, tables: FormationTables, grammar: Grammar
) -> Found | None:
    lowered = [f" {lower_in(reading, grammar.code)}" for reading in readings]
    for pattern in predicate.surfaces[grammar.code].say:
        for reading, low in zip(readings, lowered, strict=True):
            match = pattern.expression.match(low)
            if match is None:
                continue
            groups = match.groupdict()
            value = reading[match.start("v") - 1 : match.end("v") - 1] if groups.get("v") else ""
            value = shorten(cut(value, grammar), grammar) if value else ""
            if (
                value.startswith("@")
                or len(value.split()) > MAX_VALUE_WORDS
                or (value and lower_in(value, grammar.code) in grammar.words["no_values"])
            ):
                continue
            noun = lower_in(shorten(groups.get("n") or "", grammar), grammar.code)
            if pattern.value_type and not is_a(value, pattern.value_type, tables, grammar):
                continue
            if pattern.noun_type and not is_a(noun, pattern.noun_type, tables, grammar):
                continue
            if noun and predicate.name == TIME:
                return Found(noun, TIME, value, True, "fact", pattern.act)
            if noun:
                folks = frame.subject.noun in grammar.words["people"] or frame.subject.noun in grammar.relations
                if folks and not frame.subject.name:
                    # "The kids renamed the puppy".
                    return Found(SPEAKER, *_noun_fields(noun, value, tables, grammar), pattern.act)
                return Found(frame.subject.subject, *_noun_fields(noun, value, tables, grammar), pattern.act)
            name = predicate.name
            if name == "home_city" and pattern.act == "" and _is_thing(frame, grammar):
                # "Our office has moved to the second floor."
                return Found(frame.subject.subject, "location", value, True, "fact", pattern.act)
            return Found(
                frame.subject.subject, predicate.name, value, predicate.single_valued, predicate.kind, pattern.act,
                opposite=predicate.opposite,
            )  # fmt: skip
    return None


def _is_thing(frame: Frame, grammar: Grammar) -> bool:
    noun = frame.subject.noun.split()[-1:] if not frame.subject.name else []
    return bool(noun) and noun[0] not in grammar.relations and noun[0] not in grammar.words["people"]


def _noun_fields(noun: str, value: str, tables: FormationTables, grammar: Grammar) -> tuple[str, str, bool, str]:
    name, single, kind = predicate_of(noun, tables, grammar)
    return name, value, single, kind


def _open(frame: Frame, phrases: Sequence[str], tables: FormationTables, grammar: Grammar) -> Iterator[Found]:
    """`<verb>_<preposition>` and what stands there."""
    if frame.verb in grammar.words["no_open"] or not frame.rest or (frame.inherited and grammar.tenses.get(frame.verb) is None):
        return
    words = frame.rest.split()
    at = next((i for i, word in enumerate(words) if lower_in(word, grammar.code) in grammar.words["prepositions"]), len(words))
    if at == 0 and len(words) > 1:
        until = next(
            (i for i, w in enumerate(words[1:], 1) if lower_in(w, grammar.code) in grammar.words["prepositions"]), len(words)
        )
        preposition, value = lower_in(words[0], grammar.code), " ".join(words[1:until])
        name = f"{frame.verb}_{preposition}"
    else:
        name, value = frame.verb, " ".join(words[:at])
    value = shorten(cut(value, grammar), grammar)
    if not value or len(value.split()) > MAX_VALUE_WORDS or lower_in(value, grammar.code) in grammar.words["no_values"]:
        return
    yield Found(frame.subject.subject, name, value, False, "fact")


_LISTS = re.compile(rf"\s*[,{COMMA}]\s*(?:and |und |ve )?|\s+(?:and|und|ve|as well as|sowie|&)\s+")


def _separate(found: Found, tables: FormationTables, grammar: Grammar) -> Iterator[Found]:
    """One fact for each member of a list, where the predicate has many values."""
    if found.temporal or found.act == "alias":
        yield replace(found, value=commas(found.value))
        return
    if found.single_valued or (found.predicate not in tables.predicates and ":" not in found.predicate):
        # What stands behind a comma is said beside it.
        yield replace(found, value=shorten(first_of(found.value), grammar))
        return
    parts = [shorten(part, grammar) for part in _LISTS.split(found.value)]
    for number, part in enumerate(parts):
        words = lower_in(part, grammar.code).split()
        beside = number and (len(words) > 5 or any(word in grammar.words["speaker"] for word in words))
        if (part or not found.value) and not beside:
            yield replace(found, value=part)


def object_key(value: str, grammar: Grammar) -> str:
    """The object in comparable form."""
    words = normalise_fact_key(lower_in(value, grammar.code)).split()
    days = grammar.calendar.weekdays
    kept = [word for word in words if word not in grammar.words["determiners"] or word.removesuffix("s") in days]
    return " ".join(kept or words)
