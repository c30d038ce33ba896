"""Who waits for a publish: one future a record, or one for many (cheaper by far)."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Protocol

from aico_memory.bus.link_questions import resolve
from aico_memory.bus.link_window import Acknowledgement
from aico_memory.errors import AicoMemoryError


class Ticket(Protocol):
    """Told once for each of its records how it ended."""

    def settle(self, index: int, outcome: Acknowledgement | AicoMemoryError) -> None:
        """The record with this index was acknowledged, or refused."""


class OneTicket:
    """One record, one future."""

    __slots__ = ("future",)

    def __init__(self) -> None:
        self.future: Future[Acknowledgement] = Future()

    def settle(self, index: int, outcome: Acknowledgement | AicoMemoryError) -> None:
        resolve(self.future, outcome)


class BulkTicket:
    """Many records, one future of all their acknowledgements in the order they were given."""

    __slots__ = ("_error", "_left", "_results", "future")

    def __init__(self, count: int) -> None:
        self.future: Future[list[Acknowledgement]] = Future()
        self._results: list[Acknowledgement | None] = [None] * count
        self._left = count
        self._error: AicoMemoryError | None = None

    def settle(self, index: int, outcome: Acknowledgement | AicoMemoryError) -> None:
        if isinstance(outcome, Acknowledgement):
            self._results[index] = outcome
        else:
            self._error = self._error or outcome
        self._left -= 1
        if self._left == 0:
            resolve(self.future, self._error if self._error is not None else self._results)


class RequestTicket:
    """A durable command whose answer comes apart: only a refusal is passed on."""

    __slots__ = ("acknowledged", "answer")

    def __init__(self, answer: Future[object], acknowledged: Future[Acknowledgement]) -> None:
        self.answer = answer
        self.acknowledged = acknowledged

    def settle(self, index: int, outcome: Acknowledgement | AicoMemoryError) -> None:
        resolve(self.acknowledged, outcome)
        if isinstance(outcome, AicoMemoryError) and not self.answer.done():
            resolve(self.answer, outcome)
