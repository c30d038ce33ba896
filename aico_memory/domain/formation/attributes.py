"""Readings of "my <noun> is …": attributes of somebody, times and places of things."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.frames import HOLDER, Frame, Party, shorten
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.turkish_phrases import one_of_kin
from aico_memory.domain.formation.turkish_places import is_part_of_place
from aico_memory.domain.formation.turkish_words import split_case
from aico_memory.domain.formation.wording import first_of, lower_in, squeeze, trim

# Named by who serves one ("my bank account is with …").
SERVED = frozenset({"bank", "gym", "carrier", "insurer", "volunteering"})
TIME, LOCATION, PLAN, FREQUENCY = "time", "location", "plan", "frequency"
ATTRIBUTE = "attribute:"
FAVOURITE = "favourite:"
# "doğumluyum"
_COPULA = re.compile(r"(?<=\w{4})y?[ıiuü][mz]$")
_HOURS = 24
# How German words for what somebody does for a living end.
_TRADES = (
    "erin", "ärztin", "istin", "eurin", "wirt", "arzt", "lehrer", "pfleger", "fahrer", "leiter", "arbeiter", "techniker",
    "händler", "berater", "mechaniker", "macher", "anwalt", "ingenieur", "kaufmann", "kauffrau", "fachfrau", "fachmann",
    "assistent", "student", "beamter", "beamte", "angestellter", "angestellte", "musiker", "künstler", "schlosser",
    "verkäufer", "entwickler", "informatiker", "elektriker", "polizist", "polizistin", "bergmann", "feuerwehrmann", "meister",
)  # fmt: skip
_OF_IT = ("sı", "si", "su", "sü")


@dataclass(frozen=True, slots=True)
class Found:
    """One reading of a clause."""

    subject: str
    predicate: str
    value: str
    single_valued: bool
    kind: str
    # "" as the clause says, or end
    act: str = ""
    # The value holds the phrase of time, which is then no validity.
    temporal: bool = False
    opposite: str = ""
    # What is given up for it ("from X to Y": X).
    left: str = ""


def predicate_of(noun: str, tables: FormationTables, grammar: Grammar) -> tuple[str, bool, str]:
    """Canonical name, whether single-valued, and kind of "my <noun> is …"."""
    words = [word for word in noun.split() if word not in grammar.words["empty"] and word not in grammar.calendar.numbers]
    if grammar.code == "tr" and len(words) > 1 and words[-1][-2:] in _OF_IT and words[-1][:-2] in grammar.words["nouns"]:
        # "wifi şifresi" is "wifi şifremiz" without whose it is.
        words[-1] = words[-1][:-2]
    if grammar.code == "tr" and words and " ".join(words) not in grammar.relations:
        words[-1] = one_of_kin(words[-1], grammar)
        # "iş arkadaşım": of two nouns the second keeps its ending.
        words[-1] = next((f"{words[-1]}{v}" for v in "ıiuü" if f"{' '.join(words)}{v}" in grammar.relations), words[-1])
    bare = " ".join(words) or noun
    bare = next((bare.removesuffix(f" {tail}") for tail in grammar.words["where_had"] if bare.endswith(f" {tail}")), bare)
    ordinal, _, last = bare.partition(" ")
    if ordinal in grammar.words["ordinals"] and not grammar.relations.get(grammar.synonyms.get(last, last), True):
        # "Our third child" is one of the children.
        bare = last
    bare = grammar.synonyms.get(bare, bare)
    several = False
    if bare not in grammar.relations:
        singular = next(
            (bare.removesuffix(end) for end in ("n", "en", "nen", "e", "s") if bare.removesuffix(end) in grammar.relations), ""
        )
        several = bool(singular) and (grammar.parser == "english" or bare.endswith("innen"))
        bare = grammar.synonyms.get(singular, singular) or bare
    for candidate in (noun, bare):
        if name := tables.nouns.get((grammar.code, candidate)):
            known = tables.predicates[name]
            return name, known.single_valued, known.kind
    for favourite in grammar.words["favourites"]:
        if bare.startswith(favourite):
            what = bare.removeprefix(favourite).strip(" -")
            return f"favourite:{grammar.synonyms.get(what, what)}", True, "preference"
    if bare in grammar.relations:
        # "My best friends are …" names several.
        return ATTRIBUTE + bare, grammar.relations[bare] and not several, "profile"
    last = (bare.split() or [""])[-1]
    # One has sisters, but one piano teacher.
    single = len(bare.split()) > 1 or grammar.relations.get(last, True)
    return ATTRIBUTE + bare, single, "profile" if last in grammar.relations else "fact"


def restore(rest: str, phrases: Sequence[str]) -> str:
    """The text with its phrases of time where they stood."""
    return squeeze(HOLDER.sub(lambda match: phrases[int(match.group(1))], rest))


def cut(value: str, grammar: Grammar) -> str:
    """Without what is said beside it ("…, which is nice", "… because of …")."""
    for mark in grammar.marks["asides"]:
        value = mark.sub("", value)
    return value


def attribute(frame: Frame, phrases: Sequence[str], tables: FormationTables, grammar: Grammar) -> Iterator[Found]:  # noqa: PLR0912, PLR0915
    """ "My <noun> is …", "Lena's <noun> is …", "the <noun> is at …"."""
    party = frame.subject
    naming = frame.verb in grammar.words["naming_verbs"]
    if not (naming or frame.verb in grammar.words["copulas"]) or not (party.noun or (party.name and frame.rest)):
        return
    rest, first = frame.rest, lower_in(frame.rest.split()[0], grammar.code) if frame.rest else ""
    named = next((mark.match(rest) for mark in grammar.marks["named"] if mark.match(rest)), None)
    if named or naming:
        rest, first = named["v"] if named else rest, ""
    if (
        grammar.code == "en"
        and frame.verb == "be"
        and not named
        and (grammar.tenses.get(trim(first)) in ("participle", "past", "progressive") or first == "being")
    ):
        return
    if frame.verb == "be" and first == "to" and grammar.code == "en" and party.possessed:
        predicate, single, kind = predicate_of(party.noun, tables, grammar)
        yield Found(party.owner, predicate, cut(rest.partition(" ")[2], grammar), single, kind)
        return
    if frame.verb == "change" and first == "to":
        rest, first = rest.split(" ", 1)[-1], ""
    if (party.name and not party.noun) or (
        first in grammar.words["own"] and (not party.possessed or _is_definite(frame, grammar))
    ):
        yield from _said_of_name(party, rest, frame.text, tables, grammar)
        return
    last = named_head(party.noun, grammar)
    relation = last in grammar.relations or (grammar.code == "de" and last.endswith(_compounds(grammar)))
    if (named or naming) and not party.name:
        predicate, single, kind = predicate_of(party.noun, tables, grammar)
        # "Meine Eltern heißen Inge und Horst."
        several = grammar.parser == "german" and _are_several(frame, grammar)
        yield Found(party.owner, predicate, shorten(rest, grammar), single and not several, kind)
        return
    if relation and (party.name or not _is_name(rest, grammar)):
        return
    own = predicate_of(party.noun, tables, grammar)
    temporal = tables.predicates.get(own[0])
    if rest and frame.times and all(lower_in(word, grammar.code) in grammar.words["determiners"] for word in rest.split()):
        # "Unser Hochzeitstag ist der 12. September."
        rest = first = ""
    if not rest or first in grammar.words["prepositions"]:
        if not rest and not frame.times:
            return
        value = squeeze(restore(with_times(frame), phrases))
        if not frame.times:
            # "Our flat is in Utrecht, right by the canal."
            value = first_of(cut(value, grammar) if grammar.code == "en" else value)
        if temporal is not None and (temporal.temporal or own[0] == "home_city"):
            yield Found(party.owner, own[0], unpreposed(value, grammar), own[1], own[2], temporal=True)
            return
        if own[0] == "role":
            # "My new job is at Bosch" names the employer.
            yield Found(party.owner, "employer", shorten(unpreposed(rest, grammar), grammar), True, "profile")
            return
        served = (own[0].startswith(ATTRIBUTE) and grammar.code != "tr") or own[0] in SERVED
        if first in grammar.words["served_by"] and not frame.times and party.possessed and served:
            # "My insurance is with Allianz."
            yield Found(party.owner, own[0], shorten(unpreposed(rest, grammar), grammar), own[1], own[2])
            return
        # "In the garage until Monday" is a place.
        bounded = bool(rest) and bool(frame.times) and frame.bounds.issuperset(frame.times)
        is_time = (bool(frame.times) and not bounded) or any(
            mark.search(lower_in(rest, grammar.code)) for mark in grammar.marks["clock"]
        )
        hour = unpreposed(value, grammar)
        # "Toplantı 3'te"
        is_time = is_time or (grammar.parser == "turkish" and hour.isdigit() and int(hour) <= _HOURS)
        yield Found(
            _timed(party, grammar), TIME if is_time else LOCATION, unpreposed(value, grammar), True, "fact", temporal=is_time
        )
        return
    if temporal is not None and temporal.temporal and frame.times and grammar.parser == "english":
        # "My birthday is 5 June, same as my brother's."
        when = first_of(squeeze(restore(with_times(frame), phrases)))
        yield Found(party.owner, own[0], unpreposed(when, grammar), own[1], own[2], temporal=True)
        return
    value = shorten(cut(rest, grammar), grammar)
    if relation or any(letter.isdigit() for letter in value):
        value = named_only(value, grammar)
    is_clock = any(mark.search(lower_in(value, grammar.code)) for mark in grammar.marks["clock"])
    if is_clock and own[0].startswith(ATTRIBUTE):
        whole = squeeze(restore(with_times(frame), phrases))
        yield Found(_timed(party, grammar), TIME, unpreposed(whole, grammar), True, "fact", temporal=True)
        return
    if name := _of_a_name(party, grammar):
        relation_predicate, single, kind = predicate_of(name.noun, tables, grammar)
        yield Found(name.owner, relation_predicate, value, single, kind)
        return
    if own[0] in SERVED and value[:1].isdigit() and grammar.parser == "english":
        # "My gym is 52 euros now": what it costs.
        own = (f"{ATTRIBUTE}{party.noun} fee", True, "fact")
    told_of = party.owner != SPEAKER and (value[:1].isupper() or value[:1].isdigit())
    if own[0].startswith("attribute:") and not party.possessed and not told_of:
        # "Ben's shoe size is 31", never "Ben's idea was great".
        return
    if (
        own[0].startswith(ATTRIBUTE)
        and value[:1].islower()
        and grammar.code == "en"
        and len(value.split()) == 1
        and not _nominal(frame, grammar)
    ):
        yield Found(party.subject, "state", value, True, "fact")
        return
    several = (relation or own[0].startswith(FAVOURITE)) and _are_several(frame, grammar)
    yield Found(party.owner, own[0], value, own[1] and not several, own[2])


def named_head(noun: str, grammar: Grammar) -> str:
    """The word that says what a noun phrase names: the appointment in "appointment with the physio"."""
    words = noun.split()
    return words[head_end(words, grammar) - 1] if grammar.parser == "english" else words[-1]


def head_end(words: Sequence[str], grammar: Grammar) -> int:
    """Where the head of a noun phrase ends: before a preposition inside, else with the last word."""
    return next((at for at, word in enumerate(words) if at and word in grammar.words["prepositions"]), len(words))


def _are_several(frame: Frame, grammar: Grammar) -> bool:
    """ "Meine Mitbewohner sind Fritz und Aylin": the verb tells the plural where the noun has none of its own."""
    said = lower_in(frame.text, grammar.code).split()
    if grammar.parser == "turkish":
        return frame.subject.noun.endswith(("lar", "ler"))
    return any(word in grammar.words["plural_copulas"] for word in said)


@lru_cache(maxsize=8)
def _ends_of(relations: frozenset[str]) -> tuple[str, ...]:
    return tuple(noun for noun in relations if len(noun) > 3)


def _compounds(grammar: Grammar) -> tuple[str, ...]:
    """What a noun for a person ends with where nouns are joined ("Laufpartnerin")."""
    return _ends_of(frozenset(grammar.relations))


def named_only(value: str, grammar: Grammar) -> str:
    """Without where or with whom that is, behind a name or a number ("Dr. Haddad at the practice")."""
    words = value.split()
    at = next(
        (i for i, word in enumerate(words) if i and lower_in(word, grammar.code) in grammar.words["prepositions"] - {"von"}),
        len(words),
    )
    return trim(" ".join(words[:at])) or value


def _timed(party: Party, grammar: Grammar) -> str:
    """ "The date of my exam": the time of the exam."""
    return party.owner if party.noun in grammar.words["time_nouns"] and party.owner != SPEAKER else party.subject


def _nominal(frame: Frame, grammar: Grammar) -> bool:
    """Whether an attribute of one small word names a value, and not a passing state ("is broken")."""
    return not frame.rest.endswith(("ed", "ing", "ly"))


def with_times(frame: Frame) -> str:
    """The rest of the clause with its phrases of time, save those that only bound how long it holds."""
    holders = [f"§{number}" for number in frame.times if number not in frame.bounds]
    rest = {trim(word) for word in frame.rest.split()} | set(frame.rest.split())
    tokens = [
        token
        for token in frame.text.split()
        if ((held := HOLDER.search(token)) and int(held.group(1)) not in frame.bounds)
        or trim(token) in rest
        or split_case(trim(token))[1] in rest
        or _COPULA.sub("", trim(token)) in rest
    ]
    return " ".join(tokens) if tokens else " ".join([*holders, frame.rest])


def unpreposed(value: str, grammar: Grammar) -> str:
    words = value.split()
    if grammar.code == "tr" and words and not is_part_of_place(words):
        words[-1] = split_case(words[-1])[1]
    while len(words) > 1 and lower_in(words[0], grammar.code) in grammar.words["prepositions"] | grammar.words["determiners"]:
        if lower_in(words[0], grammar.code).removesuffix("s") in grammar.calendar.weekdays:
            # "samstags um 9"
            break
        if (
            lower_in(words[0], grammar.code) in grammar.calendar.steps
            and lower_in(words[1], grammar.code) in grammar.calendar.units
        ):
            # "diese Woche am Freitag"
            break
        words.pop(0)
    return trim(" ".join(words))


def _of_a_name(party: Party, grammar: Grammar) -> Party | None:
    """ "My sister's name": the sister, where the noun is `name` and its owner is somebody's relation."""
    if party.noun in grammar.words["name_nouns"] and party.owner != SPEAKER:
        return Party(SPEAKER, party.owner, "", True)
    return None


