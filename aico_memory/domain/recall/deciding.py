"""The answer to a question: by facts, by the wording of messages, or by what a learned reader makes of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aico_memory.domain.formation.attributes import ATTRIBUTE
from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.grammar import Grammar
from aico_memory.domain.formation.wording import lower_in
from aico_memory.domain.recall.choosing import KNOWN, by_wording, same_value, says_the_contrary, stand_together
from aico_memory.domain.recall.days_apart import facts_apart, words_apart
from aico_memory.domain.recall.groups import Recalled
from aico_memory.domain.recall.matching import stems
from aico_memory.domain.recall.mirrored import Mirrored, Utterance
from aico_memory.domain.recall.question import Question, moment_of
from aico_memory.domain.recall.reading.ending import interval_of, with_end
from aico_memory.domain.recall.reading.marks import CORRECTS
from aico_memory.domain.recall.reading.passage import ACT, Passage, Ruled, asks_of, passage_of
from aico_memory.domain.recall.reading.picking import Picked, Scorer, pick_values
from aico_memory.domain.recall.reading.pool import only_asks, worth_reading
from aico_memory.domain.recall.reading.trust import DENIED, READ, RULES, SILENCE, Case, Trust, features_of, taken_back
from aico_memory.domain.recall.segments import RETRACT, segments_of
from aico_memory.domain.recall.since import SINCE, UNTIL, since_when, tells_time
from aico_memory.domain.recall.slots import Slot, slot_of
from aico_memory.domain.recall.timeline import Held

# Characters between what tells that something is over and what that is.
_NEAR = 8


@dataclass(slots=True)
class Answer:
    """Facts and words that answer; `chance`: how likely what was read is right; `settled`: no reader is asked beside it."""

    facts: list[Held] = field(default_factory=list)
    words: list[Mirrored] = field(default_factory=list)
    chance: float | None = None
    settled: bool = False

    @property
    def values(self) -> list[str]:
        """All values, facts first."""
        return [one.fact.value for one in self.facts] + [one.value for one in self.words]


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads passages, and how far it is believed."""

    read: Scorer
    trust: Trust
    # How much likelier right than the rules it must be, -1 to 1.
    margin: float = 0.0


@dataclass(frozen=True, slots=True)
class Weighed:
    """What the rules answer and what was read; without features it is the rules' answer that stands."""

    ruled: Answer
    told: Answer = field(default_factory=Answer)
    features: Mapping[str, float] | None = None


def answer_of(
    facts: Recalled, said: Sequence[Utterance], held: Sequence[Held], question: Question, grammar: Grammar, as_of_us: int,
    reader: Reader | None,
) -> Answer:  # fmt: skip
    """What answers the question as of then; without a reader by rules alone. Raises what the reader raises."""
    weighed = weigh(facts, said, held, question, grammar, as_of_us, reader.read if reader is not None else None)
    if reader is None:
        return weighed.ruled
    answer = weighed.ruled
    if weighed.features is not None:
        answer = _believed(weighed.told, weighed.ruled, reader.trust.chances(weighed.features), reader.margin)
    if not answer.facts and len(answer.words) == 1:
        answer.words = [_ended(answer.words[0], said, held, question, grammar, as_of_us, reader.read)]
    return answer


def _ended(
    word: Mirrored, said: Sequence[Utterance], held: Sequence[Held], question: Question, grammar: Grammar, as_of_us: int,
    read: Scorer,
) -> Mirrored:  # fmt: skip
    """What was read, by rules or network, with its end where something said later tells one."""
    at_us = moment_of(question, as_of_us)
    if all(one.said_at_us <= at_us for one in said):
        return word
    slot = slot_of(question, grammar)
    near = worth_reading(question, slot, said, {word.utterance.said_at_us}, grammar)

    def passage_at(moment_us: int) -> Passage:
        return passage_of(question, slot, near, Ruled((), (), held), grammar, moment_us)

    last_us = max(one.said_at_us for one in near)
    return with_end(word, at_us, last_us, passage_at, read, slot, grammar)


