"""What held when under one key, folded from everything that was said of it.

The fold runs in the order of saying, whatever the order of arrival, so late
arrivals need no rule of their own: the same statements always give the same
chain. Values of one key exclude each other; a bounded one is an exception on top
of an open one, which holds again afterwards (see `temporal.versions.at`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from aico_memory.domain.gate.statement import LAPSE, RESTORE, WITHDRAW, Statement
from aico_memory.domain.memory import OPEN


class Phase(NamedTuple):
    """What was known of a segment from `known_us` on."""

    known_us: int
    from_us: int
    until_us: int
    # active | superseded | expired | disabled
    status: str
    # First statement of the segment that took its place; empty where none did.
    by: bytes
    cause: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class Segment:
    """One value from its beginning to its end, with everything that confirmed it."""

    statements: tuple[Statement, ...]
    phases: tuple[Phase, ...]

    @property
    def lead(self) -> Statement:
        return self.statements[0]

    @property
    def ids(self) -> tuple[bytes, ...]:
        return tuple(one.statement_id for one in self.statements)

    @property
    def last(self) -> Phase:
        return self.phases[-1]


def fold(statements: Iterable[Statement]) -> tuple[Segment, ...]:
    """The chain of one key, in the order in which its values were first said; a statement given twice counts once."""
    chain = _Chain()
    for statement in sorted({one.statement_id: one for one in statements}.values(), key=lambda one: one.order):
        chain.hear(statement)
    return tuple(Segment(tuple(one.statements), tuple(one.phases)) for one in chain.links)


@dataclass(slots=True, eq=False)
class _Link:
    statements: list[Statement]
    object_key: str
    from_us: int
    # As it was said, whatever closed it since.
    said_until_us: int
    phases: list[Phase] = field(default_factory=list)

    @property
    def id(self) -> bytes:
        return self.statements[0].statement_id

    @property
    def until_us(self) -> int:
        return self.phases[-1].until_us

    @property
    def held(self) -> bool:
        return self.phases[-1].status != "disabled" and self.from_us < self.until_us

    @property
    def bounded(self) -> bool:
        return self.said_until_us < OPEN

    def covers(self, t_us: int) -> bool:
        return self.held and self.from_us <= t_us < self.until_us

    def begin(self, by: Statement, from_us: int) -> None:
        """An earlier beginning was stated."""
        if from_us < self.from_us:
            self.from_us = from_us
            last = self.phases[-1]
            self.learn(by, last.until_us, last.status, last.by, "an earlier beginning was stated")

    def learn(self, by: Statement, until_us: int, status: str, successor: bytes, reason: str) -> None:
        phase = Phase(by.said_at_us, self.from_us, until_us, status, successor, by.event_id, reason)
        if self.phases and self.phases[-1][1:5] == phase[1:5]:
            return
        if self.phases and self.phases[-1].known_us == phase.known_us:
            self.phases.pop()
        self.phases.append(phase)


class _Chain:
    def __init__(self) -> None:
        self.links: list[_Link] = []

    def hear(self, said: Statement) -> None:
        acts = {"assert": self._assert, "correct": self._correct, "end": self._end, "retract": self._retract,
                WITHDRAW: self._withdraw, LAPSE: self._lapse, RESTORE: self._restore}  # fmt: skip
        acts[said.fact.act](said)

    def _assert(self, said: Statement) -> None:
        from_us, until_us = said.fact.valid_from_us, said.fact.valid_until_us
        if from_us >= until_us:
            return
        if until_us == OPEN:
            self._open(said, from_us)
        else:
            self._bounded(said, from_us, until_us)

    def _open(self, said: Statement, from_us: int) -> None:
        """It holds from then on: what else was held gives way."""
        same = self._same(said.fact.object_key, from_us, OPEN, said.said_at_us)
        if same is not None and same.bounded:
            if same.covers(from_us):
                # "Until Friday" stands, and so does what holds again from then on.
                same.statements.append(said)
                return
            # An exception beside what holds without an end: it is the latter that was said again.
            same = self._same(said.fact.object_key, from_us, OPEN, said.said_at_us, bounded=False)
        successor = same.id if same else said.statement_id
        self._make_room(said, from_us, successor)
        ahead = self._next_start(said.fact.object_key, max(from_us, said.said_at_us))
        if same is None:
            self._add(said, from_us, OPEN, ahead)
            return
        same.statements.append(said)
        same.begin(said, from_us)
        if same.until_us <= max(said.said_at_us, from_us):
            until_us = ahead.from_us if ahead else OPEN
            same.learn(said, until_us, "active", ahead.id if ahead else b"", "stated again")

    def _bounded(self, said: Statement, from_us: int, until_us: int) -> None:
        """An exception, or the end of what held; it leaves other values as they are."""
        now_us = said.said_at_us
        same = self._same(said.fact.object_key, from_us, until_us, now_us)
        if same is None or (from_us < same.from_us and self._between(from_us, same)):
            self._add(said, from_us, until_us, None)
            return
        begun_us = same.from_us
        same.statements.append(said)
        same.begin(said, from_us)
        # "I lived there in 2019" tells of a part of the time; "I used to live there" tells that it is over.
        tells_end = until_us >= now_us or from_us <= begun_us
        if tells_end and until_us < same.until_us:
            self._close(same, said, until_us, "expired", b"", "its end was stated")

    def _correct(self, said: Statement) -> None:
        fact = said.fact
        target = self._named(fact.corrected, said.said_at_us)
        if target is None or target.object_key == fact.object_key:
            self._assert(said)
            return
        given = fact.valid_from_us != said.said_at_us
        from_us = fact.valid_from_us if given else target.from_us
        until_us = min(fact.valid_until_us, target.until_us)
        before = target.phases[-1]
        again = next((one for one in self.links if one.object_key == fact.object_key and one.phases[-1].by == target.id), None)
        successor = again.id if again else said.statement_id
        target.learn(said, target.from_us, "superseded", successor, "corrected: never true")
        if again is not None:
            again.statements.append(said)
            again.learn(said, until_us, _status(until_us, said), before.by, "the correction was wrong")
        else:
            self._add(said, from_us, until_us, None, before.by, target.said_until_us)
        for link in self.links:
            if link.phases[-1].by == target.id and link.id != successor:
                end_us = max(from_us, link.from_us)
                link.learn(said, end_us, _status(end_us, said), successor, "its successor was corrected")
        if until_us == OPEN:
            self._make_room(said, from_us, successor)

    def _end(self, said: Statement) -> None:
        now_us = said.said_at_us
        end_us = said.fact.valid_from_us or now_us
        target = self._named(said.fact.corrected or said.fact.object_key, now_us)
        if target is not None and end_us < target.until_us:
            self._close(target, said, end_us, "expired", b"", "ended")

    def _retract(self, said: Statement) -> None:
        target = self._named(said.fact.corrected or said.fact.object_key, said.said_at_us)
        if target is None:
            return
        target.learn(said, target.until_us, "disabled", b"", "retracted: never true")
        for link in self.links:
            if link.held and link.phases[-1].by == target.id:
                # Of whatever value: the same one may have been stated anew since.
                following = self._next_start("", link.from_us)
                until_us = min(link.said_until_us, following.from_us if following else OPEN)
                by = following.id if following and until_us == following.from_us else b""
                link.learn(said, until_us, _status(until_us, said), by, "what replaced it was retracted")

    def _withdraw(self, said: Statement) -> None:
        """A person deleted it: said again it is something new. What it had replaced does not come back for that.

        It is the value from when the deleted statement began, and not the same value stated anew since.
        """
        target = self._named(said.fact.object_key, said.fact.valid_from_us)
        if target is not None:
            target.learn(said, target.until_us, "disabled", b"", "deleted")

    def _lapse(self, said: Statement) -> None:
        """Nothing confirmed it for too long. Void where something that was said before has arrived since and confirms it."""
        end_us = said.fact.valid_from_us
        target = self._named(said.fact.object_key, end_us - 1)
        if target is None or end_us > target.until_us or target.phases[-1].status != "active":
            return
        if all(one.received_at_us <= said.received_at_us for one in target.statements):
            target.learn(said, max(end_us, target.from_us), "expired", b"", "nothing confirmed it")

    def _restore(self, said: Statement) -> None:
        """An operator brought it back: it holds since when it did, and again from now on; what is held now gives way.

        Nothing comes back where the same value holds in another stretch.
        """
        now_us, object_key, from_us = said.said_at_us, said.fact.object_key, said.fact.valid_from_us
        same = [one for one in self.links if one.object_key == object_key]
        target = max(same, key=lambda one: (one.from_us == from_us, one.from_us), default=None)
        if target is None or any(one.covers(now_us) for one in same):
            return
        ahead = self._next_start(object_key, now_us)
        ends_us = target.until_us if target.until_us > now_us else OPEN
        until_us, by = (ahead.from_us, ahead.id) if ahead and ahead.from_us < ends_us else (ends_us, b"")
        self._make_room(said, now_us, target.id)
        target.learn(said, until_us, "active", by, "brought back in review")

    def _add(
        self,
        said: Statement,
        from_us: int,
        until_us: int,
        ahead: _Link | None,
        by: bytes = b"",
        said_until_us: int = OPEN,
    ) -> None:
        if ahead is not None and ahead.from_us > from_us:
            until_us, by = min(until_us, ahead.from_us), ahead.id
        stated_us = min(said_until_us, said.fact.valid_until_us)
        link = _Link([said], said.fact.object_key, from_us, stated_us)
        status = "active" if until_us > said.said_at_us else "superseded" if by else "expired"
        link.learn(said, until_us, status, by, "stated")
        self.links.append(link)

    def _make_room(self, said: Statement, from_us: int, successor: bytes) -> None:
        """What else claims the time from then on ends there; exceptions that are over or lie ahead stay."""
        now_us = said.said_at_us
        for link in self.links:
            if link.object_key == said.fact.object_key or not link.held or link.until_us <= from_us:
                continue
            ahead = link.from_us > max(now_us, from_us)
            over = link.bounded and link.until_us <= now_us
            if not ahead and not over:
                self._close(link, said, from_us, "superseded", successor, "changed")

    def _close(self, link: _Link, said: Statement, end_us: int, status: str, by: bytes, reason: str) -> None:
        until_us = max(min(end_us, link.until_us), link.from_us)
        link.learn(said, until_us, "active" if until_us > said.said_at_us else status, by, reason)

    def _same(self, object_key: str, from_us: int, until_us: int, now_us: int, *, bounded: bool = True) -> _Link | None:
        """The segment of this value that overlaps the interval; what holds now before what began last."""
        found = [
            one for one in self.links
            if one.object_key == object_key and one.held and one.from_us < until_us and from_us < one.until_us
            and (bounded or not one.bounded)
        ]  # fmt: skip
        return max(found, key=lambda one: (one.covers(now_us), one.from_us), default=None)

    def _named(self, object_key: str, now_us: int) -> _Link | None:
        """What is meant: by its value, exactly or in part; where no value is given, what holds now."""
        held = [one for one in self.links if one.held]
        exact = [one for one in held if one.object_key == object_key]
        loose = [one for one in held if object_key and _within(object_key, one.object_key)]
        meant = exact or loose or ([] if object_key else held)
        return max(meant, key=lambda one: (one.covers(now_us), one.from_us, one.statements[0].order), default=None)

    def _next_start(self, object_key: str, after_us: int) -> _Link | None:
        """The open value that begins next, of another object than this one; "" for any."""
        found = [
            one
            for one in self.links
            if one.held and not one.bounded and one.object_key != object_key and one.from_us > after_us
        ]
        return min(found, key=lambda one: one.from_us, default=None)

    def _between(self, from_us: int, link: _Link) -> bool:
        return any(one.held and one is not link and one.from_us < link.from_us and from_us < one.until_us for one in self.links)


def _status(until_us: int, said: Statement) -> str:
    return "active" if until_us > said.said_at_us else "superseded"


def _within(part: str, whole: str) -> bool:
    """Whether one names a part of the other, word by word."""
    left, right = part.split(), whole.split()
    short, long = sorted((left, right), key=len)
    return bool(short) and any(long[start : start + len(short)] == short for start in range(len(long) - len(short) + 1))
