"""The behavioral worker's handlers: select, learn, consent, tidy up; and what is asked of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from time import perf_counter
from typing import Any

from google.protobuf.message import Message

from aico_memory.contracts.consumer_state import ConsumerTransaction
from aico_memory.contracts.envelope import Event, reply_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import behavioral_pb2, bus_pb2, guardrails_pb2, temporal_pb2
from aico_memory.domain.behavioral.policies import policy_named
from aico_memory.domain.behavioral.records import NO_CONSENT, Evolution, SelectionRecord
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.domain.guardrails.adjustment import BEHAVIORAL_PRIOR
from aico_memory.errors import AicoMemoryError, ConfigurationInvalid, InvalidMessage, NotFound, RefusedTransition
from aico_memory.ids import derive_id
from aico_memory.models.feedback_tables import load_classifier
from aico_memory.models.language_tables import load_function_words
from aico_memory.paths import config_file
from aico_memory.runtime.adjusting import account, adjustment_page, decide
from aico_memory.runtime.ports import Handlers, Ports, RequestHandler
from aico_memory.stores.behavioral.fragment_file import FILE as FRAGMENT_FILE
from aico_memory.stores.behavioral.fragment_file import load_fragments
from aico_memory.stores.behavioral.port import BehavioralRows, BehavioralStore
from aico_memory.stores.behavioral.skill_file import FILE, load_skills
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.vault.sealer import Sealer
from services.behavioral import nights
from services.behavioral.adjusting import PriorRules
from services.behavioral.advisor import desk as advisor
from services.behavioral.consenting import consent
from services.behavioral.editing import edit
from services.behavioral.emitting import audit, emit
from services.behavioral.export import export_page
from services.behavioral.feedback import LearningRules, answer_of, judge, style_of
from services.behavioral.figures import (
    chooser_of,
    hierarchical_figures,
    hybrid_figures,
    learning_figures,
    trigger_weights,
)
from services.behavioral.forgetting import delete_selections
from services.behavioral.measuring import Measuring
from services.behavioral.nights import Nights
from services.behavioral.over_time import OverTime
from services.behavioral.own_skills import ACCEPTED, ARCHIVED, put
from services.behavioral.own_topics import CHANGE_SKILL, PUT_SKILL, SELECT, UNDO, OwnTopics
from services.behavioral.policy_trials import PolicyTrials, starting_prior
from services.behavioral.pressure import relieve
from services.behavioral.questions import Questions
from services.behavioral.responses import record_response
from services.behavioral.selection import Selector, remember, request_id_of
from services.behavioral.shelves import Shelves
from services.behavioral.situations import Situations
from services.behavioral.standing import change_skill, own_message
from services.behavioral.stating import state
from services.behavioral.tastes import Tastes
from services.behavioral.texts import FeedbackTexts
from services.behavioral.tidying import clean_up
from services.behavioral.undoing import undo

FEEDBACK = topic_of(behavioral_pb2.FeedbackEvent).name
CONSENT = topic_of(behavioral_pb2.ConsentChanged).name
CLEAN_UP = topic_of(behavioral_pb2.BehavioralCleanUp).name
EDIT = topic_of(behavioral_pb2.EditFeedback).name
DELETE_SELECTIONS = topic_of(behavioral_pb2.DeleteSelections).name
RESPONSE = topic_of(behavioral_pb2.RecordResponse).name
STATE = topic_of(behavioral_pb2.PutPreference).name
CLASSIFY_TEXT = topic_of(behavioral_pb2.ClassifyTextRequest).name
POLICY_EVALUATION = topic_of(behavioral_pb2.PolicyEvaluationRequest).name
TREND = topic_of(temporal_pb2.BehaviorTrendRequest).name
ADJUSTMENTS = topic_of(guardrails_pb2.BehavioralAdjustmentsRequest).name
ADJUST = topic_of(guardrails_pb2.BehavioralAdjustmentDecision).name

# What is answered instead of retried: the request itself is at fault.
_REFUSALS = (InvalidMessage, NotFound, RefusedTransition)


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
    lingers = True
    topics: Sequence[str] = (SELECT, FEEDBACK, CONSENT, CLEAN_UP, UNDO, EDIT, PUT_SKILL, CHANGE_SKILL, *nights.TOPICS, ADJUST,
                            STATE, DELETE_SELECTIONS, RESPONSE, *advisor.TOPICS)  # fmt: skip

    def __init__(self, ports: Ports, store: BehavioralStore, catalogue: Catalogue) -> None:
        settings = ports.settings.behavioral
        policy = policy_named(settings.policy, hybrid_figures(settings.hybrid), hierarchical_figures(settings))
        if policy is None:
            raise ConfigurationInvalid(f"behavioral.policy: there is no policy {settings.policy!r}")
        weights = trigger_weights(settings.trigger)
        self.state = store.state
        languages = load_function_words(ports.home)
        self._desk = advisor.Desk(ports, store, languages)
        self._measuring = Measuring(store, catalogue, settings.metrics, ports.clock, ports.log, ports.settings.bus.reply_bytes)
        self._commands: dict[str, Callable[[ConsumerTransaction, BehavioralRows, Event], Message]] = {
            CONSENT: self._desk.counting(consent),
            UNDO: self._undo,
            DELETE_SELECTIONS: delete_selections,
            EDIT: self._edit,
            RESPONSE: lambda out, rows, event: record_response(out, rows, event, ports.vault.users.sealer(event.user)),
            PUT_SKILL: self._put_skill,
            CHANGE_SKILL: self._change_skill,
            ADJUST: lambda _, rows, event: decide(rows.ledger(), event, {BEHAVIORAL_PRIOR: PriorRules(rows, self._tastes)}),
            STATE: self._state,
            **self._desk.commands,
        }
        self._ports = ports
        self._store = store
        self._settings = settings
        self._catalogue = catalogue
        self._rules = LearningRules(
            learning_figures(settings.learning), settings.hierarchical.content_weight, settings.library.dimension_rate,
            settings.feedback_text.threshold,
        )  # fmt: skip
        self._starting = starting_prior(ports.home, settings, catalogue)
        self._tastes = Tastes(catalogue, self._starting, settings)
        self._shelves = Shelves(catalogue, self._reader_of, settings.hierarchical.cached_users)
        chooser = chooser_of(settings)
        self._selector = Selector(catalogue, policy, chooser, self._tastes, settings.seed)
        own = OwnTopics(store, self._shelves, self._reader_of, languages)
        self._situations = Situations(self._ask, catalogue, weights, settings, own, languages)
        fragments = load_fragments(config_file(ports.home, FRAGMENT_FILE))
        questions = Questions(
            store, catalogue, self._selector, lambda: Tastes(catalogue, self._starting, settings), settings, self._reader_of,
            ports.settings.bus.reply_bytes, fragments,
        )  # fmt: skip
        figures = settings.feedback_text
        self._texts = FeedbackTexts(
            store, self._ask, figures, lambda: load_classifier(ports.home, figures), self._reader_of, self._rules, ports.log
        )
        self._nights = Nights(ports, self._texts, self._tastes, catalogue, fragments, self._measuring)
        self._commands |= dict.fromkeys((nights.LEARN_NOW, nights.LEARN), self._nights.learn)
        trials = PolicyTrials(store, catalogue, ports.home, settings, self._reader_of)
        over_time = OverTime(store, ports.settings.memory_model.evolution)
        self.requests: Mapping[str, RequestHandler] = {
            **questions.handlers(), **self._desk.requests, **self._measuring.handlers(), TREND: over_time.trend,
            ADJUSTMENTS: self._adjustments, CLASSIFY_TEXT: self._texts.classify, POLICY_EVALUATION: trials.evaluate,
        }  # fmt: skip

    def prepare(self, events: Sequence[Event]) -> None:
        """Ask the model, before the transaction, for what selection requests leave open."""
        self._situations.prepare(events)
        if any(event.topic in nights.TOPICS for event in events):
            given = [event.message.free_text for event in events if event.topic in (FEEDBACK, EDIT)]
            self._texts.prepare(given, {event.user for event in events if event.topic == CONSENT})

    def answers_early(self, events: Sequence[Event]) -> bool:
        """A choice follows from its request, the seed and what was learned before: made again, it is the same."""
        return all(event.topic == SELECT for event in events)

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
            elif event.topic == nights.CLASSIFY:
                self._nights.classify(transaction, rows, event)
                return
            else:
                clean_up(transaction, rows, event, self._settings, self._catalogue)
                return
        except _REFUSALS as refusal:
            answer = refusal
        if event.reply_to:
            transaction.emit(reply_record(event, answer))

    def after_commit(self) -> None:
        """Show what others read outside of the store."""
        self._texts.forget()
        self._desk.after_commit()
        self._measuring.after_commit()

    def idle(self, now_us: int) -> None:
        """Embed outcomes that were recorded; tell the figures of an hour that is over."""
        self._desk.idle()
        self._measuring.idle(now_us)

    def status(self) -> dict[str, object]:
        """Skills, policy, rows by kind, and whether the model answers."""
        with self._store.reading() as rows:
            counts = rows.counts()
            adjusted = account(rows.ledger(), self._ports.settings.guardrails, self._ports.clock.now_us())
        return {
            "alarms": adjusted.pop("alarms"),
            "adjustments": adjusted,
            "skills": len(self._catalogue),
            "policy": self._settings.policy,
            "feedback_text": self._texts.calibration,
            "model_answers": self._situations.model_is_well,
            "rows": counts,
        }

    def export(self, user: str, after: str, limit: int) -> bus_pb2.ExportPage:
        """A page of canonical lines."""
        with self._store.reading() as rows:
            return export_page(rows, user, after, limit, self._reader_of)

    def close(self) -> None:
        """Close the store."""
        self._situations.close()
        self._store.close()

    def _ask(self, question: Message, seconds: float) -> Future[Any]:
        return self._ports.link.request(question, timeout=seconds)

    def _select(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        started = perf_counter()
        shelf = self._shelves.of(rows, event.user)
        situation, answered_by = self._situations.take(event, shelf)
        standing = rows.selection(event.user, request_id_of(event))
        if standing is not None:
            answer = self._selector.answer(standing, shelf)
            self._applied(transaction, event, standing, answer.skill_name)
            return answer
        record, consent, candidates = self._selector.select(rows, event, situation, answered_by, shelf)
        remember(rows, record, consent, event, self._ports.vault.users.sealer(event.user))
        answer = self._selector.answer(record, shelf)
        answer.selection_time_ms = (perf_counter() - started) * 1000
        emit(transaction, event, answer, "skill_response")
        self._applied(transaction, event, record, answer.skill_name)
        self._measuring.selected(rows, record, answer.selection_time_ms, self._situations.context_ms, candidates)
        return answer

    def _applied(self, transaction: ConsumerTransaction, event: Event, record: SelectionRecord, name: str) -> None:
        if record.skill_id and event.message.apply:
            applied = behavioral_pb2.SkillApplicationEvent(
                user_id=record.user, skill_id=record.skill_id, skill_name=name, confidence_score=record.confidence,
                timestamp=record.at_us, request_id=record.request_id,
            )  # fmt: skip
            emit(transaction, event, applied, "skill_applied")

    def _learn(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        judged = judge(rows, event, self._catalogue, self._rules, self._ports.vault.users.sealer(event.user))
        record = judged.record
        if judged.is_new and record.status != NO_CONSENT:
            processed = behavioral_pb2.FeedbackProcessed(
                user_id=record.user, feedback_event_id=record.event_id.bytes, message_id=record.message_id,
                skill_id=record.skill_id, skill_updated=record.skill_updated, new_confidence=record.new_confidence,
            )  # fmt: skip
            emit(transaction, event, processed, "feedback_processed")
        if judged.is_new and record.skill_updated:
            self._relieve(transaction, rows, event)
            updated = behavioral_pb2.SkillUpdated(
                user_id=record.user, skill_id=record.skill_id, old_confidence=judged.old_confidence,
                new_confidence=record.new_confidence, bucket=record.bucket, reason="feedback",
            )  # fmt: skip
            emit(transaction, event, updated, "skill_updated")
        if judged.is_new:
            state = rows.skill_state(record.user, record.skill_id)
            self._measuring.judged(rows, record, judged.old_confidence, state)
        return answer_of(record)

    def _relieve(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event, spared: str = "") -> None:
        least = relieve(rows, event.user, self._catalogue, self._settings.library, event.occurred_us, spared)
        for place, skill_id in enumerate(least, 1):
            sure = rows.skill_state(event.user, skill_id).confidence
            rows.add_evolution(Evolution(event.user, event.event_id, place, ARCHIVED, skill_id, event.occurred_us, sure, sure))
            told = behavioral_pb2.SkillUpdated(
                user_id=event.user, skill_id=skill_id, old_confidence=sure, new_confidence=sure, reason=ARCHIVED
            )
            emit(transaction, event, told, f"{ARCHIVED}/{skill_id}")
        if least:
            emit(transaction, event, audit(event, "skills_archived", {"skills": least}), "pressure")

    def _undo(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        library = self._settings.library
        gone, left, stood = undo(
            rows, event, self._catalogue, self._rules, library.signal_step, library.stated_weight,
            self._ports.vault.users.sealer,
        )  # fmt: skip
        emit(transaction, event, audit(event, "learning_undone", {"undone": gone, "left": left, "skills": stood}), "audit")
        return behavioral_pb2.UndoResult(undone=gone, left=left)

    def _edit(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        library, sealer = self._settings.library, self._ports.vault.users.sealer(event.user)
        answer = edit(rows, event, self._catalogue, self._rules, library.signal_step, library.stated_weight, sealer)
        if answer.status != NO_CONSENT:
            emit(transaction, event, audit(event, "feedback_edited", {"feedback": event.message.event_id.hex()}), "audit")
        return answer

    def _state(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        weight = self._settings.library.stated_weight
        answer = state(rows, event, weight, lambda skill_id: style_of(rows, event.user, skill_id, self._catalogue))
        if answer.status != NO_CONSENT:
            emit(transaction, event, audit(event, "preference_stated", {"buckets": answer.buckets}), "audit")
        return answer

    def _put_skill(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        sealer, limit = self._ports.vault.users.sealer(event.user), self._settings.library.user_skills
        own_id = f"own_{derive_id(event.event_id, 'skill').hex[-12:]}"
        record = put(rows, event, self._catalogue, limit, sealer, own_id)
        emit(transaction, event, audit(event, "skill_put", {"skill": record.skill_id}), "audit")
        self._relieve(transaction, rows, event, record.skill_id)
        return own_message(rows, record, sealer)

    def _change_skill(self, transaction: ConsumerTransaction, rows: BehavioralRows, event: Event) -> Message:
        answer = change_skill(rows, event, self._catalogue, self._ports.vault.users.sealer(event.user))
        told = {"skill": event.message.skill_id, "action": event.message.action}
        emit(transaction, event, audit(event, "skill_changed", told), "audit")
        if answer.status == ACCEPTED:
            # What comes back counts again.
            self._relieve(transaction, rows, event, answer.skill_id)
        return answer

    def _adjustments(self, event: Event, ports: Ports) -> Message:
        with self._store.reading() as rows:
            return adjustment_page(rows.ledger(), event)

    def _reader_of(self, user: str) -> Sealer:
        return self._ports.vault.users.sealer(user, create=False)
