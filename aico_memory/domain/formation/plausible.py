"""Whether a value may be believed of its predicate: ordinary talk has the form of a fact much more often than it tells one.

"That's a great goal" is said like "That's a plumber" and "since we spoke" like "I speak Greek". What tells them apart is
what the value is, so each language lists it for the predicates whose wording is that of everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aico_memory.domain.formation.attributes import Found
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.frames import Frame
from aico_memory.domain.formation.grammar import FormationTables, Grammar, Plausible
from aico_memory.domain.formation.turkish_passing import passing
from aico_memory.domain.formation.wording import lower_in, trim

# Words up to this length end like what is done without being it ("ring").
_SHORT = 5
# Groups of words that say nothing by themselves.
_EMPTY = ("prepositions", "determiners", "pronouns", "stops", "adverbs", "subjects")


def plausible(found: Iterable[Found], frame: Frame, sentence: str, tables: FormationTables, grammar: Grammar) -> list[Found]:
    """The readings of a clause that may be facts."""
    return [
        one
        for one in found
        if is_plausible(one, frame, sentence, tables, grammar) and not passing(one, frame, sentence, tables, grammar)
    ]


def is_plausible(found: Found, frame: Frame, sentence: str, tables: FormationTables, grammar: Grammar) -> bool:
    """Whether the reading may be a fact. What ends or denies something is: it can only end what there is."""
    beliefs = grammar.beliefs
    said = lower_in(found.value, grammar.code)
    if found.subject in beliefs.nobody or said in beliefs.nobody:
        return False
    # "attribute:beach": all of them are held to one rule.
    family = found.predicate.partition(":")[0]
    rule = beliefs.values.get(family)
    if rule is None or not found.value or found.act == "end" or frame.negated:
        return True
    written = [word for word in map(trim, found.value.split()) if word]
    words = [word for word in map(trim, said.split()) if word]
    if not words:
        return False
    if (
        rule.no_opinions
        and not any(_is_name(word, grammar) for word in _telling(written, grammar))
        and _is_opinion(words, grammar)
    ):
        # "The view was incredible"
        return False
    if rule.lasting and words[-1].endswith(rule.lasting) and not _is_own(frame, grammar):
        # "Bahçe çiçekliydi"
        return False
    if rule.open_to_all:
        return _is_open_to(said, words, frame, rule, grammar)
    if all(any(word in grammar.words[group] for group in _EMPTY) for word in words):
        # "I joined in", "it has been a while"
        return False
    noun = frame.subject.noun
    by_noun = bool(noun) and not {noun, noun.split()[-1]}.isdisjoint(_nouns(found.predicate, tables, grammar))
    if rule.of_people and not by_noun and not _is_person(frame, grammar):
        return False
    over = frame.verb in rule.present and (frame.past or frame.perfect) and not frame.times
    if over and not any(mark.search(sentence) for mark in grammar.marks["before_that"]):
        # "When I was ten"
        return False
    if frame.verb in rule.trusted:
        return True
    if by_noun and _is_named_by_noun(found.value, words, rule, grammar):
        return True
    return _is_one(written, words, frame, rule, tables.types, grammar)


def _is_open_to(said: str, words: list[str], frame: Frame, rule: Plausible, grammar: Grammar) -> bool:
    """Any value but those that the rule shuts out."""
    if frame.verb in rule.present and (frame.past or frame.perfect) and not frame.once:
        # "Mutfağı topladım" is no hobby, "pul topluyorum" is.
        return False
    if rule.no_doing and words[0].endswith(rule.no_doing) and len(words[0]) > _SHORT:
        return False
    outside = rule.of_people and not frame.subject.possessed and not _is_person(frame, grammar)
    never = {_head(words, grammar)[0], words[0]} & rule.never
    return not (outside or never or _before(f"{said} ", f"{frame.rest} ") in rule.not_after)


def _is_named_by_noun(value: str, words: list[str], rule: Plausible, grammar: Grammar) -> bool:
    """ "My job is teaching maths", "my name is sam"."""
    if len(words) > 1 and rule.doing and words[0].endswith(rule.doing):
        return True
    bare = bool(rule.bare_after) and len(words) == 1 and words[0] not in rule.never
    return (bare and grammar.tenses.get(words[0]) != "progressive") or _is_name(value, grammar)


def _nouns(predicate: str, tables: FormationTables, grammar: Grammar) -> frozenset[str]:
    known = tables.predicates.get(predicate)
    surface = known.surfaces.get(grammar.code) if known else None
    return surface.nouns if surface else frozenset()


def _is_person(frame: Frame, grammar: Grammar) -> bool:
    party = frame.subject
    nouns = (party.noun, *party.noun.split()[-1:])
    related = any(noun in grammar.relations or noun in grammar.words["people"] for noun in nouns)
    return party.subject == SPEAKER or bool(party.name) or related


def _is_one(
    written: list[str], words: list[str], frame: Frame, rule: Plausible, types: Mapping[str, frozenset[str]], grammar: Grammar
) -> bool:
    (head, cut), said = _head(words, grammar), " ".join(words)
    if rule.number:
        numbers = grammar.calendar.numbers
        counted = words[0][:1].isdigit() or words[0].split("-")[0] in numbers
        return counted and all(word[:1].isdigit() or word.split("-")[0] in numbers or word in rule.beside for word in words)
    if rule.most_words and len(words) > rule.most_words:
        return False
    if frame.verb in rule.not_with and f" with {said}" in frame.rest.casefold() and head not in rule.heads:
        # "I started a running group with Anna"
        return False
    named = written if rule.named == "any" else written[min(cut, len(written)) - 1 :][:1] if rule.named == "last" else []
    if any(_is_name(word, grammar) and _ends_so(word, rule, grammar) for word in named):
        return True
    bare = frame.verb in rule.bare_after and len(words) == 1 and said not in rule.never
    if bare and f" {said}" in f" {frame.rest}".casefold() and _before(said, frame.rest) in grammar.words["prepositions"]:
        # "i work at acme": a message that knows no capitals, and no article before a name.
        return True
    if any(said in types[name] or head in types[name] for name in rule.type):
        return True
    if head in rule.never:
        return False
    return head in rule.heads or said in rule.heads or bool(rule.endings and head.endswith(rule.endings))


def _ends_so(name: str, rule: Plausible, grammar: Grammar) -> bool:
    return not rule.named_endings or lower_in(name, grammar.code).endswith(rule.named_endings)


def _before(said: str, clause: str) -> str:
    """The word of a clause before what is said in it; its last one where that does not stand in it."""
    before = f" {clause}".casefold().partition(f" {said}")[0].split()
    return before[-1] if before else ""


def _head(words: list[str], grammar: Grammar) -> tuple[str, int]:
    """What it is, and after how many words: "head of marketing", "nurse with a night shift"."""
    ends, within = grammar.words["prepositions"], grammar.beliefs.within
    cut = next((at for at, word in enumerate(words) if at and (word in ends or word in within)), len(words))
    return words[cut - 1], cut


def _telling(words: list[str], grammar: Grammar) -> list[str]:
    """The words of which one may be a name; where the last one says what it is, a capital before it is the sentence's."""
    return words[-1:] if grammar.beliefs.head_last else words


