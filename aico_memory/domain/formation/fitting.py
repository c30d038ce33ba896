"""Whether what a pattern found may be what it names: types of its slots, and values that never are one."""

from __future__ import annotations

from itertools import takewhile

from aico_memory.domain.formation.german import PARTICIPLE
from aico_memory.domain.formation.grammar import FormationTables, Grammar, Pattern, Predicate
from aico_memory.domain.formation.kinds_of_things import are_folks, is_a
from aico_memory.domain.formation.wording import lower_in

# What is taken as an object, never with a preposition.
TAKEN = frozenset({"plays", "eats", "drinks", "owns", "uses", "hobby", "does"})
# Values that may begin with a preposition ("mit Milch", "unter dem Bett").
PREPOSED = frozenset({"manner", "location", "time", "status", "work_mode", "progress"})
EMPLOYER, HOME, PROJECT = "employer", "home_city", "project"
CAR = "car"
# Under which things are had.
HAD = frozenset({"owns", CAR, "pet", "computer", "camera", "phone"})
# Letters of a word that another one is put before ("Zweizimmerwohnung"); "Neuhaus" is a place.
_WHOLE = 6
_THERE = frozenset({"home", "there", "here", "everyone", "you", "past"})
_DONE, _TITLES = ("past", "participle"), ("dr ", "dr. ", "doctor ", "prof ", "prof. ")
_WHOM = frozenset({"him", "her", "them", "me", "us", "someone", "somebody"})


def fits(
    pattern: Pattern, predicate: Predicate, value: str, noun: str, beside: str, tables: FormationTables, grammar: Grammar
) -> bool:
    """Whether all slots hold what they must."""
    slots = ((pattern.value_type, value), (pattern.noun_type, noun), (pattern.beside_type, beside))
    if any(wanted and not is_a(said, wanted, tables, grammar) for wanted, said in slots):
        return False
    first = lower_in(value, grammar.code).partition(" ")
    bare = grammar.parser == "german" and not predicate.temporal and predicate.name not in PREPOSED
    if bare and first[2] and first[0] in grammar.words["prepositions"]:
        # "Gegen den Blutdruck nehme ich …", "er studiert in Jena": where or what for, and no object.
        return False
    if predicate.name in TAKEN and lower_in(value, grammar.code).partition(" ")[0] in grammar.words["prepositions"]:
        # "I'm playing with The Lanterns."
        return False
    if predicate.name == HOME and pattern.act == "" and (value[:1].isdigit() or is_a(value, "when", tables, grammar)):
        # "We moved it to 1:30": nobody lives there.
        return False
    if predicate.name == "owns" and grammar.code == "de" and _done(value, grammar):
        # "Ich habe mich umentschieden."
        return False
    if predicate.name in (HOME, "location") and _no_place(predicate, pattern, value, tables, grammar):
        return False
    hollow = grammar.words["prepositions"] | grammar.words["determiners"]
    if value and grammar.parser == "english" and all(lower_in(word, grammar.code) in hollow for word in value.split()):
        # "Speaking of which", "I worked on it for a while".
        return False
    if predicate.name == CAR and grammar.parser == "english" and first[0] in _WHOM | grammar.words["particles"] | _THERE:
        # "The ads were driving me mad", "drove out to the coast".
        return False
    if predicate.name == PROJECT and lower_in(value, grammar.code) in predicate.surfaces[grammar.code].nouns:
        # "I've been working on a project lately": which one is not said.
        return False
    last = value.rsplit(maxsplit=1)[-1] if value else ""
    if predicate.name in TAKEN and grammar.parser == "english" and grammar.tenses.get(last) in _DONE:
        # "She had her hip replaced."
        return False
    if predicate.name == "gym" and value.split()[0:1] == ["gym"]:
        # "I go to the gym three times a week": which one is not said.
        return False
    if predicate.name == EMPLOYER and f"{value.casefold()} ".startswith(_TITLES):
        return False
    # "Until Friday I'm with my parents."
    return predicate.name != EMPLOYER or not (are_folks(value, grammar) or value[:1].isdigit())


def _no_place(predicate: Predicate, pattern: Pattern, value: str, tables: FormationTables, grammar: Grammar) -> bool:
    """ "Im dritten Monat"; "I live in a shared flat" names none either."""
    words = lower_in(value, grammar.code).split()
    if grammar.parser == "german" and any(word in grammar.calendar.units for word in words):
        return True
    kinds = tuple(kind for kind in tables.types["dwelling"] if len(kind) >= _WHOLE) if grammar.parser == "german" else ()
    compound = bool(kinds and words) and words[-1].endswith(kinds)
    return predicate.name == HOME and pattern.act == "" and (compound or is_a(value, "dwelling", tables, grammar))


def _done(value: str, grammar: Grammar) -> bool:
    """Whether it is what one did, and no thing."""
    words = value.split()
    last = words[-1] if words else ""
    return value == value.lower() and (bool(PARTICIPLE.match(last)) or grammar.tenses.get(last) in ("infinitive", "both"))


def without_relation(value: str, grammar: Grammar) -> str:
    """ "Meine Freundin Elif": Elif."""
    words = value.split()
    while len(words) > 1 and lower_in(words[0], grammar.code) in (*grammar.relations, *grammar.words["own"]):
        words.pop(0)
    return " ".join(words)


def named_by(noun: str, beside: str, grammar: Grammar) -> str:
    """ "An appointment with the optician" is an optician appointment; with somebody who has a name, an appointment."""
    common = len(beside.split()) == 1 and beside.islower() and beside not in _WHOM | grammar.words["pronouns"]
    return f"{beside} {noun}" if noun and common and grammar.parser == "english" else noun


def of_what(noun: str, grammar: Grammar) -> str:
    """ "20 mg of lisinopril in the morning": of lisinopril, without when."""
    return " ".join(takewhile(lambda word: word not in grammar.words["stops"], noun.split())) if grammar.code == "en" else noun
