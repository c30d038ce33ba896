"""Understanding a question: whom it is about, which predicates it may mean, what it asks for, and of which time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from aico_memory.domain.formation.german_endings import parts_of
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.turkish_endings import in_harmony
from aico_memory.domain.formation.turkish_phrases import known_verbs, own_noun
from aico_memory.domain.formation.turkish_words import genitive, read_verb
from aico_memory.domain.formation.when import LONGEST_DAY_US, find_times
from aico_memory.domain.formation.wording import even, lower_in, squeeze
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.matching import stems
from aico_memory.domain.recall.thesaurus import meant_by

_GENITIVE = re.compile(r"[A-ZÄÖÜ]\w+[aeio]s")
# How strongly a noun speaks for the predicate that it names.
_NAMED = 1.2
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, read."""

    text: str
    language: str
    words: frozenset[str]
    stems: frozenset[str]
    # Other words for those of the question, and all stems with theirs.
    others: frozenset[str]
    meant: frozenset[str]
    # where | when | since | who | "" (what, which, yes or no)
    asks: str
    # Predicate -> how strongly the wording speaks for it.
    predicates: Mapping[str, float]
    # It wants a name ("who is my …", "what is my dog called").
    naming: bool
    # It asks for what was before ("used to").
    former: bool
    # The time it names itself, or OPEN.
    at_us: int
    # Somebody else is named: nouns of relations in the question.
    relations: frozenset[str]
    # Words with a capital that are not the first: names.
    names: frozenset[str]
    # It wants yes or no of something that it names.
    yes_no: bool = False
    # It asks in the past tense.
    past: bool = False
    # What it names behind "before" or "after".
    before: str = ""
    after: str = ""
    # Predicates that say the contrary of those that it means.
    contrary: frozenset[str] = frozenset()
    # It asks for what is not so ("what don't I eat?").
    denied: bool = False
    # The time it names may lie behind the one for which it is asked.
    ahead: bool = False


