"""From a message of a person to its statements: sentences, clauses, facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import ModuleType

from aico_memory.domain.formation import english, german, turkish
from aico_memory.domain.formation.acts import Speech, read_speech
from aico_memory.domain.formation.attributes import restore
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.frames import Frame, Party
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.judging import MAX_TEXT, NEWEST, bare, is_to_come, judge, leaving, plan_of, unsettled
from aico_memory.domain.formation.kinds_of_things import alike, same_words
from aico_memory.domain.formation.naming import name_facts, object_key
from aico_memory.domain.formation.succession import Statements, note_what_is_over, succeeded
from aico_memory.domain.formation.turkish_words import split_case
from aico_memory.domain.formation.validity import validity_of
from aico_memory.domain.formation.when import TimePhrase, find_times
from aico_memory.domain.formation.wording import even, lower_in, own_words, sentences, squeeze, trim
from aico_memory.domain.memory import OPEN

MAX_SENTENCES = 40
_WORDS = re.compile(r"[^\W\d_]+")
# Phrases of time that say how long, never when.
BOUNDING = frozenset({"since", "from", "until", "held", "lasting"})
# What a message says after this is not read.
MAX_CHARACTERS = 5_000
PARSERS: dict[str, ModuleType] = {"english": english, "german": german, "turkish": turkish}


def read_statements(
    text: str, grammar: Grammar, tables: FormationTables, said_at_us: int, zone: str, recent: Sequence[str] = ()
) -> Statements:
    """All statements of a message; `recent` are the messages before it, the newest last."""
    result = Statements(last_party=_spoken_of(text, grammar, tables, said_at_us, zone, recent))
    for sentence in sentences(plainer(text, grammar))[:MAX_SENTENCES]:
        _sentence(result, sentence, grammar, tables, said_at_us, zone, recent)
    return succeeded(result, tables, grammar)


def _spoken_of(
    text: str, grammar: Grammar, tables: FormationTables, said_at_us: int, zone: str, recent: Sequence[str]
) -> Party | None:
    """Whom "she" stands for where the message itself names nobody: the person whom the messages before spoke of."""
    if not any(word in grammar.words["third"] for word in _WORDS.findall(lower_in(text, grammar.code))):
        return None
    for earlier in reversed(recent[-3:]):
        party = read_statements(earlier, grammar, tables, said_at_us, zone).last_party
        if party is not None and (party.name or party.noun in grammar.relations):
            # Who she is has been said already.
            return replace(party, noun="", owner="user") if party.name else party
    return None


def plainer(text: str, grammar: Grammar) -> str:
    """The message in the plainer wording that the language's file knows for it, line by line."""
    expand = PARSERS[grammar.parser].expand
    lines = []
    for line in own_words(text[:MAX_CHARACTERS]).splitlines():
        said = expand(line)
        for wording, replacement in grammar.rewrites:
            said = wording.sub(replacement, said)
        lines.append(said)
    return "\n".join(lines)


def _sentence(  # noqa: PLR0912, PLR0915
    result: Statements,
    sentence: str,
    grammar: Grammar,
    tables: FormationTables,
    said_at_us: int,
    zone: str,
    recent: Sequence[str],
) -> None:
    parser = PARSERS[grammar.parser]
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
        return
    if speech.act == "retract" and not speech.text:
        result.strong = True
        if speech.corrected:
            key = object_key(bare(speech.corrected, grammar), grammar)
            result.facts.append(unsettled("retract", "", key, grammar, said_at_us, sentence))
            return
        result.facts.extend(_taken_back(result, grammar, tables, said_at_us, zone, recent, sentence))
        return
    question = speech.text.endswith("?")
    phrases = find_times(lower_in(speech.text, grammar.code), grammar.calendar, grammar.code, said_at_us, zone)
    phrases = [phrase for phrase in phrases if not _is_first_name(phrase, speech.text, grammar)]
    held = _hold(speech.text, phrases)
    raw = [speech.text[phrase.start : phrase.end] for phrase in phrases]
    if speech.act == "correct" and speech.elliptic and speech.elliptic != speech.text and _is_value(speech.elliptic):
        said = _elliptic(result, speech, raw, grammar, tables, said_at_us, zone, recent, sentence)
        if said:
            # "Correction: B negative, I've just looked": what follows is said beside it.
            result.facts.extend(said)
            result.strong = True
            return
    before: Frame | None = None
    before_facts = len(result.facts)
    found_any = False
    cut = parser.clauses(held, grammar)
    for number, clause in enumerate(cut):
        if question and number == len(cut) - 1:
            continue
        ended = False
        for mark in grammar.marks["ended"]:
            clause, count = mark.subn(" ", clause)  # noqa: PLW2901
            ended = ended or count > 0
        if number and (again := _it_is(clause, result, before_facts, raw, grammar, said_at_us)):
            result.facts.append(again)
            found_any = True
            continue
        frame = parser.parse(squeeze(clause), grammar, result.last_party, before)
        if frame is None:
            continue
        frame.ended = frame.ended or ended
        frame.negated = frame.negated or ended
        frame.bounds = frozenset(number for number in frame.times if phrases[number].kind in BOUNDING)
        before = frame
        if frame.subject.noun or frame.subject.name:
            result.last_party = frame.subject
        note_what_is_over(result, frame, grammar)
        if _begins_later(result, before_facts, frame, phrases, grammar):
            continue
        facts = _facts(frame, speech, phrases, raw, grammar, tables, said_at_us, sentence, result)
        found_any = found_any or bool(facts)
        if pet := next((fact for fact in facts if fact.predicate == "pet" and fact.act == "assert"), None):
            # "I have a dog, he's called Rex."
            result.last_party = Party(noun=pet.value.casefold(), possessed=True)
        elif who := next((fact.value for fact in facts if fact.predicate == "owns" and fact.act == "assert"), ""):
            noun = lower_in(who, grammar.code)
            if noun in grammar.relations or noun.split()[-1] in grammar.relations:
                # "I have a girlfriend now! Her name is Alba."
                result.facts = [fact for fact in result.facts if fact not in facts]
                result.last_party = Party(noun=noun, possessed=True)
    if speech.act == "correct" and not found_any and not question:
        said = _elliptic(result, speech, raw, grammar, tables, said_at_us, zone, recent, sentence)
        result.facts.extend(said)
    if speech.act == "retract" and not found_any:
        result.facts.extend(_taken_back(result, grammar, tables, said_at_us, zone, recent, sentence))
    _moved(result, before_facts)
    result.strong = result.strong or speech.act in ("correct", "retract") or speech.explicit


