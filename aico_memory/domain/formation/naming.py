"""From a clause to predicates and values: well-known ones by patterns, open ones by verb or noun."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from aico_memory.domain.formation.appositions import told_by_its_noun
from aico_memory.domain.formation.attributes import (
    LOCATION,
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
from aico_memory.domain.formation.fitting import CAR, EMPLOYER, fits, named_by, of_what, without_relation
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.frames import Frame, shorten
from aico_memory.domain.formation.german_clauses import INSTEAD
from aico_memory.domain.formation.german_names import names_beside
from aico_memory.domain.formation.grammar import FormationTables, Grammar, Pattern, Predicate
from aico_memory.domain.formation.kinds_of_things import is_a
from aico_memory.domain.formation.losses import FEES, ended_noun, losses
from aico_memory.domain.formation.standing import counted, is_their_sum, progress_of
from aico_memory.domain.formation.together import of_a_pair
from aico_memory.domain.formation.turkish_words import maybe_cases, split_case
from aico_memory.domain.formation.values import separate
from aico_memory.domain.formation.wording import COMMA, first_of, lower_in, squeeze, trim

MAX_VALUE_WORDS = 12
# "sprint @i toplantısı": the mark of a case inside a noun phrase.
_CASE = re.compile(r"@\w+ ?")
DOES, ROLE, SCHOOL = "does", "role", "school"
# What somebody takes is theirs, where the dog that "my wife has" is one's own.
DOSE = "dose"


def name_facts(frame: Frame, phrases: Sequence[str], tables: FormationTables, grammar: Grammar) -> list[Found]:
    """What the clause says, each as subject, predicate, value; the most specific reading first."""
    if not frame.verb:
        return []
    if frame.subject.owner == "":
        # "They moved the meeting to …": only what names its own subject.
        return [found for found in _patterns(frame, phrases, tables, grammar) if found.subject]
    if pair := of_a_pair(frame, lambda one: name_facts(one, phrases, tables, grammar), tables, grammar):
        return pair
    found = [*_alias(frame, grammar, tables), *_beside(frame, grammar, tables), *counted(frame, tables, grammar)]
    if stands := progress_of(frame, tables, grammar):
        return [*found, stands]
    main = list(losses(frame, tables, grammar)) or list(attribute(frame, phrases, tables, grammar))
    main = main or list(told_by_its_noun(frame, tables, grammar))
    main = main or _specific(list(_patterns(frame, phrases, tables, grammar)), tables)
    if not main:
        main = list(_open(frame, phrases, tables, grammar))
    told = [_typed(one, tables, grammar) for whole in main for one in separate(whole, tables, grammar, frame.rest)]
    return found + (told[1:] if is_their_sum(told, found, tables, grammar) else told)


def _specific(found: list[Found], tables: FormationTables) -> list[Found]:
    """Without the general readings where there is a specific one."""
    below = {name: one.value.split() for one in found if (known := tables.predicates.get(one.predicate)) for name in known.over}
    # "I'm in the payments team at Revolut" names an employer beside the team, "I'm in the payments team" does not.
    found = [
        one for one in found
        if one.predicate not in below
        or (one.predicate in (EMPLOYER, LOCATION, ROLE, SCHOOL) and _beside_it(one.value, below[one.predicate]))
    ]  # fmt: skip
    if any(one.predicate == LOCATION and one.subject != SPEAKER for one in found):
        # "I moved the spare key to the shed": the key is there, nobody lives there.
        found = [one for one in found if one.predicate != "home_city" and (one.predicate, one.subject) != (LOCATION, SPEAKER)]
    general = {one.predicate for one in found if (known := tables.predicates.get(one.predicate)) and known.general}
    return [one for one in found if one.predicate not in general] or found


def _beside_it(value: str, words: list[str]) -> bool:
    """Whether a value names something else than the more specific one with these words."""
    return bool(value and words) and not set(value.split()) & set(words)


def _typed(found: Found, tables: FormationTables, grammar: Grammar) -> Found:
    """ "I use Firefox": the browser, because that is what it is."""
    if found.act == "end" and (ended := ended_noun(found, tables, grammar)) and ended.single_valued:
        # Of many values ("the subscription") it is not said which.
        return ended
    known = tables.predicates.get(found.predicate)
    if known is None or not known.general or found.value.rpartition(" ")[2] in FEES:
        return found
    for predicate in tables.predicates.values():
        of_its_type = predicate.type and is_a(found.value, predicate.type, tables, grammar)
        if of_its_type and not _is_common(found.value, predicate, tables):
            return replace(found, predicate=predicate.name, single_valued=predicate.single_valued, kind=predicate.kind)
    return found


def _is_common(value: str, predicate: Predicate, tables: FormationTables) -> bool:
    """ "I gave up golf": the game, and no Golf."""
    others = (known for kind, known in tables.types.items() if kind != predicate.type)
    return predicate.name == CAR and value == value.lower() and any(value in known for known in others)


def _alias(frame: Frame, grammar: Grammar, tables: FormationTables) -> Iterator[Found]:
    """ "My sister Lena lives …" says also who the sister is."""
    party = frame.subject
    dies = grammar.code == "de" and frame.verb in grammar.words["perish"]
    if party.noun and party.name and party.possessed and not frame.inherited and not dies:
        predicate, single, kind = predicate_of(party.noun, tables, grammar)
        yield Found(party.owner, predicate, party.name, single, kind, act="alias")


def _beside(frame: Frame, grammar: Grammar, tables: FormationTables) -> Iterator[Found]:
    """ "… with my wife Ines …" says who the wife is, wherever it stands in the clause."""
    if frame.negated or grammar.code == "tr" or frame.subject.owner != SPEAKER:
        return
    words = frame.rest.split()
    for at, word in enumerate(words[:-1]):
        if lower_in(word, grammar.code) not in grammar.words["own"]:
            continue
        end = next(
            (end for end in (at + 3, at + 2) if lower_in(" ".join(words[at + 1 : end]), grammar.code) in grammar.relations), 0
        )
        names = list(takewhile(lambda one: one[:1].isupper(), words[end:])) if end else []
        if names and trim(names[0]) != names[0]:
            # The name ends with its comma.
            names = names[:1]
        if names and grammar.parser == "german":
            names = names_beside(names, words, at, end, frame.verb, grammar)
        if names and lower_in(trim(names[0]), grammar.code) not in grammar.relations:
            noun = lower_in(" ".join(words[at + 1 : end]), grammar.code)
            predicate, single, kind = predicate_of(grammar.synonyms.get(noun, noun), tables, grammar)
            yield Found(SPEAKER, predicate, trim(" ".join(names[:2])), single, kind, act="alias")


def _patterns(frame: Frame, phrases: Sequence[str], tables: FormationTables, grammar: Grammar) -> Iterator[Found]:
    raw = _raw_readings(frame, phrases, grammar) if frame.times else []
    seen: set[str] = set()
    # With and without what closes the first word: a reading may be cut behind its first comma.
    begin = {word for reading in (*raw, *frame.readings) for word in lower_in(reading, grammar.code).split()[:1]}
    begin |= {word.partition(COMMA)[0].rstrip(",") for word in begin}
    for predicate in tables.predicates.values():
        surface = predicate.surfaces.get(grammar.code)
        if surface is None or not (patterns := surface.starting(begin)):
            continue
        if (predicate.planned and not _may_be_to_come(frame, grammar)) or (frame.done and predicate.name == LOCATION):
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
        if predicate.name == DOES:
            # Said outright, and not as what carries another verb ("I stopped wearing …").
            readings = readings[:1]
        # "Ich studiere": what is not said; "Ich studiere nicht mehr" ends it, whatever it is.
        patterns = tuple(one for one in patterns if frame.negated or one.act or not one.source.endswith("$"))
        found = None
        if predicate.single_valued and not predicate.temporal:
            # What stands behind a comma is said beside it ("I live in Antwerp, near the station").
            short = [first_of(reading) for reading in readings]
            found = _match(predicate, patterns, short, frame, tables, grammar) if short != readings else None
        found = found or _match(predicate, patterns, readings, frame, tables, grammar)
        if found is None and not (predicate.single_valued or predicate.temporal):
            # "I take vitamin D, the winter is long": no list.
            short = [first_of(reading) for reading in readings]
            found = _match(predicate, patterns, short, frame, tables, grammar) if short != readings else None
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
    if about := _event_moved(words, grammar):
        # "Toplantıyı perşembe gününe aldık".
        return [f"{frame.verb} {' '.join(about)} @e {' '.join([*words[len(about) : -1], split_case(words[-1])[1]])}"]
    cased = [" ".join([*words[:-1], stem]) for _, stem in maybe_cases(words[-1])] if words else []
    return [f"{frame.verb} {case} {value}" for case in ("@e", "@de") for value in (bare, *cased)] + [f"{frame.verb} {whole}"]


def _event_moved(words: Sequence[str], grammar: Grammar) -> list[str]:
    """The event that a time is given to, without its ending ("diş randevumu"); empty where there is none."""
    for at, word in enumerate(words[:3]):
        for case, stem in maybe_cases(word):
            low = lower_in(stem, "tr")
            noun = next((one for one in (low, low[:-1], low[:-2]) if one in grammar.words["events"]), "")
            if case == "@i" and noun:
                return [*(lower_in(one, "tr") for one in words[:at]), noun]
    return []


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
    predicate: Predicate, patterns: Sequence[Pattern], readings: Sequence[str], frame: Frame, tables: FormationTables,
    grammar: Grammar,
) -> Found | None:  # fmt: skip
    lowered = [f" {lower_in(reading, grammar.code)}" for reading in readings]
    for pattern in patterns:
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
                or (value and lower_in(value, grammar.code) in grammar.words["no_values"] and predicate.name != "subscription")
            ):
                continue
            noun = lower_in(shorten(_CASE.sub("", groups.get("n") or ""), grammar), grammar.code)
            value = without_relation(value, grammar) if predicate.relation else value
            noun = of_what(noun, grammar) if predicate.name == DOSE else re.sub(r"^.* and an? (?=\w)", "", noun)
            if groups.get("n") and (not noun or (predicate.name == DOSE and noun in grammar.words["no_values"])):
                # "Take 10 mg of something": of what is not said.
                continue
            if not fits(pattern, predicate, value, noun, (groups.get("x") or "").strip(), tables, grammar) or (
                # "Rent is 800."
                predicate.name == "age" and _is_thing(frame, grammar) and "old" not in low
            ):
                continue
            if value == frame.verb:
                # "I'm cycling to work": in the form in which it was said.
                value = _as_said(frame, grammar)
            if predicate.name == TIME and groups.get("x"):
                noun = named_by(noun, reading[match.start("x") - 1 : match.end("x") - 1], grammar)
            if noun and predicate.name in (TIME, LOCATION):
                return Found(noun, predicate.name, value, True, "fact", pattern.act)
            if noun:
                folks = frame.subject.noun in grammar.words["people"] or frame.subject.noun in grammar.relations
                if folks and not frame.subject.name and predicate.name != DOSE and not _has_its_own(frame, grammar):
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


def _has_its_own(frame: Frame, grammar: Grammar) -> bool:
    """ "My mum has a dog called Rufus": hers, where "the kids named the dog" and "my wife has a cat" tell of one's own."""
    return frame.subject.noun in grammar.words["apart_kin"] and frame.verb in grammar.words["counted_by"]