def _is_definite(frame: Frame, grammar: Grammar) -> bool:
    """Whether it is "the Sakura", and not "my Sakura": the only owner named is that of what it is."""
    words = lower_in(frame.text, grammar.code).split()
    return grammar.code == "de" and sum(word in grammar.words["own"] for word in words) == 1


def _said_of_name(party: Party, rest: str, frame_text: str, tables: FormationTables, grammar: Grammar) -> Iterator[Found]:
    """ "Lena is my sister" says who the sister is."""
    words = cut(rest, grammar).split()
    if len(words) < 2 or lower_in(words[0], grammar.code) not in grammar.words["own"]:
        return
    noun = lower_in(named_only(" ".join(words[1:]), grammar), grammar.code)
    predicate, single, kind = predicate_of(noun, tables, grammar)
    name = party.name or party.noun
    said = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", frame_text, re.IGNORECASE)
    yield Found(SPEAKER, predicate, said.group() if said else name, single, kind)


def _is_name(rest: str, grammar: Grammar) -> bool:
    words = rest.split()
    while len(words) > 1 and lower_in(words[0], grammar.code) in grammar.words["determiners"]:
        words.pop(0)
    if not words or not words[0][:1].isupper():
        return False
    if grammar.code == "en" and len(words) == 1 and lower_in(trim(words[0]), "en") in grammar.words["tongues"]:
        # "My boyfriend is Portuguese": nobody is called so.
        return False
    if lower_in(trim(words[0]), grammar.code) in grammar.words["titles"]:
        # "Frau Koch" is no cook.
        return True
    # "Ärztin im Klinikum Fulda"
    end = next((at for at, word in enumerate(words) if at and lower_in(word, grammar.code) in grammar.words["prepositions"]), 0)
    last = words[end - 1] if grammar.code == "de" and end else words[-1]
    return lower_in(last, grammar.code) not in grammar.words["professions"] and not (
        grammar.code == "de" and lower_in(last, "de").endswith(_TRADES) and " " not in rest.partition(last)[0].strip()
    )
