"""Vectors of statements, kept with them: an item that is made of one some time later has its vector at once.

Else it would have one as soon as the indexer comes by, and what the gate decides meanwhile would depend on that.
"""

from __future__ import annotations

from aico_memory.domain.gate.statement import Statement
from aico_memory.stores.semantic.item_port import ItemReads, StatementState
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.forming import Vectors


def keep_stated(transaction: SemanticTransaction, statement: Statement, state: StatementState, vectors: Vectors) -> None:
    """Store a statement with the vector of its text, where there is one."""
    transaction.keep_statement(statement, state)
    vector = vectors.of(statement.fact.text)
    if vector is not None:
        transaction.keep_stated_vector(statement.statement_id, vectors.fingerprint, vector)


def stated(reads: ItemReads, statement: Statement, otherwise: Vectors) -> Vectors:
    """The vector that a stored statement has had from the beginning; `otherwise` where none was kept."""
    found = reads.stated_vector(statement.statement_id)
    return otherwise if found is None else Vectors(found[0], {statement.fact.text: found[1]})
