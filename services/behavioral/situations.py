"""From a selection request to its situation: what the caller says, else the model service, else the text's marks.

The model is asked before the transaction, so that no write lock is held while
it works; its answers wait here under the request's event id.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from datetime import UTC
from functools import partial
from time import monotonic
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from google.protobuf.message import Message

from aico_memory.clock import from_us
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import model_pb2
from aico_memory.domain.behavioral.marks import NAME, intent_by_marks
from aico_memory.domain.behavioral.shelf import Shelf
from aico_memory.domain.behavioral.situation import Situation, checked_time_of_day, label, part_of_day
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.domain.behavioral.trigger import TriggerWeights
from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.language.detection import is_foreign
from aico_memory.errors import AicoMemoryError, BusUnavailable, DeadlineExceeded
from aico_memory.settings.behavioral import BehavioralSettings
from services.behavioral.own_topics import SELECT, OwnTopics, text_digest
from services.behavioral.topic_vectors import Matrix, TopicVectors, rows_of

Ask = Callable[[Message, float], "Future[Any]"]
CALLER = "caller"
NEUTRAL_SENTIMENT = "neutral"
# A question that is lost with a dying process is asked again after so many seconds.
_ASK_AGAIN_SECONDS = 1.0
# Of the time that the requester waits, this part may be spent on the model.
_PATIENCE = 0.8
# What is asked, and for which request (or which topic of somebody's own, or None: for all).
_Question = tuple[str, uuid.UUID | str | None]
_ANALYSIS, _VECTOR, _OWN = "analysis", "vector", "own topic"
# The task of an analysis that brings the vector of its text along.
_WITH_VECTOR, _FLOAT_BYTES = "vector", 4
_TOPICS: _Question = ("topics", None)
# Topics of somebody's own that are asked for at a time (4 ms each), and late answers that are kept.
_TOPICS_AT_ONCE, _LATE = 64, 4096
# The question or its answer was lost; asking again may help.
_LOST = (FutureTimeout, DeadlineExceeded, BusUnavailable)


@dataclass(slots=True)
class _Found:
    """What the model said about one request."""

    analysis: model_pb2.Analysis | None = None
    # Of the text whose topic matters: its unit vector, and which model made it.
    vector: Matrix | None = None
    fingerprint: str = ""
    topic_model: str = ""
    # Stands for that text.
    text: bytes = b""
    # How long its batch waited for the model.
    milliseconds: float = 0.0


class Situations:
    """Works out situations; one instance, used by the consumer's thread."""

    def __init__(
        self, ask: Ask, catalogue: Catalogue, weights: TriggerWeights, settings: BehavioralSettings, own: OwnTopics,
        languages: LanguageTable,
    ) -> None:  # fmt: skip
        self._ask = ask
        self._base = Shelf.of(tuple(catalogue))
        self._weights = weights
        self._settings = settings
        self._topics = TopicVectors(catalogue, languages)
        self._languages = languages
        self._own = own
        self._found: dict[uuid.UUID, _Found] = {}
        # By digest of a text: its vector, under which embedding model.
        self._vectors: OrderedDict[bytes, tuple[str, Matrix, str]] = OrderedDict()
        # That of the embedding model as it answered last.
        self._fingerprint = ""
        # Its name, and what it speaks (nothing named: every language), by fingerprint.
        self._models: dict[str, str] = {}
        self._spoken: dict[str, tuple[str, ...]] = {}
        # What came too late for the request that asked for it.
        self._late: deque[tuple[_Question, Any]] = deque(maxlen=_LATE)
        self._closing = threading.Event()
        self.model_is_well = True
        # Time that the situation taken last has cost.
        self.context_ms = 0.0

    def close(self) -> None:
        """Wait for no answer any more."""
        self._closing.set()

    def prepare(self, events: Sequence[Event]) -> None:
        """Ask the model what the callers of a batch's requests did not say; what it does not answer in time is left out."""
        fresh = [event for event in events if event.topic == SELECT and event.event_id not in self._found]
        own = self._own.wanted(events)
        if not fresh:
            return
        while self._late:
            self._keep_topics(dict([self._late.popleft()]))
        started = monotonic()
        until = started + self._patience(fresh)
        questions: dict[_Question, Any] = {}
        compared: list[str] = []
        for event in fresh:
            found = self._found[event.event_id] = _Found()
            tasks = _missing_tasks(event.message)
            if tasks:
                questions[_ANALYSIS, event.event_id] = model_pb2.AnalyseRequest(text=event.message.message_text, tasks=tasks)
            wanted = own.get(event.user)
            if self._topic_matters(event.message, self._base if wanted is None else wanted.shelf):
                compared += wanted.texts if wanted is not None else ()
                text = _about(event.message)
                found.text = text_digest(text)
                if self._recall(found):
                    pass
                elif tasks and not event.message.topic_text:
                    # The labels are worked out from the vector of the same words: it comes with them, and is made once.
                    questions[_ANALYSIS, event.event_id].tasks.append(_WITH_VECTOR)
                else:
                    questions[_VECTOR, event.event_id] = _embed(text)
        if any(self._found[event.event_id].text for event in fresh):
            questions |= self._topic_questions(compared)
        self._place(self._ask_all(questions, until), compared, until)
        for event in fresh:
            self._found[event.event_id].milliseconds = (monotonic() - started) * 1000

    def take(self, event: Event, shelf: Shelf) -> tuple[Situation, str]:
        """The situation of a request and which source answered each part; what was prepared is forgotten.

        `shelf` has the skills at hand for its user. Raises InvalidMessage where the caller names a time of day that does
        not exist.
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
        nearness = self._nearness(found, _about(message), shelf, sources) if self._topic_matters(message, shelf) else {}
        answered_by = ", ".join(f"{part}={source}" for part, source in sources.items())
        return Situation(intent, sentiment, time_of_day, nearness), answered_by

    def _nearness(self, found: _Found, text: str, shelf: Shelf, sources: dict[str, str]) -> Mapping[str, float]:
        """By skill with topics: how near the text is; skills whose topics are not at hand are left out, which is said.

        The vector of a text that its model cannot read is near to anything: words in common with own topics decide then.
        """
        digits = self._settings.cosine_digits
        if found.vector is None:
            sources["topic"] = "left_out"
            return {}
        if is_foreign(text, self._spoken.get(found.fingerprint, ()), self._languages):
            sources["topic"], base = "not_its_language", {}
            own = self._own.nearness_by_words(shelf, text, digits)
        else:
            sources["topic"] = found.topic_model
            base = self._topics.nearness(found.vector, digits) if found.fingerprint == self._topics.fingerprint else {}
            own = self._own.nearness(shelf, text, found.vector, found.fingerprint, digits)
        if own.words_or_left_out:
            sources["own_topics"] = own.words_or_left_out
        return {**base, **own.by_skill}

    def _patience(self, events: Sequence[Event]) -> float:
        """Seconds to wait for the model: where somebody waits for an answer, only a little, and not longer than they do."""
        if not self.model_is_well:
            return self._settings.model_retry_ms / 1000
        allowed = [event.deadline_us - event.occurred_us for event in events if event.deadline_us and event.occurred_us]
        patience = self._settings.model_deadline_ms / 1000
        if any(event.reply_to for event in events):
            patience = min(patience, self._settings.model_wait_ms / 1000)
        return max(min([patience, *(_PATIENCE * one / 1e6 for one in allowed)]), self._settings.model_retry_ms / 1000)

    def _topic_matters(self, message: Any, shelf: Shelf | None) -> bool:
        """Whether a topic could make one of these skills apply; with no intent stated, or not knowing the skills, any could."""
        if shelf is None:
            return True
        if not message.intent:
            return shelf.has_topics
        return shelf.topic_could_decide(label(message.intent), self._weights, self._settings.trigger.threshold)

    def _topic_questions(self, own: Sequence[str]) -> dict[_Question, Message]:
        """What is to be embedded of topics, as of the model that answered last."""
        missing = self._own.missing(own, self._fingerprint)[:_TOPICS_AT_ONCE]
        questions: dict[_Question, Message] = {(_OWN, text): _embed(text) for text in missing}
        if self._topics.texts and (not self._topics.known or self._topics.fingerprint != self._fingerprint):
            questions[_TOPICS] = model_pb2.EmbedRequest(texts=self._topics.texts, interactive=True)
        return questions

    def _place(self, answers: Mapping[_Question, Any], own: Sequence[str], until: float) -> None:
        self._keep_topics(answers)
        for (what, of), answer in answers.items():
            if what == _ANALYSIS and isinstance(of, uuid.UUID):
                found = self._found[of]
                found.analysis = answer
                if answer.vector and found.text:
                    self._keep_vector(found, self._as_embeddings(answer))
            elif what == _VECTOR and isinstance(of, uuid.UUID):
                self._keep_vector(self._found[of], answer)
        # Another model may have answered than the one that the topics were embedded by.
        if any(self._found[of].vector is not None for _, of in answers if isinstance(of, uuid.UUID)) and (
            again := self._topic_questions(own)
        ):
            self._keep_topics(self._ask_all(again, until))

    def _as_embeddings(self, analysis: model_pb2.Analysis) -> model_pb2.Embeddings:
        dimension = len(analysis.vector) // _FLOAT_BYTES
        model = self._models.get(analysis.fingerprint, "")
        return model_pb2.Embeddings(
            vectors=analysis.vector, dimension=dimension, fingerprint=analysis.fingerprint, model=model,
            languages=self._spoken.get(analysis.fingerprint, ()),
        )  # fmt: skip

    def _keep_vector(self, found: _Found, answer: model_pb2.Embeddings) -> None:
        rows = rows_of(answer, 1)
        if rows is None:
            return
        found.vector, found.fingerprint = rows[0], answer.fingerprint
        found.topic_model = answer.model or answer.fingerprint
        self._fingerprint = answer.fingerprint
        self._spoken[answer.fingerprint] = tuple(answer.languages)
        self._vectors[found.text] = (found.fingerprint, rows[0], found.topic_model)
        while len(self._vectors) > self._settings.cached_topics:
            self._vectors.popitem(last=False)

    def _recall(self, found: _Found) -> bool:
        """Whether a text was embedded before by the model that answered last; nobody is asked for it then."""
        kept = self._vectors.get(found.text)
        if kept is None or kept[0] != self._fingerprint:
            return False
        self._vectors.move_to_end(found.text)
        found.fingerprint, found.vector, found.topic_model = kept
        return True

    def _keep_topics(self, answers: Mapping[_Question, Any]) -> None:
        for (what, of), answer in answers.items():
            if (what, of) == _TOPICS:
                self._topics.keep(answer)
            elif what == _OWN and isinstance(of, str):
                self._own.keep(of, answer)
            else:
                continue
            self._fingerprint = answer.fingerprint
            self._spoken[answer.fingerprint] = tuple(answer.languages)
            if answer.model:
                self._models = {answer.fingerprint: answer.model}

    def _ask_all(self, questions: Mapping[_Question, Message], until: float) -> dict[_Question, Any]:
        """All answers that come until then; what got no answer is asked again, what was refused is not.

        Everything is asked once, however little time is left: what comes late serves the next request.
        """
        answers: dict[_Question, Any] = {}
        waiting = dict(questions)
        left = max(until - monotonic(), 0.0)
        while waiting and not self._closing.is_set():
            round_end = monotonic() + min(left, _ASK_AGAIN_SECONDS)
            # An answer that comes too late for these requests still tells that the model is back.
            asked = [(key, self._asked(question, self._settings.model_deadline_ms / 1000)) for key, question in waiting.items()]
            for key, future in asked:
                try:
                    answers[key] = future.result(max(round_end - monotonic(), 0))
                except _LOST:
                    future.add_done_callback(partial(self._heard_late, key))
                    continue
                except AicoMemoryError:
                    pass
                del waiting[key]
            if waiting:
                self._closing.wait(max(round_end - monotonic(), 0))
            if (left := until - monotonic()) <= 0:
                break
        if questions:
            self.model_is_well = len(answers) == len(questions)
        return answers

    def _heard_late(self, question: _Question, answer: Future[Any]) -> None:
        """In the link's thread: the model is back, and what it said of topics is kept by the consumer's thread."""
        if not answer.cancelled() and answer.exception() is None:
            self.model_is_well = True
            if question[0] == _OWN:
                self._late.append((question, answer.result()))

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
        named = ((_zone(name), name) for name in (message.zone, self._settings.zone))
        zone, name = next(((zone, name) for zone, name in named if zone is not None), (UTC, "UTC"))
        moment = from_us(message.timestamp or event.occurred_us)
        sources["time_of_day"] = f"clock({name})"
        return part_of_day(moment.astimezone(zone).hour)


def _about(message: Any) -> str:
    """The text whose topic matters."""
    return str(message.topic_text or message.message_text)


def _embed(text: str) -> Message:
    return model_pb2.EmbedRequest(texts=[text], interactive=True)


def _missing_tasks(message: Any) -> list[str]:
    return [task for task in ("intent", "sentiment") if not getattr(message, task)]


def _zone(name: str) -> ZoneInfo | None:
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