def _now(word: str, grammar: Grammar) -> str:
    """The word without an ending of the past: "inanılmazdı" as "inanılmaz"; itself where it has none."""
    ending = next((one for one in grammar.beliefs.past_endings if word.endswith(one) and len(word) > len(one) + 2), "")
    return word.removesuffix(ending)


def _is_own(frame: Frame, grammar: Grammar) -> bool:
    """The speaker or a relation. A name does not tell: what a sentence opens with is written like one."""
    noun = frame.subject.noun
    return frame.subject.subject == SPEAKER or noun in grammar.relations or noun in grammar.words["people"]


def _is_opinion(words: list[str], grammar: Grammar) -> bool:
    adverbs, beliefs = grammar.words["adverbs"], grammar.beliefs
    if beliefs.head_last:
        return bool({words[-1], _now(words[-1], grammar)} & beliefs.opinions)
    first = next((word for word in words if word not in adverbs and word not in beliefs.degrees), "")
    return not first or first in beliefs.opinions or words[0] in beliefs.degrees


def _is_name(word: str, grammar: Grammar) -> bool:
    low = lower_in(word, grammar.code)
    # "Marrying my partner was …": the capital is that of the sentence.
    other = low in grammar.words["speaker"] or grammar.tenses.get(low) == "progressive"
    return (word[0].isupper() or word[0].isdigit()) and not other
