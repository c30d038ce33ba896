"""Whom a question is about: the subjects, other than the speaker, that it names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from aico_memory.domain.formation.attributes import ATTRIBUTE
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.german_endings import parts_of
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.turkish_phrases import known_verbs, own_noun
from aico_memory.domain.formation.turkish_words import genitive, read_verb
from aico_memory.domain.formation.wording import lower_in
from aico_memory.domain.recall.groups import Group, head_of
from aico_memory.domain.recall.matching import covered, same_head, stems
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.timeline import THINGS, Held

_WORD = re.compile(r"[^\W\d_]+")
# A Turkish word with a capital, and the ending of a name.
_CAPITAL = re.compile(r"(?<![\w'])(?P<name>[A-ZÇĞİÖŞÜ][^\W\d_]+)(?P<case>'\w+)?")
# "… miyim?"
_MINE = re.compile(r"m[ıiuü]y?[ıiuü][mz]")
# Letters of a word that may be another form of a name.
_LEAST_NAME = 3
_NO_NAMES = ("asking", "pronouns", "adverbs", "openers", "empty", "events", "nouns", "time_nouns", "determiners", "favourites")


def is_relation(predicate: str, tables: FormationTables) -> bool:
    """Whether it says that somebody or something is somebody's something."""
    known = tables.predicates.get(predicate)
    return predicate.startswith(ATTRIBUTE) or (known is not None and known.relation)


def is_of_others(group: Group, question: Question, tables: FormationTables) -> bool:
    """ "When do the kids eat?" is not answered with when the speaker does; nor its colour with what a chair is."""
    if group.predicate in question.contrary:
        return True
    grammar = tables.grammars[question.language]
    done = ":" not in group.predicate and group.subject == SPEAKER and grammar.parser == "english"
    # "Who is my running mate?" names one whom the speaker runs with.
    done = done and not question.naming
    return done and bool(question.relations) and question.words.isdisjoint(grammar.words["speaker"])


def of_somebody(group: Group, question: Question, nouns: frozenset[str], tables: FormationTables) -> bool:
    """ "Which pet does my sister have?": whose it is, where the noun only says what it is."""
    others = question.relations - nouns - tables.types["animal"] - tables.grammars[question.language].collectives.keys()
    return not is_relation(group.predicate, tables) and bool(others & tables.grammars[question.language].words["kin"])


def known_by_name(groups: Sequence[Group], tables: FormationTables) -> frozenset[str]:
    """The names of those who were told to be somebody's something."""
    return frozenset(
        one.fact.value.casefold()
        for group in groups
        if is_relation(group.predicate, tables)
        for one in group.held
        if one.fact.value[:1].isupper()
    )


def _told_apart(subject: str, question: Question, tables: FormationTables) -> list[str]:
    """The words of a subject without those that only say that it is a time ("rapor teslim tarihi")."""
    time = tables.grammars[question.language].words["time_nouns"]
    words = subject.split()
    return [word for word in words if word not in time] if len(words) > 2 else words


def subjects_of(question: Question, groups: Sequence[Group], tables: FormationTables) -> frozenset[str]:
    """Subjects other than the speaker that the question names."""
    found = set()
    for group in groups:
        if group.subject == SPEAKER:
            continue
        words = stems(group.subject, question.language)
        if covered(_told_apart(group.subject, question, tables), question.words, question.language) or (
            words
            and (words <= question.stems or set(group.subject.split()) <= question.names or group.subject in question.relations)
        ):
            found.add(group.subject)
    if not found:
        # "the meeting" for "the team meeting", where there is only one.
        heads = {
            group.subject
            for group in groups
            if group.subject != SPEAKER and group.predicate in THINGS and len(group.subject.split()) > 1
            and (stems(head_of(group.subject, question.language, tables), question.language) <= question.stems
                 or stems(group.subject.split()[-1], question.language) <= question.stems
                 or any(same_head(group.subject, word, question.language) for word in question.words))
        }  # fmt: skip
        found |= heads if len(heads) == 1 else set()
    if not found and question.asks == "when" and question.language == "tr":
        # "Dişçiye ne zaman gideceğim?": the only "dişçi randevusu".
        named = {
            group.subject for group in groups
            if group.predicate == "time" and _is_named_by(group.subject.split(), question, tables)
        }  # fmt: skip
        found |= named if len(named) == 1 else set()
    if not found and question.asks == "when" and question.language == "en":
        # "When do I have to be at the dentist's?": the only appointment that is named by one of its words.
        by_word = {
            group.subject for group in groups
            if group.predicate == "time" and len(group.subject.split()) > 1
            and any(stems(word, "en") <= question.stems for word in group.subject.split()[:-1])
        }  # fmt: skip
        found |= by_word if len(by_word) == 1 else set()
    if not found and question.asks == "when" and question.language == "de":
        # "Wann muss ich zum Zahnarzt?": the only appointment that is named by it.
        named = {
            group.subject for group in groups
            if group.predicate == "time" and "-" in group.subject
            and stems(group.subject.partition("-")[0], "de") <= question.stems
        }  # fmt: skip
        found |= named if len(named) == 1 else set()
    for group in groups:
        # "my sister": the one whom the speaker has named so.
        if group.subject == SPEAKER:
            known = tables.predicates.get(group.predicate)
            noun = group.predicate.removeprefix(ATTRIBUTE) if group.predicate.startswith(ATTRIBUTE) else ""
            mine = (
                known.surfaces[question.language].nouns
                if known and known.relation and question.language in known.surfaces
                else frozenset()
            )
            # Turkish stems of "abla" and "abi" are one.
            stemmed = question.language != "tr" or noun not in tables.grammars["tr"].relations
            # "Üst komşum": all of a longer name.
            longer = " " in noun and set(noun.split()) <= question.words
            if mine & question.relations or (
                noun
                and (longer or noun in question.relations or (stemmed and stems(noun, question.language) <= question.stems))
            ):
                found.update(
                    one.fact.value.casefold()
                    for one in group.held
                    if any(g.subject == one.fact.value.casefold() for g in groups)
                )
    return frozenset(found)


