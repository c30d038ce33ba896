"""A load that can be repeated: the n-th step is the same in every run."""

from __future__ import annotations

import random
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

from aico_memory.bench.chatter import sentences
from aico_memory.client import MemoryClient
from aico_memory.domain.sleep.names import REPLAY
from aico_memory.errors import AicoMemoryError, BusUnavailable, DeadlineExceeded
from aico_memory.ids import compose_uuid7

START = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
USERS = ("ada", "bruno", "chen")
STEP = timedelta(seconds=20)
# Every so many steps: a thumb, a choice of skill, a question, a night's sleep.
THUMB, CHOICE, QUESTION, SLEEP = 5, 12, 7, 40
SKILLS = ("concise_response", "detailed_explanation", "casual_chat", "technical_precision")


class Load(threading.Thread):
    """Publishes step after step until it is told to stop; every step that returned was acknowledged.

    `pause` seconds lie between two steps.
    """

    def __init__(self, client: MemoryClient, seed: int, most: int | None = None, pause: float = 0.0) -> None:
        super().__init__(daemon=True)
        self._client = client
        self._rng = random.Random(seed)
        self._texts = sentences(random.Random(seed + 1))
        self._most = most
        self._pause = pause
        self._stop_asked = threading.Event()
        self.steps = 0
        self.acknowledged: list[uuid.UUID] = []
        # What was said, by the user who said it.
        self.said: list[tuple[str, str]] = []
        self.sleeps: list[str] = []
        # Questions that were answered, and the codes of those that were not.
        self.answers: Counter[str] = Counter()
        self._asking = ThreadPoolExecutor(1, "question")
        self._asked: Future[None] | None = None
        self.failure: Exception | None = None
        self.progressed = threading.Event()

    def stop(self) -> None:
        self._stop_asked.set()

    def consent(self, *users: str) -> None:
        """Let the system learn from these users' thumbs."""
        for number, user in enumerate(users):
            event_id = str(self._identifier(number, 2))
            fields = {"user_id": user, "behavioral": True}
            self._client.publish("memory/behavioral/consent/v1/", fields, user_id=user, event_id=event_id)

    def run(self) -> None:
        try:
            while not self._stop_asked.is_set() and (self._most is None or self.steps < self._most):
                self._step(self.steps)
                self.steps += 1
                self.progressed.set()
                if self._pause:
                    self._stop_asked.wait(self._pause)
            if self._asked is not None:
                self._asked.result()
        except Exception as error:  # shown by the one who waits for the load
            self.failure = error
        finally:
            self._asking.shutdown()

    def _step(self, number: int) -> None:
        user = USERS[number % len(USERS)]
        message = {
            "id": str(self._identifier(number, 0)),
            "role": "user" if number % 2 else "assistant",
            "content": next(self._texts),
            "timestamp": (START + number * STEP).isoformat(),
        }
        acknowledged = self._until_done(lambda: self._client.add([message], user_id=user, session_id=f"day-{number // 60}"))
        self.acknowledged.append(uuid.UUID(str(acknowledged[0])))
        self.said.append((user, message["content"]))
        if number % THUMB == THUMB - 1:
            event_id = str(self._identifier(number, 1))
            fields = {
                "user_id": user,
                "message_id": message["id"],
                "skill_id": SKILLS[number % len(SKILLS)],
                "reward": self._rng.choice((-1, 1, 1)),
                "timestamp": int((START + number * STEP).timestamp() * 1_000_000),
            }
            self._until_done(
                lambda: self._client.publish("memory/behavioral/feedback/v1/", fields, user_id=user, event_id=event_id)
            )

        if number % CHOICE == CHOICE - 1:
            self._choose(number, user, message["content"])
        if number % SLEEP == SLEEP - 1:
            self._sleep(number)
        if number % QUESTION == QUESTION - 1 and (self._asked is None or self._asked.done()):
            if self._asked is not None:
                self._asked.result()
            # Beside the load: a question waits for a dead worker longer than a publish does.
            self._asked = self._asking.submit(self._ask, user, message["content"])

    def _choose(self, number: int, user: str, text: str) -> None:
        event_id = str(self._identifier(number, 3))
        fields = {
            "user_id": user,
            "message_text": text,
            "request_id": f"choice-{number}",
            "timestamp": int((START + number * STEP).timestamp() * 1_000_000),
            "intent": "question",
            "sentiment": "neutral",
            "time_of_day": "morning",
        }
        self._until_done(
            lambda: self._client.publish("memory/behavioral/skill_request/v1/", fields, user_id=user, event_id=event_id)
        )

    def _sleep(self, number: int) -> None:
        event_id = self._identifier(number, 4)
        firing = f"manual/{event_id}"
        # The phases behind the replay look at what is there when they come by: beside a load, that is a matter of speed.
        fields = {
            "firing_id": firing,
            "planned_at_us": int((START + number * STEP).timestamp() * 1_000_000),
            "manual": True,
            "phases": [REPLAY],
        }
        self._until_done(lambda: self._client.publish("memory/consolidation/start/v1/", fields, event_id=event_id))
        self.sleeps.append(firing)

    def _ask(self, user: str, text: str) -> None:
        """Nobody who asks while processes die hears anything but an answer or a typed error."""
        try:
            context = self._client.context(text, user)
            self.answers["degraded" if context["degraded"] else "whole"] += 1
        except AicoMemoryError as error:
            self.answers[error.code] += 1

    def _until_done(self, publish: Callable[[], Any]) -> Any:
        """Publish until it is acknowledged: what timed out is sent again under the same id."""
        while True:
            try:
                return publish()
            except (BusUnavailable, DeadlineExceeded):
                if self._stop_asked.is_set():
                    raise

    def _identifier(self, number: int, which: int) -> uuid.UUID:
        milliseconds = int((START + number * STEP).timestamp() * 1000)
        return compose_uuid7(milliseconds, number.to_bytes(9, "big") + bytes([which]))
