"""The behavioral worker's handlers: select, learn, consent, tidy up; and what is asked of it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from time import perf_counter
from typing import Any

from google.protobuf.message import Message

from aico_memory.contracts.consumer_state import ConsumerTransaction
from aico_memory.contracts.envelope import Event, make_record, reply_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import behavioral_pb2, bus_pb2, sleep_pb2
from aico_memory.domain.behavioral.learning import SkillState
from aico_memory.domain.behavioral.policy import policy_named
from aico_memory.domain.behavioral.records import NO_CONSENT, Evolution, SelectionRecord
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.errors import AicoMemoryError, ConfigurationInvalid, InvalidMessage, NotFound
from aico_memory.ids import derive_id
from aico_memory.paths import config_file
from aico_memory.runtime.ports import Handlers, Ports, RequestHandler
from aico_memory.stores.behavioral.port import BehavioralRows, BehavioralStore
from aico_memory.stores.behavioral.skill_file import FILE, load_skills
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from services.behavioral.export import export_page
from services.behavioral.feedback import answer_of, judge
from services.behavioral.figures import hybrid_figures, learning_figures, trigger_weights
from services.behavioral.selection import Selector, remember, request_id_of, skill_message
from services.behavioral.situations import Situations

SELECT = topic_of(behavioral_pb2.SkillSelectionRequest).name
FEEDBACK = topic_of(behavioral_pb2.FeedbackEvent).name
CONSENT = topic_of(behavioral_pb2.ConsentChanged).name
CLEAN_UP = topic_of(behavioral_pb2.BehavioralCleanUp).name
DAY_US = 86_400_000_000

# What is answered instead of retried: the request itself is at fault.
_REFUSALS = (InvalidMessage, NotFound)


def build(ports: Ports) -> BehavioralHandlers:
    """The handlers on the home's encrypted store."""
    catalogue = load_skills(config_file(ports.home, FILE))
    store = SqlBehavioralStore.open(ports.home.store("behavioral"), ports.vault.store_key("behavioral"))
    try:
        return BehavioralHandlers(ports, store, catalogue)
    except BaseException:
        store.close()
        raise