def _is_named_by(words: list[str], question: Question, tables: FormationTables) -> bool:
    """Whether a Turkish question names all of an appointment but that it is one."""
    event = any(words[-1].startswith(one) for one in tables.grammars["tr"].words["events"])
    return len(words) > 1 and event and covered(words[:-1], question.words, "tr")


def names_a_thing(question: Question, grammar: Grammar) -> bool:
    """Whether it asks where a thing of the speaker's is ("Where is my passport?"), and not where they live or are."""
    if question.asks != "where" or set(question.predicates) - {"location"} or question.relations:
        return False
    return any(before.casefold() in grammar.words["own"] for before in _WORD.findall(question.text)[:-1])


def names_a_stranger(question: Question, held: Sequence[Held], grammar: Grammar) -> bool:
    """Whether it asks of somebody of whom nothing was said, and not of the speaker ("Where does Peter live?")."""
    if question.relations or question.words & (grammar.words["speaker"] | grammar.words["own"]):
        return False
    words = _WORD.findall(question.text)
    if grammar.parser == "turkish":
        return _unknown_in_turkish(question, held, grammar)
    named = [word for word in words[1:] if word[:1].isupper() and len(word) > 1]
    if grammar.parser == "german":
        # Every noun has a capital; a name stands behind its verb without an article.
        # "Wann ist Chorprobe?" asks for no person.
        behind = [word for before, word in pairwise(words) if word in named and before.casefold() in grammar.verbs]
        named = [word for word in behind if not (parts_of(word, grammar)[0] or word.casefold() in grammar.words["events"])]
    if not named:
        return False
    unknown = {name.casefold() for name in named}
    for one in held:
        for text in (one.subject, one.fact.text, one.speaker):
            unknown.difference_update(_WORD.findall(text.casefold()))
        if not unknown or (question.yes_no and one.subject in question.names):
            # "Does Lena live in Rome?" asks of Lena.
            return False
    return True


@lru_cache(maxsize=4)
def _common(nouns: frozenset[str]) -> re.Pattern[str]:
    """A common noun in any of its forms ("evin", "toplantısı")."""
    roots = "|".join(re.escape(noun) for noun in sorted(nouns))
    return re.compile(rf"(?:{roots})(?:l[ae]r)?(?:s?[ıiuü])?(?:n?[ıiuü]n|[yn]?[ae]|[yn]?[ıiuü]|n?[dt][ae]n?)?")


def _unknown_in_turkish(question: Question, held: Sequence[Held], grammar: Grammar) -> bool:
    """ "Ali nerede yaşıyor?": a Turkish verb tells the person, and a question may begin with the name."""
    lowered = [lower_in(word, grammar.code) for word in _WORD.findall(question.text)]
    verbs = known_verbs(grammar)
    for word in lowered:
        verb = read_verb(word, verbs)
        if _MINE.fullmatch(word) or own_noun(genitive(word) or word, grammar) or (verb is not None and verb.first_person):
            return False
    known = frozenset().union(*(grammar.words[name] for name in _NO_NAMES), grammar.calendar.weekdays, grammar.calendar.months)
    named = {lower_in(match["name"], grammar.code) for match in _CAPITAL.finditer(question.text)}
    common = _common(grammar.words["nouns"] | grammar.words["events"] | frozenset(grammar.relations))
    unknown = {name for name in named if name not in known and not common.fullmatch(name) and read_verb(name, verbs) is None}
    if not unknown:
        return False
    texts = (text for one in held for text in (one.subject, one.fact.text, one.speaker))
    told = {word for text in texts for word in _WORD.findall(lower_in(text, grammar.code))}
    longer = [one for one in told if len(one) > _LEAST_NAME]
    return not any(covered([name], told, "tr") or any(covered([one], [name], "tr") for one in longer) for name in unknown)
