"""Embedding slice by slice: who waits goes before bulk work, and short questions before long ones."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from aico_memory.errors import AicoMemoryError, ClosedConnection, ModelUnavailable, RateLimited
from aico_memory.models.embedder import Embedder, Vectors

# So many turns in a row may go past the longest-waiting question.
PASSED = 4


@dataclass(slots=True, eq=False)
class _Work:
    texts: list[str]
    rows: Vectors
    # Letters that are one thread's share.
    share: float
    done: Future[Vectors] = field(default_factory=Future)
    # Texts that were handed out, and that are embedded.
    at: int = 0
    ready: int = 0
    failed: bool = False


class _Slice(NamedTuple):
    """Some texts of one work."""

    work: _Work
    start: int
    end: int


class EmbeddingQueue:
    """Orders the work of one embedder; every answer is a future.

    On one CPU thread a batch takes as long as its texts one after another, so slices are small: a person's question
    waits for one slice, not for the hundred sentences that a worker asked for just before. Of those who wait the one
    with the fewest texts left goes first, the longest-waiting one at the latest every `PASSED` turns. Parts of one question
    are shared out among `threads`; bulk work has one of them at most. `together` merges all questions for a GPU.
    """

    def __init__(
        self, embedder: Embedder, *, slice_texts: int = 2, waiting_texts: int = 20_000, together: bool = False,
        threads: int = 1,
    ) -> None:  # fmt: skip
        self._embedder = embedder
        self._slice = slice_texts
        self._together = together
        self._most = waiting_texts
        self._interactive: deque[_Work] = deque()
        self._bulk: deque[_Work] = deque()
        self._waiting = 0
        self._passed = 0
        self._bulk_busy = False
        # Held by whoever embeds a question in a thread of its own.
        self._direct = threading.Lock()
        self._changed = threading.Condition()
        self._closed = False
        self.embedded = 0
        self._threads = [threading.Thread(target=self._run, name=f"embedding-{at}", daemon=True) for at in range(threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, texts: Sequence[str], *, interactive: bool) -> Future[Vectors]:
        """Ask for vectors, one row a text; a refusal is in the future."""
        share = sum(map(len, texts)) / len(self._threads)
        work = _Work(list(texts), np.zeros((len(texts), self._embedder.dimension), dtype=np.float32), share)
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
                self._changed.notify_all()
        return work.done

    def embed(self, texts: Sequence[str], *, interactive: bool) -> Vectors:
        """The same, waited for. One text of somebody who waits is embedded at once where nobody else does: no other thread
        has to be woken for it, and none to take the answer. Raises what a future would hold.
        """
        alone = interactive and len(texts) == 1 and not self._together
        if not alone or not self._direct.acquire(blocking=False):
            return self.submit(texts, interactive=interactive).result()
        try:
            if self._interactive or self._closed:
                return self.submit(texts, interactive=True).result()
            rows = self._embedder.embed(texts)
            with self._changed:
                self.embedded += 1
            return rows
        except AicoMemoryError:
            raise
        except Exception as error:
            raise _typed(error) from error
        finally:
            self._direct.release()

    @property
    def waiting(self) -> int:
        """Texts that are not embedded yet."""
        return self._waiting

    def close(self) -> None:
        """Finish the slice under way and refuse the rest."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        for work in (*self._interactive, *self._bulk):
            work.done.set_exception(ClosedConnection("The model service is stopping"))

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._interactive or (self._bulk and not self._bulk_busy) or self._closed):
                    self._changed.wait()
                if self._closed:
                    return
                of_bulk = not self._interactive
                self._bulk_busy = self._bulk_busy or of_bulk
                chosen = self._choose()
            self._embed(chosen)
            if of_bulk:
                with self._changed:
                    self._bulk_busy = False
                    self._changed.notify_all()

    def _choose(self) -> list[_Slice]:
        """One slice of the next question (all questions where they go together), or of bulk work."""
        if self._interactive and self._together:
            questions = [_Slice(work, work.at, len(work.texts)) for work in self._interactive]
            for one in questions:
                one.work.at = one.end
            self._interactive.clear()
            return questions
        if self._interactive:
            waiting, work = self._interactive, self._next_question()
            most = _of_share(work, self._slice)
        else:
            waiting, work, most = self._bulk, self._bulk[0], self._slice
        part = _Slice(work, work.at, min(work.at + most, len(work.texts)))
        work.at = part.end
        if work.at == len(work.texts):
            waiting.remove(work)
        return [part]

    def _next_question(self) -> _Work:
        oldest = self._interactive[0]
        shortest = min(self._interactive, key=lambda work: len(work.texts) - work.at)
        self._passed = 0 if shortest is oldest or self._passed >= PASSED else self._passed + 1
        return shortest if self._passed else oldest

    def _embed(self, chosen: Sequence[_Slice]) -> None:
        texts = [text for one in chosen for text in one.work.texts[one.start : one.end]]
        try:
            rows = self._embedder.embed(texts)
        except Exception as error:
            # Whatever the model raises belongs to those who asked; the thread goes on for the others.
            self._fail(chosen, error)
            return
        done, at = [], 0
        with self._changed:
            self._waiting -= len(texts)
            self.embedded += len(texts)
            for work, start, end in chosen:
                work.rows[start:end] = rows[at : at + end - start]
                work.ready += end - start
                at += end - start
                if work.ready == len(work.texts):
                    done.append(work)
        for work in done:
            work.done.set_result(work.rows)

    def _fail(self, chosen: Sequence[_Slice], error: Exception) -> None:
        typed = _typed(error)
        failed = []
        with self._changed:
            for work, start, end in chosen:
                self._waiting -= end - start + len(work.texts) - work.at
                work.at = len(work.texts)
                for waiting in (self._interactive, self._bulk):
                    if work in waiting:
                        waiting.remove(work)
                if not work.failed:
                    work.failed = True
                    failed.append(work)
        for work in failed:
            work.done.set_exception(typed)


def _of_share(work: _Work, most: int) -> int:
    """How many of the texts that are left come nearest to one thread's share of all letters, at least one."""
    left = work.texts[work.at : work.at + most]
    count, letters = 1, len(left[0])
    # The parts of a question go together where the whole of it, which comes first, is as long as they are.
    while count < len(left) and letters + len(left[count]) / 2 <= work.share:
        letters += len(left[count])
        count += 1
    return count


def _typed(error: Exception) -> AicoMemoryError:
    """What those who asked are told."""
    return error if isinstance(error, AicoMemoryError) else ModelUnavailable(f"Embedding failed: {type(error).__name__}")
