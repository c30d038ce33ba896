"""From a message of a person to its statements: sentences, clauses, facts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from aico_memory.domain.formation import turkish
from aico_memory.domain.formation.acts import Speech, read_speech
from aico_memory.domain.formation.adding import added, by_what_was_told, what_it_replaces
from aico_memory.domain.formation.afterwards import told_after, what_comes_after
from aico_memory.domain.formation.attributes import TIME
from aico_memory.domain.formation.beginnings import begins_with_it, reached
from aico_memory.domain.formation.earlier import newest_before, stated_before, told_before
from aico_memory.domain.formation.elliptic import briefly, elliptic
from aico_memory.domain.formation.formed import NEWEST, FormedFact
from aico_memory.domain.formation.frames import Frame, Party
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.habits import day_fallen, same_days, times_of, with_habits, without_names
from aico_memory.domain.formation.in_parts import read_in_parts
from aico_memory.domain.formation.judging import (
    is_only_planned,
    is_to_come,
    judge,
    leaving,
    plan_of,
    put_aside,
    unsettled,
)  # fmt: skip
from aico_memory.domain.formation.lower_case import with_names
from aico_memory.domain.formation.naming import name_facts, object_key
from aico_memory.domain.formation.noticing import (
    announced,
    at_home,
    begins_later,
    by_now,
    called,
    called_off,
    ended_before,
    gone_by_name,
    gone_thing,
    happens,
    in_its_place,
    it_is,
    like_case,
    moved,
    now_it_is,
    said_later,
    spelled_out,
    taken_back,
    thing_timed,
    until_then,
)
from aico_memory.domain.formation.parties import is_somebody, mentioned, names_anew
from aico_memory.domain.formation.passing_states import for_the_day
from aico_memory.domain.formation.plainer import MAX_CHARACTERS, PARSERS, plainer
from aico_memory.domain.formation.plausible import plausible
from aico_memory.domain.formation.sharing import shared
from aico_memory.domain.formation.succession import Statements, may_be_meant, meant_by_pronoun, note_what_is_over, succeeded
from aico_memory.domain.formation.turkish_context import spelled
from aico_memory.domain.formation.validity import bounds_of, end_of_named_day, validity_of, weeks_of_days, with_holders
from aico_memory.domain.formation.visits import is_past_visit, when_visited
from aico_memory.domain.formation.when import TimePhrase, find_times
from aico_memory.domain.formation.wording import even, is_value, lower_in, sentences, squeeze
from aico_memory.domain.memory import OPEN

MAX_SENTENCES = 40
_WORDS = re.compile(r"[^\W\d_]+")
RETURNED = "returned"
# Whom one has or has got is spoken of next ("I have a girlfriend now! Her name is …", "Wir haben eine Ziege bekommen, sie …").
_HAD = frozenset({"owns", "bekommen", "kaufen", "adoptieren", "holen"})


def read_statements(
    text: str, grammar: Grammar, tables: FormationTables, said_at_us: int, zone: str, recent: Sequence[str] = ()
) -> Statements:
    """All statements of a message; `recent` are the messages before it, the newest last."""
    text = same_days(with_names(text[:MAX_CHARACTERS], recent, grammar), recent, grammar)
    if grammar.parser == "turkish":
        text = spelled(text, recent)
    result = Statements(text=text, last_party=_spoken_of(text, grammar, tables, said_at_us, zone, recent))
    facts_of = partial(_facts_of, grammar, tables, said_at_us, zone)
    if short := briefly(text, partial(stated_before, facts_of, result, recent, tables), grammar, tables, said_at_us):
        result.facts, result.strong = short, True
        return result
    for sentence in sentences(plainer(text, grammar), grammar.marks["opens_sentence"])[:MAX_SENTENCES]:
        said = partial(_sentence, result, grammar, tables, said_at_us, zone, recent)
        read_in_parts(result, sentence, grammar, tables, said)
    return succeeded(result, tables, grammar)


def _facts_of(grammar: Grammar, tables: FormationTables, said_at_us: int, zone: str, text: str) -> list[FormedFact]:
    """What a message says by itself."""
    return read_statements(text, grammar, tables, said_at_us, zone).facts


def _spoken_of(
    text: str, grammar: Grammar, tables: FormationTables, said_at_us: int, zone: str, recent: Sequence[str]
) -> Party | None:
    """Whom "she" stands for where the message itself names nobody: the person whom the messages before spoke of."""
    told = any(word in grammar.words["third"] for word in _WORDS.findall(lower_in(text, grammar.code)))
    if not told and not (grammar.parser == "turkish" and turkish.drops_subject(text, grammar)):
        return None
    for earlier in reversed(recent[-3:]):
        party = read_statements(earlier, grammar, tables, said_at_us, zone).last_party
        meant = party is not None and may_be_meant(text, party, grammar)
        if party is not None and meant and (party.name or party.noun in grammar.relations):
            # Who she is has been said already.
            return replace(party, noun="", owner="user") if party.name else party
    return None


def _sentence(  # noqa: PLR0912, PLR0915
    result: Statements, grammar: Grammar, tables: FormationTables, said_at_us: int, zone: str, recent: Sequence[str],
    sentence: str,
) -> None:  # fmt: skip
    parser = PARSERS[grammar.parser]
    facts_of = partial(_facts_of, grammar, tables, said_at_us, zone)
    stated = partial(stated_before, facts_of, result, recent, tables)
    before_that = partial(newest_before, facts_of, result, recent, tables)
    speech = read_speech(parser.expand(even(sentence)), grammar)
    if result.pending and not speech.act:
        speech.act = result.pending
    result.pending = ""
    if speech.act == "correct" and not speech.text and not speech.elliptic:
        # "That's not right." corrects with what comes next.
        result.pending, result.strong = speech.act, True
        return
    if speech.silent:
        result.trace.append(f"nothing stated: {sentence[:80]}")
        result.last_party = result.last_party or mentioned(sentence, grammar)
        return
    if speech.act == "retract" and not speech.text:
        result.strong = True
        if speech.corrected:
            result.facts.append(taken_back(speech.corrected, tables, grammar, said_at_us, sentence))
        else:
            result.facts.extend(_taken_back(before_that(), grammar, said_at_us, sentence))
        return
    question = speech.text.endswith("?")
    phrases = find_times(lower_in(speech.text, grammar.code), grammar.calendar, grammar.code, said_at_us, zone)
    phrases = with_habits(speech.text, without_names(speech.text, phrases, grammar), grammar)
    ends, later = told_after(speech.text, phrases, grammar)
    if later:
        speech.text, phrases = speech.text[:ends], [phrase for phrase in phrases if phrase.end <= ends]
    held = with_holders(speech.text, phrases)
    raw = [speech.text[phrase.start : phrase.end] for phrase in phrases]
    if speech.act == "correct" and speech.elliptic and speech.elliptic != speech.text and is_value(speech.elliptic):
        said = elliptic(speech, stated, grammar, tables, said_at_us, sentence)
        if said:
            # "Correction: B negative, I've just looked": what follows is said beside it.
            result.facts.extend(said)
            result.strong = True
            return
    before: Frame | None = None
    before_facts, found_any, nobody = len(result.facts), False, result.last_party is None
    cut = parser.clauses(held, grammar)
    for number, clause in enumerate(cut):
        if question and number == len(cut) - 1:
            continue
        ended, after_that = False, OPEN
        for mark in grammar.marks["thereafter"]:
            clause, count = mark.subn("", clause)  # noqa: PLW2901
            if count:
                after_that = min((fact.valid_until_us for fact in result.facts[before_facts:]), default=OPEN)
        for mark in grammar.marks["ended"]:
            clause, count = mark.subn(" ", clause)  # noqa: PLW2901
            ended = ended or count > 0
        if number and (again := it_is(clause, result, before_facts, phrases, raw, grammar, said_at_us)):
            result.facts.append(again)
            found_any = True
            continue
        clause = spelled_out(clause, result.facts[before_facts:], grammar)  # noqa: PLW2901
        frame = parser.parse(squeeze(clause), grammar, meant_by_pronoun(clause, result, grammar), before)
        if frame is None:
            continue
        frame.ended = frame.ended or ended
        frame.negated = frame.negated or ended or speech.untrue
        frame.never, frame.perfect = frame.never or speech.untrue, frame.perfect or speech.untrue
        frame.bounds = bounds_of(frame, phrases)
        if any(mark.search(sentence) for mark in grammar.marks["for_once"]):
            frame.bounds |= weeks_of_days(frame, phrases, said_at_us)
        if frame.times or grammar.parser == "english":
            known = map(facts_of, reversed(recent[-3:]))
            frame.subject = thing_timed(frame, chain([result.facts], known), grammar) or frame.subject
        before = frame
        if names_anew(frame, grammar):
            result.last_party = frame.subject
        note_what_is_over(result, frame, grammar)
        if begins_later(result, before_facts, frame, phrases, grammar):
            continue
        facts = _facts(frame, speech, phrases, raw, grammar, tables, said_at_us, zone, sentence, result, recent)
        found_any = found_any or bool(facts)
        if facts and after_that != OPEN and not frame.times:
            # "Until the end of March I'm on nights, then on days": the one begins where the other ends.
            result.facts[-len(facts) :] = facts = [replace(fact, valid_from_us=after_that) for fact in facts]
        if pet := next((fact for fact in facts if fact.predicate == "pet" and fact.act == "assert"), None):
            # "I have a dog, he's called Rex."
            result.last_party = Party(noun=pet.value.casefold(), possessed=True)
        elif is_somebody(frame.subject, grammar) and (name := called(frame, facts, tables)):
            # "My girlfriend is called Mia, she is a teacher."
            result.last_party = frame.subject = replace(frame.subject, noun="", owner="user", name=name)
        elif who := next((fact.value for fact in facts if fact.predicate in _HAD and fact.act == "assert"), ""):
            noun = lower_in(who, grammar.code)
            if noun in grammar.relations or noun.split()[-1] in grammar.relations:
                # "I have a girlfriend now! Her name is Alba."
                result.facts = [fact for fact in result.facts if fact not in facts or fact.predicate != "owns"]
                result.last_party = Party(noun=noun, possessed=True)
    if later:
        result.facts.extend(what_comes_after(result.facts[before_facts:], later, grammar, said_at_us))
    if speech.taken_back and not any(like_case(fact.value, speech.taken_back) for fact in result.facts[before_facts:]):
        # "That about the allergy is wrong, the test was negative."
        told = [
            replace(fact, act="assert", corrected="") if fact.act == "correct" else fact for fact in result.facts[before_facts:]
        ]
        gone = taken_back(speech.taken_back, tables, grammar, said_at_us, sentence)
        result.facts[before_facts:] = [*told, gone]
        found_any = True
    if speech.act == "correct" and not found_any and not question:
        speech.elliptic = said_later(speech.text, grammar) or speech.elliptic
        result.facts.extend(elliptic(speech, stated, grammar, tables, said_at_us, sentence))
    if speech.act == "retract" and not found_any:
        result.facts.extend(_taken_back(before_that(), grammar, said_at_us, sentence))
    if not found_any and any(mark.search(speech.text) for mark in grammar.marks["off_it"]):
        result.facts.extend(called_off(chain([result.facts], told_before(facts_of, recent)), said_at_us, sentence))
    if not found_any and not speech.act and not question:
        result.facts.extend(now_it_is(held, before_that, phrases, raw, grammar, said_at_us, sentence))
    moved(result, before_facts)
    what_it_replaces(result, before_facts, grammar, tables)
    known_before = partial(told_before, facts_of, recent)
    by_what_was_told(result, before_facts, sentence, known_before, before_that, tables, grammar, said_at_us)
    names_more = any(mark.match(sentence) for mark in grammar.marks["adding"])
    if names_more and not found_any and not question and not speech.act:
        result.facts.extend(added(sentence, before_that(), tables, grammar, said_at_us))
    if any(mark.search(sentence) for mark in grammar.marks["until_then"]):
        earlier = newest_before(facts_of, Statements(result.facts[:before_facts]), recent, tables)
        told = [*earlier, *result.facts[before_facts:]]
        result.facts[before_facts:] = until_then(result.facts[before_facts:], told, said_at_us)
    if nobody and result.last_party is None:
        result.last_party = mentioned(sentence, grammar)
    result.last_party = mentioned(sentence, grammar, fresh=True) or result.last_party
    result.strong = result.strong or speech.act in ("correct", "retract") or speech.explicit


def _facts(  # noqa: PLR0912, PLR0915
    frame: Frame, speech: Speech, phrases: Sequence[TimePhrase], raw: Sequence[str], grammar: Grammar,
    tables: FormationTables, said_at_us: int, zone: str, sentence: str, result: Statements, recent: Sequence[str],
) -> list[FormedFact]:  # fmt: skip
    if frame.unreal:
        return []
    sudden = frame.verb in grammar.words["sudden"]
    if frame.intended or (sudden and is_to_come(frame, grammar)):
        trips, introduced = announced(frame, speech, raw, grammar, tables, said_at_us, sentence)
        result.facts.extend([*trips, *introduced])
        if not trips:
            result.plans.append(plan_of(frame, phrases, raw, grammar, said_at_us, sentence, tables.form.foresight_days))
        return [*trips, *introduced]
    made = []
    left = leaving(frame, grammar) if sudden else put_aside(frame, grammar)
    bound = validity_of(replace(frame, times=tuple(frame.bounds)), phrases, said_at_us, grammar, False)
    read = name_facts(frame, raw, tables, grammar)
    read = [reached(found, frame, phrases, tables, grammar) for found in plausible(read, frame, sentence, tables, grammar)]
    named = [at_home(found, frame, phrases, said_at_us, grammar) for found in read]
    values = [found.value for found in named]
    instead = in_its_place(sentence, grammar)
    told = [result.facts, *(read_statements(one, grammar, tables, said_at_us, "UTC").facts for one in recent[-2:] if instead)]
    name = "" if frame.subject.noun or frame.negated else frame.subject.name
    if name and frame.verb in grammar.words["perish"] and not any(found.predicate in tables.predicates for found in named):
        # "Pepper passed away": who that is, has been told.
        result.facts.append(unsettled("end", name, object_key(name, grammar), grammar, said_at_us, sentence))
        return result.facts[-1:]
    if not any(found.predicate in tables.predicates or found.act for found in named) and (
        thing := gone_thing(frame, tables, grammar)
    ):
        result.facts.append(unsettled("end", thing, object_key(thing, grammar), grammar, said_at_us, sentence))
        return result.facts[-1:]
    off = any(found.predicate == TIME and found.act == "end" and not found.value for found in named)
    day = day_fallen(frame, phrases, raw, grammar) if off else ""
    for found in (*named, *times_of(named, frame, phrases, raw, grammar)):
        fresh = found.predicate not in tables.predicates or found.predicate in ("eats", "drinks", "owns")
        if not left and not found.single_valued and fresh and found.act == "" and by_now(grammar, sentence):
            left = NEWEST
        if not left and frame.verb in grammar.words["switches"] and not found.single_valued:
            left = NEWEST
        if (
            not left
            and instead
            and not found.single_valued
            and found.act == ""
            and not ended_before(found.predicate, told, tables)
        ):
            left = NEWEST
        if found.predicate == RETURNED:
            # "I'm back to tea": whatever tea was.
            left = found.value
        kept = left or found.left
        other = left != found.value or found.predicate == RETURNED
        found = replace(found, left=kept if found.act == "" and other else "")  # noqa: PLW2901
        own = shared(found.value, values, frame, phrases, grammar)
        begun = happens(frame, grammar) or begins_with_it(found, own, phrases, said_at_us, tables, grammar)
        if is_past_visit(found, own, tables, grammar):
            holds = when_visited(own, phrases, said_at_us, zone, grammar)
        else:
            holds = validity_of(own, phrases, said_at_us, grammar, begun)
            holds = for_the_day(found, own, holds, said_at_us, zone, grammar)
        for fact in judge(
            found, own, speech, bound if found.temporal else holds, grammar, tables, said_at_us, sentence, sudden
        ):
            gone = end_of_named_day(fact.value, frame, phrases, said_at_us, grammar) if fact.predicate == TIME else OPEN
            if gone != OPEN and fact.act in ("assert", "correct"):
                # It takes the place of any other day, too.
                left = fact.corrected or NEWEST if fact.act == "assert" else fact.corrected
                fact = replace(fact, valid_until_us=gone, temporal_type="time_bounded", corrected=left)  # noqa: PLW2901
            if day and fact.predicate == TIME:
                fact = replace(fact, value=day, object_key=day, corrected=day)  # noqa: PLW2901
            if not day or fact.predicate == TIME:
                # "Thursdays there's no training": nothing else is over.
                made.append(fact)
                result.trace.append(f"{fact.act} ({fact.subject}, {fact.predicate}, {fact.value})")
    if is_only_planned(frame, made):
        del result.trace[len(result.trace) - len(made) :]
        result.plans.append(plan_of(frame, phrases, raw, grammar, said_at_us, sentence, tables.form.foresight_days))
        return []
    if not made and frame.negated and frame.ended and frame.subject.subject == "user":
        made = list(gone_by_name(frame, grammar, said_at_us, sentence))
    result.facts.extend(made)
    return made


def _taken_back(
    before: Sequence[FormedFact], grammar: Grammar, said_at_us: int, sentence: str
) -> list[FormedFact]:  # fmt: skip
    if not before:
        return [unsettled("retract", "", "", grammar, said_at_us, sentence)]
    return [
        replace(fact, act="retract", corrected=fact.object_key, excerpt=sentence[:300], valid_from_us=said_at_us)
        for fact in before[-1:]
    ]
