"""From a message of a person to its statements: sentences, clauses, facts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType

from aico_memory.domain.formation import english, german, turkish
from aico_memory.domain.formation.acts import Speech, bare_value, read_speech
from aico_memory.domain.formation.attributes import PLAN, Found, restore
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.frames import Frame, Party, shorten
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.naming import name_facts, object_key
from aico_memory.domain.formation.validity import Validity, validity_of
from aico_memory.domain.formation.when import TimePhrase, find_times
from aico_memory.domain.formation.wording import even, lower_in, sentences, squeeze, trim
from aico_memory.domain.memory import OPEN

MAX_TEXT = 500
MAX_SENTENCES = 40
# Stands for the newest value, whichever it is ("I switched to tea").
NEWEST = "*"
_WEEK_US = 7 * 86_400_000_000
PARSERS: dict[str, ModuleType] = {"english": english, "german": german, "turkish": turkish}


@dataclass(slots=True)
class Statements:
    """What was read, in the order it was said."""

    facts: list[FormedFact] = field(default_factory=list)
    plans: list[FormedFact] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    # A correction or retraction was heard, or something to be remembered.
    strong: bool = False
    last_party: Party | None = None


def read_statements(
    text: str, grammar: Grammar, tables: FormationTables, said_at_us: int, zone: str, recent: Sequence[str] = ()
) -> Statements:
    """All statements of a message; `recent` are the messages before it, the newest last."""
    result = Statements()
    for sentence in sentences(text)[:MAX_SENTENCES]:
        _sentence(result, sentence, grammar, tables, said_at_us, zone, recent)
    return result


def _sentence(
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
    if speech.silent:
        result.trace.append(f"nothing stated: {sentence[:80]}")
        return
    if speech.act == "retract" and not speech.text:
        result.strong = True
        result.facts.extend(_taken_back(result, grammar, tables, said_at_us, zone, recent, sentence))
        return
    question = speech.text.endswith("?")
    phrases = find_times(lower_in(speech.text, grammar.code), grammar.calendar, grammar.code, said_at_us, zone)
    held = _hold(speech.text, phrases)
    raw = [speech.text[phrase.start : phrase.end] for phrase in phrases]
    before: Frame | None = None
    found_any = False
    cut = parser.clauses(held, grammar)
    for number, clause in enumerate(cut):
        if question and number == len(cut) - 1:
            continue
        ended = False
        for mark in grammar.marks["ended"]:
            clause, count = mark.subn(" ", clause)  # noqa: PLW2901
            ended = ended or count > 0
        frame = parser.parse(squeeze(clause), grammar, result.last_party, before)
        if frame is None:
            continue
        frame.ended = frame.ended or ended
        frame.negated = frame.negated or ended
        before = frame
        if frame.subject.noun or frame.subject.name:
            result.last_party = frame.subject
        facts = _facts(frame, speech, phrases, raw, grammar, tables, said_at_us, sentence, result)
        found_any = found_any or bool(facts)
    if speech.act == "correct" and not found_any and not question:
        said = _elliptic(result, speech, raw, grammar, tables, said_at_us, zone, recent, sentence)
        result.facts.extend(said)
    result.strong = result.strong or speech.act in ("correct", "retract") or speech.explicit


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
    if frame.intended or (sudden and _to_come(frame, grammar)):
        result.plans.append(_plan(frame, phrases, raw, grammar, said_at_us, sentence))
        return []
    made = []
    left = _leaving(frame, grammar) if sudden else ""
    validity = validity_of(frame, phrases, said_at_us, grammar, sudden)
    for found in name_facts(frame, raw, tables, grammar):
        if not left and frame.verb in grammar.words["switches"] and not found.single_valued:
            left = NEWEST
        found = replace(found, left=left if found.act == "" and left != found.value else "")  # noqa: PLW2901
        for fact in _judged(found, frame, speech, validity, grammar, tables, said_at_us, sentence, sudden):
            made.append(fact)
            result.trace.append(f"{fact.act} ({fact.subject}, {fact.predicate}, {fact.value})")
    result.facts.extend(made)
    return made


def _leaving(frame: Frame, grammar: Grammar) -> str:
    """What is left behind in "from X to Y", taken out of the readings."""
    left = ""
    for mark in grammar.marks["leaving"]:
        for number, reading in enumerate(frame.readings):
            if (match := mark.search(reading)) and (grammar.code != "tr" or "@e " in reading):
                left = shorten(match["old"], grammar)
                frame.readings[number] = squeeze(reading[: match.start()] + " " + reading[match.end() :])
    return left


def _to_come(frame: Frame, grammar: Grammar) -> bool:
    """Something sudden announced with no date is a plan ("I'm moving to Graz soon")."""
    announced = frame.progressive or frame.future or frame.verb in grammar.words["announced"]
    done = frame.past or frame.perfect or frame.begun or frame.ended or frame.negated
    thing = bool(frame.subject.noun and not frame.subject.name)
    return announced and not done and not frame.times and not thing and frame.subject.owner != ""


def _judged(  # noqa: PLR0912
    found: Found, frame: Frame, speech: Speech, validity: Validity, grammar: Grammar, tables: FormationTables,
    said_at_us: int, sentence: str, sudden: bool,
) -> list[FormedFact]:  # fmt: skip
    """The act of one reading, and the facts it makes."""
    value, corrected, act = found.value, "", "assert"
    if found.temporal:
        validity = Validity(said_at_us)
    known = tables.predicates.get(found.predicate)
    if known and known.permanent:
        validity = Validity(0)
    change = _change(value, grammar)
    if change is not None:
        corrected, value = change
    corrected = found.left or corrected
    if found.act == "alias":
        return [_fact(found, found.value, "assert", "", Validity(said_at_us), grammar, tables, speech, sentence)]
    if speech.corrected and speech.corrected != value and found.act == "":
        corrected = _bare(speech.corrected, grammar)
    ends = found.act == "end"
    if frame.negated and ends:
        # "I haven't left Siemens": nothing ended.
        return []
    if frame.negated:
        if (
            speech.denied
            or (frame.never and (frame.past or frame.perfect))
            or (speech.act in ("correct", "retract") and not frame.ended)
            or frame.future
            or (sudden and not frame.past and not frame.ended)
        ):
            act = "retract"
        elif validity.over and not frame.ended:
            return []
        else:
            act = "end"
        made = [
            _fact(
                found,
                value,
                act,
                value,
                Validity(validity.from_us if not validity.over else said_at_us),
                grammar,
                tables,
                speech,
                sentence,
            )
        ]
        if found.opposite and act == "end" and not frame.ended:
            opposite = tables.predicates[found.opposite]
            other = replace(found, predicate=opposite.name, single_valued=opposite.single_valued, kind=opposite.kind)
            made.append(_fact(other, value, "assert", "", Validity(said_at_us), grammar, tables, speech, sentence))
        return made
    if ends:
        at = validity.from_us if not validity.over else said_at_us
        return [_fact(found, value, "end", value, Validity(at), grammar, tables, speech, sentence)]
    if speech.act == "retract":
        act = "assert"
    elif speech.act == "correct" and not validity.over:
        changes = sudden or frame.begun or speech.changed or any(frame.times)
        act = "assert" if speech.weak and (changes or (not found.single_valued and not corrected)) else "correct"
    return [_fact(found, value, act, corrected, validity, grammar, tables, speech, sentence)]


def _change(value: str, grammar: Grammar) -> tuple[str, str] | None:
    """(old, new) of "from X to Y", "Y instead of X"."""
    for mark in grammar.marks["change"]:
        match = mark.match(value)
        if match and match["old"] and match["new"]:
            return _bare(match["old"], grammar), shorten(match["new"], grammar)
    return None


def _bare(text: str, grammar: Grammar) -> str:
    return shorten(bare_value(text, grammar), grammar)


def _fact(
    found: Found, value: str, act: str, corrected: str, validity: Validity, grammar: Grammar, tables: FormationTables,
    speech: Speech, sentence: str,
) -> FormedFact:  # fmt: skip
    return FormedFact(
        text=_standalone(found, value, sentence, act, grammar)[:MAX_TEXT],
        kind=found.kind if found.kind not in {"date", ""} else "fact",
        subject=found.subject,
        predicate=found.predicate,
        value=value,
        object_key=object_key(value, grammar),
        single_valued=found.single_valued,
        act=act,
        corrected=NEWEST if corrected == NEWEST else object_key(corrected, grammar) if corrected else "",
        valid_from_us=validity.from_us,
        valid_until_us=validity.until_us,
        temporal_type="time_bounded" if validity.until_us != OPEN else "persistent",
        language=grammar.code,
        explicit=speech.explicit,
        confidence_base=0.9
        if speech.explicit or (act in ("assert", "correct") and found.predicate in tables.predicates)
        else 0.8,
        excerpt=sentence[:300],
    )


def _standalone(found: Found, value: str, sentence: str, act: str, grammar: Grammar) -> str:
    """The sentence so that it stands alone: with who it speaks of."""
    text = sentence
    for mark, replacement in grammar.templates.items():
        text = re.sub(mark, replacement, text)
    who = "" if found.subject == "user" or found.subject in text.casefold() else f"{found.subject}: "
    return squeeze(who + trim(text))


def _plan(
    frame: Frame, phrases: Sequence[TimePhrase], raw: Sequence[str], grammar: Grammar, said_at_us: int, sentence: str
) -> FormedFact:
    ends = [phrases[number].bounds(past=False)[1] for number in frame.times]
    until = max((end for end in ends if said_at_us < end < OPEN), default=said_at_us + _WEEK_US)
    value = (
        squeeze(f"{frame.verb} {restore(frame.rest, raw)}")
        if grammar.code == "en"
        else squeeze(f"{restore(frame.rest, raw)} {frame.verb}")
    )
    return FormedFact(
        text=_standalone(Found(frame.subject.subject, PLAN, value, False, "plan"), value, sentence, "assert", grammar)[:MAX_TEXT],  # noqa: E501
        kind="plan", subject=frame.subject.subject, predicate=PLAN, value=shorten(value, grammar),
        object_key=object_key(value, grammar), single_valued=False, valid_from_us=said_at_us, valid_until_us=until,
        temporal_type="time_bounded", language=grammar.code, excerpt=sentence[:300],
    )  # fmt: skip


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
        if facts:
            return facts
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
        return [_unknown("retract", "", "", grammar, said_at_us, sentence)]
    return [
        replace(fact, act="retract", corrected=fact.object_key, excerpt=sentence[:300], valid_from_us=said_at_us)
        for fact in before[-1:]
    ]


def _elliptic(
    result: Statements, speech: Speech, raw: Sequence[str], grammar: Grammar, tables: FormationTables, said_at_us: int,
    zone: str, recent: Sequence[str], sentence: str,
) -> list[FormedFact]:  # fmt: skip
    """ "No, I meant Thursday": the newest statement with another value."""
    value = _bare(speech.elliptic or speech.text, grammar)
    if not value or len(value.split()) > 6:
        return []
    old = object_key(_bare(speech.corrected, grammar), grammar) if speech.corrected else ""
    before = _earlier(result, grammar, tables, said_at_us, zone, recent)
    meant = [fact for fact in before if old and (old in fact.object_key or fact.object_key in old)] or before
    if not meant:
        return [_unknown("correct", value, old, grammar, said_at_us, sentence)]
    fact = meant[-1]
    return [
        replace(
            fact, value=value, object_key=object_key(value, grammar), act="correct", corrected=old or fact.object_key,
            text=squeeze(fact.text.replace(fact.value, value))[:MAX_TEXT], excerpt=sentence[:300], valid_from_us=said_at_us,
        )
    ]  # fmt: skip


def _unknown(act: str, value: str, corrected: str, grammar: Grammar, said_at_us: int, sentence: str) -> FormedFact:
    """A correction whose object is known only to who holds what was said before."""
    return FormedFact(
        text=sentence[:MAX_TEXT], kind="correction", subject="user", predicate="", value=value,
        object_key=object_key(value, grammar), single_valued=True, act=act, corrected=corrected,
        valid_from_us=said_at_us, language=grammar.code, excerpt=sentence[:300],
    )  # fmt: skip
