"""From statements to what held when: changes close, corrections replace, ends close, retractions take back.

The timeline is a function of the statements alone, in the order in which they were said; a late
arrival therefore takes its own place, and "known then" is the timeline of what had been said by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from aico_memory.domain.formation.attributes import TIME
from aico_memory.domain.formation.fact_key import normalise_fact_key
from aico_memory.domain.formation.formed import NEWEST, SPEAKER, FormedFact
from aico_memory.domain.memory import OPEN
from aico_memory.domain.recall.amounts import same_quantity
from aico_memory.domain.recall.days_kept import at_another_hour, names_a_day, without_day
from aico_memory.domain.recall.declared_names import aliases
from aico_memory.domain.recall.matching import clipped, equal_object, same_head, same_object
from aico_memory.domain.recall.what_ends import GIVEN_UP, MEMBERSHIPS, PURSUITS, TASTES

# Predicates of things, whose names are said now longer, now shorter.
THINGS = frozenset({"time", "location", "progress", "frequency"})
# What stands between a thing and where or of what it is.
_WHERE = ("at", "for", "of", "in", "on", "to")


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact and when it was said; `order` breaks ties (the place in the stream)."""

    id: bytes
    fact: FormedFact
    said_at_us: int
    order: int = 0


@dataclass(slots=True)
class Held:
    """A value and the interval [from, until) in which it held."""

    statement: Statement
    subject: str
    predicate: str
    from_us: int
    until_us: int
    # Never true: corrected or taken back.
    invalid: bool = False
    # Statements that say it, the first one first.
    said_by: list[bytes] = field(default_factory=list)
    # The statement that closed or invalidated it, and how: change | correct | end | retract | ""
    closed_by: bytes = b""
    cause: str = ""
    # Name of whoever said it, where one was given.
    speaker: str = ""

    @property
    def fact(self) -> FormedFact:
        return self.statement.fact

    def holds_at(self, at_us: int) -> bool:
        """Whether it held at that moment."""
        return not self.invalid and self.from_us <= at_us < self.until_us


