"""Why a message led to what it led to, how a memory came about, and what shadow mode would have done."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import semantic_pb2, write_path_pb2
from aico_memory.domain.gate.explain import Explanation, Outcome
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import Evidence, Evolution, Scope
from aico_memory.domain.scopes import readable, subject_for
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.ids import derive_id
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.memory_model import ImportanceSettings
from aico_memory.stores.semantic.port import SemanticStore
from services.semantic.convert import detail_message, evolution_message, id_bytes, id_text, record_message
from services.semantic.writing import GATE_FAILED

# Explanations that one report counts.
REPORTED = 10_000
# Memories and events in one answer.
_SHOWN = 100
NOTHING_STATED = "nothing is stated that a rule reads"
_ID_BYTES = 16


class Explaining:
    """Reads the records of decisions; safe from many threads."""

    def __init__(self, store: SemanticStore, identity: IdentitySettings, clock: Clock, figures: ImportanceSettings) -> None:
        self._figures = figures
        self._store = store
        self._identity = identity
        self._clock = clock

    def explain(self, event: Event) -> write_path_pb2.Explained:
        """Of an event: what was decided and what it made; of a memory: the events it rests on, and its changes.

        Raises NotFound where neither is known in the scopes of the question.
        """
        request: write_path_pb2.ExplainRequest = event.message
        names = self._identity.names(event.user)
        scopes = readable(names, request.group_id, request.project_id)
        if not request.event_id and not request.memory_id:
            raise InvalidMessage("Nothing to explain is named", "Give the id of a message or of a memory.")
        return (
            self._of_event(request.event_id, scopes, names)
            or self._of_memory(request.memory_id, scopes, names)
            or self._nothing(request)
        )

    def report(self, event: Event) -> write_path_pb2.ShadowReport:
        """Counts of what was decided in a time, and of what the modes would have done with it."""
        request: write_path_pb2.ShadowReportRequest = event.message
        scopes = readable(self._identity.names(event.user), request.group_id, request.project_id)
        until_us = request.until_us or self._clock.now_us() + 1
        found = self._store.explanations(scopes, request.since_us, until_us, REPORTED + 1)
        return shadow_report(found[:REPORTED], cut=len(found) > REPORTED)

    def _of_event(self, event_id: bytes, scopes: Sequence[Scope], names: Sequence[str]) -> write_path_pb2.Explained | None:
        if not event_id:
            return None
        if len(event_id) != _ID_BYTES:
            raise InvalidMessage("An event id has 16 bytes")
        # The two sides of a turn are decided each by itself.
        sides = [event_id, *(derive_id(uuid.UUID(bytes=event_id), "turn", side).bytes for side in (0, 1))]
        explained = [found for side in sides if (found := self._store.explanation(side, scopes)) is not None]
        made = [memory_id for side in sides for memory_id in self._store.items_of_event(side)]
        items = self._store.known(made[:_SHOWN], scopes)
        if not explained and not items:
            return None
        return write_path_pb2.Explained(events=map(explanation_message, explained), memories=self._records(items, names))

    def _of_memory(self, memory_id: str, scopes: Sequence[Scope], names: Sequence[str]) -> write_path_pb2.Explained | None:
        items = self._store.known([id_bytes(memory_id)], scopes) if memory_id else []
        if not items:
            return None
        memory = items[0].memory
        evidence = self._store.evidence([memory.memory_id])[memory.memory_id]
        events = list(dict.fromkeys(one.event_id for one in evidence))[:_SHOWN]
        explained = [found for one in events if (found := self._store.explanation(one, scopes)) is not None]
        changes = self._store.histories([memory.memory_id]).get(memory.memory_id, [])
        first_text = next((change.old_value for change in changes if change.what == "text"), memory.text)
        created = Evolution(
            memory.memory_id, "created", "", first_text, memory.created_at_us, evidence[0].event_id if evidence else b"",
            memory.kind,
        )  # fmt: skip
        return write_path_pb2.Explained(
            events=map(explanation_message, explained), memories=self._records(items, names),
            changes=[evolution_message(change) for change in (created, *changes)],
        )  # fmt: skip

    def _records(self, items: Sequence[Known], names: Sequence[str]) -> list[semantic_pb2.MemoryRecord]:
        evidence = self._store.evidence([known.memory.memory_id for known in items])
        records = [item_message(known, evidence[known.memory.memory_id], names) for known in items]
        for known, record in zip(items, records, strict=True):
            record.detail.CopyFrom(detail_message(known.memory, self._clock.now_us(), self._figures))
        return records

    @staticmethod
    def _nothing(request: write_path_pb2.ExplainRequest) -> write_path_pb2.Explained:
        named = id_text(request.event_id) if len(request.event_id) == _ID_BYTES else request.memory_id
        raise NotFound(
            f"No message and no memory {named} is known here",
            "Give an id that add, recall or search returned, and its user, group or project.",
        )


def _trace(explanation: Explanation) -> Sequence[str]:
    """What was found in a message; of one that nothing holds back and that states nothing, that it does not."""
    if explanation.filtered or explanation.outcomes or any(line.startswith(GATE_FAILED) for line in explanation.trace):
        return explanation.trace
    return (*explanation.trace, NOTHING_STATED)


def item_message(known: Known, evidence: Sequence[Evidence], names: Sequence[str]) -> semantic_pb2.MemoryRecord:
    """A memory with its reading, as whoever goes by `names` knows it."""
    record = record_message(known.memory, evidence)
    record.subject = subject_for(known.subject, known.memory, names)
    record.predicate, record.value = known.predicate, known.value
    return record


def explanation_message(explanation: Explanation) -> write_path_pb2.EventExplanation:
    """The record of one message's decisions."""
    return write_path_pb2.EventExplanation(
        event_id=explanation.event_id, filtered=explanation.filtered,
        classes=[semantic_pb2.RankedShare(feature=name, value=score) for name, score in explanation.classes],
        density=explanation.density, emotion=explanation.emotion, valence=explanation.valence, arousal=explanation.arousal,
        language=explanation.language, strong=explanation.strong, trace=_trace(explanation),
        outcomes=map(_outcome_message, explanation.outcomes),
    )  # fmt: skip


