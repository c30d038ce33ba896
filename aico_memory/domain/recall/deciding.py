"""The answer to a question: by facts, by the wording of messages, or by what a learned reader makes of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.choosing import KNOWN, by_wording, known_otherwise, same_value
from aico_memory.domain.recall.groups import Recalled
from aico_memory.domain.recall.mirrored import Mirrored, Utterance, bounds
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.reading.marks import CORRECTS, NEGATES, TAKES_BACK
from aico_memory.domain.recall.reading.passage import (
    ACT,
    ANSWERED,
    OVER,
    OVER_AS_ASKED,
    ROLE,
    RULED,
    Passage,
    Ruled,
    passage_of,
)
from aico_memory.domain.recall.reading.picking import Picked, Scorer, pick_values
from aico_memory.domain.recall.reading.pool import worth_reading
from aico_memory.domain.recall.segments import segments_of
from aico_memory.domain.recall.slots import WHAT, Slot, slot_of
from aico_memory.domain.recall.timeline import Held


@dataclass(frozen=True, slots=True)
class ReaderFigures:
    """How sure the reader must be that its words are right, 0 to 1.

    Chosen on streams from which it had not learned and on those for which the rules were made (docs/BENCHMARKS.md).
    """

    # Where the rules know nothing of what is asked for.
    least: float = 0.35
    # Where they answer something else.
    against_answer: float = 0.6
    # Where they know of it, and that nothing holds.
    against_silence: float = 0.7
    # Where they know its own value, and that it did not hold then, or have read it as something else than what is asked for.
    against_end: float = 0.9


@dataclass(slots=True)
class Answer:
    """Facts and words that answer; `chance`: how likely the reader takes what it read itself to be right."""

    facts: list[Held] = field(default_factory=list)
    words: list[Mirrored] = field(default_factory=list)
    chance: float | None = None

    @property
    def values(self) -> list[str]:
        """All values, facts first."""
        return [one.fact.value for one in self.facts] + [one.value for one in self.words]


def answer_of(
    facts: Recalled, said: Sequence[Utterance], held: Sequence[Held], question: Question, grammar: Grammar, as_of_us: int,
    read: Scorer | None, figures: ReaderFigures | None = None,
) -> Answer:  # fmt: skip
    """What answers the question as of then; without a reader by rules alone.

    Of many messages those are read that bear most on the question. Where the rules answer with what was said in none of
    these (by others, in a shared scope), their answer stands, as it does where the reader is not sure enough. Raises what
    `read` raises.
    """
    slot = slot_of(question, grammar)
    if read is not None:
        said = worth_reading(question, slot, said, _read_us(facts, held, question), grammar)
    ruled = by_rules(facts, said, held, question, slot, grammar, as_of_us)
    if read is None or not said or question.yes_no:
        return ruled
    seen = {one.said_at_us for one in said}
    if any(one.statement.said_at_us not in seen for one in ruled.facts):
        return ruled
    at_us = as_of_us if question.at_us == OPEN else min(question.at_us, as_of_us)
    passage = passage_of(question, slot, said, ruled_of(ruled, held), grammar, at_us)
    picked = pick_values(passage, read(passage), grammar)
    if _agree(picked, ruled, grammar):
        return ruled
    answer = _told(picked, passage, ruled, held, slot, grammar, at_us)
    least = _least(answer, picked, passage, ruled, facts, held, question, grammar, at_us, figures or ReaderFigures())
    return answer if answer.values and picked[0].run.chance > least else ruled


def _agree(picked: Sequence[Picked], ruled: Answer, grammar: Grammar) -> bool:
    """Whether the reader says nothing that the rules do not say, in whatever form: they know more of it, and of lists."""
    told = ruled.values
    return len(picked) <= len(told) and all(any(same_value(one.value, value, grammar) for value in told) for one in picked)


def _least(
    answer: Answer, picked: Sequence[Picked], passage: Passage, ruled: Answer, facts: Recalled, held: Sequence[Held],
    question: Question, grammar: Grammar, at_us: int, figures: ReaderFigures,
) -> float:  # fmt: skip
    """How sure the reader must be."""
    least = figures.against_answer if ruled.values else figures.against_silence if facts.asked else figures.least
    known = any(support >= KNOWN for support in question.predicates.values())
    if (
        _read_otherwise(picked, passage, known)
        or _denied(picked, passage)
        or any(known_otherwise(one, held, question, grammar, at_us) for one in answer.words)
    ):
        return max(least, figures.against_end)
    return least


def _read_otherwise(picked: Sequence[Picked], passage: Passage, known: bool) -> bool:
    """Whether the rules take the first value for over, or, where they know what is asked for, for something else."""
    if not picked:
        return False
    said = passage.marks[picked[0].run.first : picked[0].run.last + 1, RULED]
    return bool(np.isin(said, (OVER_AS_ASKED, OVER)).all() or (known and (said > ANSWERED).all()))


def _denied(picked: Sequence[Picked], passage: Passage) -> bool:
    """Whether a value was said not to be, there or later: behind "not" or "never", or where something is taken back."""
    keys = [normalise_fact_key(word) for word in passage.words]
    for one in picked:
        said = keys[one.run.first : one.run.last + 1]
        for at in range(one.run.first, len(keys) - len(said) + 1):
            before = passage.marks[max(at - 2, passage.begins) : at, ROLE]
            if keys[at : at + len(said)] == said and ((before == NEGATES).any() or int(passage.marks[at, ACT]) == TAKES_BACK):
                return True
    return False


def _may_hold(word: Mirrored, picked: Picked, passage: Passage, at_us: int) -> bool:
    """Whether it had begun and was not over; a correction speaks of the time before it as well."""
    corrects = int(passage.marks[picked.run.first, ACT]) == CORRECTS
    return (word.from_us <= at_us or corrects) and word.until_us > at_us


def by_rules(
    facts: Recalled, said: Sequence[Utterance], held: Sequence[Held], question: Question, slot: Slot | None, grammar: Grammar,
    as_of_us: int,
) -> Answer:  # fmt: skip
    """What facts answer, or the wording of messages where that is better."""
    told = by_wording(facts, said, held, question, slot, grammar, as_of_us)
    return Answer(words=list(told)) if told else Answer(list(facts.answer))


def ruled_of(ruled: Answer, held: Sequence[Held]) -> Ruled:
    """What the rules answer, beside what they hold."""
    times = [one.statement.said_at_us for one in ruled.facts] + [one.utterance.said_at_us for one in ruled.words]
    return Ruled(tuple(ruled.values), tuple(times), held)


def _read_us(facts: Recalled, held: Sequence[Held], question: Question) -> frozenset[int]:
    """When the messages were said of which the rules have read something that was asked for."""
    asked = [one for one in held if question.predicates.get(one.predicate, 0.0) >= KNOWN]
    return frozenset(one.statement.said_at_us for one in (*facts.answer, *facts.asked, *asked))


def _told(
    picked: Sequence[Picked], passage: Passage, ruled: Answer, held: Sequence[Held], slot: Slot | None, grammar: Grammar,
    at_us: int,
) -> Answer:  # fmt: skip
    """The values that were read: as facts where the rules know them, else as words of their message."""
    answer = Answer()
    if not picked:
        return answer
    answer.chance = min(one.run.chance for one in picked)
    for one in picked:
        utterance = passage.said[int(passage.message[one.run.first])]
        key = normalise_fact_key(one.value)
        known = [fact for fact in (*ruled.facts, *held) if normalise_fact_key(fact.fact.value) == key and fact.holds_at(at_us)]
        mine = [fact for fact in known if fact in ruled.facts or fact.statement.said_at_us == utterance.said_at_us]
        if mine:
            answer.facts.append(mine[0])
        else:
            word = Mirrored(one.value, utterance, *_interval(one, utterance, slot, grammar))
            if not _may_hold(word, one, passage, at_us):
                return Answer()
            answer.words.append(word)
    return answer


def _interval(picked: Picked, utterance: Utterance, slot: Slot | None, grammar: Grammar) -> tuple[int, int]:
    """When it holds, as the piece of the message says that it stands in."""
    words = set(normalise_fact_key(picked.value).split())
    for segment in segments_of(utterance.text, grammar, utterance.said_at_us, utterance.zone):
        if words <= {key for word in segment.words for key in normalise_fact_key(word.said).split()}:
            return bounds(slot.kind if slot is not None else WHAT, segment, utterance.said_at_us, grammar)
    return utterance.said_at_us, OPEN
