"""A second look at what referred to something that had not arrived yet: an end, a correction, a change from one to another.

Messages are ordered by when they were said, not by when they came. "I left Globex"
may come before "I work at Globex" was heard of, or while that waits for sleep; then it found nothing to end. It is
kept as it was said, and judged again when something arrives that was said before it.
Parts that were carried out stay as they are: applying a statement twice changes nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aico_memory.contracts.envelope import Event
from aico_memory.domain.formation.formed import NEWEST, FormedFact
from aico_memory.domain.gate.explain import Outcome
from aico_memory.domain.gate.statement import CLOSING, Known, Statement, in_chains
from aico_memory.domain.lifecycle import retracted
from aico_memory.domain.memory import Scope, record_of
from aico_memory.domain.recall.matching import same_object
from aico_memory.domain.temporal.evolution import differences
from aico_memory.errors import ImmutableItem, InvalidMessage, NotFound, RefusedTransition
from aico_memory.ids import derive_id
from aico_memory.log import get_logger
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.forming import Forming, Vectors, facts_of
from services.semantic.gating import Gating, tell_since
from services.semantic.graphing import Graphing
from services.semantic.pausing import is_held
from services.semantic.saying import said_by
from services.semantic.stated import keep_stated, stated
from services.semantic.taking_back import taken_back

_REFERRING: Final = "referring"
# What is wrong with the statement, not with the store.
_OF_THE_STATEMENT: Final = (
    ImmutableItem, InvalidMessage, NotFound, RefusedTransition, ArithmeticError, AttributeError, LookupError, TypeError,
    ValueError,
)  # fmt: skip
_log = get_logger("semantic")


def refers(fact: FormedFact) -> bool:
    """Whether a statement speaks of something said before."""
    return fact.act != "assert" or bool(fact.corrected) or not fact.predicate


def concerns(later: FormedFact, new: FormedFact) -> bool:
    """Whether what refers to something may mean what is new: the value it names, or else any of its predicate."""
    named = later.corrected or (later.object_key if later.act in CLOSING else "")
    if named and named != NEWEST:
        return same_object(named, new.object_key, new.language)
    return not later.predicate or later.predicate == new.predicate


class SecondLook:
    """Runs in the consumer's thread, after a message was written."""

    def __init__(self, gating: Gating, forming: Forming, graphing: Graphing, limit: int) -> None:
        self._gating = gating
        self._forming = forming
        self._graphing = graphing
        self._limit = limit

    def after(self, transaction: SemanticTransaction, event: Event) -> None:
        """Keep what refers; judge again what was said later than this and refers to something."""
        for said in said_by(event):
            prepared = self._forming.of(said)
            formed = prepared.formed
            facts = facts_of(formed)
            for place, fact in enumerate(facts):
                if refers(fact):
                    statement = self._gating.statement(said, formed, fact, place)
                    kept = replace(statement, statement_id=derive_id(said.event_id, _REFERRING, place).bytes)
                    keep_stated(transaction, kept, _REFERRING, prepared.vectors)
            self._at(transaction, said.scope, said.said_at_us, facts, said.sequence)

    def taken_up(self, transaction: SemanticTransaction, statement: Statement, sequence: int) -> None:
        """What waited is told only now: judge again what was said later than this and refers to it."""
        self._at(transaction, statement.scope, statement.said_at_us, [statement.fact], sequence)

    def _at(
        self, transaction: SemanticTransaction, scope: Scope, said_at_us: int, facts: Sequence[FormedFact], sequence: int
    ) -> None:
        for later in transaction.referring(scope, said_at_us, self._limit) if facts else ():
            if any(concerns(later.fact, fact) for fact in facts):
                self._attempt(transaction, later, sequence)

    def _attempt(self, transaction: SemanticTransaction, kept: Statement, sequence: int) -> None:
        """Whatever an old statement does to the gate, what has just been said stands."""
        try:
            with transaction.attempt():
                self._again(transaction, kept, sequence)
        except _OF_THE_STATEMENT as error:
            _log.error("second_look_failed", error=type(error).__name__, exc_info=True)

    def _again(self, transaction: SemanticTransaction, kept: Statement, sequence: int) -> None:
        cause = uuid.UUID(bytes=kept.event_id)
        if transaction.memory(record_of(kept.event_id)) is None or taken_back(transaction, kept):
            transaction.drop_statement(kept.statement_id)
            return
        statement = replace(kept, statement_id=derive_id(cause, "item", kept.place).bytes)
        waiting = transaction.statement(statement.statement_id)
        if waiting is not None and waiting[1] == "sleep" and waiting[0].fact == kept.fact:
            # It waits as it was said, and is judged with all that is known when its turn comes.
            return
        told = stated(transaction, kept, Vectors())
        near = self._gating.near(transaction, statement, Vectors())
        meant = self._gating.meaning(statement, near)
        outcomes: list[Outcome] = []
        for part in in_chains(meant, derive_id(cause, "closing", kept.place).bytes):
            anew = self._anew(transaction, part, sequence)
            if anew is not None:
                near = self._gating.near(transaction, anew, Vectors())
                outcomes.append(self._gating.settle(transaction, anew, near, told, sequence))
        tell_since(transaction, kept, [one for one in outcomes if one.action != "NOTHING"])

    def _anew(self, transaction: SemanticTransaction, part: Statement, sequence: int) -> Statement | None:
        """The part as it is to be judged; None where it was carried out as it is meant now."""
        held = transaction.statement(part.statement_id)
        known = transaction.known([part.statement_id], [part.scope])
        if held is None:
            return None if known else part
        before, state = held
        if state != "kept" or before.key == part.key:
            return None
        if not known:
            # It was kept under a key under which it found nothing.
            transaction.drop_statement(part.statement_id)
            return part
        return self._misread(transaction, part, known[0], sequence)

    def _misread(self, transaction: SemanticTransaction, part: Statement, item: Known, sequence: int) -> Statement | None:
        """Read without what it refers to it made an item that means something else: that one was never true."""
        memory = item.memory
        alone = transaction.evidence_counts([memory.memory_id])[memory.memory_id] <= 1
        if (
            memory.status != "active"
            or memory.immutable
            or not alone
            or is_held(transaction, self._gating.policy(transaction, memory.scope), memory.owner)
        ):
            return None
        gone = retracted(memory, memory.recorded_at_us)
        transaction.put_item(replace(item, memory=gone), None, sequence)
        changes = differences(memory, gone, memory.recorded_at_us, part.event_id, "read again with what it refers to")
        transaction.put_history(memory.memory_id, {part.event_id}, changes)
        transaction.drop_statement(memory.memory_id)
        self._graphing.follow(transaction, [replace(item, memory=gone)])
        return replace(part, statement_id=derive_id(uuid.UUID(bytes=part.event_id), "read again", part.place).bytes)