def weigh(
    facts: Recalled, said: Sequence[Utterance], held: Sequence[Held], question: Question, grammar: Grammar, as_of_us: int,
    read: Scorer | None,
) -> Weighed:  # fmt: skip
    """What rules and reader say.

    Of many messages those are read that bear most on the question. Where the rules answer with what was said in none of
    these (by others, in a shared scope), their answer stands. Raises what `read` raises.
    """
    slot = slot_of(question, grammar)
    if read is not None:
        said = [one for one in said if not only_asks(one.text, grammar)]
        said = worth_reading(question, slot, said, _read_us(facts, held, question), grammar)
    ruled = by_rules(facts, said, held, question, slot, grammar, as_of_us)
    seen = {one.said_at_us for one in said}
    if ruled.settled or read is None or not said or question.yes_no:
        return Weighed(ruled)
    if any(one.statement.said_at_us not in seen for one in ruled.facts):
        return Weighed(ruled)
    at_us = moment_of(question, as_of_us)
    rules = ruled_of(ruled, held)
    passage = passage_of(question, slot, said, rules, grammar, at_us)
    if not asks_of(passage, grammar):
        return Weighed(ruled)
    reading = read(passage)
    picked = pick_values(passage, reading.runs, grammar)
    if _same(picked, ruled, grammar) or _leaves_some_out(picked, ruled, question, slot, grammar):
        return Weighed(ruled)
    told, unbegun = _told(picked, passage, ruled, held, slot, question, grammar, at_us)
    listed = any(not one.fact.single_valued for one in ruled.facts)
    case = Case(
        question, slot, passage, rules, bool(ruled.words), listed, bool(facts.asked), reading, picked, told.words,
        unbegun, at_us,
    )  # fmt: skip
    features = features_of(case, grammar)
    # What was denied by then, taken back at all, or stopped answers nothing, however surely it is read.
    over = features.get(DENIED) or taken_back(picked, passage) or _stopped(picked, passage, question, grammar)
    over = over or _is_whom_it_is_about(picked, held, question, grammar) or _never_was(picked, held, question, grammar)
    told = Answer() if over else told
    if picked and not told.values and _is_the_one_value(ruled, question):
        # That another value is not so says nothing against the one that holds.
        return Weighed(ruled)
    return Weighed(ruled, told, features)


def _is_the_one_value(ruled: Answer, question: Question) -> bool:
    """Whether the rules answer with a fact of what is asked for, and there is but one value of that at a time."""
    if ruled.words or len(ruled.facts) != 1 or not ruled.facts[0].fact.single_valued:
        return False
    predicate = ruled.facts[0].predicate
    return predicate.startswith(ATTRIBUTE) or question.predicates.get(predicate, 0.0) >= KNOWN


def _leaves_some_out(
    picked: Sequence[Picked], ruled: Answer, question: Question, slot: Slot | None, grammar: Grammar
) -> bool:  # fmt: skip
    """Whether a part was read of what the rules answer with, and all of that holds side by side.

    A sort of thing that no predicate is named by ("which drinks do I like?") may leave out what is of another.
    """
    if not picked or len(picked) >= len(ruled.facts) or ruled.words or not stand_together(ruled.facts, question):
        return False
    if slot is not None and any(low not in grammar.words["known_nouns"] for low in slot.optional):
        return False
    return all(any(same_value(one.value, value, grammar) for value in ruled.values) for one in picked)


def _is_whom_it_is_about(picked: Sequence[Picked], held: Sequence[Held], question: Question, grammar: Grammar) -> bool:
    """Whether only the name was read of somebody of whom something else is asked ("my sister's job": "Ana")."""
    asked = [name for name, support in question.predicates.items() if support >= KNOWN]
    kin = {f"{ATTRIBUTE}{relation}" for relation in question.relations}
    if len(picked) != 1 or question.asks == "who" or question.naming or not asked or kin.union({"name"}).intersection(asked):
        return False
    return any(one.predicate in kin and same_value(picked[0].value, one.fact.value, grammar) for one in held)


def _never_was(picked: Sequence[Picked], held: Sequence[Held], question: Question, grammar: Grammar) -> bool:
    """Whether a value was taken back ("I never worked at Bosch") and not told anew, or stands in for one that was."""
    asked = [one for one in held if one.predicate in question.predicates]
    mine = [[one for one in asked if same_value(value.value, one.fact.value, grammar)] for value in picked]
    if any(known and all(one.invalid and one.cause == RETRACT for one in known) for known in mine):
        return True
    # Where something was taken back, what is known as something else does not stand in for it.
    elsewhere = [
        any(same_value(value.value, one.fact.value, grammar) and not one.invalid for one in held if one not in asked)
        for value in picked
    ]
    return any(one.cause == RETRACT for one in asked) and bool(picked) and not any(mine) and all(elsewhere)


def _stopped(picked: Sequence[Picked], passage: Passage, question: Question, grammar: Grammar) -> bool:
    """Whether a value was told only in saying that it is so no longer ("I stopped taking aspirin"), asked of what is so now."""
    if question.denied or question.past or question.former:
        return False
    for one in picked:
        utterance, value = passage.utterance(one.run.first), f" {lower_in(one.value, grammar.code)} "
        for piece in segments_of(utterance.text, grammar, utterance.said_at_us, utterance.zone):
            text = f" {' '.join(word.low for word in piece.words)} "
            at = text.find(value)
            for mark in grammar.marks["stops"] if at >= 0 else ():
                match = mark.search(text.strip())
                # English tells first that it is over, and then what.
                if match and (grammar.parser != "english" or match.start() <= at <= match.end() + _NEAR):
                    return True
    return False


