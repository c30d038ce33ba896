"""From a selection request to its situation: what the caller says, else the model service, else the text's marks.

The model is asked before the transaction, so that no write lock is held while
it works; its answers wait here under the request's event id.
"""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from time import monotonic
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from google.protobuf.message import Message

from aico_memory.clock import from_us
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import model_pb2
from aico_memory.domain.behavioral.marks import NAME, intent_by_marks
from aico_memory.domain.behavioral.situation import Situation, checked_time_of_day, label, part_of_day
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.domain.behavioral.trigger import TriggerWeights, topic_could_decide
from aico_memory.errors import AicoMemoryError, BusUnavailable, DeadlineExceeded
from aico_memory.settings.behavioral import BehavioralSettings
from services.behavioral.topic_vectors import TopicVectors, rows_of

Ask = Callable[[Message, float], "Future[Any]"]
CALLER = "caller"
NEUTRAL_SENTIMENT = "neutral"
# A question that is lost with a dying process is asked again after so many seconds.
_ASK_AGAIN_SECONDS = 1.0
# Of the time that the requester waits, this part may be spent on the model.
_PATIENCE = 0.8
# Intents for which it is kept whether a topic matters: callers may name any word.
_INTENTS = 256
# What is asked, and for which request (None: for all).
_Question = tuple[str, uuid.UUID | None]
_TOPICS: _Question = ("topics", None)
# The question or its answer was lost; asking again may help.
_LOST = (FutureTimeout, DeadlineExceeded, BusUnavailable)


@dataclass(slots=True)
class _Found:
    """What the model said about one request."""

    analysis: model_pb2.Analysis | None = None
    nearness: Mapping[str, float] | None = None
    topic_wanted: bool = False
    # How long its batch waited for the model.
    milliseconds: float = 0.0
    topic_model: str = ""
    # Stands for the text whose topic matters.
    text: bytes = b""


