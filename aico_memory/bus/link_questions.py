"""Open questions of a link, free of I/O: requests to workers by event id, questions to the broker by number."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from aico_memory.errors import AicoMemoryError


@dataclass(slots=True)
class Question:
    """One open question; `frame` is sent again after a reconnect, and now and then while nobody answers."""

    key: Hashable
    future: Future[Any]
    # By the monotonic clock.
    deadline: float
    about: str
    frame: bytes | None = None
    # When it is sent again, by the monotonic clock, and how long is waited then.
    repeat_at: float = 0.0
    patience: float = 0.0
    extra: dict[str, Any] = field(default_factory=dict)


class OpenQuestions:
    """Questions that wait for an answer, with deadlines."""

    def __init__(self) -> None:
        self._open: dict[Hashable, Question] = {}
        self._deadlines: list[tuple[float, int, Hashable]] = []
        self._counter = 0

    def __len__(self) -> int:
        return len(self._open)

    def add(self, question: Question) -> None:
        self._open[question.key] = question
        self._counter += 1
        heapq.heappush(self._deadlines, (question.deadline, self._counter, question.key))

    def take(self, key: Hashable) -> Question | None:
        """The question with this key, which is open no longer."""
        return self._open.pop(key, None)

    def next_deadline(self) -> float | None:
        """When the next question runs out; questions that were answered are forgotten on the way."""
        while self._deadlines and not self._is_open(self._deadlines[0]):
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def expired(self, now: float) -> Iterator[Question]:
        """Questions whose time is over; they are open no longer."""
        while (deadline := self.next_deadline()) is not None and deadline <= now:
            _, _, key = heapq.heappop(self._deadlines)
            yield self._open.pop(key)

    def frames(self) -> list[bytes]:
        """What to send again on a new connection."""
        return [question.frame for question in self._open.values() if question.frame is not None]

    def repeats(self, now: float) -> list[bytes]:
        """What nobody has answered for long: the worker may have been away, or died over it. Each time later."""
        frames = []
        for question in self._open.values():
            if question.frame is not None and question.patience and question.repeat_at <= now:
                question.patience *= 2
                question.repeat_at = now + question.patience
                frames.append(question.frame)
        return frames

    def drain(self) -> Iterator[Question]:
        """Give all up."""
        self._deadlines.clear()
        while self._open:
            yield self._open.popitem()[1]

    def _is_open(self, entry: tuple[float, int, Hashable]) -> bool:
        question = self._open.get(entry[2])
        return question is not None and question.deadline == entry[0]


def resolve(future: Future[Any], outcome: Any) -> None:
    """Set a result, or an exception where the outcome is an error; a future that is done or cancelled stays so."""
    if future.done() or not future.set_running_or_notify_cancel():
        return
    if isinstance(outcome, AicoMemoryError):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
