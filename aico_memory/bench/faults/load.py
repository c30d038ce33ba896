"""A load that can be repeated: the n-th step is the same in every run."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from aico_memory.bench.chatter import sentences
from aico_memory.client import MemoryClient
from aico_memory.errors import BusUnavailable, DeadlineExceeded
from aico_memory.ids import compose_uuid7

START = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
USERS = ("ada", "bruno", "chen")
STEP = timedelta(seconds=20)
SKILLS = ("concise_response", "detailed_explanation", "casual_chat", "technical_precision")


class Load(threading.Thread):
    """Publishes step after step until it is told to stop; every step that returned was acknowledged."""

    def __init__(self, client: MemoryClient, seed: int, most: int | None = None) -> None:
        super().__init__(daemon=True)
        self._client = client
        self._rng = random.Random(seed)
        self._texts = sentences(random.Random(seed + 1))
        self._most = most
        self._stop_asked = threading.Event()
        self.steps = 0
        self.acknowledged: list[uuid.UUID] = []
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
        except Exception as error:  # shown by the one who waits for the load
            self.failure = error

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
        if number % 5 == 4:
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
