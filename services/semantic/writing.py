"""Effects of the bus on L1: records of what was said, what sleep replays, maintenance that is asked for."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace

from aico_memory.contracts.envelope import Event, make_record
from aico_memory.contracts.v1 import semantic_pb2, working_pb2
from aico_memory.domain.formation.entities import extract_entities
from aico_memory.domain.formation.language import guess_language
from aico_memory.domain.gate.explain import explanation
from aico_memory.domain.gate.statement import Statement
from aico_memory.domain.lifecycle import withdrawn
from aico_memory.domain.memory import RECORD, Evidence, Memory, Scope, record_of
from aico_memory.domain.sleep.derived import is_derived
from aico_memory.domain.temporal.evolution import differences
from aico_memory.errors import AicoMemoryError
from aico_memory.ids import derive_id
from aico_memory.log import get_logger
from aico_memory.stores.semantic.port import IndexJob, SemanticTransaction
from services.semantic.convert import REPLAY, id_text, scope_message
from services.semantic.forming import Forming, Prepared, facts_of
from services.semantic.gating import Gating
from services.semantic.saying import Said, said_by
from services.semantic.taking_back import taken_back
from services.semantic.tokens import FormationRules

# Trouble with what was said; trouble with the store is none of it, and is tried again.
_OF_THE_STATEMENT = (AicoMemoryError, ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
# How the trace of a message begins whose statements the gate could not take.
GATE_FAILED = "the gate failed"
_CLASHES = frozenset({"invalid_message", "refused_transition", "immutable", "not_found"})
# Questions kept beyond those that anybody looks at: a night asks for the last ones before it, when newer ones are known.
_ASKED_SINCE = 100
_DATA_SOURCE = {"user": "user_message", "assistant": "assistant_message", "tool": "tool_result"}


class Writing:
    """Messages, turns and results of tools become records, and what they state goes through the gate."""

    def __init__(
        self,
        rules: FormationRules,
        forming: Forming,
        gating: Gating,
        look_again: Callable[[SemanticTransaction, Statement, int], None],
        waiting: int,
        questions: int,
        give_way: Callable[[], None],
    ) -> None:
        self._log = get_logger("semantic")
        self._rules = rules
        self._forming = forming
        self._gating = gating
        self._look_again = look_again
        self._waiting = waiting
        # So many of the last questions of a scope are kept.
        self._questions = questions
        self._give_way = give_way

    def write(self, transaction: SemanticTransaction, event: Event) -> None:
        """The one record of each side of the event, whatever the gate decides; a redelivered event changes nothing."""
        for said in said_by(event):
            if self._write_record(transaction, said):
                prepared = self._forming.of(said)
                self._take(transaction, prepared)
                self._note_question(transaction, prepared, event.global_sequence)

    def replay(self, transaction: SemanticTransaction, event: Event) -> None:
        """Note for each experience that sleep has seen its record, take up what waited, and report the records and items."""
        message = event.message
        memory_ids: list[str] = []
        known: list[bytes] = []
        unknown = 0
        for event_id in message.event_ids:
            memory_id = record_of(event_id)
            memory = transaction.memory(memory_id)
            if memory is None or memory.owner != event.user:
                unknown += 1
                continue
            transaction.add_evidence(Evidence(memory_id, event_id, REPLAY, event.occurred_us, session_id=memory.session_id))
            memory_ids.append(id_text(memory_id))
            known.append(event_id)
        memory_ids += [id_text(one) for one in self._take_up(transaction, event)]
        led_to = [
            working_pb2.LedTo(event_id=one, memory_ids=[id_text(memory_id) for memory_id in transaction.items_of_event(one)])
            for one in known
        ]
        replayed = semantic_pb2.ExperiencesReplayed(
            run_id=message.run_id, user_id=message.user_id, batch=message.batch, event_ids=message.event_ids,
            memory_ids=memory_ids, unknown=unknown, led_to=led_to,
        )  # fmt: skip
        transaction.emit(
            make_record(
                replayed, event_id=derive_id(event.event_id, "replayed"), occurred_us=event.occurred_us, user=event.user,
                causation_id=event.event_id, correlation_id=event.correlation_id,
            )
        )  # fmt: skip

    def _take(self, transaction: SemanticTransaction, prepared: Prepared) -> None:
        """Whatever a statement does to the gate, the record stands, and the explanation says why nothing was made of it."""
        if not facts_of(prepared.formed):
            self._gating.take(transaction, prepared)
            return
        try:
            with transaction.attempt():
                self._gating.take(transaction, prepared)
                _follow_deletion(transaction, prepared.said)
        except _OF_THE_STATEMENT as error:
            if isinstance(error, AicoMemoryError) and error.code not in _CLASHES:
                raise
            self._log.error("gate_failed", error=type(error).__name__, exc_info=True)
            said = prepared.said
            trace = (*prepared.formed.trace, f"{GATE_FAILED}: {type(error).__name__}")
            told = explanation(said.event_id.bytes, replace(prepared.formed, trace=trace), ())
            transaction.explain(told, said.scope, said.owner, said.occurred_us)

    def _note_question(self, transaction: SemanticTransaction, prepared: Prepared, sequence: int) -> None:
        """What somebody asks tells what the scope attends to: what is said after it, and the order of a replay."""
        said, vectors = prepared.said, prepared.vectors
        vector = vectors.of(prepared.asked) if prepared.asked else None
        if vector is None or not self._questions:
            return
        # "How are you?" is about nothing.
        if self._rules.is_about_something(prepared.asked, prepared.formed.language):
            at_us, kept = said.said_at_us, self._questions + _ASKED_SINCE
            transaction.note_question(said.scope, vectors.fingerprint, vector, at_us, kept, sequence)

    def _take_up(self, transaction: SemanticTransaction, event: Event) -> Sequence[bytes]:
        """What waited of these experiences, and the oldest of what else waits: nothing waits for ever."""
        experiences = [event_id for event_id in event.message.event_ids if len(event_id) == 16]
        waiting = transaction.waiting(event.user, experiences, self._waiting) if experiences else []
        waiting += transaction.waiting(event.user, (), self._waiting)
        written: dict[bytes, None] = {}
        for statement in sorted({one.statement_id: one for one in waiting}.values(), key=lambda one: one.order):
            self._give_way()
            if taken_back(transaction, statement):
                transaction.drop_statement(statement.statement_id)
                continue
            outcomes = self._gating.take_up(transaction, statement, self._forming.vectors, event.global_sequence)
            for outcome in outcomes:
                written |= dict.fromkeys(outcome.written)
            if outcomes:
                self._look_again(transaction, statement, event.global_sequence)
        return list(written)

    def _write_record(self, transaction: SemanticTransaction, said: Said) -> bool:
        memory_id = record_of(said.event_id.bytes)
        language = guess_language(said.text, self._rules.languages)
        memory = Memory(
            memory_id=memory_id, scope=said.scope, owner=said.owner, kind=RECORD, text=said.text,
            said_at_us=said.said_at_us, recorded_at_us=said.said_at_us, valid_from_us=said.said_at_us,
            created_at_us=said.occurred_us, updated_at_us=said.occurred_us, received_at_us=said.received_us,
            session_id=said.session_id, group_id=said.group_id, project_id=said.project_id, language=language,
            sub_tier="personal" if said.role == "user" else "observed", data_source=_DATA_SOURCE.get(said.role, "system"),
            entities=extract_entities(said.text, self._rules.gazetteer, language), speaker=said.name,
            zone=said.zone, heard=said.sequence,
        )  # fmt: skip
        evidence = Evidence(
            memory_id, said.event_id.bytes, "rule", said.occurred_us, role=said.role, name=said.name,
            said_at_us=said.said_at_us, session_id=said.session_id, metadata_json=said.metadata_json,
        )  # fmt: skip
        if not transaction.add(memory, (evidence,), self._rules.tokens(memory), said.sequence):
            return False
        announce(transaction, said.event_id, said.occurred_us, said.owner, said.scope, "created", [memory_id], RECORD)
        return True


def _follow_deletion(transaction: SemanticTransaction, said: Said) -> None:
    """What a person deleted had been said in this message, too, which arrives only now: its record goes as the others went."""
    told = transaction.known(transaction.items_of_event(said.event_id.bytes), [said.scope])
    record = next((one.memory for one in told if one.memory.kind == RECORD), None)
    gone = any(one.memory.status == "invalid" and one.memory.variant_of is None for one in told if not is_derived(one.memory))
    if record is None or record.status == "invalid" or not gone:
        return
    after, at_us, reason = withdrawn(record, said.occurred_us), said.occurred_us, "what it says was deleted"
    transaction.replace(after, None, said.sequence)
    for change in differences(record, after, at_us, said.event_id.bytes, reason):
        transaction.add_evolution(change)
    announce(
        transaction,
        said.event_id,
        at_us,
        said.owner,
        said.scope,
        "invalidated",
        [record.memory_id],
        reason,
        "delete",
        ordinal=1,
    )


def ask_for_maintenance(transaction: SemanticTransaction, event: Event) -> None:
    """Remember that the indexes are to be checked or rebuilt; the indexer does it."""
    message = event.message
    transaction.add_job(IndexJob(event.event_id.bytes, message.firing_id, message.rebuild))


def announce(
    transaction: SemanticTransaction, cause: uuid.UUID, at_us: int, user: str, scope: Scope, action: str,
    memory_ids: Sequence[bytes], reason: str, act: str = "", ordinal: int = 0,
) -> None:  # fmt: skip
    """News of what an event itself did to records and items; `ordinal` tells them apart where it did several things."""
    changed = semantic_pb2.Changed(
        action=action, memory_ids=[id_text(one) for one in memory_ids], reason=reason, scope=scope_message(scope), act=act,
        event_id=cause.bytes,
    )  # fmt: skip
    event_id = derive_id(cause, "changed", ordinal)
    transaction.emit(make_record(changed, event_id=event_id, occurred_us=at_us, user=user, causation_id=cause))