def understand(
    question: str, grammar: Grammar, tables: FormationTables, asked_at_us: int, zone: str, *, ahead: bool = False
) -> Question:
    """The question under one language's tables. `ahead`: the time it names may lie behind the one for which it is asked."""
    text = _plainly(squeeze(even(question)), grammar)
    lowered = lower_in(text, grammar.code)
    words = [match.group() for match in _WORD.finditer(text)]
    if grammar.parser == "german":
        # "Wie viel nahm ich?" asks with the words of "Wie viel nehme ich?".
        before = [grammar.verbs[word] for word in _WORD.findall(lowered) if grammar.tenses.get(word) == "past"]
        asked = " ".join([lowered, *before, *(verb[:-1] for verb in before)])
    else:
        asked = lowered
    asks = next((kind for word, kind in grammar.asks if word.search(lowered)), "")
    others = frozenset(other for word in words for other in meant_by(lower_in(word, grammar.code), grammar))
    meant = " ".join([lowered, *sorted(others)])
    predicates: dict[str, float] = {}
    for name, predicate in tables.predicates.items():
        surface = predicate.surfaces.get(grammar.code)
        if surface is None or asks in predicate.not_asked:
            continue
        best = _fit(surface.ask, asked)
        if best == 0 and surface.nouns and _any_of(surface.nouns).search(meant):
            best = _NAMED
        if best:
            predicates[name] = best
    of_traits = _named_by_what_has_it(predicates, lowered, grammar, tables)
    # "What don't I like?" is not answered with what is liked.
    outdone = [one for one in predicates if 0 < predicates[one] < predicates.get(tables.predicates[one].opposite, 0.0)]
    for name in of_traits.union(outdone):
        predicates.pop(name, None)
    _least_general(predicates, tables)
    bare_of = _without_compounds(lowered, grammar, tables)
    # Whatever its ending, all but its last letter stands there.
    mentioned = {noun for noun in grammar.relations if noun[:-1] in bare_of and _mention(noun, grammar.code).search(bare_of)}
    if grammar.parser == "turkish":
        # "oğlum", "karımın": what is mine, whatever vowel it lost.
        bare = [genitive(word) or word for word in lowered.split()]
        mentioned |= {noun for word in bare if (noun := own_noun(word, grammar)) in grammar.relations}
    mentioned |= {other for noun in mentioned for other in meant_by(noun, grammar) if other in grammar.relations}
    relations = frozenset(mentioned | {grammar.synonyms[noun] for noun in mentioned if noun in grammar.synonyms})
    names = frozenset(word.split("'")[0].casefold() for word in words[1:] if word[:1].isupper() and len(word) > 1)
    said = {match.group() for match in _WORD.finditer(lowered)}
    if grammar.parser == "turkish":
        own = {own_noun(word, grammar) for word in said} - {""}
        if asks == "where" and any(
            own_noun(word, grammar) and read_verb(word, known_verbs(grammar)) is None and not word.startswith("nere")
            for word in said
        ):
            # "Pasaportum nerede?" asks for the thing, not for where its owner is.
            predicates.pop("location", None)
        said |= own
    told = stems(text, grammar.code)
    if grammar.parser == "german":
        # "Zahnarzttermin" asks for the "Termin beim Zahnarzt" too.
        told |= {stem for word in said for part in parts_of(word, grammar) if part for stem in stems(part, grammar.code)}
        # "Leas Schuhgröße": a stemmer does not take the s from behind a vowel.
        told |= {stem for word in words if _GENITIVE.fullmatch(word) for stem in stems(word[:-1], grammar.code)}
    past = bool(grammar.past and grammar.past.search(lowered))
    return Question(
        text=text, language=grammar.code, words=frozenset(said), stems=told, others=others,
        meant=told | {stem for other in others for stem in stems(other, grammar.code)}, asks=asks, predicates=predicates,
        naming=bool(grammar.naming and grammar.naming.search(lowered)), former=bool(grammar.former and grammar.former.search(lowered)),  # noqa: E501
        at_us=_time_named(lowered, grammar, asked_at_us, zone, past), ahead=ahead,
        relations=relations, names=names,
        past=past, before=_what(grammar.before, lowered),
        after=_what(grammar.after, lowered), contrary=_contrary(predicates, tables) | of_traits,
        denied=is_denied([lower_in(word, grammar.code) for word in text.strip(" ?.!").split()], text, grammar),
        yes_no=bool(grammar.yes_no and grammar.yes_no.search(lowered) and not (grammar.anything and grammar.anything.search(lowered))),  # noqa: E501
    )  # fmt: skip


def moment_of(question: Question, as_of_us: int) -> int:
    """The moment that is asked about."""
    if question.at_us == OPEN:
        return as_of_us
    return question.at_us if question.ahead else min(question.at_us, as_of_us)


def _time_named(lowered: str, grammar: Grammar, asked_at_us: int, zone: str, past: bool) -> int:
    """The last moment of the day that the question names, the middle of a longer time; OPEN where it names none.

    What may be over or to come ("in June") is over, except where the question asks for what is to come.
    """
    times = find_times(lowered, grammar.calendar, grammar.code, asked_at_us, zone)
    if not times or times[0].kind not in ("at", "ago", "ahead"):
        return OPEN
    to_come = not past and grammar.future is not None and grammar.future.search(lowered) is not None
    span = times[0].bounds(past=not to_come)
    return span[1] - 1 if span[1] - span[0] <= LONGEST_DAY_US else (span[0] + span[1]) // 2


def _named_by_what_has_it(
    predicates: Mapping[str, float], lowered: str, grammar: Grammar, tables: FormationTables
) -> frozenset[str]:
    """The predicates of things that "what colour is my car?" names only to ask what they are like."""
    found = next((match for mark in grammar.marks["asks_trait"] if (match := mark.search(lowered))), None)
    if found is None:
        return frozenset()
    surfaces = ((name, tables.predicates[name].surfaces[grammar.code].nouns) for name in predicates)
    thing = found["of"].strip(" ?.!").partition(" ")[2]
    return frozenset({f"attribute:{thing}"}) | frozenset(
        name
        for name, nouns in surfaces
        if nouns and tables.predicates[name].type and _any_of(nouns).search(found["of"])
        and not _any_of(nouns).search(lowered[: found.start("of")])
    )  # fmt: skip


