"""Whether the facts of a question's predicate answer it, or a statement that mirrors its wording."""

from __future__ import annotations

from collections.abc import Sequence

from aico_memory.domain.formation.attributes import ATTRIBUTE
from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import lower_in, trim
from aico_memory.domain.recall.alike import alike, any_alike
from aico_memory.domain.recall.groups import Recalled
from aico_memory.domain.recall.matching import same_object
from aico_memory.domain.recall.mirrored import Mirrored, Utterance, mirrored
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.slots import AMOUNT, CLOCK, WHEN, WHO, Slot, is_relation
from aico_memory.domain.recall.timeline import Held

# From this score on a question's wording means a predicate.
KNOWN = 1.0


def by_wording(
    facts: Recalled, said: Sequence[Utterance], held: Sequence[Held], question: Question, slot: Slot | None, grammar: Grammar,
    at_us: int,
) -> list[Mirrored]:  # fmt: skip
    """What the messages answer by their wording, where that is the better answer; nothing where facts answer.

    `slot` as the question leaves it open; None: nothing can be read by its wording.
    """
    if slot is None:
        return []
    if slot.kind in (WHEN, CLOCK):
        said = [one for one in said if not tells_an_exception(one.text, grammar)]
    mirror = mirrored(slot, question.past, grammar, said, at_us)
    return mirror if _is_better(mirror, facts, held, question, slot, grammar, at_us) else []


def tells_an_exception(text: str, grammar: Grammar) -> bool:
    """Whether a message tells when something is for once, or that it is cancelled: no such time is that of the thing."""
    if any(mark.search(text) for mark in grammar.marks["for_once"]):
        return True
    words = [trim(word) for word in lower_in(text, grammar.code).split()]
    verbs = {grammar.verbs[word] for word in words if word in grammar.verbs}
    cancels = grammar.words["cancels"]
    # "Fällt … aus"
    return grammar.parser == "german" and any(
        one in cancels or any(f"{particle}{one}" in cancels for particle in words) for one in verbs
    )


def _is_better(
    mirror: Sequence[Mirrored], facts: Recalled, held: Sequence[Held], question: Question, slot: Slot, grammar: Grammar,
    at_us: int,
) -> bool:  # fmt: skip
    """Whether what mirrors the question is the better answer: facts know of ends and corrections, wording knows any verb."""
    if not mirror or any(known_otherwise(one, held, question, grammar, at_us) for one in mirror):
        return False
    answered = [one.fact.object_key for one in facts.answer]
    values = [normalise_fact_key(one.value) for one in mirror]
    if len(answered) > len(values) and _within(values, answered, question.language):
        # Facts gather what was said one after the other; where one is asked for, it is the last.
        newest = max(one.statement.said_at_us for one in facts.answer)
        last = bool(grammar.words["now"] & question.words) or not stand_together(facts.answer, question)
        return slot.single and last and len(values) == 1 and mirror[0].utterance.said_at_us >= newest
    if len(answered) >= len(values) == 1 and _within(values, [" ".join(answered)], question.language):
        return False
    several = (
        bool(answered) and not facts.answer[0].fact.single_valued and len({one.value[:1].isupper() for one in mirror}) == 1
    )
    if several and len(answered) < len(values) and _within(answered, values, question.language):
        # Of a list the rules have read a part.
        return True
    if facts.answer and any(_is_no_answer(one, slot, mirror, grammar) for one in facts.answer):
        return True
    said = max(one.utterance.said_at_us for one in mirror)
    if facts.answer and all(_is_newer_measure(one, slot, mirror[0], grammar) for one in facts.answer):
        return False
    of_it = facts.answer or facts.asked or _of_its_predicates(held, question, slot, grammar)
    if not of_it or not all(_speaks_of_it(one, question, slot, grammar) for one in of_it):
        return True
    if (
        facts.answer
        and slot.optional
        and slot.names.issuperset(slot.keys)
        and all(question.predicates.get(one.predicate, 0.0) >= KNOWN for one in facts.answer)
    ):
        # "What breed is Kiko?": any message names Kiko, and the fact is a breed.
        return False
    # It was told once more, in words that the rules did not read.
    newest = max(one.statement.said_at_us for one in of_it)
    about = {(one.subject, one.predicate) for one in of_it}
    read = any(
        one.statement.said_at_us == said
        and ((one.subject, one.predicate) in about or same_object(one.fact.object_key, value, question.language))
        for one in held
        for value in values
    )
    return said > newest and not read


def stand_together(facts: Sequence[Held], question: Question) -> bool:
    """Whether several facts all answer: of one predicate that the question means and that may have several values."""
    if len({(one.subject, one.predicate) for one in facts}) != 1:
        return False
    first = facts[0]
    meant = question.predicates.get(first.predicate, 0.0) >= KNOWN or first.predicate.startswith(ATTRIBUTE)
    return meant and len(facts) > 1 and not first.fact.single_valued


def _within(few: Sequence[str], many: Sequence[str], language: str) -> bool:
    return all(any(same_object(one, other, language) for other in many) for one in few)


