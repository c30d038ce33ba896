"""The answer to a question: by facts, by the wording of messages, or by what a learned reader makes of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.choosing import by_wording, known_otherwise
from aico_memory.domain.recall.groups import Recalled
from aico_memory.domain.recall.mirrored import Mirrored, Utterance
from aico_memory.domain.recall.question import Question
from aico_memory.domain.recall.reading.clues import Candidate, Conversation
from aico_memory.domain.recall.reading.options import LESS, MORE, NOTHING, RULES, SAID, Option, Ruled, options_of
from aico_memory.domain.recall.reading.pieces import read_pieces
from aico_memory.domain.recall.reading.pool import worth_reading
from aico_memory.domain.recall.reading.reader import Choice, ReaderWeights, choose
from aico_memory.domain.recall.slots import Slot, slot_of
from aico_memory.domain.recall.timeline import Held


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
    alike_to: Mapping[bytes, float], weights: ReaderWeights | None,
) -> Answer:  # fmt: skip
    """What answers the question as of then; without weights by rules alone.

    `alike_to`: how like the question each message is, by its id; empty where the model does not tell. Of many messages
    those are read that bear most on the question.
    """
    slot = slot_of(question, grammar)
    if slot is not None and said and weights is not None:
        said = worth_reading(slot, said, alike_to, grammar)
    told = by_wording(facts, said, held, question, slot, grammar, as_of_us)
    ruled = Answer(words=list(told)) if told else Answer(list(facts.answer))
    if weights is None or slot is None or not said:
        return ruled
    options = options_for(facts, ruled, said, held, question, slot, grammar, as_of_us, alike_to)
    answer = _chosen(choose(options, weights), ruled)
    at_us = as_of_us if question.at_us == OPEN else min(question.at_us, as_of_us)
    if answer.chance is not None and any(known_otherwise(one, held, question, grammar, at_us) for one in answer.words):
        # It was corrected, taken back or ended: what the rules know of it stands.
        return ruled
    return answer


def options_for(
    facts: Recalled, ruled: Answer, said: Sequence[Utterance], held: Sequence[Held], question: Question, slot: Slot,
    grammar: Grammar, as_of_us: int, alike_to: Mapping[bytes, float],
) -> list[Option]:  # fmt: skip
    """Everything that the question may be answered with, the rules' answer among it."""
    at_us = as_of_us if question.at_us == OPEN else min(question.at_us, as_of_us)
    pieces = read_pieces(slot, said, alike_to, grammar)
    talk = Conversation(question, slot, pieces, grammar, at_us)
    times = [one.statement.said_at_us for one in ruled.facts] + [one.utterance.said_at_us for one in ruled.words]
    return options_of(
        talk, talk.candidates(), Ruled(tuple(ruled.values), tuple(times), bool(ruled.words), bool(facts.asked), held)
    )


def _chosen(choice: Choice, ruled: Answer) -> Answer:
    option = choice.option
    if option.kind == RULES:
        return ruled
    if option.kind == NOTHING:
        return Answer()
    if option.kind == LESS:
        kept = {normalise_fact_key(value) for value in option.values}
        return Answer(
            [one for one in ruled.facts if normalise_fact_key(one.fact.value) in kept],
            [one for one in ruled.words if normalise_fact_key(one.value) in kept],
        )
    assert option.candidate is not None
    read = _read(option.candidate)
    if option.kind == SAID:
        return Answer([], read, choice.chance)
    assert option.kind == MORE
    return Answer(ruled.facts, [*ruled.words, *read], choice.chance)


def _read(candidate: Candidate) -> list[Mirrored]:
    piece = candidate.piece
    return [Mirrored(value, piece.utterance, piece.from_us, piece.until_us) for value in candidate.values]
