"""What a clause does to what was read beside it: another value of it, its beginning, whom it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from aico_memory.domain.formation.acts import Speech
from aico_memory.domain.formation.attributes import TIME, Found, restore
from aico_memory.domain.formation.formed import SPEAKER, FormedFact
from aico_memory.domain.formation.frames import HOLDER, Frame, Party, shorten
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.judging import bare, judge, unsettled
from aico_memory.domain.formation.measured import measured
from aico_memory.domain.formation.naming import name_facts, object_key
from aico_memory.domain.formation.succession import Statements
from aico_memory.domain.formation.turkish_words import split_case
from aico_memory.domain.formation.validity import Validity
from aico_memory.domain.formation.when import TimePhrase
from aico_memory.domain.formation.wording import lower_in, squeeze, trim
from aico_memory.domain.memory import OPEN

# What one likes or does to things that a pronoun may stand for.
CALLED_OFF = frozenset({"trip", "time"})
# Who has been somewhere this long lives there.
LONG_STAY_US = 300 * 86_400_000_000
# Words in which a thing is named by itself.
_NAMED_SHORTLY = 4
_WHICH_IS_IN = re.compile(r"[dt][ae]ki$|[dt][ıiuü]ğ[ıiuü](?:m(?:[ıiuü]z)?)?$")
STAYS = ("location", "home_city", "employer")
TASTES = frozenset({"likes", "dislikes", "eats", "drinks", "plays", "hobby", "owns", "uses", "reading"})


def happens(frame: Frame, grammar: Grammar) -> bool:
    """Whether the clause tells of something that happened and holds since ("I was reassigned to …"), not of a state."""
    if frame.verb != "be" or not frame.past:
        return frame.verb not in grammar.words["states"]
    first = frame.rest.split()[0] if frame.rest else ""
    return grammar.tenses.get(first) in ("past", "participle") or (len(first) > 4 and first.endswith("ed"))


def by_now(grammar: Grammar, sentence: str) -> bool:
    """Whether something holds now in place of what held before; "now we have a third cat" adds one."""
    said = lower_in(sentence, grammar.code).split()
    if not grammar.words["ordinals"].isdisjoint(said):
        return False
    if grammar.parser == "german" and (
        "auch" in said or any(one == "noch" and two.startswith("ein") for one, two in pairwise(said))
    ):
        # "Neuerdings gehe ich auch rudern", "wir haben jetzt noch eine Katze" adds one.
        return False
    return any(mark.search(lower_in(sentence, grammar.code)) for mark in grammar.marks["by_now"])


def it_is(
    clause: str, result: Statements, start: int, phrases: Sequence[TimePhrase], raw: Sequence[str], grammar: Grammar,
    said_at_us: int,
) -> FormedFact | None:  # fmt: skip
    """ "…, now it's green": another value of what the clause before spoke of."""
    said = [fact for fact in result.facts[start:] if fact.predicate and fact.subject == "user"]
    match = next((mark.match(squeeze(clause)) for mark in grammar.marks["it_is"] if mark.match(squeeze(clause))), None)
    if not said or match is None or said[-1].act == "retract":
        return None
    if HOLDER.search(match["v"]) and said[-1].predicate != TIME and not any(letter.isdigit() for letter in said[-1].value):
        # "I got an extension, it's 1 June now": a time takes the place of a time.
        return None
    value = bare(restore(match["v"], raw), grammar)
    fact = said[-1]
    if len(value.split()) > _NAMED_SHORTLY:
        # "I'm an engineer now and it's crazy to think that …"
        return None
    if fact.value[:1].isupper() and value[:1].islower() and not any(letter.isdigit() for letter in value):
        # "I live in Derby these days, it's alright": what it is like.
        return None
    if fact.act == "assert" and not fact.single_valued and value[:1].islower() and not by_now(grammar, clause):
        # "We got a new sofa, it's green velvet": what it is like.
        return None
    if fact.act == "end" and not (value[:1].isupper() or any(letter.isdigit() for letter in value)):
        # "I dropped Danish, it was too hard": why.
        return None
    return replace(
        fact,
        value=value,
        object_key=object_key(value, grammar),
        act="correct" if fact.act == "correct" else "assert",
        corrected="",
        valid_from_us=_begins(clause, match["v"], phrases, said_at_us),
        valid_until_us=OPEN,
        temporal_type="persistent",
    )


def now_it_is(
    said: str, earlier: Callable[[], Sequence[FormedFact]], phrases: Sequence[TimePhrase], raw: Sequence[str], grammar: Grammar,
    said_at_us: int, sentence: str,
) -> list[FormedFact]:  # fmt: skip
    """ "It's Virgin Active now", "from June it's Marco": another name or number for what was told last; else nothing."""
    text = squeeze(said)
    match = next((found for mark in grammar.marks["it_is"] if (found := mark.match(text.rstrip(".!")))), None)
    if match is None:
        return measured(squeeze(HOLDER.sub("", text)), earlier, grammar, said_at_us, sentence)
    if HOLDER.search(match["v"]):
        return []
    begins = _begins(text, match["v"], phrases, said_at_us)
    value = bare(restore(match["v"], raw), grammar)
    named = value[:1].isupper() or any(letter.isdigit() for letter in value)
    if not named or len(value.split()) > _NAMED_SHORTLY or not (begins > said_at_us or by_now(grammar, sentence)):
        return []
    digits = any(letter.isdigit() for letter in value)
    fact = next(
        (
            one
            for one in reversed(earlier())
            if one.act in ("assert", "correct") and like_case(one.value, value)
            and any(letter.isdigit() for letter in one.value) == digits
        ),
        None,
    )  # fmt: skip
    if fact is None or fact.object_key == object_key(value, grammar):
        return []
    return [
        replace(
            fact, value=value, object_key=object_key(value, grammar), act="assert",
            corrected="" if fact.single_valued else fact.object_key, text=sentence, excerpt=sentence[:300],
            valid_from_us=begins, valid_until_us=OPEN, temporal_type="persistent",
        )
    ]  # fmt: skip


def _begins(clause: str, value: str, phrases: Sequence[TimePhrase], said_at_us: int) -> int:
    """ "From 21 March it is Ruben": when it begins, beside what it is."""
    named = set(HOLDER.findall(clause)) - set(HOLDER.findall(value))
    return max((phrases[int(one)].future[0] for one in named if phrases[int(one)].kind == "from"), default=said_at_us)


def said_later(text: str, grammar: Grammar) -> str:
    """ "No wait, they rang, it's Sunday now": the value in the last clause of a correction; empty where it has none."""
    last = text.rpartition(", ")[2] if ", " in text else ""
    return next((found["v"].strip() for mark in grammar.marks["it_is"] if (found := mark.match(squeeze(last)))), "")


def moved(result: Statements, start: int) -> None:
    """ "I don't live in X any more, I'm in Y now": Y is where one lives."""
    ended = {fact.subject for fact in result.facts[start:] if (fact.predicate, fact.act) == ("home_city", "end")}
    over = any(one.predicate == "home_city" and one.subject == SPEAKER for one in result.facts[:start])
    over = over and not any(one.predicate == "home_city" and one.valid_until_us == OPEN for one in result.facts)
    for place, fact in enumerate(result.facts[start:], start):
        if (
            (fact.subject in ended or ((result.moved or over) and fact.subject == SPEAKER))
            and fact.predicate == "location"
            and fact.act == "assert"
            and fact.valid_until_us == OPEN
        ):
            result.facts[place] = replace(fact, predicate="home_city", kind="profile")


def at_home(found: Found, frame: Frame, phrases: Sequence[TimePhrase], said_at_us: int, grammar: Grammar) -> Found:
    """ "I've been in Ghent for three years": who has been in a place for so long lives there."""
    place = lower_in(found.value, grammar.code)
    if found.predicate == "employer" and frame.verb == "be" and place in grammar.words["provinces"]:
        # "Halam Ankara'da emekli bankacı"
        return replace(found, predicate="home_city", kind="profile")
    # Turkish has no perfect: "on yıldır Adana'dayım".
    lasts = frame.perfect or any(phrases[number].kind == "held" for number in frame.bounds)
    stays = found.predicate == "location" and lasts and not frame.negated and found.subject == SPEAKER
    long_ago = any(phrases[number].past[0] <= said_at_us - LONG_STAY_US for number in frame.bounds)
    return replace(found, predicate="home_city", kind="profile") if stays and long_ago and found.value[:1].isupper() else found


def begins_later(result: Statements, start: int, frame: Frame, phrases: Sequence[TimePhrase], grammar: Grammar) -> bool:
    """ "I got a job at Aldi and start on 1 March": what the clause before told begins then."""
    if frame.verb not in grammar.words["begins"] or frame.rest or not frame.times or start == len(result.facts):
        return False
    begins = phrases[frame.times[0]].bounds(past=frame.past)[0]
    for place, fact in enumerate(result.facts[start:], start):
        if fact.act == "assert" and fact.subject == frame.subject.subject and fact.valid_from_us < begins:
            result.facts[place] = replace(fact, valid_from_us=begins)
    return True


def spelled_out(clause: str, said: Sequence[FormedFact], grammar: Grammar) -> str:
    """ "I used to hate olives, but now I like them": what the pronoun stands for, where the speaker does it."""
    words = clause.split()
    kinds = TASTES | grammar.words["finds"]
    thing = next((fact.value for fact in reversed(said) if fact.subject == SPEAKER and fact.predicate in kinds), "")
    low = [lower_in(trim(word), grammar.code) for word in words]
    at = next((at for at, word in enumerate(low) if at and word in grammar.words["object_pronouns"]), -1)
    if not thing or at < 0 or not any(word in grammar.words["speaker"] for word in low):
        return clause
    return " ".join([*words[:at], words[at].replace(trim(words[at]), thing), *words[at + 1 :]])


def until_then(facts: Sequence[FormedFact], earlier: Sequence[FormedFact], said_at_us: int) -> list[FormedFact]:
    """ "From May I work at A. Until then I'm at B": B is what A will be, and ends where A begins."""
    ahead = next((fact for fact in reversed(earlier) if fact.act == "assert" and fact.valid_from_us > said_at_us), None)
    if ahead is None:
        return list(facts)
    return [
        replace(fact, predicate=ahead.predicate, single_valued=ahead.single_valued, kind=ahead.kind,
                valid_until_us=ahead.valid_from_us)
        if fact.act == "assert" and fact.valid_until_us == OPEN and fact.predicate in (ahead.predicate, *STAYS)
        and fact.valid_from_us < ahead.valid_from_us
        else fact
        for fact in facts
    ]  # fmt: skip


def like_case(one: str, other: str) -> bool:
    """Whether both are names, or both are none: then one may take the place of the other."""
    return bool(one) and one[:1].isupper() == other[:1].isupper()


def taken_back(old: str, tables: FormationTables, grammar: Grammar, said_at_us: int, sentence: str) -> FormedFact:
    """What never was so: the newest value of what the noun names ("the allergy"), or whatever had that value."""
    said = bare(old, grammar)
    noun = lower_in(said, grammar.code)
    fact = unsettled("retract", "", object_key(said, grammar), grammar, said_at_us, sentence)
    if name := tables.nouns.get((grammar.code, grammar.synonyms.get(noun, noun))):
        known = tables.predicates[name]
        fact = replace(fact, predicate=name, single_valued=known.single_valued, kind=known.kind, corrected="")
    return fact


def gone_by_name(frame: Frame, grammar: Grammar, said_at_us: int, sentence: str) -> Iterator[FormedFact]:
    """ "I don't see Dr. Amin anymore": whatever that was, it is over."""
    names = [word for word in frame.rest.split() if trim(word)[:1].isupper() or trim(word)[:1].isdigit()]
    name = split_case(names[-1])[1] if names and grammar.code == "tr" else names[-1] if names else ""
    value = bare(" ".join([*names[:-1], name]), grammar)
    if value:
        yield unsettled("end", value, object_key(value, grammar), grammar, said_at_us, sentence)


def called(frame: Frame, facts: Sequence[FormedFact], tables: FormationTables) -> str:
    """The name that the clause gives to the person whom its noun names; empty where it gives none."""
    if frame.subject.noun in tables.types["animal"]:
        return ""
    for fact in facts:
        known = tables.predicates.get(fact.predicate)
        relation = fact.predicate.startswith("attribute:") or (known is not None and known.relation)
        if relation and fact.act in ("assert", "correct") and fact.value[:1].isupper() and not frame.subject.name:
            return fact.value
    return ""


def announced(
    frame: Frame, speech: Speech, raw: Sequence[str], grammar: Grammar, tables: FormationTables, said_at_us: int, sentence: str
) -> tuple[list[FormedFact], list[FormedFact]]:
    """What a plan tells of now: where one is going, however it comes out ("We want to go to Malta in June"), and who it is
    that plans ("My daughter Mia starts school")."""
    if frame.negated:
        return [], []
    meant, now = replace(frame, intended=False), Validity(said_at_us)
    found = name_facts(frame, raw, tables, grammar)
    own = frame.subject.subject == SPEAKER
    trips = [one for one in found if own and one.predicate in tables.predicates and tables.predicates[one.predicate].planned]
    introduced = [one for one in found if one.act == "alias"]

    def told(several: Iterable[Found]) -> list[FormedFact]:
        return [
            fact for one in several for fact in judge(one, meant, speech, now, grammar, tables, said_at_us, sentence, False)
        ]

    return told(trips), told(introduced)


def in_its_place(sentence: str, grammar: Grammar) -> bool:
    """Whether something is told to take the place of another ("I take losartan instead")."""
    return any(mark.search(sentence) for mark in grammar.marks["in_its_place"])


def ended_before(predicate: str, told: Iterable[Sequence[FormedFact]], tables: FormationTables) -> bool:
    """Whether this message, or one just before it, tells which of many values ended: then no other one does."""
    ends = [fact.predicate for facts in told for fact in facts if fact.act == "end"]
    return any(one == predicate or one not in tables.predicates or tables.predicates[one].general for one in ends)


def gone_thing(frame: Frame, tables: FormationTables, grammar: Grammar) -> str:
    """ "The Golf is sold", "Ramipril was stopped": what is named and gone, whatever it was; empty where it is not told."""
    party = frame.subject
    noun = party.noun.split()[-1] if party.noun else ""
    if (
        frame.negated
        or not (noun or party.name or frame.text[:1].isupper())
        or noun in grammar.relations
        or noun in grammar.words["people"]
    ):
        return ""
    text = squeeze(frame.text)
    match = next((found for mark in grammar.marks["gone"] if (found := mark.match(text))), None)
    if match is None or len(match["v"].split()) > _NAMED_SHORTLY:
        return ""
    value = shorten(match["v"], grammar)
    if grammar.parser == "turkish" and any(_WHICH_IS_IN.search(word) for word in value.split()):
        # "Satranç kulübündeki turnuva bitti": the club goes on.
        return ""
    known = any(lower_in(value, grammar.code) in kind for kind in tables.types.values())
    if party.name and not known and lower_in(text.split()[-1], grammar.code) in grammar.words["off_words"]:
        # "Max is gone": somebody may only have left.
        return ""
    return value


def thing_timed(frame: Frame, earlier: Iterable[Sequence[FormedFact]], grammar: Grammar) -> Party | None:
    """ "It's due on Friday", "the deadline is Friday now": the newest thing that had a time; `earlier` newest first."""
    said = [trim(word) for word in lower_in(frame.text, grammar.code).split() if trim(word) not in grammar.words["adverbs"]]
    # "From May on it will be on Wednesdays".
    said = [word for word in said if not HOLDER.search(word)]
    first = said[0] if said else ""
    # "The dentist rang, it's the 27th now": nobody is a date.
    it = grammar.parser == "english" and first in grammar.words["its_time"]
    # "We go on Saturdays now"
    going = frame.subject.subject == SPEAKER and frame.verb in grammar.words["attends"] and not frame.rest
    it = it or (grammar.parser == "english" and going and not (frame.past or frame.perfect or frame.negated))
    first = "it" if it else first
    noun = first if it else frame.subject.noun or (first if frame.subject.owner == "" else "")
    clock = any(mark.search(lower_in(frame.rest, grammar.code)) for mark in grammar.marks["clock"])
    if not (frame.times or (it and clock)) or (frame.subject.name and not it) or noun not in grammar.words["its_time"]:
        return None
    for facts in earlier:
        known = [fact.subject for fact in facts if fact.predicate == TIME and fact.act in ("assert", "correct")]
        if known and known[-1] != SPEAKER:
            return Party(noun=known[-1], possessed=True)
    return None


def called_off(earlier: Iterable[Sequence[FormedFact]], said_at_us: int, sentence: str) -> list[FormedFact]:
    """ "We called it off": the newest of what was planned or had a time; `earlier` are the facts of messages, newest first."""
    for facts in earlier:
        for fact in reversed(facts):
            if fact.predicate in CALLED_OFF and fact.act in ("assert", "correct"):
                # A trip is kept with its time, under the name of where it goes.
                beside = [one for one in facts if one.predicate in CALLED_OFF and fact.subject == one.value.casefold()]
                return [replace(one, act="end", corrected=one.object_key, valid_from_us=said_at_us, valid_until_us=OPEN,
                                temporal_type="persistent", excerpt=sentence[:300]) for one in (fact, *beside)]  # fmt: skip
    return []
