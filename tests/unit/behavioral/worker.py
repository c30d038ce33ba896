"""A behavioral worker without processes: handlers on a store, a scripted model, events in and answers out."""

import uuid
from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np

from aico_memory.clock import FixedClock, from_us
from aico_memory.contracts.envelope import make_record, open_record, open_reply
from aico_memory.contracts.v1 import behavioral_pb2, model_pb2
from aico_memory.contracts.wire import StampedRecord, reply_topic
from aico_memory.errors import AicoMemoryError, BusUnavailable
from aico_memory.ids import derive_id
from aico_memory.paths import Home, shipped_config
from aico_memory.settings import Settings
from aico_memory.stores.behavioral.skill_file import FILE, load_skills
from aico_memory.vault.master import Vault
from services.behavioral.handlers import BehavioralHandlers

START_US = 1_767_258_000_000_000  # 2026-01-01T09:00:00Z
REPLY = reply_topic("default", bytes(16))


class SilentLog:
    def info(self, *_, **__):
        """Say nothing."""

    warning = error = info


class Model:
    """A model service that answers from tables; `away` makes it fail."""

    def __init__(self):
        self.intent, self.sentiment, self.away, self.fingerprint = "question", "neutral", False, "m|4|1"
        self.vectors, self.asked, self.languages = {}, [], ()

    def request(self, message, *, user="", timeout=5.0, event_id=None):
        self.asked.append(message)
        answer = Future()
        if self.away:
            answer.set_exception(BusUnavailable("The model is away"))
        elif isinstance(message, model_pb2.AnalyseRequest):
            vector = np.array(self.vectors.get(message.text, (1.0, 0.0, 0.0, 0.0)), dtype="<f4")
            brought = {"vector": vector.tobytes(), "fingerprint": self.fingerprint} if "vector" in message.tasks else {}
            answer.set_result(
                model_pb2.Analysis(
                    **brought,
                    intent=model_pb2.Label(name=self.intent, score=1),
                    sentiment=model_pb2.Label(name=self.sentiment, score=1),
                    answered_by=["intent=prototypes", "sentiment=lexicon"],
                )
            )
        else:
            rows = np.array([self.vectors.get(text, (1.0, 0.0, 0.0, 0.0)) for text in message.texts], dtype="<f4")
            named = {"fingerprint": self.fingerprint, "model": "tiny", "languages": self.languages}
            answer.set_result(model_pb2.Embeddings(vectors=rows.tobytes(), dimension=4, **named))
        return answer


class Worker:
    """Publishes to the handlers, one event a transaction unless told otherwise."""

    def __init__(self, store, folder, settings=None, catalogue=None, root_key=None):
        home = Home(folder)
        self.settings = settings or Settings.model_validate({"behavioral": {"model_deadline_ms": 10, "model_retry_ms": 1}})
        self.model, self.store, self.count = Model(), store, 0
        self.clock = FixedClock(from_us(START_US))
        ports = SimpleNamespace(
            link=self.model, clock=self.clock, settings=self.settings, log=SilentLog(), home=home,
            vault=Vault(home, root_key, "key_file" if root_key else "off", self.settings.security),
        )  # fmt: skip
        self.handlers = BehavioralHandlers(ports, store, catalogue or load_skills(shipped_config() / FILE))

    def event(self, message, user="ann", event_id=None, occurred_us=0, deadline_us=0):
        """The message as it comes from the bus, through the bytes of its record."""
        self.count += 1
        event_id = event_id or derive_id(uuid.UUID(int=self.count), "test")
        occurred_us = occurred_us or START_US + self.count * 1_000_000
        record = make_record(
            message, event_id=event_id, occurred_us=occurred_us, user=user, reply_to=REPLY, deadline_us=deadline_us
        )
        return open_record(
            StampedRecord(record.topic, record.event_id, user, record.envelope, "default", self.count, self.count, occurred_us)
        )

    def apply(self, *events):
        """Apply in one transaction; returns what was emitted, opened: (topic, message or error)."""
        seen = {record.event_id for record in self.store.state.outgoing(10_000)}
        self.handlers.prepare(events)
        with self.store.state.transaction() as transaction:
            for event in events:
                self.handlers.apply(transaction, event)
        self.handlers.after_commit()
        fresh = [record for record in self.store.state.outgoing(10_000) if record.event_id not in seen]
        self.store.state.settle_outgoing([record.event_id for record in fresh])
        return [self._opened(record) for record in fresh]

    def publish(self, message, **options):
        """Apply one message; its answer, or the typed error raised."""
        emitted = self.apply(self.event(message, **options))
        answer = next(found for topic, found in emitted if topic == REPLY)
        if isinstance(answer, AicoMemoryError):
            raise answer
        return answer

    def ask(self, message, user="ann"):
        event = self.event(message, user=user)
        return self.handlers.requests[event.topic](event, None)

    def consent(self, user="ann", on=True):
        return self.publish(behavioral_pb2.ConsentChanged(user_id=user, behavioral=on), user=user)

    def select(self, text="How far is the moon?", user="ann", event_id=None, **fields):
        fields = {"intent": "question", "sentiment": "neutral", "time_of_day": "morning"} | fields
        message = behavioral_pb2.SkillSelectionRequest(user_id=user, message_text=text, **fields)
        return self.publish(message, user=user, event_id=event_id)

    def feedback(self, skill, reward=1, user="ann", event_id=None, message_id="m1", **fields):
        message = behavioral_pb2.FeedbackEvent(user_id=user, message_id=message_id, skill_id=skill, reward=reward, **fields)
        return self.publish(message, user=user, event_id=event_id)

    def export(self, user="", size=1000):
        lines, after = [], ""
        while True:
            page = self.handlers.export(user, after, size)
            lines += page.lines
            after = page.next
            if not after:
                return lines

    def _opened(self, record):
        event = open_record(StampedRecord(record.topic, record.event_id, record.user, record.envelope, "behavioral", 1, 1, 1))
        if record.topic != REPLY:
            return record.topic, event.message
        try:
            return record.topic, open_reply(event.message)
        except AicoMemoryError as error:
            return record.topic, error


def confidence(worker, skill, user="ann"):
    skills = worker.ask(behavioral_pb2.SkillsRequest(user_id=user), user=user).skills
    return next(one.confidence for one in skills if one.skill_id == skill)


def of_type(emitted, kind):
    return [message for _, message in emitted if isinstance(message, kind)]


def own_skill(worker, skill_id="", user="ann", **fields):
    fields = {"name": "Rhymes", "template": "Answer in rhyme.", "intents": ["creative"]} | fields
    return worker.publish(behavioral_pb2.PutSkill(user_id=user, skill_id=skill_id, **fields), user=user)