def _of_its_predicates(held: Sequence[Held], question: Question, slot: Slot, grammar: Grammar) -> list[Held]:
    """All that was ever told under a predicate that the question means, of whom it asks, what was taken back as well."""
    return [
        one
        for one in held
        if question.predicates.get(one.predicate, 0.0) >= KNOWN
        and (one.subject == SPEAKER if slot.own else any_alike(slot.keys, one.subject, grammar))
    ]


def _is_no_answer(one: Held, slot: Slot, mirror: Sequence[Mirrored], grammar: Grammar) -> bool:
    """Whether a fact gives back a word of the question, or is of another sort than what is asked for."""
    value = [lower_in(trim(word), grammar.code) for word in one.fact.value.split()]
    if value and all(any_alike((*slot.keys, *slot.optional), word, grammar) for word in value):
        return True
    if any(any_alike(slot.keys, word, grammar) for word in value):
        return True
    if slot.kind == WHO and not one.fact.value[:1].isupper():
        return any(other.value[:1].isupper() for other in mirror)
    if slot.kind in (AMOUNT, CLOCK) and not any(letter.isdigit() for letter in one.fact.value):
        return any(letter.isdigit() for other in mirror for letter in other.value) and not _counts(value, grammar)
    told = [lower_in(trim(word), grammar.code) for word in f"{one.predicate.replace(':', ' ')} {one.fact.text}".split()]
    said = [lower_in(trim(word), grammar.code) for other in mirror for word in other.value.split()]
    return any(
        any(alike(sort, word, grammar) for word in said) and not any(alike(sort, word, grammar) for word in told)
        for sort in slot.optional
    )


def _is_newer_measure(one: Held, slot: Slot, other: Mirrored, grammar: Grammar) -> bool:
    """Whether a fact says another number of the same unit, later: "100 mg", where "75 mg" had been said in full."""
    if slot.kind != AMOUNT or one.statement.said_at_us <= other.utterance.said_at_us or (slot.own and one.subject != SPEAKER):
        return False
    units = [word for word in other.value.casefold().split() if not word[:1].isdigit()]
    return any(any_alike(units, word, grammar) for word in one.fact.value.casefold().split())


def _counts(value: Sequence[str], grammar: Grammar) -> bool:
    return bool(value) and value[0] in grammar.calendar.numbers


def known_otherwise(one: Mirrored, held: Sequence[Held], question: Question, grammar: Grammar, at_us: int) -> bool:
    """Whether the facts know the value, and that it did not hold then: it was ended, corrected or taken back."""
    same = [fact for fact in held if same_value(fact.fact.value, one.value, grammar)]
    mine = [fact for fact in same if fact.statement.said_at_us == one.utterance.said_at_us]
    if mine and not any(fact.holds_at(at_us) for fact in mine):
        return True
    if says_the_contrary(mine, question, one.value, at_us):
        return True
    # The message may be the one that ended it.
    meant = [fact for fact in same if question.predicates.get(fact.predicate, 0.0) >= KNOWN]
    over = [fact for fact in meant if fact.invalid or one.utterance.said_at_us <= fact.until_us <= at_us]
    return bool(over) and not any(fact.holds_at(at_us) for fact in meant)


def says_the_contrary(facts: Sequence[Held], question: Question, value: str, at_us: int) -> bool:
    """Whether the value is what the opposite of the question is answered with: what one likes is nothing that one hates."""
    key = normalise_fact_key(value)
    same = {one.predicate for one in facts if normalise_fact_key(one.fact.value) == key and one.holds_at(at_us)}
    return bool(same & question.contrary) and not same & question.predicates.keys()


def same_value(one: str, other: str, grammar: Grammar) -> bool:
    """Whether the words of the shorter value all stand in the longer one, in whatever form."""
    few, many = sorted(
        ([lower_in(trim(word), grammar.code) for word in text.split() if trim(word)] for text in (one, other)), key=len
    )
    return bool(few) and all(any_alike(many, word, grammar) for word in few)


def _speaks_of_it(one: Held, question: Question, slot: Slot, grammar: Grammar) -> bool:
    """Whether a fact is of what the question asks: by a predicate that its wording means, or by all of its words."""
    whose = (*one.subject.split(), *one.predicate.partition(":")[2].split())
    # "Dad" is kept as the father.
    keys = (*slot.keys, *(grammar.synonyms[key] for key in slot.keys if key in grammar.synonyms))
    if slot.own and any(is_relation(word, grammar) and not any_alike(keys, word, grammar) for word in whose):
        # Of somebody whom the question does not name.
        return False
    text = f"{one.subject} {one.predicate.replace('_', ' ').replace(':', ' ')} {one.fact.text} {one.fact.excerpt}"
    words = [lower_in(trim(word), grammar.code) for word in text.split()]
    missing = {key for key in slot.keys if not any(alike(key, word, grammar) for word in words)}
    if one.subject != SPEAKER:
        missing = {key for key in missing if not is_relation(key, grammar)}
    if question.predicates.get(one.predicate, 0.0) >= KNOWN:
        missing &= slot.names
    return not missing
