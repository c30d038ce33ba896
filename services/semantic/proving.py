"""How many events have said a statement, for policies that ask for more than one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aico_memory.domain.gate.policy import WritePolicy
from aico_memory.domain.gate.statement import CLOSING, Statement, says_the_same
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.convert import REPLAY
from services.semantic.pausing import is_held
from services.semantic.taking_back import taken_back


class Proving:
    """Counts in the transaction at hand; what is not proven yet waits under its key for the next event that says it."""

    def __init__(self, limit: int) -> None:
        # Statements of a key that are looked at.
        self._limit = limit

    def so_far(self, transaction: SemanticTransaction, new: Statement, policy: WritePolicy) -> tuple[int, Sequence[Statement]]:
        """Distinct events that have said it, its own among them; and what was said before and is proven with it now."""
        if policy.min_evidence <= 1:
            return 1, ()
        waiting = [one for one in self._waiting(transaction, new) if says_the_same(new, one)]
        events = {new.event_id, *(one.event_id for one in waiting)}
        kept = transaction.statements(new.scope, new.key, self._limit)
        events |= {one.event_id for one in kept if says_the_same(new, one)}
        for item in transaction.by_key(new.scope, new.key):
            # Of long runs of the same only the ends are kept as statements; what they prove stands with the item.
            if item.memory.status == "active" and (new.fact.act in CLOSING or item.object_key == new.fact.object_key):
                proofs = transaction.evidence(item.memory.memory_id)
                events |= {one.event_id for one in proofs if one.method != REPLAY}
        held = is_held(transaction, policy, new.owner)
        open_to_writing = policy.write_enabled and not held and new.fact.act not in CLOSING
        proven = open_to_writing and len(events) >= policy.min_evidence
        return len(events), waiting if proven else ()

    def _waiting(self, transaction: SemanticTransaction, new: Statement) -> Iterator[Statement]:
        for one in transaction.unproven(new.scope, new.key, self._limit):
            if taken_back(transaction, one):
                transaction.drop_statement(one.statement_id)
            elif one.statement_id != new.statement_id:
                yield one