def _contrary(predicates: Mapping[str, float], tables: FormationTables) -> frozenset[str]:
    """Of the predicates that the wording means, those that say the opposite, save what it asks for as well."""
    return frozenset(tables.predicates[name].opposite for name in predicates) - {"", *predicates}


def is_denied(lowered: Sequence[str], text: str, grammar: Grammar) -> bool:
    """Whether it is told or asked that something is not so, or is so no longer ("I stopped taking aspirin")."""
    negates = grammar.words["negates"]
    if any(word in negates or word.endswith("n't") for word in lowered) or any(
        mark.search(text) for name in ("ended", "stops") for mark in grammar.marks[name]
    ):
        return True
    verb = read_verb(lowered[-1], known_verbs(grammar)) if grammar.parser == "turkish" and lowered else None
    return verb is not None and verb.negated


def _what(wording: re.Pattern[str] | None, lowered: str) -> str:
    found = wording.search(lowered) if wording else None
    return found["what"] if found else ""


def _least_general(predicates: dict[str, float], tables: FormationTables) -> None:
    """ "What hobbies did I have?" asks for hobbies, and not for whatever is had: what is named comes first."""
    named = max((score for name, score in predicates.items() if not tables.predicates[name].general), default=0.0)
    for name in predicates if named >= _NAMED else ():
        if tables.predicates[name].general:
            predicates[name] = min(predicates[name], named - 0.1)


def _fit(bags: Iterable[Sequence[re.Pattern[str]]], lowered: str) -> float:
    """1, and half of each word, of the largest bag whose words all stand there; 0 where none does."""
    best = 0.0
    for bag in bags:
        # Hundreds of bags a question: a generator would take as long as the search.
        for word in bag:
            if not word.search(lowered):
                break
        else:
            best = max(best, 1.0 + 0.5 * len(bag))
    return best


def _plainly(text: str, grammar: Grammar) -> str:
    """The question in the plainer wording that the language's file knows for it."""
    for wording, plainer in grammar.asked:
        # Few of them are there, and looking for one takes less than replacing it.
        if wording.search(text):
            text = wording.sub(plainer, text)
    return in_harmony(text) if grammar.parser == "turkish" else text


def _without_compounds(text: str, grammar: Grammar, tables: FormationTables) -> str:
    """The text without nouns of several words in which a relation is named and nobody is meant ("mother tongue")."""
    for noun in tables.compounds.get(grammar.code, ()):
        if noun in text and not {noun, noun.split()[-1]} & grammar.relations.keys():
            text = text.replace(noun, " ")
    return text


def _root(noun: str) -> str:
    """A noun whose last k may have softened."""
    return re.escape(noun[:-1]) + "[kğ]" if len(noun) > 3 and noun.endswith("k") else re.escape(noun)


@lru_cache(maxsize=1024)
def _any_of(nouns: frozenset[str]) -> re.Pattern[str]:
    """A word that begins with one of these."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(_root, sorted(nouns)))})")


@lru_cache(maxsize=4096)
def _mention(noun: str, language: str) -> re.Pattern[str]:
    """The noun of a relation in the forms in which a question of that language names it."""
    if language == "tr":
        stem = re.escape(noun[:-1]) + (r"[kğ]" if noun.endswith("k") else re.escape(noun[-1]))
        return re.compile(rf"(?<!\w){stem}[ıiuü]?m(?:[ıiuü]z)?(?:[ıiuü]n|[dy][ae]|l[ae]|[ıiuüe])?(?!\w)")
    if language == "de":
        return re.compile(rf"(?<!\w){re.escape(noun)}(?:s|es|n|en|e)?(?!\w)")
    return re.compile(rf"(?<!\w){re.escape(noun)}s?(?:'s)?(?!\w)")
