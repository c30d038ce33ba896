"""What waits for a person: the list of it, and what promoting or rejecting does."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from aico_memory.contracts.envelope import Event, make_record
from aico_memory.contracts.v1 import semantic_pb2, write_path_pb2
from aico_memory.domain.gate.apply import Standing
from aico_memory.domain.gate.decide import thresholds_for
from aico_memory.domain.gate.explain import Outcome
from aico_memory.domain.gate.policy import require_writable
from aico_memory.domain.gate.review import CLOSED, WAITING, Reviewed, bring_back, promote, queue, reject
from aico_memory.domain.gate.statement import Known, Neighbour, Statement
from aico_memory.domain.guardrails.labels import ReviewLabel
from aico_memory.domain.lifecycle import require_transition
from aico_memory.domain.memory import Scope
from aico_memory.domain.scopes import GLOBAL, readable
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.ids import derive_id
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.memory_model import MemoryModelSettings
from aico_memory.settings.write_path import PredictionErrorSettings
from aico_memory.stores.semantic.port import IndexQueue, SemanticStore, SemanticTransaction
from services.semantic.convert import id_bytes, id_text, scope_message
from services.semantic.explaining import item_message
from services.semantic.forming import Vectors
from services.semantic.gating import Gating
from services.semantic.persisting import Persisting

PROMOTE, REJECT = "promote", "reject"
_PAGE = 500


class Reviewing:
    """The queue may be read from many threads; decisions are taken in the consumer's."""

    def __init__(
        self, store: SemanticStore, indexed: IndexQueue, gating: Gating, persisting: Persisting,
        figures: PredictionErrorSettings, model: MemoryModelSettings, identity: IdentitySettings,
    ) -> None:  # fmt: skip
        self._store = store
        self._indexed = indexed
        self._gating = gating
        self._persisting = persisting
        self._figures = figures
        self._model = model
        self._identity = identity

    def waiting(self, event: Event) -> write_path_pb2.ReviewPage:
        """Candidates and shadows of the scopes named, the most important first, and what each would have done."""
        request: write_path_pb2.ReviewRequest = event.message
        names = self._identity.names(event.user)
        scopes = _reviewed_scopes(names, request)
        statuses = tuple(request.statuses) or WAITING
        found: dict[bytes, Known] = {}
        after = b""
        while page := self._store.items(scopes, statuses, after, _PAGE):
            after = page[-1].memory.memory_id
            found.update((known.memory.memory_id, known) for known in page)
        ordered = queue((known.memory for known in found.values()), scopes, statuses)
        shown = [found[memory.memory_id] for memory in ordered[: request.limit or _PAGE]]
        evidence = self._store.evidence([known.memory.memory_id for known in shown])
        answer = write_path_pb2.ReviewPage(waiting=len(ordered))
        for known in shown:
            record = item_message(known, evidence[known.memory.memory_id], names)
            answer.items.append(self._item(known, record, scopes))
        return answer

    def decide(self, transaction: SemanticTransaction, event: Event) -> write_path_pb2.ReviewOutcome:
        """Promote what waits or is over, or reject what waits.

        Raises NotFound, InvalidMessage, RefusedTransition, ImmutableItem, ReadOnly: nothing changes then.
        """
        message: write_path_pb2.ReviewDecision = event.message
        names = self._identity.names(event.user)
        found = transaction.known([id_bytes(message.memory_id)], _reviewed_scopes(names, message))
        if not found or found[0].memory.kind == "record":
            raise NotFound(f"No memory {message.memory_id} waits here", "See `review list`.")
        waiting = found[0]
        require_writable(self._gating.policy(transaction, waiting.memory.scope), waiting.memory.scope)
        if message.decision == REJECT:
            reviewed = reject(waiting.memory, event.occurred_us, event.event_id.bytes)
            transaction.drop_statement(waiting.memory.memory_id)
            others: Sequence[bytes] = ()
        elif message.decision == PROMOTE:
            reviewed, others = self._promote(transaction, event, waiting)
        else:
            raise InvalidMessage(f"{message.decision!r} is no decision", f"Say {PROMOTE} or {REJECT}.")
        after = replace(waiting, memory=reviewed.memory)
        transaction.put_item(after, None, event.global_sequence)
        for change in reviewed.changes:
            transaction.add_evolution(replace(change, reason=f"{change.reason}: {message.reason}".rstrip(": ")))
        transaction.labels().put_review(
            ReviewLabel(
                waiting.memory.memory_id, event.occurred_us, waiting.memory.kind, waiting.memory.confidence,
                message.decision == PROMOTE,
            )
        )  # fmt: skip
        _announce(transaction, event, reviewed, message.decision, others)
        decision = reviewed.applied.decision if reviewed.applied else None
        return write_path_pb2.ReviewOutcome(
            record=item_message(after, transaction.evidence(after.memory.memory_id), names),
            action=decision.action if decision else "rejected", rule=decision.rule if decision else "reviewed",
            changed=[id_text(one) for one in others],
        )  # fmt: skip

    def _promote(self, transaction: SemanticTransaction, event: Event, waiting: Known) -> tuple[Reviewed, Sequence[bytes]]:
        memory = waiting.memory
        require_transition(memory.status, "active")
        kept = transaction.statement(memory.memory_id)
        if kept is None:
            raise NotFound(f"What was said for {id_text(memory.memory_id)} is not kept", "Say it again, or reject it.")
        statement = kept[0]
        vectors = self._vectors(transaction, statement)
        near = self._gating.near(transaction, statement, vectors)
        by_key = transaction.by_key(statement.scope, statement.key)
        variants = transaction.variants([one.known.memory.memory_id for one in near])
        known = {one.memory.memory_id: one for one in (*by_key, *variants, *(one.known for one in near))}
        known.pop(memory.memory_id, None)
        counts = transaction.evidence_counts([*known, memory.memory_id])
        said = self._gating.said_under(transaction, statement, by_key)
        if memory.status in CLOSED and statement.fact.predicate:
            standing = Standing(said, {**known, memory.memory_id: waiting}, counts)
            reviewed = bring_back(
                statement, memory, event.occurred_us, event.event_id.bytes, event.global_sequence, standing,
                counts.get(memory.memory_id, 0), self._model,
            )  # fmt: skip
            return reviewed, self._persist(transaction, event, statement, reviewed, standing, (), Vectors())
        standing = Standing(said, known, counts)
        thresholds = thresholds_for(vectors.fingerprint, self._figures)
        reviewed = promote(
            statement, memory, event.occurred_us, event.event_id.bytes, near, variants, standing,
            counts.get(memory.memory_id, 0), thresholds, self._figures, self._model,
        )  # fmt: skip
        if reviewed.applied is None:
            transaction.drop_statement(memory.memory_id)
            return reviewed, ()
        return reviewed, self._persist(transaction, event, statement, reviewed, standing, near, vectors)

    def _persist(
        self, transaction: SemanticTransaction, event: Event, statement: Statement, reviewed: Reviewed, standing: Standing,
        near: Sequence[Neighbour], vectors: Vectors,
    ) -> list[bytes]:  # fmt: skip
        """What promoting did; the ids of the other items that it changed."""
        applied, memory_id = reviewed.applied, reviewed.memory.memory_id
        if applied is None:
            return []
        items = tuple(
            replace(one, memory=reviewed.memory) if one.memory.memory_id == memory_id else one for one in applied.items
        )
        self._persisting.persist(
            transaction, applied.statement or statement, replace(applied, items=items), standing, near,
            vectors.of(statement.fact.text), vectors.fingerprint, event.global_sequence, news=False,
        )  # fmt: skip
        return [one.memory.memory_id for one in items if one.memory.memory_id != memory_id]

    def _vectors(self, transaction: SemanticTransaction, statement: Statement) -> Vectors:
        """The vector that the waiting item has had from the beginning."""
        fingerprint = self._indexed.fingerprint()
        vector = transaction.former_vector(statement.statement_id, fingerprint) if fingerprint else None
        return Vectors() if vector is None else Vectors(fingerprint, {statement.fact.text: vector})

    def _item(self, known: Known, record: semantic_pb2.MemoryRecord, scopes: Sequence[Scope]) -> write_path_pb2.WaitingItem:
        item = write_path_pb2.WaitingItem(record=record)
        outcome = self._outcome(known.memory.memory_id, scopes)
        if outcome is not None:
            item.instead, item.rule, item.reason = outcome.in_auto, outcome.rule, outcome.reason
            # What is only near is not touched.
            touched = outcome.target if outcome.in_auto != "CREATE" else b""
            target = self._store.known([touched], scopes) if touched else []
            if target:
                item.target, item.target_text = id_text(outcome.target), target[0].memory.text
        return item

    def _outcome(self, memory_id: bytes, scopes: Sequence[Scope]) -> Outcome | None:
        kept = self._store.statement(memory_id)
        explained = self._store.explanation(kept[0].event_id, scopes) if kept else None
        outcomes = explained.outcomes if explained else ()
        # What waited before it came up for review was decided twice.
        return next((one for one in reversed(outcomes) if one.statement_id == memory_id), None)


def _reviewed_scopes(
    names: Sequence[str], message: write_path_pb2.ReviewRequest | write_path_pb2.ReviewDecision
) -> tuple[Scope, ...]:
    """One's own and what is named; what is everybody's is not for one user to decide."""
    return tuple(scope for scope in readable(names, message.group_id, message.project_id) if scope != GLOBAL)


def _announce(transaction: SemanticTransaction, event: Event, reviewed: Reviewed, act: str, others: Sequence[bytes]) -> None:
    memory = reviewed.memory
    changed = semantic_pb2.Changed(
        action="promoted" if memory.status == "active" else "invalidated",
        memory_ids=[id_text(one) for one in (memory.memory_id, *others)], reason=event.message.reason,
        scope=scope_message(memory.scope), act=act, event_id=event.event_id.bytes,
        rule=reviewed.applied.decision.rule if reviewed.applied else "reviewed",
    )  # fmt: skip
    transaction.emit(
        make_record(
            changed, event_id=derive_id(uuid.UUID(bytes=event.event_id.bytes), "changed"), occurred_us=event.occurred_us,
            user=event.user, causation_id=event.event_id,
        )
    )  # fmt: skip
