"""What the messages before one state, as a correction, an addition or a retraction takes it up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.formation.succession import Statements

# Messages before this one of which something may be taken up.
RECENT = 6
# The facts of a message that is read by itself.
Read = Callable[[str], Sequence[FormedFact]]
# The facts of one message after the other, the newest first.
Earlier = Callable[[], Iterable[Sequence[FormedFact]]]


def told_before(read: Read, recent: Sequence[str]) -> Iterator[Sequence[FormedFact]]:
    """What each of the messages before this one states, the newest first."""
    return (read(one) for one in reversed(recent[-RECENT:]))


def stated_before(
    read: Read, here: Statements, recent: Sequence[str], tables: FormationTables
) -> Iterator[Sequence[FormedFact]]:
    """What this message and each one before it that stated anything tells; newest message first, newest fact last."""
    if here.facts:
        yield here.facts
    for facts in told_before(read, recent):
        stated = [fact for fact in facts if fact.act in ("assert", "correct")]
        telling = [fact for fact in stated if fact.predicate in tables.predicates or ":" in fact.predicate]
        if telling or stated:
            yield telling or stated


def newest_before(read: Read, here: Statements, recent: Sequence[str], tables: FormationTables) -> Sequence[FormedFact]:
    """What was stated before, the newest last: in this message, or else in the newest message that stated anything."""
    return next(stated_before(read, here, recent, tables), [])