class Timeline:
    """What held when, after all statements so far."""

    def __init__(self, loose: frozenset[str] = frozenset()) -> None:
        self.held: list[Held] = []
        # Predicates so general that an end of them ("I sold the X") may mean any other with that object.
        self._loose = loose
        self._acts: dict[str, Callable[[Statement], None]] = {
            "assert": self._assert, "correct": self._correct, "end": self._end, "retract": self._retract,
        }  # fmt: skip

    def say(self, statement: Statement) -> None:
        """One more statement; they must come in the order in which they were said."""
        fact = statement.fact
        subject = self._known_subject(fact)
        known = fact if subject == fact.subject else replace(fact, subject=subject)
        fact = self._on_its_days(same_quantity(known, self.group))
        subject = fact.subject
        if fact is not statement.fact:
            statement = replace(statement, fact=fact)
        if fact.predicate == "employer" and fact.act == "assert" and self._is_pupil(subject):
            # "Lily started at St Anne's": a school, since that is where she was.
            statement = replace(statement, fact=replace(statement.fact, predicate="school"))
            fact = statement.fact
        own = fact.single_valued and any(held.until_us == OPEN for held in self.group(subject, fact.predicate))
        if fact.act == "assert" and fact.corrected not in ("", NEWEST) and not own and not self._knows(subject, fact):
            # "I switched from X to Y": whatever X was, Y is now; "I'm back to X" speaks of an X that is over.
            back = fact.corrected == fact.object_key
            meant = [
                held for held in self.held
                if held.subject == subject and (back or held.until_us >= fact.valid_from_us) and not held.invalid
                and _same(held, fact.corrected)
                and not held.predicate.startswith(("favourite:", "birthplace", "likes", "dislikes", "saving"))
            ]  # fmt: skip
            meant = [held for held in meant if _equal(held, fact.corrected)] or meant
            if meant:
                was = max(meant, key=_newness)
                corrected = "" if back else fact.corrected
                named = replace(fact, predicate=was.predicate, single_valued=was.fact.single_valued, corrected=corrected)
                statement = replace(statement, fact=named)
        self._acts[statement.fact.act](self._in_full(statement))

    def _in_full(self, statement: Statement) -> Statement:
        """ "My contract" is the mobile contract, where no other is known."""
        fact = statement.fact
        kind, _, noun = fact.predicate.partition(":")
        if not noun or self.group(fact.subject, fact.predicate):
            return statement
        # "The alarm code" is the alarm code at the shop, too.
        where = tuple(f"{fact.predicate} {word} " for word in _WHERE)
        longer = {
            held.predicate for held in self.held
            if held.subject == fact.subject and held.predicate.startswith(f"{kind}:") and not held.invalid
            and ((" " not in noun and held.predicate.endswith(f" {noun}")) or held.predicate.startswith(where))
        }  # fmt: skip
        return replace(statement, fact=replace(fact, predicate=longer.pop())) if len(longer) == 1 else statement

    def _on_its_days(self, fact: FormedFact) -> FormedFact:
        if fact.predicate != TIME or fact.act == "end" or not fact.value:
            return fact
        live = [held.fact.value for held in self.group(fact.subject, TIME) if held.until_us == OPEN]
        return at_another_hour(fact, live[-1]) if live else fact

    def _is_pupil(self, subject: str) -> bool:
        """Whether somebody else than the speaker goes to a school, and works nowhere."""
        at_school = any(held.until_us == OPEN for held in self.group(subject, "school"))
        return subject != SPEAKER and at_school and not self.group(subject, "employer")

    def _knows(self, subject: str, fact: FormedFact) -> bool:
        """Whether what is left is a value of the predicate that was read."""
        return any(_same(held, fact.corrected) for held in self.group(subject, fact.predicate))

    def _known_subject(self, fact: FormedFact) -> str:
        """ "The meeting" is the team meeting, where there is no other."""
        known = {held.subject for held in self.held if held.predicate == fact.predicate and held.subject != SPEAKER}
        if fact.subject == SPEAKER or fact.subject in known or fact.predicate not in THINGS:
            return fact.subject
        alike = [
            one for one in known if same_object(one, fact.subject, fact.language) or same_head(one, fact.subject, fact.language)
        ] or [one for one in known if clipped(fact.subject, one)]
        return alike[0] if len(alike) == 1 else fact.subject

    def group(self, subject: str, predicate: str) -> list[Held]:
        """Everything ever held under a subject and predicate, invalid ones aside."""
        return [held for held in self.held if held.subject == subject and held.predicate == predicate and not held.invalid]

    def _add(self, statement: Statement, from_us: int, until_us: int, subject: str = "", predicate: str = "") -> Held:
        fact = statement.fact
        held = Held(statement, subject or fact.subject, predicate or fact.predicate, from_us, until_us, said_by=[statement.id])
        self.held.append(held)
        return held

    def _assert(self, statement: Statement) -> None:
        fact = statement.fact
        group = self.group(fact.subject, fact.predicate)
        over = fact.valid_until_us <= statement.said_at_us
        for held in group:
            if (
                _equal(held, fact.object_key)
                and held.until_us > fact.valid_from_us
                and not over
                and held.from_us <= max(fact.valid_from_us, statement.said_at_us)
            ):
                self._again(held, statement)
                return
            begun = 0 < held.from_us < min(fact.valid_until_us, held.statement.said_at_us)
            if over and fact.valid_from_us == 0 and begun and _equal(held, fact.object_key):
                # "… rather than vegan", of somebody who told since when it was so.
                if held.until_us > fact.valid_until_us:
                    _close(held, fact.valid_until_us, statement, "end")
                return
        if fact.corrected == NEWEST:
            live = [held for held in group if held.holds_at(fact.valid_from_us)]
            for held in sorted(live, key=_newness)[-1:]:
                _close(held, fact.valid_from_us, statement, "change")
        elif fact.corrected:
            for held in group:
                if _same(held, fact.corrected) and held.until_us > fact.valid_from_us:
                    _close(held, fact.valid_from_us, statement, "change")
        bounded = fact.valid_until_us != OPEN
        if fact.single_valued and not over and not bounded:
            for held in group:
                self._supersede(held, statement)
        self._add(statement, fact.valid_from_us, fact.valid_until_us)

    def _again(self, held: Held, statement: Statement) -> None:
        """Said once more: evidence, and its beginning or end where these are named now."""
        held.said_by.append(statement.id)
        fact = statement.fact
        if fact.valid_until_us != OPEN and held.until_us == OPEN and fact.valid_until_us > statement.said_at_us:
            held.until_us = fact.valid_until_us
        if 0 < fact.valid_from_us < held.from_us:
            held.from_us = fact.valid_from_us
        if fact.valid_until_us == OPEN and fact.single_valued:
            for other in self.group(held.subject, held.predicate):
                later = other is not held and other.statement.said_at_us > held.statement.said_at_us
                open_now = other.until_us == OPEN and other.from_us <= statement.said_at_us
                if later and open_now and not _same(other, fact.object_key):
                    # It was another one in between; from now on it is this one again.
                    _close(other, fact.valid_from_us, statement, "change")

    @staticmethod
    def _supersede(held: Held, statement: Statement) -> None:
        start = statement.fact.valid_from_us
        if held.from_us > statement.said_at_us or held.until_us <= start:
            # Still to come, or over already.
            return
        _close(held, max(start, held.from_us) if start >= held.from_us else held.from_us, statement, "change")

    def _correct(self, statement: Statement) -> None:
        fact = statement.fact
        targets = self._targets(statement, fact.corrected, newest_only=True)
        targets = [held for held in targets if not _same(held, fact.object_key) or held.fact.object_key == fact.corrected]
        if not targets:
            if fact.predicate:
                self._assert(statement)
            return
        start, until = min(held.from_us for held in targets), fact.valid_until_us
        first = targets[0]
        for held in targets:
            held.invalid, held.closed_by, held.cause = True, statement.id, "correct"
        explicit = fact.valid_from_us < statement.said_at_us and fact.valid_from_us > 0
        if until == OPEN:
            until = max(held.until_us for held in targets)
        other = not fact.predicate or (first.predicate != fact.predicate and not fact.single_valued)
        predicate = first.predicate if other else fact.predicate
        subject = first.subject if not fact.predicate else fact.subject
        again = [held for held in self.group(subject, predicate) if _same(held, fact.object_key) and held.until_us >= until]
        if again:
            again[0].said_by.append(statement.id)
            again[0].from_us = min(again[0].from_us, start)
            return
        self._add(statement, fact.valid_from_us if explicit else start, until, subject, predicate)

    def _end(self, statement: Statement) -> None:
        at = statement.fact.valid_from_us
        if names_a_day(statement.fact):
            self._end_day(statement)
            return
        for held in self._targets(statement, statement.fact.object_key, newest_only=False):
            if held.until_us > at:
                _close(held, max(at, held.from_us), statement, "end")

    def _end_day(self, statement: Statement) -> None:
        """ "Thursdays there's no training any more": the other days stay; "this Thursday" ends nothing that recurs."""
        fact = statement.fact
        for held in self.group(fact.subject, TIME):
            left = without_day(held.fact.value, fact.value)
            if held.until_us <= fact.valid_from_us or left is None:
                continue
            start = max(fact.valid_from_us, held.from_us)
            _close(held, start, statement, "end")
            if left:
                rest = replace(held.fact, value=left, object_key=normalise_fact_key(left), valid_from_us=start)
                self._add(replace(held.statement, fact=rest), start, OPEN)

    def _retract(self, statement: Statement) -> None:
        key = statement.fact.object_key or statement.fact.corrected
        for held in self._targets(statement, key, newest_only=not key):
            held.invalid, held.closed_by, held.cause = True, statement.id, "retract"
            # "I moved to Oslo. Just kidding": then what it took the place of goes on.
            for was in self.group(held.subject, held.predicate):
                if (was.closed_by, was.cause, was.until_us) == (held.statement.id, "change", held.from_us):
                    was.until_us, was.closed_by, was.cause = OPEN, b"", ""

    def _targets(self, statement: Statement, key: str, newest_only: bool) -> list[Held]:
        """What a correction, end or retraction speaks of."""
        fact = statement.fact
        mine = [
            held
            for held in self.held
            if (
                held.subject == fact.subject
                and not held.invalid
                and held.from_us <= max(statement.said_at_us, fact.valid_from_us)
            )
            or (held.subject == fact.subject and not held.invalid and fact.act != "end")
        ]
        if not fact.predicate:
            over = fact.valid_from_us if fact.act == "end" else -1
            mine = [held for held in self.held if not held.invalid and held.until_us > over]
            if fact.act == "end" and fact.language == "tr":
                # Turkish names what one does no more by its verb; what is told to be gone is a thing.
                mine = [held for held in mine if held.predicate not in TASTES]
            chosen = [held for held in mine if _same(held, key)] if key else mine
            if key and fact.act == "retract":
                return chosen
            exact = [held for held in chosen if key and _equal(held, key)]
            return sorted(exact or chosen, key=_newness)[-1:]
        group = [held for held in mine if held.predicate == fact.predicate]
        if key:
            exact = [held for held in group if _same(held, key)]
            if not exact and fact.act == "end" and fact.predicate in MEMBERSHIPS:
                # "I left X": whichever of these X was.
                exact = [held for held in mine if held.predicate in MEMBERSHIPS | GIVEN_UP and _equal(held, key)]
            if not exact and fact.act == "end" and fact.predicate in PURSUITS:
                # "I don't play chess any more": whether chess was told as a game or as a hobby.
                exact = [held for held in mine if held.predicate in PURSUITS and _equal(held, key)]
            if not exact and (fact.predicate in self._loose or fact.act != "end"):
                exact = [held for held in mine if _same(held, key)]
            return exact if not newest_only else sorted(exact, key=_newness)[-1:]
        live = [held for held in group if held.until_us > statement.said_at_us]
        if newest_only:
            return sorted(live or group, key=_newness)[-1:]
        return live