def _happens(frame: Frame, grammar: Grammar) -> bool:
    """Whether the clause tells of something that happened and holds since ("I was reassigned to …"), not of a state."""
    if frame.verb != "be" or not frame.past:
        return frame.verb not in grammar.words["states"]
    first = frame.rest.split()[0] if frame.rest else ""
    return grammar.tenses.get(first) in ("past", "participle") or (len(first) > 4 and first.endswith("ed"))


def _by_now(grammar: Grammar, sentence: str) -> bool:
    return any(mark.search(lower_in(sentence, grammar.code)) for mark in grammar.marks["by_now"])


def _it_is(
    clause: str, result: Statements, start: int, raw: Sequence[str], grammar: Grammar, said_at_us: int
) -> FormedFact | None:
    """ "…, now it's green": another value of what the clause before spoke of."""
    said = [fact for fact in result.facts[start:] if fact.predicate and fact.subject == "user"]
    match = next((mark.match(squeeze(clause)) for mark in grammar.marks["it_is"] if mark.match(squeeze(clause))), None)
    if not said or match is None or said[-1].act == "retract":
        return None
    value = bare(restore(match["v"], raw), grammar)
    fact = said[-1]
    return replace(
        fact,
        value=value,
        object_key=object_key(value, grammar),
        act="correct" if fact.act == "correct" else "assert",
        corrected="",
        valid_from_us=said_at_us,
        valid_until_us=OPEN,
        temporal_type="persistent",
    )


def _moved(result: Statements, start: int) -> None:
    """ "I don't live in X any more, I'm in Y now": Y is where one lives."""
    ended = {fact.subject for fact in result.facts[start:] if (fact.predicate, fact.act) == ("home_city", "end")}
    for place, fact in enumerate(result.facts[start:], start):
        if (
            (fact.subject in ended or result.moved)
            and fact.predicate == "location"
            and fact.act == "assert"
            and fact.valid_until_us == OPEN
        ):
            result.facts[place] = replace(fact, predicate="home_city", kind="profile")


def _is_value(text: str) -> bool:
    """Whether a few words are a value by themselves: a name or a number."""
    return len(text.split()) <= 4 and (text[:1].isupper() or any(letter.isdigit() for letter in text))


def _is_first_name(phrase: TimePhrase, text: str, grammar: Grammar) -> bool:
    """ "Juli Zeh", "April Jones": a month alone in front of a name is a name."""
    after = text[phrase.end :].split()
    alone = phrase.kind == "at" and phrase.phrase in grammar.calendar.months and text[phrase.start].isupper()
    return alone and bool(after) and after[0][:1].isupper() and text[phrase.end : phrase.end + 1] == " "


def _hold(text: str, phrases: Sequence[TimePhrase]) -> str:
    parts, at = [], 0
    for number, phrase in enumerate(phrases):
        parts += [text[at : phrase.start], f" §{number} "]
        at = phrase.end
    return squeeze("".join([*parts, text[at:]]))