class Situations:
    """Works out situations; one instance, used by the consumer's thread."""

    def __init__(self, ask: Ask, catalogue: Catalogue, weights: TriggerWeights, settings: BehavioralSettings) -> None:
        self._ask = ask
        self._catalogue = catalogue
        self._weights = weights
        self._settings = settings
        self._topics = TopicVectors(catalogue)
        self._found: dict[uuid.UUID, _Found] = {}
        # By digest of a text: how near it is to each skill's topics, under which embedding model.
        self._near: OrderedDict[bytes, tuple[str, Mapping[str, float], str]] = OrderedDict()
        # By intent: whether a topic could make a skill apply.
        self._topic_decides: dict[str, bool] = {}
        self._closing = threading.Event()
        self.model_is_well = True
        # Time that the situation taken last has cost.
        self.context_ms = 0.0

    def close(self) -> None:
        """Wait for no answer any more."""
        self._closing.set()

    def prepare(self, requests: Sequence[Event]) -> None:
        """Ask the model what the callers did not say; what it does not answer in time is left out."""
        fresh = [event for event in requests if event.event_id not in self._found]
        if not fresh:
            return
        started = monotonic()
        until = started + self._patience(fresh)
        questions: dict[_Question, Message] = {}
        for event in fresh:
            found = self._found[event.event_id] = _Found()
            tasks = _missing_tasks(event.message)
            if tasks:
                questions["analysis", event.event_id] = model_pb2.AnalyseRequest(text=event.message.message_text, tasks=tasks)
            if self._topic_matters(event.message):
                found.topic_wanted = True
                text = event.message.topic_text or event.message.message_text
                found.text = text_digest(text)
                if self._recall(found):
                    continue
                questions["vector", event.event_id] = model_pb2.EmbedRequest(texts=[text], interactive=True)
                if not self._topics.known:
                    questions[_TOPICS] = self._topic_question()
        self._place(self._ask_all(questions, until), until)
        for event in fresh:
            self._found[event.event_id].milliseconds = (monotonic() - started) * 1000

    def take(self, event: Event) -> tuple[Situation, str]:
        """The situation of a request and which source answered each part; what was prepared is forgotten.

        Raises InvalidMessage where the caller names a time of day that does not exist.
        """
        message, found = event.message, self._found.pop(event.event_id, _Found())
        self.context_ms = found.milliseconds
        sources: dict[str, str] = {}
        intent = self._label(label(message.intent), "intent", found.analysis, sources)
        if not intent:
            intent, sources["intent"] = intent_by_marks(message.message_text), NAME
        sentiment = self._label(label(message.sentiment), "sentiment", found.analysis, sources)
        if not sentiment:
            sentiment, sources["sentiment"] = NEUTRAL_SENTIMENT, "default"
        time_of_day = self._time_of_day(event, sources)
        if found.topic_wanted:
            sources["topic"] = found.topic_model if found.nearness is not None else "left_out"
        answered_by = ", ".join(f"{part}={source}" for part, source in sources.items())
        return Situation(intent, sentiment, time_of_day, found.nearness or {}), answered_by

    def _patience(self, events: Sequence[Event]) -> float:
        """Seconds to wait for the model: where somebody waits for an answer, only a little, and not longer than they do."""
        if not self.model_is_well:
            return self._settings.model_retry_ms / 1000
        allowed = [event.deadline_us - event.occurred_us for event in events if event.deadline_us and event.occurred_us]
        patience = self._settings.model_deadline_ms / 1000
        if any(event.reply_to for event in events):
            patience = min(patience, self._settings.model_wait_ms / 1000)
        return max(min([patience, *(_PATIENCE * one / 1e6 for one in allowed)]), self._settings.model_retry_ms / 1000)

    def _topic_matters(self, message: Any) -> bool:
        if not self._topics.texts:
            return False
        if not message.intent:
            return True
        intent, threshold = label(message.intent), self._settings.trigger.threshold
        found = self._topic_decides.get(intent)
        if found is None:
            found = any(topic_could_decide(skill, intent, self._weights, threshold) for skill in self._catalogue)
            if len(self._topic_decides) < _INTENTS:
                self._topic_decides[intent] = found
        return found

    def _topic_question(self) -> Message:
        return model_pb2.EmbedRequest(texts=self._topics.texts, interactive=True)

    def _place(self, answers: Mapping[_Question, Any], until: float) -> None:
        self._keep_topics(answers)
        for (what, event_id), answer in answers.items():
            if event_id is None:
                continue
            found = self._found[event_id]
            if what == "analysis":
                found.analysis = answer
                continue
            vector = rows_of(answer, 1)
            if vector is None:
                continue
            if answer.fingerprint != self._topics.fingerprint:
                self._keep_topics(self._ask_all({_TOPICS: self._topic_question()}, until))
            if answer.fingerprint == self._topics.fingerprint:
                found.nearness = self._topics.nearness(vector[0], self._settings.cosine_digits)
                found.topic_model = answer.model or answer.fingerprint
                self._near[found.text] = (answer.fingerprint, found.nearness, found.topic_model)
                while len(self._near) > self._settings.cached_topics:
                    self._near.popitem(last=False)

    def _recall(self, found: _Found) -> bool:
        """Whether a text was compared before, with the topics as they are embedded now; nobody is asked for it then."""
        kept = self._near.get(found.text)
        if kept is None or kept[0] != self._topics.fingerprint:
            return False
        self._near.move_to_end(found.text)
        _, found.nearness, found.topic_model = kept
        return True

    def _keep_topics(self, answers: Mapping[_Question, Any]) -> None:
        if _TOPICS in answers:
            self._topics.keep(answers[_TOPICS])

    def _ask_all(self, questions: Mapping[_Question, Message], until: float) -> dict[_Question, Any]:
        """All answers that come until then; what got no answer is asked again, what was refused is not."""
        answers: dict[_Question, Any] = {}
        waiting = dict(questions)
        while waiting and (left := until - monotonic()) > 0 and not self._closing.is_set():
            round_end = monotonic() + min(left, _ASK_AGAIN_SECONDS)
            # An answer that comes too late for these requests still tells that the model is back.
            asked = [(key, self._asked(question, self._settings.model_deadline_ms / 1000)) for key, question in waiting.items()]
            for key, future in asked:
                try:
                    answers[key] = future.result(max(round_end - monotonic(), 0))
                except _LOST:
                    future.add_done_callback(self._heard_late)
                    continue
                except AicoMemoryError:
                    pass
                del waiting[key]
            if waiting:
                self._closing.wait(max(round_end - monotonic(), 0))
        if questions:
            self.model_is_well = len(answers) == len(questions)
        return answers

    def _heard_late(self, answer: Future[Any]) -> None:
        if not answer.cancelled() and answer.exception() is None:
            self.model_is_well = True

    def _asked(self, question: Message, seconds: float) -> Future[Any]:
        try:
            return self._ask(question, seconds)
        except AicoMemoryError as error:
            failed: Future[Any] = Future()
            failed.set_exception(error)
            return failed

    def _label(self, stated: str, task: str, analysis: model_pb2.Analysis | None, sources: dict[str, str]) -> str:
        if stated:
            sources[task] = CALLER
            return stated
        found = label(getattr(analysis, task).name) if analysis is not None else ""
        if found:
            named = dict(entry.split("=", 1) for entry in analysis.answered_by if "=" in entry) if analysis else {}
            sources[task] = named.get(task, "model")
        return found

    def _time_of_day(self, event: Event, sources: dict[str, str]) -> str:
        message = event.message
        if message.time_of_day:
            sources["time_of_day"] = CALLER
            return checked_time_of_day(message.time_of_day)
        zone, name = _zone(message.zone), message.zone
        if zone is None:
            zone, name = _zone(self._settings.zone), self._settings.zone
        moment = from_us(message.timestamp or event.occurred_us)
        sources["time_of_day"] = f"clock({name})"
        return part_of_day(moment.astimezone(zone).hour)


def text_digest(text: str) -> bytes:
    """16 bytes that stand for a text: nobody's words are kept for longer than their request."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _missing_tasks(message: Any) -> list[str]:
    return [task for task in ("intent", "sentiment") if not getattr(message, task)]


def _zone(name: str) -> ZoneInfo | None:
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
