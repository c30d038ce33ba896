"""From a reading of a clause to the facts it makes: what is stated, corrected, ended or taken back, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aico_memory.domain.formation.acts import Speech, bare_value
from aico_memory.domain.formation.attributes import LOCATION, PLAN, TIME, Found, predicate_of, restore
from aico_memory.domain.formation.formed import NEWEST, SPEAKER, FormedFact
from aico_memory.domain.formation.frames import Frame, shorten
from aico_memory.domain.formation.german_endings import taken_apart
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.habits import ACTIVITIES, thing_of
from aico_memory.domain.formation.losses import ended_noun
from aico_memory.domain.formation.naming import DOES, object_key
from aico_memory.domain.formation.standalone import standalone
from aico_memory.domain.formation.validity import Validity
from aico_memory.domain.formation.weight import INFERRED, STATED, WEAK, confidence_of
from aico_memory.domain.formation.when import TimePhrase
from aico_memory.domain.formation.wording import commas, lower_in, squeeze, trim
from aico_memory.domain.memory import OPEN

MAX_TEXT = 500
PET = "pet"
_DAY_US = 86_400_000_000
# Where one will be is told with these, for as long as the sentence says.
_STATES = frozenset({
    "be", "have", "stay", "live", "sleep", "spend", "sein", "haben", "bleiben", "wohnen", "leben", "übernachten", "verbringen",
    "schlafen", "ol", "kal", "otur", "yaşa", "konakla", "bulun", "geçir",
})  # fmt: skip


def judge(  # noqa: PLR0912, PLR0915
    found: Found, frame: Frame, speech: Speech, validity: Validity, grammar: Grammar, tables: FormationTables,
    said_at_us: int, sentence: str, sudden: bool,
) -> list[FormedFact]:  # fmt: skip
    """The act of one reading, and the facts it makes."""
    value, corrected, act = found.value, "", "assert"
    if found.temporal and not frame.bounds:
        validity = Validity(said_at_us)
    known = tables.predicates.get(found.predicate)
    if known and known.permanent:
        validity = Validity(0)
    if known and known.planned and not frame.negated:
        validity = Validity(said_at_us)
    change = _change(value, grammar)
    if change is not None:
        corrected, value = change
    corrected = found.left or corrected
    if found.act == "alias" and speech.act == "correct" and frame.verb in grammar.words["naming_verbs"]:
        # "Eigentlich heißt die Katze Figo": nothing else is said.
        found = replace(found, act="")
    if found.act == "alias":
        return [_fact(found, found.value, "assert", "", Validity(said_at_us), grammar, tables, speech, sentence)]
    if speech.corrected and speech.corrected != value and found.act == "":
        corrected = bare(speech.corrected, grammar)
    ends = found.act == "end"
    if frame.future and frame.ended and not frame.times:
        # "I won't be at Acme any more": not yet.
        return []
    if frame.negated and ends:
        # "I haven't left Siemens": nothing ended.
        return []
    if frame.negated:
        if (
            # "I don't like olives at all" is what one dislikes, and no lie told before.
            (speech.denied and not frame.ended and not found.opposite)
            or (frame.never and (frame.past or frame.perfect))
            or (speech.act in ("correct", "retract") and not frame.ended)
            or (frame.future and not frame.ended)
            or (sudden and not frame.past and not frame.ended)
        ):
            act = "retract"
        elif validity.over and not frame.ended:
            return []
        else:
            act = "end"
        done = found
        if act == "end" and (known is None or known.general) and (ended := ended_noun(found, tables, grammar)):
            found, value = ended, ""
        made = _no_longer_timed(done, frame, act, said_at_us, grammar, tables, speech, sentence)
        made += [
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
        noun = lower_in(value, grammar.code)
        if act == "retract" and found.predicate in (PET, "owns") and grammar.synonyms.get(noun, noun) in grammar.relations:
            # "I never had a dog": then it had no name either.
            name, single, kind = predicate_of(noun, tables, grammar)
            named = replace(found, predicate=name, single_valued=single, kind=kind, opposite="")
            made.append(_fact(named, "", act, "", Validity(said_at_us), grammar, tables, speech, sentence))
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
        # "Actually I moved to Bergen, not Oslo" tells what it corrects, and that it never was so.
        changes = speech.changed or (not speech.corrected and (sudden or frame.begun or any(frame.times)))
        # "Scratch that, it's on Thursdays now": what stood before was true of its time.
        since_now = any(mark.search(lower_in(speech.text, grammar.code)) for mark in grammar.marks["by_now"])
        # "Actually the cat's name is Figo" names the one that was named wrongly.
        renames = found.predicate.startswith("attribute:") and value[:1].isupper() and not speech.changed
        changed = speech.weak and (changes or (not found.single_valued and not corrected and not renames))
        act = "assert" if changed or (since_now and found.single_valued and not corrected) else "correct"
    switches = frame.verb in grammar.words["switches"]
    made = [_fact(found, value, act, corrected, validity, grammar, tables, speech, sentence, frame)]
    if act == "assert" and found.single_valued and found.left not in ("", NEWEST) and known and not switches:
        # "We moved from Austin to Portland": it was Austin until then, whether it had been told or not.
        was = Validity(0, validity.from_us)
        made.insert(0, _fact(replace(found, left=""), found.left, "assert", "", was, grammar, tables, speech, sentence))
    if act == "assert" and frame.once and value:
        # "I used to hate olives": whoever was told that they are hated knows now that it is over.
        made.append(_fact(found, value, "end", value, Validity(said_at_us), grammar, tables, speech, sentence))
    marks = (*grammar.marks["by_now"], *grammar.marks["again"])
    now = frame.begun or any(mark.search(lower_in(sentence, grammar.code)) for mark in marks)
    if act == "assert" and found.opposite and (speech.weak or speech.changed or now):
        # "I actually like olives now."
        opposite = tables.predicates[found.opposite]
        other = replace(found, predicate=opposite.name, single_valued=opposite.single_valued, kind=opposite.kind)
        made.append(_fact(other, value, "end", value, Validity(validity.from_us), grammar, tables, speech, sentence))
    return made


def _no_longer_timed(
    found: Found, frame: Frame, act: str, said_at_us: int, grammar: Grammar, tables: FormationTables, speech: Speech,
    sentence: str,
) -> list[FormedFact]:  # fmt: skip
    """ "I don't go to the gym any more": then it is not on Mondays either, whatever the gym is kept as."""
    attended = frame.verb in grammar.words["attends"]
    if act != "end" or not frame.ended or found.subject != SPEAKER or not found.value:
        return []
    said = {trim(word) for word in lower_in(sentence, grammar.code).split()}
    if any(day in said or f"{day}s" in said for day in grammar.calendar.weekdays):
        # "Not on Wednesdays any more" leaves the other days.
        return []
    made, now = [], Validity(said_at_us)
    if found.predicate in ACTIVITIES - {"owns"} or attended:
        thing = lower_in(thing_of(frame, grammar) if attended else found.value, grammar.code)
        timed = replace(found, subject=thing, predicate=TIME, single_valued=True, opposite="")
        made.append(_fact(timed, "", act, "", now, grammar, tables, speech, sentence))
    if attended and found.predicate not in tables.predicates:
        made.append(_fact(found, found.value, act, found.value, now, grammar, tables, speech, sentence))
    return made


def _change(value: str, grammar: Grammar) -> tuple[str, str] | None:
    """(old, new) of "from X to Y", "Y instead of X"."""
    for mark in grammar.marks["change"]:
        match = mark.match(value)
        if match and match["old"] and match["new"]:
            return bare(match["old"], grammar), shorten(match["new"], grammar)
    return None


def bare(text: str, grammar: Grammar) -> str:
    return shorten(bare_value(text, grammar), grammar)


def _fact(
    found: Found, value: str, act: str, corrected: str, validity: Validity, grammar: Grammar, tables: FormationTables,
    speech: Speech, sentence: str, frame: Frame | None = None,
) -> FormedFact:  # fmt: skip
    return FormedFact(
        text=standalone(sentence, found.subject, grammar)[:MAX_TEXT],
        kind=found.kind if found.kind not in {"date", ""} else "fact",
        subject=taken_apart(found.subject, grammar)
        if grammar.code == "de" and found.predicate in (TIME, LOCATION)
        else found.subject,
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
        confidence_base=_confidence(found, value, act, corrected, frame, grammar, tables, speech),
        excerpt=sentence[:300],
    )


def _confidence(
    found: Found, value: str, act: str, corrected: str, frame: Frame | None, grammar: Grammar, tables: FormationTables,
    speech: Speech,
) -> float:  # fmt: skip
    if found.predicate == DOES and not corrected:
        # To do something says little, save in the place of something else.
        return WEAK
    if speech.explicit or act == "correct":
        return STATED
    if act != "assert" or frame is None:
        return INFERRED
    if corrected:
        # It takes the place of something: that is more than a verb with a noun.
        return max(INFERRED, confidence_of(frame, found, value, tables, grammar))
    return confidence_of(frame, found, value, tables, grammar)


def plan_of(
    frame: Frame, phrases: Sequence[TimePhrase], raw: Sequence[str], grammar: Grammar, said_at_us: int, sentence: str,
    days: float,
) -> FormedFact:  # fmt: skip
    """What is planned; it holds for so many days where it names no end."""
    ends = [phrases[number].bounds(past=False)[1] for number in frame.times]
    until = max((end for end in ends if said_at_us < end < OPEN), default=said_at_us + round(days * _DAY_US))
    value = (
        squeeze(f"{frame.verb} {restore(frame.rest, raw)}")
        if grammar.code == "en"
        else squeeze(f"{restore(frame.rest, raw)} {frame.verb}")
    )
    return FormedFact(
        text=standalone(sentence, frame.subject.subject, grammar)[:MAX_TEXT],
        kind="plan", subject=frame.subject.subject, predicate=PLAN, value=shorten(commas(value), grammar),
        object_key=object_key(commas(value), grammar), single_valued=False, valid_from_us=said_at_us, valid_until_us=until,
        temporal_type="time_bounded", language=grammar.code, excerpt=sentence[:300],
    )  # fmt: skip


def unsettled(act: str, value: str, corrected: str, grammar: Grammar, said_at_us: int, sentence: str) -> FormedFact:
    """A correction whose object is known only to who holds what was said before."""
    return FormedFact(
        text=sentence[:MAX_TEXT], kind="correction", subject="user", predicate="", value=value,
        object_key=object_key(value, grammar), single_valued=True, act=act, corrected=corrected,
        valid_from_us=said_at_us, language=grammar.code, excerpt=sentence[:300],
    )  # fmt: skip


def put_aside(frame: Frame, grammar: Grammar) -> str:
    """What something is done instead of ("I take candesartan instead of ramipril"); empty where nothing is."""
    if frame.negated:
        return ""
    return next((shorten(found["old"], grammar) for mark in grammar.marks["instead"] if (found := mark.search(frame.rest))), "")


def leaving(frame: Frame, grammar: Grammar) -> str:
    """What is left behind in "from X to Y", taken out of the readings."""
    left = ""
    for mark in grammar.marks["exchange"]:
        for reading in frame.readings:
            if match := mark.match(reading):
                frame.readings = [template.format(new=match["new"]) for template in grammar.words["exchange_reading"]]
                return shorten(match["old"], grammar)
    for mark in grammar.marks["leaving"]:
        for number, reading in enumerate(frame.readings):
            if (match := mark.search(reading)) and (grammar.code != "tr" or "@e " in reading):
                left = shorten(match["old"], grammar)
                frame.readings[number] = squeeze(reading[: match.start()] + " " + reading[match.end() :])
    return left


def is_to_come(frame: Frame, grammar: Grammar) -> bool:
    """Something sudden announced with no date is a plan ("I'm moving to Graz soon")."""
    announced = frame.progressive or frame.future or frame.verb in grammar.words["announced"]
    done = frame.past or frame.perfect or frame.begun or frame.ended or frame.negated
    thing = bool(frame.subject.noun and not frame.subject.name) or bool(set(frame.rest.split()) & grammar.words["lessons"])
    return announced and not done and not frame.times and not thing and frame.subject.owner != ""


def is_only_planned(frame: Frame, made: Sequence[FormedFact]) -> bool:
    """What one will do says no more than that: "I'm going to visit Rome" is no place where one is, and "I'll paint the kitchen
    next week" tells of nothing that holds."""
    done = frame.past or frame.perfect or frame.begun or frame.ended or frame.negated
    if not frame.future or done or frame.subject.subject != SPEAKER or frame.verb in _STATES:
        return False
    # What has no known name is too weak to be kept as something that one does.
    weak = all(fact.confidence_base <= WEAK for fact in made)
    return bool(frame.times) if weak else all(fact.act == "assert" and fact.predicate == LOCATION for fact in made)