def _newness(held: Held) -> tuple[int, int, int]:
    return held.statement.said_at_us, held.statement.order, held.from_us


def _equal(held: Held, key: str) -> bool:
    return held.fact.object_key == key or equal_object(held.fact.object_key, key, held.fact.language)


def _same(held: Held, key: str) -> bool:
    return same_object(held.fact.object_key, key, held.fact.language)


def _close(held: Held, at_us: int, statement: Statement, cause: str) -> None:
    held.until_us, held.closed_by, held.cause = at_us, statement.id, cause


def resolve(
    statements: Iterable[Statement], known_as_of_us: int = OPEN, loose: frozenset[str] = frozenset({"owns", "uses", "does"})
) -> list[Held]:
    """What held when, by all that had been said at `known_as_of`."""
    known = sorted((one for one in statements if one.said_at_us <= known_as_of_us), key=lambda one: (one.said_at_us, one.order))
    names = aliases([statement.fact for statement in known])
    timeline = Timeline(loose)
    for statement in known:
        timeline.say(statement)
    for held in timeline.held:
        held.subject = names.get(held.subject, held.subject)
    return timeline.held


def at(held: Sequence[Held], at_us: int) -> list[Held]:
    """What of one subject and predicate held then: of a single-valued one the value that began last."""
    true = [one for one in held if one.holds_at(at_us)]
    if len(true) > 1 and true[0].fact.single_valued:
        return [max(true, key=lambda one: (one.from_us, *_newness(one)))]
    return sorted(true, key=_newness)