def _as_said(frame: Frame, grammar: Grammar) -> str:
    """The verb of the clause in the form in which it stands there."""
    words = (trim(word) for word in frame.text.split())
    return next((word for word in words if grammar.verbs.get(lower_in(word, grammar.code)) == frame.verb), frame.verb)


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
    if len(words) > 2 and lower_in(words[0], grammar.code) in grammar.words["particles"]:
        # "save up for …"
        words = words[1:] if lower_in(words[1], grammar.code) in grammar.words["prepositions"] else words
    at = next((i for i, word in enumerate(words) if lower_in(word, grammar.code) in grammar.words["prepositions"]), len(words))
    if at == 0 and len(words) > 1:
        until = next(
            (i for i, w in enumerate(words[1:], 1) if lower_in(w, grammar.code) in grammar.words["prepositions"]), len(words)
        )
        preposition, value = lower_in(words[0], grammar.code), " ".join(words[1:until])
        name = f"{frame.verb}_{preposition}"
        if preposition in INSTEAD or (preposition == "to" and _is_deed(words[1:until], grammar)):
            return
    else:
        name, value = frame.verb, " ".join(words[:at])
    value = shorten(cut(value, grammar), grammar)
    low = lower_in(value, grammar.code)
    if not value or len(value.split()) > MAX_VALUE_WORDS or low in grammar.words["no_values"]:
        return
    if grammar.parser == "german" and low in grammar.calendar.units:
        # "Sie besuchen uns jedes Jahr": when, and nobody.
        return
    if name in tables.predicates and not tables.predicates[name].general:
        # "We named the boat Luna": nobody's name, only the verb is called like it.
        return
    yield Found(frame.subject.subject, name, value, False, "fact")


def _is_deed(words: Sequence[str], grammar: Grammar) -> bool:
    """What somebody does and to what ("to check my calendar"); "to work", "to dance classes" are where somebody goes."""
    low = [lower_in(word, grammar.code) for word in words[:2]]
    if len(low) < 2 or low[0] in grammar.words["determiners"]:
        return False
    owned = grammar.words["pronouns"] | grammar.words["possessives"]
    return low[1] in owned or (grammar.tenses.get(low[0]) == "infinitive" and low[1] in grammar.words["determiners"])


def object_key(value: str, grammar: Grammar) -> str:
    """The object in comparable form."""
    words = normalise_fact_key(lower_in(value, grammar.code)).split()
    days = grammar.calendar.weekdays
    kept = [word for word in words if word not in grammar.words["determiners"] or word.removesuffix("s") in days]
    return " ".join(kept or words)