class BehavioralHandlers(Handlers):
    """One instance a process; `apply` in the consumer's thread, questions in others."""

    name = "behavioral"
    topics: Sequence[str] = (SELECT, FEEDBACK, CONSENT, CLEAN_UP)

    def __init__(self, ports: Ports, store: BehavioralStore, catalogue: Catalogue) -> None:
        settings = ports.settings.behavioral
        policy = policy_named(settings.policy, hybrid_figures(settings.hybrid))
        if policy is None:
            raise ConfigurationInvalid(f"behavioral.policy: there is no policy {settings.policy!r}")
        weights = trigger_weights(settings.trigger)
        self.state = store.state
        self._ports = ports
        self._store = store
        self._settings = settings
        self._catalogue = catalogue
        self._learning = learning_figures(settings.learning)
        self._selector = Selector(catalogue, policy, weights, settings.trigger, settings.seed)
        self._situations = Situations(self._ask, catalogue, weights, settings)
        self.requests: Mapping[str, RequestHandler] = {
            topic_of(behavioral_pb2.SkillsRequest).name: self._skills,
            topic_of(behavioral_pb2.PreferencesRequest).name: self._preferences,
            topic_of(behavioral_pb2.FeedbackAnswerRequest).name: self._feedback_answer,
            topic_of(behavioral_pb2.SelectionAnswerRequest).name: self._selection_answer,
        }

    def prepare(self, events: Sequence[Event]) -> None:
        """Ask the model, before the transaction, for what selection requests leave open."""
        self._situations.prepare([event for event in events if event.topic == SELECT])

    def apply(self, transaction: ConsumerTransaction, event: Event) -> None:
        """One event's effects and answers; a refusal is answered, and changes nothing."""
        rows = self._store.within(transaction)
        answer: Message | AicoMemoryError
        try:
            if event.topic == SELECT:
                answer = self._select(transaction, rows, event)
            elif event.topic == FEEDBACK:
                answer = self._learn(transaction, rows, event)
            elif event.topic == CONSENT:
                answer = self._consent(transaction, rows, event)
            else:
                self._clean_up(transaction, rows, event)
                return
        except _REFUSALS as refusal:
            answer = refusal
        if event.reply_to:
            transaction.emit(reply_record(event, answer))

    def status(self) -> dict[str, object]:
        """Skills, policy, rows by kind, and whether the model answers."""
        with self._store.reading() as rows:
            counts = rows.counts()
        return {
            "skills": len(self._catalogue),
            "policy": self._settings.policy,
            "model_answers": self._situations.model_is_well,
            "rows": counts,
        }

    def export(self, user: str, after: str, limit: int) -> bus_pb2.ExportPage:
        """A page of canonical lines."""
        with self._store.reading() as rows:
            return export_page(rows, user, after, limit, lambda owner: self._ports.vault.users.sealer(owner, create=False))

    def close(self) -> None:
        """Close the store."""
        self._situations.close()
        self._store.close()

    def _ask(self, question: Message, seconds: float) -> Future[Any]:
        return self._ports.link.request(question, timeout=seconds)

    def _select(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        started = perf_counter()
        situation, answered_by = self._situations.take(event)
        standing = rows.selection(event.user, request_id_of(event))
        if standing is not None:
            return self._selector.answer(standing)
        record, consent = self._selector.select(rows, event, situation, answered_by)
        remember(rows, record, consent, event, self._ports.vault.users.sealer(event.user))
        answer = self._selector.answer(record)
        answer.selection_time_ms = (perf_counter() - started) * 1000
        self._emit(transaction, event, answer, "skill_response")
        if record.skill_id:
            self._emit(transaction, event, self._application(record), "skill_applied")
        self._ports.log.info(
            "selected", metric_type="behavioral_memory_selection", user=event.user, skill=record.skill_id,
            confidence=record.confidence, alignment=record.alignment, exploration=record.is_exploration,
            selection_ms=answer.selection_time_ms, outcome=record.outcome,
        )  # fmt: skip
        return answer

    def _application(self, record: SelectionRecord) -> behavioral_pb2.SkillApplicationEvent:
        return behavioral_pb2.SkillApplicationEvent(
            user_id=record.user,
            skill_id=record.skill_id,
            skill_name=self._catalogue.get(record.skill_id).name,
            confidence_score=record.confidence,
            timestamp=record.at_us,
            request_id=record.request_id,
        )

    def _learn(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        judged = judge(rows, event, self._catalogue, self._learning, self._ports.vault.users.sealer(event.user))
        record = judged.record
        if judged.is_new and record.status != NO_CONSENT:
            processed = behavioral_pb2.FeedbackProcessed(
                user_id=record.user, feedback_event_id=record.event_id.bytes, message_id=record.message_id,
                skill_id=record.skill_id, skill_updated=record.skill_updated, new_confidence=record.new_confidence,
            )  # fmt: skip
            self._emit(transaction, event, processed, "feedback_processed")
        if judged.is_new and record.skill_updated:
            updated = behavioral_pb2.SkillUpdated(
                user_id=record.user, skill_id=record.skill_id, old_confidence=judged.old_confidence,
                new_confidence=record.new_confidence, bucket=record.bucket, reason="feedback",
            )  # fmt: skip
            self._emit(transaction, event, updated, "skill_updated")
        if judged.is_new:
            self._ports.log.info(
                "judged", metric_type="behavioral_memory_feedback", user=record.user, skill=record.skill_id,
                reward=record.reward, reason=record.reason, old_confidence=judged.old_confidence,
                new_confidence=record.new_confidence, status=record.status, has_free_text=record.sealed_text is not None,
            )  # fmt: skip
        return answer_of(record)

    def _consent(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        message, before = event.message, rows.user(event.user)
        after = replace(
            before,
            behavioral=message.behavioral if message.HasField("behavioral") else before.behavioral,
            long_term=message.long_term if message.HasField("long_term") else before.long_term,
        )
        rows.put_user(event.user, after)
        for ordinal, what in enumerate(("behavioral", "long_term")):
            old, new = float(getattr(before, what)), float(getattr(after, what))
            if old != new:
                rows.add_evolution(Evolution(event.user, event.event_id, ordinal, "consent", what, event.occurred_us, old, new))
        if after != before:
            self._emit(transaction, event, _consent_audit(event, after.behavioral, after.long_term), "audit")
        return behavioral_pb2.ConsentState(behavioral=after.behavioral, long_term=after.long_term)

    def _clean_up(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> None:
        now_us = event.message.planned_at_us or event.occurred_us
        deleted = rows.delete_archived(now_us - self._settings.delete_days * DAY_US)
        archived = rows.archive_trajectories(now_us - self._settings.archive_days * DAY_US, now_us)
        if event.message.firing_id:
            detail = f"{archived} trajectories archived, {deleted} deleted"
            finished = sleep_pb2.JobFinished(firing_id=event.message.firing_id, outcome="done", at_us=now_us, detail=detail)
            self._emit(transaction, event, finished, "finished")

    def _emit(self, transaction: ConsumerTransaction, event: Event, message: Message, purpose: str) -> None:
        transaction.emit(
            make_record(
                message,
                event_id=derive_id(event.event_id, purpose),
                occurred_us=event.occurred_us,
                # What names no user outlives that user's data key.
                user=event.user if topic_of(message).needs_user else "",
                correlation_id=event.correlation_id,
                causation_id=event.event_id,
                traceparent=event.traceparent,
            )
        )

    def _skills(self, event: Event, ports: Ports) -> Message:
        with self._store.reading() as rows:
            states = rows.skill_states(event.user)
        skills = (skill_message(skill, states.get(skill.skill_id, SkillState())) for skill in self._catalogue)
        return behavioral_pb2.SkillsPage(skills=skills)

    def _preferences(self, event: Event, ports: Ports) -> Message:
        with self._store.reading() as rows:
            found = rows.preferences(event.user)
        wanted = event.message.bucket if event.message.HasField("bucket") else None
        buckets = (
            behavioral_pb2.BucketPreference(bucket=bucket, dimensions=one.dimensions, updates=one.updates)
            for bucket, one in found.items()
            if wanted is None or bucket == wanted
        )
        return behavioral_pb2.Preferences(buckets=buckets)

    def _feedback_answer(self, event: Event, ports: Ports) -> Message:
        event_id = event.message.event_id
        with self._store.reading() as rows:
            found = rows.feedback(uuid.UUID(bytes=event_id)) if len(event_id) == 16 else None
        if found is None or found.user != event.user:
            raise NotFound("No feedback of this user stands under this event id (yet)")
        return answer_of(found)

    def _selection_answer(self, event: Event, ports: Ports) -> Message:
        with self._store.reading() as rows:
            found = rows.selection(event.user, event.message.request_id)
        if found is None:
            raise NotFound("No selection of this user stands under this request id (yet)")
        return self._selector.answer(found)


def _consent_audit(event: Event, behavioral: bool, long_term: bool) -> bus_pb2.AuditEvent:
    return bus_pb2.AuditEvent(
        action="consent_changed",
        actor=event.sender,
        subject=event.user,
        detail_json=json.dumps({"behavioral": behavioral, "long_term": long_term}),
        at_us=event.occurred_us,
    )
