"""One thread that embeds: people who wait go before bulk work, bulk work goes in slices."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np

from aico_memory.errors import AicoMemoryError, ClosedConnection, ModelUnavailable, RateLimited
from aico_memory.models.embedder import Embedder, Vectors


@dataclass(slots=True)
class _Work:
    texts: list[str]
    rows: Vectors
    done: Future[Vectors] = field(default_factory=Future)
    at: int = 0


class EmbeddingQueue:
    """Orders the work of one embedder; every answer is a future.

    On one CPU thread a batch takes as long as its texts one after another, so slices
    are small and questions are answered singly; `together` merges them for a GPU.
    """

    def __init__(
        self, embedder: Embedder, *, slice_texts: int = 2, waiting_texts: int = 20_000, together: bool = False
    ) -> None:
        self._embedder = embedder
        self._slice = slice_texts
        self._together = together
        self._most = waiting_texts
        self._interactive: deque[_Work] = deque()
        self._bulk: deque[_Work] = deque()
        self._waiting = 0
        self._changed = threading.Condition()
        self._closed = False
        self.embedded = 0
        self._thread = threading.Thread(target=self._run, name="embedding", daemon=True)
        self._thread.start()

    def submit(self, texts: Sequence[str], *, interactive: bool) -> Future[Vectors]:
        """Ask for vectors, one row a text; a refusal is in the future."""
        work = _Work(list(texts), np.zeros((len(texts), self._embedder.dimension), dtype=np.float32))
        with self._changed:
            if self._closed:
                work.done.set_exception(ClosedConnection("The model service is stopping"))
            elif not interactive and self._waiting + len(texts) > self._most:
                work.done.set_exception(RateLimited(f"{self._waiting} texts wait to be embedded already"))
            elif not texts:
                work.done.set_result(work.rows)
            else:
                (self._interactive if interactive else self._bulk).append(work)
                self._waiting += len(texts)
                self._changed.notify()
        return work.done

    @property
    def waiting(self) -> int:
        """Texts that are not embedded yet."""
        return self._waiting

    def close(self) -> None:
        """Finish the slice under way and refuse the rest."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()
        for work in (*self._interactive, *self._bulk):
            work.done.set_exception(ClosedConnection("The model service is stopping"))

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._interactive or self._bulk or self._closed):
                    self._changed.wait()
                if self._closed:
                    return
                chosen = self._choose()
            self._embed(chosen)

    def _choose(self) -> list[tuple[_Work, list[str]]]:
        """The next question (all questions where they go together), or one slice of bulk work."""
        if self._interactive:
            count = len(self._interactive) if self._together else 1
            questions = [self._interactive.popleft() for _ in range(count)]
            return [(work, work.texts) for work in questions]
        work = self._bulk[0]
        part = work.texts[work.at : work.at + self._slice]
        if work.at + len(part) == len(work.texts):
            self._bulk.popleft()
        return [(work, part)]

    def _embed(self, chosen: Sequence[tuple[_Work, list[str]]]) -> None:
        texts = [text for _, part in chosen for text in part]
        try:
            rows = self._embedder.embed(texts)
        except Exception as error:
            # Whatever the model raises belongs to those who asked; the thread goes on for the others.
            self._fail(chosen, error)
            return
        with self._changed:
            self._waiting -= len(texts)
            self.embedded += len(texts)
        start = 0
        for work, part in chosen:
            work.rows[work.at : work.at + len(part)] = rows[start : start + len(part)]
            work.at += len(part)
            start += len(part)
            if work.at == len(work.texts):
                work.done.set_result(work.rows)

    def _fail(self, chosen: Sequence[tuple[_Work, list[str]]], error: Exception) -> None:
        typed = error if isinstance(error, AicoMemoryError) else ModelUnavailable(f"Embedding failed: {type(error).__name__}")
        with self._changed:
            for work, _ in chosen:
                self._waiting -= len(work.texts) - work.at
                if self._bulk and self._bulk[0] is work:
                    self._bulk.popleft()
        for work, _ in chosen:
            work.done.set_exception(typed)