def shadow_report(explanations: Iterable[Explanation], cut: bool = False) -> write_path_pb2.ShadowReport:
    """Counts by name, the most frequent first."""
    done: Counter[str] = Counter()
    in_auto: Counter[str] = Counter()
    in_shadow: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    filters: Counter[str] = Counter()
    messages = 0
    for explanation in explanations:
        messages += 1
        filters.update(explanation.filtered)
        # What waited counts once, as what became of it.
        for one in {one.statement_id: one for one in explanation.outcomes}.values():
            done[one.action] += 1
            in_auto[one.in_auto] += 1
            in_shadow[one.in_shadow] += 1
            rules[one.rule] += 1
    return write_path_pb2.ShadowReport(
        messages=messages, statements=done.total(), done=_counts(done), in_auto=_counts(in_auto),
        in_shadow=_counts(in_shadow), rules=_counts(rules), filters=_counts(filters), cut=cut,
    )  # fmt: skip


def _outcome_message(one: Outcome) -> write_path_pb2.StatementOutcome:
    novelty, arousal, reward, attention = one.channels
    return write_path_pb2.StatementOutcome(
        statement_id=id_text(one.statement_id), kind=one.kind, act=one.act, predicate=one.predicate,
        importance=one.importance, confidence=one.confidence, novelty=novelty, arousal=arousal, reward=reward,
        attention=attention,
        neighbours=[
            write_path_pb2.SeenNeighbour(
                memory_id=id_text(seen.memory_id), similarity=seen.similarity, same_key=seen.same_key,
                contradiction=seen.contradiction, status=seen.status,
            )
            for seen in one.neighbours
        ],
        admission=one.admission, action=one.action, rule=one.rule, reason=one.reason, target=id_text(one.target or None),
        in_auto=one.in_auto, in_shadow=one.in_shadow, waits=one.waits,
        written=[id_text(memory_id) for memory_id in one.written],
    )  # fmt: skip


def _counts(counter: Counter[str]) -> list[write_path_pb2.CountByName]:
    ordered = sorted(counter.items(), key=lambda one: (-one[1], one[0]))
    return [write_path_pb2.CountByName(name=name, count=count) for name, count in ordered]
