"""What a language model reads beside the rules: which messages it is to read, and its facts through the same gate.

The record of a message and what the rules read in it are there at once. What the model adds comes later, as an event of
its own, under ids that derive from the message's: twice is once, and a replay of the bus has it without the model.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import extraction_pb2
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.gate.explain import explanation
from aico_memory.domain.memory import OPEN, RECORD, Evidence, Memory, record_of
from aico_memory.ids import derive_id
from aico_memory.settings.language_model import LanguageModelSettings
from aico_memory.stores.semantic.port import SemanticTransaction, Unread
from services.semantic.forming import Forming
from services.semantic.gating import Gating
from services.semantic.saying import Said, said_by

# Places of the model's facts among the statements of a message, behind any that the rules can have.
_FIRST_PLACE = 1_000_000
# Under this name the evidence of a fact tells the model.
READ_BY = "read_by"
# How what is told of a reading begins.
_ALONE, _MODEL = "rules alone: ", "model "
_TOLD = (_ALONE, _MODEL)


class Enriching:
    """Queues messages, and takes up what was read; used by the consumer thread alone."""

    def __init__(self, forming: Forming, gating: Gating, settings: LanguageModelSettings) -> None:
        self._forming = forming
        self._gating = gating
        self._settings = settings

    def queue(self, transaction: SemanticTransaction, event: Event) -> None:
        """Ask for what people say to be read, where a model is configured; what a filter names is left to the rules."""
        if not self._settings.enabled:
            return
        for said in said_by(event):
            if said.role == "user" and not self._forming.of(said).formed.filtered:
                transaction.read_later(Unread(said.event_id.bytes, said.owner, said.scope, said.zone, event.received_us))

    def queue_edit(self, transaction: SemanticTransaction, event: Event, edited: Memory) -> None:
        """The same for the new words of a record, under the id of the edit."""
        event_id = event.event_id
        if not self._settings.enabled or not is_worded_by(edited, event_id.bytes, transaction.evidence(edited.memory_id)):
            return
        if not self._forming.form(_said(event_id, edited, event.global_sequence)).filtered:
            transaction.read_later(Unread(event_id.bytes, edited.owner, edited.scope, edited.zone, event.received_us))

    def take(self, transaction: SemanticTransaction, event: Event) -> None:
        """Facts of words that stand; of what was deleted, was reworded since, or is not known nothing is taken."""
        message: extraction_pb2.FactsExtracted = event.message
        if len(message.event_id) != 16:
            return
        event_id = uuid.UUID(bytes=message.event_id)
        record = _worded_by(transaction, message.event_id)
        if record is None or record.owner != event.user or record.status == "invalid":
            return
        said = _said(event_id, record, event.global_sequence)
        told = transaction.explanation(event_id.bytes, [said.scope])
        if told is not None and any(line.startswith(_TOLD) for line in told.trace):
            # A message is read once: what a second reading says would be counted as a second proof.
            return
        extraction = message.extraction
        facts = tuple(fact_of(one) for one in extraction.facts)
        formed = replace(self._forming.form(said), facts=facts, foresight=())
        source = _source(transaction, record, extraction)
        # Times are meant from when the message was said; that the words are these is known since they were given.
        given = replace(said, said_at_us=record.recorded_at_us)
        outcomes = []
        for place, fact in enumerate(facts, _FIRST_PLACE):
            statement = replace(self._gating.statement(given, formed, fact, place), metadata_json=source)
            closing_id = derive_id(event_id, "closing", place).bytes
            outcomes += self._gating.judge(transaction, statement, closing_id, formed, self._forming.vectors, said.sequence)
        told = told or explanation(event_id.bytes, formed, ())
        trace = tuple(told_of(extraction))
        fuller = replace(told, trace=(*told.trace, *trace), outcomes=(*told.outcomes, *outcomes))
        transaction.explain(fuller, said.scope, said.owner, said.occurred_us)


def is_worded_by(record: Memory, event_id: bytes, evidence: Sequence[Evidence]) -> bool:
    """Whether the present words of a record are those of this event: its message, or its latest edit."""
    if record.kind != RECORD:
        return False
    if record.version == 1:
        return record.memory_id == record_of(event_id)
    return any(one.event_id == event_id and one.at_us == record.recorded_at_us for one in evidence)


def fact_of(one: extraction_pb2.ExtractedFact) -> FormedFact:
    """A fact as it came over the bus."""
    until_us = one.valid_until_us or OPEN
    return FormedFact(
        text=one.text, kind=one.kind, subject=one.subject, predicate=one.predicate, value=one.value,
        object_key=one.object_key, single_valued=one.single_valued, act=one.act, corrected=one.corrected,
        valid_from_us=one.valid_from_us, valid_until_us=until_us,
        temporal_type="time_bounded" if until_us < OPEN else "persistent", entities=tuple(one.entities),
        language=one.language, confidence_base=one.confidence_base, source="llm_extract", excerpt=one.excerpt,
    )  # fmt: skip


def told_of(extraction: extraction_pb2.Extraction) -> Iterator[str]:
    """What is told of a reading in the explanation of its message."""
    if extraction.degraded:
        yield f"{_ALONE}{extraction.degraded}"
    else:
        yield (
            f"{_MODEL}{extraction.model}, instructions {extraction.prompt_hash}, {extraction.milliseconds:.0f} ms: "
            f"{len(extraction.facts)} facts, {len(extraction.refused)} refused"
        )
    for one in extraction.refused:
        yield f"{_MODEL}refused by {one.rule}: {one.reason} {one.claim}".rstrip()


def _worded_by(transaction: SemanticTransaction, event_id: bytes) -> Memory | None:
    for memory_id in (record_of(event_id), *transaction.items_of_event(event_id)):
        record = transaction.memory(memory_id)
        if record is not None and is_worded_by(record, event_id, transaction.evidence(memory_id)):
            return record
    return None


def _source(transaction: SemanticTransaction, record: Memory, extraction: extraction_pb2.Extraction) -> str:
    """The metadata of the message, and which model read it by which instructions."""
    given = next((one.metadata_json for one in transaction.evidence(record.memory_id) if one.metadata_json), "")
    read_by = {"model": extraction.model, "prompt_hash": extraction.prompt_hash}
    return json.dumps({**(json.loads(given) if given else {}), READ_BY: read_by})


def _said(event_id: uuid.UUID, record: Memory, sequence: int) -> Said:
    return Said(
        event_id=event_id, text=record.text, role="user", name=record.speaker, owner=record.owner, scope=record.scope,
        said_at_us=record.said_at_us,
        occurred_us=record.created_at_us if record.version == 1 else record.recorded_at_us, received_us=record.received_at_us,
        session_id=record.session_id, sequence=sequence, group_id=record.group_id, project_id=record.project_id,
        zone=record.zone,
    )  # fmt: skip
