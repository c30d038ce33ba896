"""The behavioral worker's handlers: select, learn, consent, tidy up; and what is asked of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from time import perf_counter
from typing import Any

from google.protobuf.message import Message

from aico_memory.contracts.consumer_state import ConsumerTransaction
from aico_memory.contracts.envelope import Event, make_record, reply_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import behavioral_pb2, bus_pb2, sleep_pb2, temporal_pb2
from aico_memory.domain.behavioral.policies import policy_named
from aico_memory.domain.behavioral.prior import COLD
from aico_memory.domain.behavioral.proposals import ProposalFigures
from aico_memory.domain.behavioral.records import NO_CONSENT, Evolution, SelectionRecord, UserSkill, UserState
from aico_memory.domain.behavioral.skill import Catalogue, Skill
from aico_memory.errors import AicoMemoryError, ConfigurationInvalid, InvalidMessage, NotFound
from aico_memory.ids import derive_id
from aico_memory.paths import config_file
from aico_memory.runtime.ports import Handlers, Ports, RequestHandler
from aico_memory.stores.behavioral.fragment_file import FILE as FRAGMENT_FILE
from aico_memory.stores.behavioral.fragment_file import load_fragments
from aico_memory.stores.behavioral.port import BehavioralRows, BehavioralStore
from aico_memory.stores.behavioral.prior_file import FILE as PRIOR_FILE
from aico_memory.stores.behavioral.prior_file import load_prior
from aico_memory.stores.behavioral.skill_file import FILE, load_skills
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.vault.sealer import Sealer
from services.behavioral.export import export_page
from services.behavioral.feedback import LearningRules, answer_of, judge
from services.behavioral.figures import (
    chooser_of,
    cold_prior,
    hierarchical_figures,
    hybrid_figures,
    learning_figures,
    trigger_weights,
)
from services.behavioral.nightly import run_batch
from services.behavioral.over_time import OverTime
from services.behavioral.own_skills import change_status, opened, put, usable
from services.behavioral.pressure import relieve
from services.behavioral.proposing import propose
from services.behavioral.questions import Questions
from services.behavioral.selection import Selector, remember, request_id_of, skill_message
from services.behavioral.situations import Situations
from services.behavioral.tastes import Tastes
from services.behavioral.undoing import undo

SELECT = topic_of(behavioral_pb2.SkillSelectionRequest).name
FEEDBACK = topic_of(behavioral_pb2.FeedbackEvent).name
CONSENT = topic_of(behavioral_pb2.ConsentChanged).name
CLEAN_UP = topic_of(behavioral_pb2.BehavioralCleanUp).name
UNDO = topic_of(behavioral_pb2.UndoLearning).name
PUT_SKILL = topic_of(behavioral_pb2.PutSkill).name
CHANGE_SKILL = topic_of(behavioral_pb2.ChangeSkill).name
LEARN_NOW = topic_of(behavioral_pb2.LearnNow).name
LEARN = topic_of(behavioral_pb2.Learn).name
TREND = topic_of(temporal_pb2.BehaviorTrendRequest).name
HOUR_US = 3_600_000_000
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
    topics: Sequence[str] = (SELECT, FEEDBACK, CONSENT, CLEAN_UP, UNDO, PUT_SKILL, CHANGE_SKILL, LEARN_NOW, LEARN)

    def __init__(self, ports: Ports, store: BehavioralStore, catalogue: Catalogue) -> None:
        settings = ports.settings.behavioral
        policy = policy_named(settings.policy, hybrid_figures(settings.hybrid), hierarchical_figures(settings))
        if policy is None:
            raise ConfigurationInvalid(f"behavioral.policy: there is no policy {settings.policy!r}")
        weights = trigger_weights(settings.trigger)
        self.state = store.state
        self._commands: Mapping[str, Callable[[ConsumerTransaction, BehavioralRows, Event], Message]] = {
            CONSENT: self._consent,
            UNDO: self._undo,
            PUT_SKILL: self._put_skill,
            CHANGE_SKILL: self._change_skill,
            LEARN_NOW: self._batch,
            LEARN: self._batch,
        }
        self._ports = ports
        self._store = store
        self._settings = settings
        self._catalogue = catalogue
        self._rules = LearningRules(
            learning_figures(settings.learning), settings.hierarchical.content_weight, settings.library.dimension_rate
        )
        self._fragments = load_fragments(config_file(ports.home, FRAGMENT_FILE))
        self._proposing = ProposalFigures(**settings.proposals.model_dump())
        cold = cold_prior(settings.hierarchical, catalogue)
        self._starting = load_prior(config_file(ports.home, PRIOR_FILE), cold) if settings.prior.source != COLD else cold
        self._tastes = Tastes(catalogue, self._starting, settings)
        chooser = chooser_of(settings.trigger)
        self._selector = Selector(catalogue, policy, chooser, self._tastes, settings.seed)
        self._situations = Situations(self._ask, catalogue, weights, settings)
        questions = Questions(
            store, catalogue, self._selector, lambda: Tastes(catalogue, self._starting, settings), settings, self._reader_of
        )
        over_time = OverTime(store, ports.settings.memory_model.evolution)
        self.requests: Mapping[str, RequestHandler] = {**questions.handlers(), TREND: over_time.trend}

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
            elif event.topic in self._commands:
                answer = self._commands[event.topic](transaction, rows, event)
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
        own = self._own(rows, event.user)
        if standing is not None:
            return self._selector.answer(standing, own)
        record, consent = self._selector.select(rows, event, situation, answered_by, own)
        remember(rows, record, consent, event, self._ports.vault.users.sealer(event.user))
        answer = self._selector.answer(record, own)
        answer.selection_time_ms = (perf_counter() - started) * 1000
        self._count_selection(rows, record)
        self._emit(transaction, event, answer, "skill_response")
        if record.skill_id:
            self._emit(transaction, event, self._application(record, answer.skill_name), "skill_applied")
        self._ports.log.info(
            "selected", metric_type="behavioral_memory_selection", user=event.user, skill=record.skill_id,
            confidence=record.confidence, alignment=record.alignment, exploration=record.is_exploration,
            selection_ms=answer.selection_time_ms, outcome=record.outcome,
        )  # fmt: skip
        return answer

    def _application(self, record: SelectionRecord, name: str) -> behavioral_pb2.SkillApplicationEvent:
        return behavioral_pb2.SkillApplicationEvent(
            user_id=record.user,
            skill_id=record.skill_id,
            skill_name=name,
            confidence_score=record.confidence,
            timestamp=record.at_us,
            request_id=record.request_id,
        )

    def _learn(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        judged = judge(rows, event, self._catalogue, self._rules, self._ports.vault.users.sealer(event.user))
        record = judged.record
        if judged.is_new and record.status != NO_CONSENT:
            processed = behavioral_pb2.FeedbackProcessed(
                user_id=record.user, feedback_event_id=record.event_id.bytes, message_id=record.message_id,
                skill_id=record.skill_id, skill_updated=record.skill_updated, new_confidence=record.new_confidence,
            )  # fmt: skip
            self._emit(transaction, event, processed, "feedback_processed")
        if judged.is_new and record.skill_updated:
            hour_us = record.at_us - record.at_us % HOUR_US
            rows.count_hour(hour_us, record.skill_id, "positive" if record.reward > 0 else "negative", 1.0)
            relieve(rows, record.user, self._catalogue, self._settings.library, event.occurred_us)
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
            self._emit(transaction, event, self._consent_audit(event, after), "audit")
        return behavioral_pb2.ConsentState(behavioral=after.behavioral, long_term=after.long_term)

    def _consent_audit(self, event: Event, after: UserState) -> bus_pb2.AuditEvent:
        return _audit(event, "consent_changed", {"behavioral": after.behavioral, "long_term": after.long_term})

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

    def _undo(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        gone, left = undo(rows, event, self._catalogue, self._rules, self._settings.library.signal_step)
        self._emit(transaction, event, _audit(event, "learning_undone", {"undone": gone, "left": left}), "audit")
        return behavioral_pb2.UndoResult(undone=gone, left=left)

    def _put_skill(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        sealer, limit = self._ports.vault.users.sealer(event.user), self._settings.library.user_skills
        own_id = f"own_{derive_id(event.event_id, 'skill').hex[-12:]}"
        record = put(rows, event.message, self._catalogue, limit, sealer, event.occurred_us, own_id)
        self._emit(transaction, event, _audit(event, "skill_put", {"skill": record.skill_id}), "audit")
        return self._own_message(rows, record)

    def _change_skill(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        user, skill_id, action = event.user, event.message.skill_id, event.message.action
        self._emit(transaction, event, _audit(event, "skill_changed", {"skill": skill_id, "action": action}), "audit")
        if skill_id in self._catalogue:
            if action not in {"archive", "restore"}:
                raise InvalidMessage(f"{skill_id} is a base skill", "Base skills can be archived and restored only.")
            state = rows.skill_state(user, skill_id)
            rows.put_skill_state(user, skill_id, state)
            rows.archive_skill(user, skill_id, event.occurred_us if action == "archive" else None)
            return skill_message(self._catalogue.get(skill_id), state, "archived" if action == "archive" else "")
        record = change_status(rows, user, skill_id, action, event.occurred_us)
        if record is None:
            return behavioral_pb2.Skill(skill_id=skill_id, status="deleted")
        return self._own_message(rows, record)

    def _batch(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        started = perf_counter()
        version = f"learned-{derive_id(event.event_id, 'prior').hex[-16:]}"
        report = run_batch(rows, self._tastes, self._catalogue, self._settings, version, event.occurred_us)
        limit, sealer_of = self._settings.library.user_skills, self._ports.vault.users.sealer
        report.proposals = sum(
            propose(rows, user, self._catalogue, self._fragments, self._proposing, limit, sealer_of, event.occurred_us)
            for user in rows.taught_users()
        )
        if event.topic == LEARN and event.message.firing_id:
            detail = f"{report.outcome}: {report.people} people, {report.thumbs} thumbs, {report.signals} signals"
            finished = sleep_pb2.JobFinished(
                firing_id=event.message.firing_id, outcome="done", at_us=event.occurred_us, detail=detail
            )
            self._emit(transaction, event, finished, "finished")
        self._ports.log.info(
            "learned", metric_type="behavioral_memory_thompson_sampling", outcome=report.outcome, people=report.people,
            trajectories=report.thumbs, signals=report.signals, prior=report.prior, value_before=report.value_before,
            value_after=report.value_after, seconds=perf_counter() - started,
        )  # fmt: skip
        return report

    def _own(self, rows: BehavioralRows, user: str) -> list[Skill]:
        return usable(rows, user, self._ports.vault.users.sealer(user)) if rows.user_skills(user) else []

    def _own_message(self, rows: BehavioralRows, record: UserSkill) -> behavioral_pb2.Skill:
        skill = opened(record, self._ports.vault.users.sealer(record.user))
        return skill_message(skill, rows.skill_state(record.user, record.skill_id), record.status, record.version)

    def _reader_of(self, user: str) -> Sealer:
        return self._ports.vault.users.sealer(user, create=False)

    def _count_selection(self, rows: BehavioralRows, record: SelectionRecord) -> None:
        if record.skill_id:
            hour_us = record.at_us - record.at_us % HOUR_US
            rows.count_hour(hour_us, record.skill_id, "explored" if record.is_exploration else "selected", record.confidence)


def _audit(event: Event, action: str, detail: Mapping[str, object]) -> bus_pb2.AuditEvent:
    return bus_pb2.AuditEvent(
        action=action,
        actor=event.sender,
        subject=event.user,
        detail_json=json.dumps(detail, sort_keys=True),
        at_us=event.occurred_us,
    )
