"""What is said by naming it alone, beside what was said before: "also Czech", "I take the tram" of somebody who cycled."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from aico_memory.domain.formation.acts import bare_value
from aico_memory.domain.formation.attributes import ATTRIBUTE, TIME
from aico_memory.domain.formation.fitting import HAD
from aico_memory.domain.formation.formed import SPEAKER, FormedFact
from aico_memory.domain.formation.grammar import FormationTables, Grammar
from aico_memory.domain.formation.kinds_of_things import alike, same_words
from aico_memory.domain.formation.naming import object_key
from aico_memory.domain.formation.noticing import like_case
from aico_memory.domain.formation.of_before import beside_what_was_told
from aico_memory.domain.formation.succession import HOME, Statements
from aico_memory.domain.formation.unnamed import named_no_more
from aico_memory.domain.formation.values import NAMED
from aico_memory.domain.formation.weight import INFERRED, STATED
from aico_memory.domain.formation.wording import lower_in, squeeze
from aico_memory.domain.memory import OPEN

MOST_WORDS = 4
# Words behind a Turkish value: whose it is and what is done with it.
_BEHIND = 2
FAVOURITE, EMPLOYER = "favourite:", "employer"
PRONOUNS = frozenset({"him", "her", "it", "them"})
# "I'm sad", of somebody who is no nurse any longer.
_COPULAS = frozenset({"be", "sein"})
LIKES, SAVING = "likes", "saving"
PLACES = frozenset({"employer", "home_city", "location", "role", "school", "studies"})
ONTO, PASTIMES = "onto", frozenset({"reading", "watching", "project"})
COMMUTE, RETURNED = "commute", "returned"
DOSE = f"{ATTRIBUTE}dose"
_DOSE = re.compile(r"\d[\d.,]* ?(mg|mcg|µg|ug|g|ml|units|iu|puffs|drops|tablets?)\b")


def added(
    sentence: str, earlier: Sequence[FormedFact], tables: FormationTables, grammar: Grammar, said_at_us: int
) -> list[FormedFact]:
    """ "Also Czech, forgot to mention": another value of the newest of many that is of the same kind; else nothing."""
    match = next((found for mark in grammar.marks["adding"] if (found := mark.match(sentence))), None)
    if match is None:
        return []
    values = [bare_value(one, grammar) for mark in grammar.marks["listed"] for one in mark.split(match["v"])]
    if not values or any(not value or len(value.split()) > MOST_WORDS for value in values):
        return []
    for fact in reversed(earlier):
        if fact.single_valued or fact.act not in ("assert", "correct") or fact.predicate not in tables.predicates:
            continue
        if fact.predicate in NAMED and not all(value[:1].isupper() for value in values):
            continue
        if all(_one_more(fact.value, value, bool(match["s"]), tables, grammar) for value in values):
            return [
                replace(
                    fact, value=value, object_key=object_key(value, grammar), act="assert", corrected="",
                    text=squeeze(fact.text.replace(fact.value, value)), excerpt=sentence[:300],
                    valid_from_us=said_at_us, valid_until_us=OPEN, temporal_type="persistent",
                )
                for value in values
            ]  # fmt: skip
    return []


def _one_more(one: str, other: str, said_to_be: bool, tables: FormationTables, grammar: Grammar) -> bool:
    """Whether both are of one known kind; of an unknown one only where the sentence says that something is added."""
    left, right = lower_in(one, grammar.code), lower_in(other, grammar.code)
    kinds = [known for known in tables.types.values() if left in known]
    if kinds:
        return any(right in known for known in kinds)
    return said_to_be and not any(right in known for known in tables.types.values()) and alike(one, other, tables, grammar)


def what_it_replaces(result: Statements, start: int, grammar: Grammar, tables: FormationTables) -> None:
    """ "I'm no longer in Oslo, I went back to Bergen"; "I don't cycle to work, I take the tram": what the end spoke of."""
    ended = {fact.predicate for fact in result.facts[start:] if fact.act == "end" and fact.subject == "user"}
    _by_the_same_verb(result, start, grammar, tables)
    for place, fact in enumerate(result.facts[start:], start):
        if fact.act != "assert" or fact.subject != "user" or fact.valid_until_us != OPEN:
            continue
        if fact.predicate in grammar.words["begins"] and (begun := _begun_next(result.facts[:place], tables)):
            # "I finished Dune and started The Hobbit."
            known = tables.predicates[begun]
            result.facts[place] = replace(
                fact, predicate=begun, single_valued=known.single_valued, kind=known.kind, confidence_base=STATED
            )
            continue
        home = fact.predicate == RETURNED and fact.value[:1].isupper() and ended & {HOME, "location"}
        rides = COMMUTE in ended and (fact.predicate in grammar.words["rides"] or fact.predicate == "uses")
        if home or rides:
            name = HOME if home else COMMUTE
            known = tables.predicates[name]
            result.facts[place] = replace(
                fact, predicate=name, single_valued=known.single_valued, kind=known.kind, corrected="",
                confidence_base=max(fact.confidence_base, STATED),
            )  # fmt: skip


def _by_the_same_verb(result: Statements, start: int, grammar: Grammar, tables: FormationTables) -> None:
    """ "He is off warfarin, he takes apixaban now": what is taken is what ended, known by its name or not."""
    ended = {(one.subject, one.predicate): one for one in result.facts[start:] if one.act == "end" and one.value}
    for place, fact in enumerate(result.facts[start:], start):
        known_or_none = fact.predicate in tables.predicates or fact.predicate in _COPULAS
        if fact.act != "assert" or known_or_none or fact.valid_until_us != OPEN:
            continue
        for (subject, name), gone in ended.items():
            known = tables.predicates.get(name)
            surface = known.surfaces.get(grammar.code) if known is not None and not known.general else None
            same = surface is not None and fact.predicate in surface.at and subject == fact.subject
            # "I left Tesco, starting my own business": what has no name is nowhere to work.
            same = same and like_case(gone.value, fact.value)
            if known is not None and same and alike(gone.value, fact.value, tables, grammar):
                result.facts[place] = replace(
                    fact, predicate=name, single_valued=known.single_valued, kind=known.kind, corrected="",
                    confidence_base=max(fact.confidence_base, STATED),
                )  # fmt: skip


def by_what_was_told(
    result: Statements, start: int, sentence: str, told_before: Callable[[], Iterable[Sequence[FormedFact]]],
    newest: Callable[[], Sequence[FormedFact]], tables: FormationTables, grammar: Grammar, said_at_us: int,
) -> None:  # fmt: skip
    """What the facts of a sentence mean beside those that were told before it; these are looked up only where it matters.

    `told_before`: the facts of the messages before, newest first; `newest`: those of the newest that states anything.
    """
    beside_what_was_told(result, start, sentence, told_before, tables, grammar, said_at_us)
    taken_up(result, start, told_before(), tables)
    another_dose(result, start, told_before())
    of_what_was_told(result, start, told_before(), tables)
    carried_over(result, start, told_before())
    now = any(mark.search(lower_in(sentence, grammar.code)) for mark in grammar.marks["by_now"])
    in_place_of_what_was_told(result, start, told_before(), now, grammar)
    only_these(result, start, sentence, told_before(), now, grammar)
    played_then(result, start, told_before(), grammar)
    named_no_more(result, start, sentence, told_before(), grammar)
    if any(mark.search(sentence) for mark in grammar.marks["before_that"]):
        before_it(result, start, result.facts[:start] or newest(), said_at_us)


def _newest_first(told: Iterable[Sequence[FormedFact]]) -> Iterator[FormedFact]:
    """The facts of messages that come newest first, one by one."""
    return (fact for facts in told for fact in reversed(facts))


def before_it(result: Statements, start: int, earlier: Sequence[FormedFact], said_at_us: int) -> None:
    """ "I work at A since May. Before that I was at B": B is what A is, and ended where A began."""
    later = next((one for one in reversed(earlier) if one.act == "assert" and one.predicate in PLACES), None)
    if later is None:
        return
    for place, fact in enumerate(result.facts[start:], start):
        over = fact.act == "assert" and fact.valid_until_us <= said_at_us and fact.subject == later.subject
        if over and fact.predicate in PLACES and later.predicate in (fact.predicate, EMPLOYER):
            result.facts[place] = replace(
                fact, predicate=later.predicate, single_valued=later.single_valued, kind=later.kind,
                valid_until_us=min(later.valid_from_us, said_at_us), confidence_base=max(fact.confidence_base, STATED),
            )  # fmt: skip


def another_dose(result: Statements, start: int, earlier: Iterable[Sequence[FormedFact]]) -> None:
    """ "So it's 100 mg now": of what was told to be taken last, in the same unit."""
    for place, fact in enumerate(result.facts[start:], start):
        if fact.predicate != DOSE or not (unit := _unit(fact.value)):
            continue
        told = _newest_first(chain([result.facts[:place]], earlier))
        was = next((one for one in told if one.act != "end" and one.predicate != DOSE and _unit(one.value) == unit), None)
        if was is not None:
            result.facts[place] = replace(fact, predicate=was.predicate, confidence_base=STATED)


def _unit(value: str) -> str:
    """The unit of a dose ("mg" of "100 mg"); empty of what is none."""
    found = _DOSE.match(value.casefold())
    return found[1] if found else ""


def of_what_was_told(result: Statements, start: int, earlier: Iterable[Sequence[FormedFact]], tables: FormationTables) -> None:
    """ "My new favourite is Emma" of the newest favourite, "we called him Pax" of the newest animal; else nothing is told."""
    told: list[FormedFact] | None = None
    for fact in result.facts[start:]:
        nameless = fact.predicate == FAVOURITE
        pronoun = fact.predicate.removeprefix(ATTRIBUTE) in PRONOUNS and fact.predicate.startswith(ATTRIBUTE)
        if not (nameless or pronoun):
            continue
        if told is None:
            told = list(_newest_first(chain([result.facts], earlier)))
        known = [
            one
            for one in told
            if one is not fact
            and (one.predicate.startswith(FAVOURITE) if nameless else _is_animal(one, tables))
            and one.predicate != FAVOURITE
        ]
        named = [one for one in known if one.value and one.value in result.text] or known
        place = next(at for at, one in enumerate(result.facts) if one is fact)
        if not named:
            del result.facts[place]
            continue
        was = named[0]
        predicate = f"{ATTRIBUTE}{was.value.casefold()}" if was.predicate == "pet" else was.predicate
        corrected = was.object_key if pronoun and not was.single_valued and was.predicate != "pet" else ""
        result.facts[place] = replace(
            fact, predicate=predicate, single_valued=was.single_valued, kind=was.kind, corrected=corrected,
            confidence_base=STATED,
        )  # fmt: skip


def in_place_of_what_was_told(
    result: Statements, start: int, earlier: Iterable[Sequence[FormedFact]], by_now: bool, grammar: Grammar
) -> None:
    """ "I prefer the aisle now" in place of what was preferred before; "I bought the piano": nobody saves for it any longer."""
    mine = [fact for fact in result.facts[start:] if fact.subject == SPEAKER and fact.act == "assert"]
    prefers = [fact for fact in mine if fact.predicate == LIKES and _preferred(fact, grammar)] if by_now else []
    bought = [fact for fact in mine if fact.predicate in HAD]
    if not prefers and not bought:
        return
    told = [one for one in _newest_first(earlier) if one.act == "assert" and one.subject == SPEAKER]
    for fact in prefers[:1]:
        was = next((one for one in told if one.predicate == LIKES and _preferred(one, grammar)), None)
        if was is None and told and told[0].predicate.startswith(FAVOURITE) and like_case(told[0].value, fact.value):
            # "I prefer Darjeeling these days", of somebody who told just before that the favourite tea is another.
            liked = replace(fact, predicate=told[0].predicate, single_valued=True, kind=told[0].kind)
            result.facts[result.facts.index(fact)] = liked
        if was is not None and not fact.corrected and was.object_key != fact.object_key:
            result.facts[result.facts.index(fact)] = replace(fact, corrected=was.object_key)
    for fact in bought:
        goal = next((one for one in told if one.predicate == SAVING and same_words(one.object_key, fact.object_key)), None)
        if goal is not None:
            result.facts.append(replace(goal, act="end", corrected=goal.object_key, valid_from_us=fact.valid_from_us))


def played_then(result: Statements, start: int, earlier: Iterable[Sequence[FormedFact]], grammar: Grammar) -> None:
    """ "We play on Thursdays now", of somebody who plays squash: squash is on Thursdays."""
    for place, fact in enumerate(result.facts[start:], start):
        if fact.predicate != TIME or grammar.parser != "english" or grammar.tenses.get(fact.subject) != "infinitive":
            continue
        told = _newest_first(chain([result.facts[:start]], earlier))
        done = (one for one in told if one.subject == SPEAKER and one.act in ("assert", "correct") and one.value)
        was = next((one for one in done if grammar.verbs.get(one.predicate) == fact.subject), None)
        if was is not None:
            result.facts[place] = replace(fact, subject=lower_in(was.value, grammar.code))


def only_these(
    result: Statements, start: int, sentence: str, earlier: Iterable[Sequence[FormedFact]], by_now: bool, grammar: Grammar
) -> None:
    """ "I only collect maps now": whatever else was told to be collected is over."""
    match = next((found for mark in grammar.marks["only"] if (found := mark.search(sentence))), None)
    if match is None or not (by_now or match.groupdict().get("left")):
        return
    mine = [
        one
        for one in result.facts[start:]
        if one.act == "assert" and one.subject == SPEAKER and not one.single_valued and one.valid_until_us == OPEN
    ]
    if not mine or not _nothing_else(match["v"], mine, grammar):
        return
    seen = {(one.predicate, one.object_key) for one in mine}
    for one in _newest_first(earlier):
        kept = [fact for fact in mine if fact.predicate == one.predicate]
        if one.subject != SPEAKER or not kept or (one.predicate, one.object_key) in seen:
            continue
        seen.add((one.predicate, one.object_key))
        part = next((fact for fact in kept if same_words(fact.object_key, one.object_key)), None)
        if one.act in ("assert", "correct") and part is not None:
            # "Old maps" were maps.
            result.facts[result.facts.index(part)] = replace(part, corrected=one.object_key)
        elif one.act in ("assert", "correct"):
            over = replace(one, act="end", corrected=one.object_key, valid_from_us=kept[0].valid_from_us)
            result.facts.append(replace(over, excerpt=sentence[:300], confidence_base=INFERRED))


def _nothing_else(said: str, facts: Sequence[FormedFact], grammar: Grammar) -> bool:
    """Whether "only" is said of the values, and not of when or where ("only drink coffee at work now")."""
    low = lower_in(said, grammar.code)
    for mark in (*grammar.marks["by_now"], *grammar.marks["listed"]):
        low = mark.sub(" ", low)
    values = {word for fact in facts for word in lower_in(fact.value, grammar.code).split()}
    words = low.split()
    turkish = grammar.parser == "turkish"
    if grammar.parser == "german":
        # "haben jetzt nur noch Wow abonniert": what is done with it closes the clause.
        words = [word for word in words if word not in grammar.verbs or word in values]
    if words and grammar.parser == "english" and words[0] not in values:
        # "only collect maps"
        words.pop(0)
    skipped = grammar.words["own"] | (grammar.tellings.articles if grammar.tellings else frozenset())
    left = [word for word in words if word not in skipped and not any(word.startswith(value) for value in values)]
    # In Turkish what is done stands behind it ("sadece Spotify aboneliğim var").
    first = bool(words) and any(words[0].startswith(value) for value in values)
    return first and len(left) <= _BEHIND if turkish else not left


def _preferred(fact: FormedFact, grammar: Grammar) -> bool:
    return any(word in grammar.words["prefers"] for word in lower_in(fact.excerpt, grammar.code).split())


def _is_animal(fact: FormedFact, tables: FormationTables) -> bool:
    noun = fact.predicate.removeprefix(ATTRIBUTE) if fact.predicate.startswith(ATTRIBUTE) else ""
    return fact.act in ("assert", "correct") and (fact.predicate == "pet" or noun in tables.types["animal"])


def carried_over(result: Statements, start: int, earlier: Iterable[Sequence[FormedFact]]) -> None:
    """ "We moved from Jira to Linear": nobody lived in what was told to be used."""
    if not any(fact.predicate == HOME and (fact.corrected or fact.valid_until_us != OPEN) for fact in result.facts[start:]):
        return
    told = [one for one in _newest_first(earlier) if one.act in ("assert", "correct")]
    for fact in [one for one in result.facts[start:] if one.predicate == HOME and one.act == "assert" and one.corrected]:
        was = next((one for one in told if one.object_key == fact.corrected), None)
        if was is None or was.predicate in (HOME, "location", "birthplace", "grew_up", "visited", "trip"):
            continue
        kept = [
            one
            for one in result.facts[start:]
            if one.predicate != HOME or one.object_key not in (fact.corrected, fact.object_key)
        ]
        moved = replace(fact, predicate=was.predicate, single_valued=was.single_valued, kind=was.kind, subject=was.subject)
        result.facts[start:] = [*kept, moved]


def taken_up(result: Statements, start: int, earlier: Iterable[Sequence[FormedFact]], tables: FormationTables) -> None:
    """ "I couldn't finish Dune, I'm on Emma now": read, because that is what was done with what the sentence names before it.

    Without such a thing it is not said what one is on; `earlier` are the facts of messages, newest first.
    """
    for fact in [one for one in result.facts[start:] if one.predicate == ONTO]:
        told = _newest_first(chain([result.facts], earlier))
        named = (one for one in told if one.predicate in PASTIMES and one.value and one.value in result.text)
        before = next((one for one in named if one is not fact), None)
        place = result.facts.index(fact)
        if before is None:
            del result.facts[place]
            continue
        known = tables.predicates[before.predicate]
        result.facts[place] = replace(
            fact, predicate=known.name, single_valued=known.single_valued, kind=known.kind, corrected="", confidence_base=STATED
        )


def _begun_next(before: Sequence[FormedFact], tables: FormationTables) -> str:
    """What was just ended, where that is something well known that one has one of."""
    ended = [fact.predicate for fact in before if fact.act == "end" and fact.subject == "user"]
    known = tables.predicates.get(ended[-1]) if ended else None
    return known.name if known is not None and not known.general and known.kind != "profile" else ""
