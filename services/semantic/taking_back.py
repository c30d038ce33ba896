"""What people take back by deleting a message or putting it into other words: nothing that waits of it is written any more."""

from __future__ import annotations

from aico_memory.domain.gate.statement import Statement
from aico_memory.domain.memory import RECORD, record_of
from aico_memory.stores.semantic.port import SemanticTransaction


def taken_back(transaction: SemanticTransaction, statement: Statement) -> bool:
    """Whether the message of a statement was deleted or reworded since: the new words were told to the gate by themselves."""
    record = transaction.memory(record_of(statement.event_id))
    if record is not None:
        return record.status == "invalid" or record.version > 1
    # An edit has no record of its own: it is one of the proofs of the record that it reworded.
    proven = transaction.known(transaction.items_of_event(statement.event_id), [statement.scope])
    reworded = [one.memory for one in proven if one.memory.kind == RECORD]
    return any(one.status == "invalid" or _reworded_since(transaction, one.memory_id, statement.event_id) for one in reworded)


def _reworded_since(transaction: SemanticTransaction, memory_id: bytes, edit: bytes) -> bool:
    """Whether another edit of the record followed."""
    changes = transaction.histories([memory_id], ["text"])[memory_id]
    return bool(changes) and changes[-1].cause != edit
