"""Whom to believe: the words that were read, the rules, or neither.

Reader and rules err on different questions: the rules are nearly always right where they know the wording, and know little
else. Logistic regressions over named features tell how likely each of the three is right; the likeliest answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.turkish_phrases import verb_of
from aico_memory.domain.formation.turkish_words import Verb
from aico_memory.domain.formation.wording import lower_in, trim
from aico_memory.domain.recall.alike import any_alike
from aico_memory.domain.recall.choosing import KNOWN, known_otherwise, same_value
from aico_memory.domain.recall.mirrored import Mirrored
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.reading.marks import NEGATES, TAKES_BACK
from aico_memory.domain.recall.reading.passage import (
    ACT,
    ANSWERED,
    ASKED,
    KNOWN_THEN,
    OVER,
    OVER_AS_ASKED,
    ROLE,
    RULED,
    SAID_LATER,
    SHARED,
    Passage,
    Ruled,
)  # fmt: skip
from aico_memory.domain.recall.reading.picking import Picked, Reading, value_in
from aico_memory.domain.recall.slots import AMOUNT, CLOCK, WHEN, WHO, Slot

READ, RULES, SILENCE = "read", "rules", "silence"
OPTIONS = (READ, RULES, SILENCE)
# Features of what speaks against a value: it was said not to be, the rules know it to be over, its message says that it
# begins later.
DENIED, _ENDED, _UNBEGUN = "denied", "ended", "unbegun"
# A chance nearer to 0 or 1 than this says no more.
_SURE = 0.005
_MEASURES = (AMOUNT, CLOCK, WHEN)
# Messages from which on more make no difference.
_MANY = 4
# How many words before a value may deny it ("never lived in Basel"), and what ends a part of a sentence.
_REACH, _PARTS = 3, frozenset(",;:.!?)")


@dataclass(frozen=True, slots=True)
class Case:
    """A question, what the rules answer and hold, and what was read; `words`: what was read, with when it holds."""

    question: Question
    slot: Slot | None
    passage: Passage
    ruled: Ruled
    # The rules' answer is of the wording of messages, not of facts.
    by_wording: bool
    # Of what the rules answer with there may be several.
    listed: bool
    # The rules know of what is asked for.
    asked: bool
    reading: Reading
    picked: Sequence[Picked]
    words: Sequence[Mirrored]
    # Its message says that it begins later.
    unbegun: bool
    at_us: int


@dataclass(frozen=True, slots=True)
class Trust:
    """Weights by option and feature; made by scripts/train_reader_trust.py."""

    weights: Mapping[str, Mapping[str, float]]

    def chances(self, features: Mapping[str, float]) -> dict[str, float]:
        """How likely each option is right, 0 to 1."""
        return {
            option: _share(sum(weights.get(name, 0.0) * value for name, value in features.items()))
            for option, weights in self.weights.items()
        }


def features_of(case: Case, grammar: Grammar) -> dict[str, float]:
    """What tells whom to believe; one for nothing, so that it has a weight as well."""
    picked, ruled, question = case.picked, case.ruled, case.question
    read = _logit(min((one.run.chance for one in picked), default=0.0))
    told, aware = bool(ruled.values), bool(case.asked and not ruled.values)
    known = any(support >= KNOWN for support in question.predicates.values())
    covered = _covered(case.passage)
    found = {
        "one": 1.0, "told": told, "aware": aware, "known": known, "told known": told and known,
        "answers": _logit(case.reading.answers), "several": _logit(case.reading.several), "listed": case.listed,
        "single": case.slot is not None and case.slot.single,
        "read": read, "read told": read * told, "read aware": read * aware,
        "read known": read * known, "read told known": read * (told and known),
        "covered": covered, "covered told": covered * told, "read covered": read * covered,
        "past": question.past, "former": question.former, "wording": case.by_wording,
        "several read": len(picked) > 1, "several told": len(ruled.values) > 1,
        "nothing read": not picked, f"language {grammar.code}": 1.0,
        "messages": math.log1p(len(case.passage.said)), "own": case.slot is not None and case.slot.own,
    }  # fmt: skip
    if picked:
        found |= _of_what_was_read(case, grammar, known)
    if told and picked:
        found |= _beside(case, grammar)
    return {name: float(value) for name, value in found.items()}


def _of_what_was_read(case: Case, grammar: Grammar, known: bool) -> dict[str, float]:
    passage, run = case.passage, case.picked[0].run
    said = passage.marks[run.first : run.last + 1, RULED]
    mine = passage.message == passage.message[run.first]
    here, asked_here = passage.marks[mine, RULED], bool((passage.marks[mine, ASKED] == SHARED).any())
    asked_elsewhere = bool((passage.marks[(passage.message >= 0) & ~mine, ASKED] == SHARED).any())
    value = case.picked[0].value
    kind = case.slot.kind if case.slot is not None else ""
    no_measure = kind in _MEASURES and not any(letter.isdigit() for letter in value)
    against = {
        DENIED: _denied(case.picked, passage, case.question, grammar),
        _ENDED: any(known_otherwise(one, case.ruled.held, case.question, grammar, case.at_us) for one in case.words),
        _UNBEGUN: case.unbegun,
    }
    answers = _logit(case.reading.answers)
    return {
        **against,
        **{f"answers {name}": answers * it for name, it in against.items()},
        "over": bool(np.isin(said, (OVER_AS_ASKED, OVER)).all()),
        "read as else": bool(known and (said > ANSWERED).all()),
        "held here": bool((here > 0).any()),
        "asked here": asked_here,
        "asked elsewhere": asked_elsewhere and not asked_here,
        "answers asked here": answers * asked_here,
        "later": int(passage.marks[run.first, 0]) == SAID_LATER,
        "no measure": no_measure,
        "no name": kind == WHO and not value[:1].isupper(),
        "of another": _of_another(case, grammar),
        "length": math.log1p(run.last - run.first),
        "values": math.log(len(case.picked)),
    }


def _of_another(case: Case, grammar: Grammar) -> bool:
    """Whether some messages speak of whom the question names, and the one that was read does not."""
    passage = case.passage
    names = case.question.names | (case.slot.names if case.slot is not None else frozenset())
    if not names:
        return False
    named = {
        int(place)
        for place, word in zip(passage.message, passage.words, strict=True)
        if place >= 0 and any_alike(names, lower_in(trim(word), grammar.code).split("'")[0], grammar)
    }
    return bool(named) and int(passage.message[case.picked[0].run.first]) not in named


def _beside(case: Case, grammar: Grammar) -> dict[str, float]:
    """How what was read stands to what the rules answer."""
    passage, values, newest = case.passage, case.ruled.values, max(case.ruled.said_at_us)
    read_us = passage.utterance(case.picked[0].run.first).said_at_us
    within = all(any(same_value(one.value, value, grammar) for value in values) for one in case.picked)
    holds = all(any(same_value(one.value, value, grammar) for one in case.picked) for value in values)
    passed_over = [
        place
        for place, one in enumerate(passage.said)
        if one.said_at_us > newest
        and (mine := passage.marks[passage.message == place]).size
        and int(mine[0, 0]) == KNOWN_THEN
        and not mine[:, RULED].any()
    ]
    shares = [
        run.chance
        for run in (*case.reading.runs, *case.reading.others)
        if any(same_value(value_in(passage, run, grammar), value, grammar) for value in values)
    ]
    return {
        "rules' share": _logit(max(shares, default=0.0)),
        "within": within,
        "holds": holds,
        "newer": read_us > newest,
        "older": read_us < newest,
        "passed over": min(len(passed_over), _MANY) / _MANY,
    }


def _denied(picked: Sequence[Picked], passage: Passage, question: Question, grammar: Grammar) -> bool:
    """Whether a value was said not to be by then, where it stands or later: by "not" or "never" beside it."""
    # What is so no longer may be what is asked for of the past.
    of_now = grammar.parser == "turkish" and not (question.past or question.former or question.denied)
    return any(
        _negated(passage, first, last, grammar) or (of_now and _verb_denies(passage, last, grammar))
        for first, last in _said_again(picked, passage)
        if int(passage.marks[first, 0]) == KNOWN_THEN
    )


def taken_back(picked: Sequence[Picked], passage: Passage) -> bool:
    """Whether a value stands, there or later, where something is taken back: it never was."""
    return any(int(passage.marks[first, ACT]) == TAKES_BACK for first, _ in _said_again(picked, passage))


def _said_again(picked: Sequence[Picked], passage: Passage) -> Iterator[tuple[int, int]]:
    """First and last word of each value, there and wherever its words stand again behind it."""
    keys = [normalise_fact_key(word) for word in passage.words]
    for one in picked:
        said = keys[one.run.first : one.run.last + 1]
        for at in range(one.run.first, len(keys) - len(said) + 1):
            if keys[at : at + len(said)] == said:
                yield at, at + len(said) - 1


def _negated(passage: Passage, first: int, last: int, grammar: Grammar) -> bool:
    """Whether one of the words before it in its part of a sentence denies it; in Turkish the one behind."""
    if grammar.parser == "turkish":
        behind = last + 1
        within = behind < len(passage.words) and passage.message[behind] == passage.message[last]
        return within and passage.words[last][-1:] not in _PARTS and int(passage.marks[behind, ROLE]) == NEGATES
    for before in range(first - 1, max(first - 1 - _REACH, passage.begins - 1), -1):
        if passage.message[before] != passage.message[first] or passage.words[before][-1:] in _PARTS:
            return False
        if int(passage.marks[before, ROLE]) == NEGATES:
            return True
    return False


def _verb_denies(passage: Passage, last: int, grammar: Grammar) -> bool:
    """Whether the verb that the question asks with denies the Turkish value before it ("Bosch'ta hiç çalışmadım")."""
    asked = {verb for word in passage.words[: passage.begins] if (verb := _verb(word, grammar))}
    for behind in range(last + 1, min(last + 1 + _REACH, len(passage.words))):
        if passage.message[behind] != passage.message[last] or passage.words[behind - 1][-1:] in _PARTS:
            return False
        verb = _verb(passage.words[behind], grammar)
        if verb is not None:
            return verb.negated and any(one.lemma == verb.lemma and not one.negated for one in asked)
    return False


def _verb(word: str, grammar: Grammar) -> Verb | None:
    return verb_of(lower_in(trim(word), grammar.code), grammar)


def _covered(passage: Passage) -> float:
    """Share of the messages known then from which the rules hold something."""
    marks: NDArray[np.int8] = passage.marks
    places = {int(place) for place, when in zip(passage.message, marks[:, 0], strict=True) if when == KNOWN_THEN}
    held = {int(place) for place, rule in zip(passage.message, marks[:, RULED], strict=True) if rule and place >= 0}
    return len(places & held) / len(places) if places else 0.0


def _logit(chance: float) -> float:
    kept = min(max(chance, _SURE), 1 - _SURE)
    return math.log(kept / (1 - kept))


def _share(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0