def _facts(
    frame: Frame, speech: Speech, phrases: Sequence[TimePhrase], raw: Sequence[str], grammar: Grammar,
    tables: FormationTables, said_at_us: int, sentence: str, result: Statements,
) -> list[FormedFact]:  # fmt: skip
    if frame.unreal:
        result.trace.append(f"only possible: {sentence[:80]}")
        return []
    sudden = frame.verb in grammar.words["sudden"]
    if frame.intended or (sudden and is_to_come(frame, grammar)):
        result.plans.append(plan_of(frame, phrases, raw, grammar, said_at_us, sentence))
        return []
    made = []
    left = leaving(frame, grammar) if sudden else ""
    validity = validity_of(frame, phrases, said_at_us, grammar, _happens(frame, grammar))
    bound = validity_of(replace(frame, times=tuple(frame.bounds)), phrases, said_at_us, grammar, False)
    for found in name_facts(frame, raw, tables, grammar):
        fresh = found.predicate not in tables.predicates or found.predicate in ("eats", "drinks", "owns")
        if not left and not found.single_valued and fresh and found.act == "" and _by_now(grammar, sentence):
            left = NEWEST
        if not left and frame.verb in grammar.words["switches"] and not found.single_valued:
            left = NEWEST
        found = replace(found, left=left if found.act == "" and left != found.value else "")  # noqa: PLW2901
        for fact in judge(
            found, frame, speech, bound if found.temporal else validity, grammar, tables, said_at_us, sentence, sudden
        ):
            made.append(fact)
            result.trace.append(f"{fact.act} ({fact.subject}, {fact.predicate}, {fact.value})")
    if not made and frame.negated and frame.ended and frame.subject.subject == "user":
        made = list(_gone_by_name(frame, grammar, said_at_us, sentence))
    result.facts.extend(made)
    return made


def _begins_later(result: Statements, start: int, frame: Frame, phrases: Sequence[TimePhrase], grammar: Grammar) -> bool:
    """ "I got a job at Aldi and start on 1 March": what the clause before told begins then."""
    if frame.verb not in grammar.words["begins"] or frame.rest or not frame.times or start == len(result.facts):
        return False
    begins = phrases[frame.times[0]].bounds(past=frame.past)[0]
    for place, fact in enumerate(result.facts[start:], start):
        if fact.act == "assert" and fact.subject == frame.subject.subject and fact.valid_from_us < begins:
            result.facts[place] = replace(fact, valid_from_us=begins)
    return True


def _gone_by_name(frame: Frame, grammar: Grammar, said_at_us: int, sentence: str) -> Iterator[FormedFact]:
    """ "I don't see Dr. Amin anymore": whatever that was, it is over."""
    names = [word for word in frame.rest.split() if trim(word)[:1].isupper() or trim(word)[:1].isdigit()]
    name = split_case(names[-1])[1] if names and grammar.code == "tr" else names[-1] if names else ""
    value = bare(" ".join([*names[:-1], name]), grammar)
    if value:
        yield unsettled("end", value, object_key(value, grammar), grammar, said_at_us, sentence)


def _earlier(
    result: Statements, grammar: Grammar, tables: FormationTables, said_at_us: int, zone: str, recent: Sequence[str]
) -> list[FormedFact]:
    """What was stated before, the newest last: in this message, or else in the newest message that stated anything."""
    if result.facts:
        return result.facts
    for text in reversed(recent[-6:]):
        facts = [
            fact for fact in read_statements(text, grammar, tables, said_at_us, zone).facts if fact.act in ("assert", "correct")
        ]
        telling = [fact for fact in facts if fact.predicate in tables.predicates or ":" in fact.predicate]
        if telling or facts:
            return telling or facts
    return []


def _taken_back(
    result: Statements,
    grammar: Grammar,
    tables: FormationTables,
    said_at_us: int,
    zone: str,
    recent: Sequence[str],
    sentence: str,
) -> list[FormedFact]:
    before = _earlier(result, grammar, tables, said_at_us, zone, recent)
    if not before:
        return [unsettled("retract", "", "", grammar, said_at_us, sentence)]
    return [
        replace(fact, act="retract", corrected=fact.object_key, excerpt=sentence[:300], valid_from_us=said_at_us)
        for fact in before[-1:]
    ]


def _elliptic(
    result: Statements, speech: Speech, raw: Sequence[str], grammar: Grammar, tables: FormationTables, said_at_us: int,
    zone: str, recent: Sequence[str], sentence: str,
) -> list[FormedFact]:  # fmt: skip
    """ "No, I meant Thursday": the newest statement with another value."""
    value = bare(speech.elliptic or speech.text, grammar)
    if not value or len(value.split()) > 6:
        return []
    old = object_key(bare(speech.corrected, grammar), grammar) if speech.corrected else ""
    before = [
        fact
        for fact in _earlier(result, grammar, tables, said_at_us, zone, recent)
        if alike(fact.value, value, tables, grammar) or (old and same_words(old, fact.object_key))
    ]
    meant = [fact for fact in before if old and (old in fact.object_key or fact.object_key in old)] or before
    if not meant:
        return [unsettled("correct", value, old, grammar, said_at_us, sentence)] if old else []
    fact = meant[-1]
    return [
        replace(
            fact, value=value, object_key=object_key(value, grammar), act="correct", corrected=old or fact.object_key,
            text=squeeze(fact.text.replace(fact.value, value))[:MAX_TEXT], excerpt=sentence[:300], valid_from_us=said_at_us,
        )
    ]  # fmt: skip