def _believed(told: Answer, ruled: Answer, chances: Mapping[str, float], margin: float) -> Answer:
    """The likeliest of what was read, what the rules answer, and nothing; the rules' answer where none is likelier."""
    silence = chances[SILENCE] if ruled.values else chances[RULES]
    if told.values and chances[READ] > max(chances[RULES] + margin, silence):
        told.chance = chances[READ]
        return told
    return Answer() if ruled.values and silence > chances[RULES] + margin else ruled


def _same(picked: Sequence[Picked], ruled: Answer, grammar: Grammar) -> bool:
    """Whether reader and rules say the same, in whatever form: the rules know more of it."""
    told = ruled.values
    return len(picked) == len(told) and all(any(same_value(one.value, value, grammar) for value in told) for one in picked)


def by_rules(
    facts: Recalled, said: Sequence[Utterance], held: Sequence[Held], question: Question, slot: Slot | None, grammar: Grammar,
    as_of_us: int,
) -> Answer:  # fmt: skip
    """What facts answer, or the wording of messages where that is better."""
    told = by_wording(facts, said, held, question, slot, grammar, as_of_us)
    if not told and question.asks in (SINCE, UNTIL) and not all(tells_time(one, grammar) for one in facts.answer):
        # The time that the statement of a fact names; what a reader would say of it, nobody has weighed.
        times = since_when(facts.answer, said, grammar, question.asks)
        return Answer(words=times, settled=bool(times))
    if told:
        return Answer(words=words_apart(told, grammar))
    # "Who do I play chess with?" is not answered with chess.
    repeated = question.asks == "who" and not question.yes_no
    answer = [one for one in facts.answer if not (repeated and stems(one.fact.value, question.language) <= question.stems)]
    return Answer(facts_apart(answer, grammar))


def ruled_of(ruled: Answer, held: Sequence[Held]) -> Ruled:
    """What the rules answer, beside what they hold."""
    times = [one.statement.said_at_us for one in ruled.facts] + [one.utterance.said_at_us for one in ruled.words]
    return Ruled(tuple(ruled.values), tuple(times), held)


def _read_us(facts: Recalled, held: Sequence[Held], question: Question) -> frozenset[int]:
    """When the messages were said of which the rules have read something that was asked for."""
    asked = [one for one in held if question.predicates.get(one.predicate, 0.0) >= KNOWN]
    return frozenset(one.statement.said_at_us for one in (*facts.answer, *facts.asked, *asked))


def _told(
    picked: Sequence[Picked], passage: Passage, ruled: Answer, held: Sequence[Held], slot: Slot | None, question: Question,
    grammar: Grammar, at_us: int,
) -> tuple[Answer, bool]:  # fmt: skip
    """The values that were read, as facts where the rules know them, else as words of their message; and whether the message
    says of one that it begins later, which a correction does not: it speaks of the time before it as well.
    """
    answer, unbegun = Answer(), False
    for one in picked:
        utterance = passage.utterance(one.run.first)
        key = normalise_fact_key(one.value)
        known = [fact for fact in (*ruled.facts, *held) if normalise_fact_key(fact.fact.value) == key and fact.holds_at(at_us)]
        mine = [fact for fact in known if fact in ruled.facts or fact.statement.said_at_us == utterance.said_at_us]
        if says_the_contrary(mine, question, one.value, at_us):
            return Answer(), False
        if mine:
            answer.facts.append(mine[0])
            continue
        here = [fact for fact in held if fact.statement.said_at_us == utterance.said_at_us]
        same = [fact for fact in here if same_value(fact.fact.value, one.value, grammar)]
        if same and all(_never_then(fact, question, at_us) for fact in same):
            return Answer(), False
        from_us, until_us = interval_of(one, utterance, slot, grammar)
        if until_us <= at_us:
            return Answer(), False
        unbegun = unbegun or (from_us > at_us and int(passage.marks[one.run.first, ACT]) != CORRECTS)
        # Where it is believed all the same, it held since it was said, if that is before.
        since_us = from_us if from_us <= at_us else min(utterance.said_at_us, at_us)
        answer.words.append(Mirrored(one.value, utterance, since_us, until_us))
    return answer, unbegun


def _never_then(fact: Held, question: Question, at_us: int) -> bool:
    """Whether a fact was never true, or does not hold then and was told with its end; the past may be over."""
    over = fact.fact.temporal_type == "time_bounded" and not question.past and not question.former
    return fact.invalid or (over and not fact.holds_at(at_us))
