"""The thread that keeps the indexes up to date behind the transactions: embeds, stores vectors, feeds the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import TYPE_CHECKING

from aico_memory.errors import AicoMemoryError, InvalidMessage, TooLarge
from aico_memory.runtime.kernel import settle_memory
from aico_memory.settings.semantic import SemanticSettings
from aico_memory.stores.semantic.port import IndexQueue, KeptVector, Unembedded
from services.semantic.embedding import Embedder
from services.semantic.live_index import LiveIndex

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

# Trouble with a text itself: trying again would give the same.
_UNFIT = (InvalidMessage, TooLarge)
# Any text: only the model's fingerprint is of interest.
_PROBE = "fingerprint"
# Memories after which memory is put in order, as soon as there is nothing to do.
_MUCH = 1000
Step = Callable[[], bool]


class Indexer:
    """Drains the outbox in batches; while the model is away it waits longer and longer, and searches go on without it."""

    def __init__(
        self,
        queue: IndexQueue,
        live: LiveIndex,
        embedder: Embedder,
        settings: SemanticSettings,
        stop: Event,
        progressed: Callable[[], None],
        log: FilteringBoundLogger,
    ) -> None:
        self._queue = queue
        self._live = live
        self._embedder = embedder
        self._settings = settings
        self._stop = stop
        self._progressed = progressed
        self._log = log
        self._work = Event()
        self._thread = Thread(target=self._run, name="indexer", daemon=True)
        # One step of maintenance, False where none is asked for; set by whoever owns the jobs.
        self.maintain: Step = _nothing
        # One step of reading ahead at the start, False where that is done; set by whoever owns what is read.
        self.prepare: Step = _nothing
        # What else follows the changes, and must see them before they leave the outbox.
        self.follow: Callable[[], None] = lambda: None
        # Has what was written lately at hand for the questions that come.
        self.hold: Callable[[Sequence[int]], None] = lambda keys: None
        # Whether nothing may be written at present; a wake ends the waiting.
        self.held: Callable[[], bool] = _nothing
        self.model_fingerprint = ""
        self.waits_for = ""
        self.skipped = 0
        # Memories that went through since memory was put in order.
        self._passed = 0

    def start(self) -> None:
        """Begin with what the last process left."""
        self._work.set()
        self._thread.start()

    def wake(self) -> None:
        """A transaction has committed."""
        self._work.set()

    def close(self) -> None:
        """Stop after the batch at hand; `stop` must be set before."""
        self._work.set()
        if self._thread.is_alive():
            self._thread.join()

    def drain(self) -> bool:
        """Bring one batch of the outbox up to date; False where it is empty. Raises where the model is away."""
        entries = self._queue.pending(self._settings.embed_batch)
        if not entries:
            return False
        self.follow()
        keys = [entry.key for entry in entries]
        self.embed(keys)
        self._live.follow()
        self._live.refresh(keys)
        self.hold(keys)
        # Only now: a kill before this makes the next process do it again.
        self._queue.settle([entry.entry for entry in entries])
        self._passed += len(entries)
        return True

    def embed(self, keys: Sequence[int]) -> None:
        """Store the vectors that these memories lack, of the model that answers now."""
        known = self.model_fingerprint or self._queue.fingerprint()
        bare = [one for one in self._queue.unembedded(keys, known) if one.text is not None]
        for batch in _batches(bare, self._settings.embed_batch, self._settings.embed_characters):
            self._embed_batch(batch)

    def ask_model(self) -> None:
        """Learn which model answers now."""
        self.model_fingerprint = self._embedder.embed([_PROBE]).fingerprint

    def _embed_batch(self, batch: Sequence[Unembedded]) -> None:
        longest = self._settings.embed_text_characters
        try:
            embedded = self._embedder.embed([(one.text or "")[:longest] for one in batch])
        except _UNFIT as error:
            if len(batch) == 1:
                # Found by its words all the same.
                self.skipped += 1
                self._log.warning("not_embedded", row=batch[0].key, code=error.code)
                return
            for one in batch:
                self._embed_batch([one])
            return
        self.model_fingerprint = embedded.fingerprint
        kept = [KeptVector(one.key, one.version, vector) for one, vector in zip(batch, embedded.vectors, strict=True)]
        self._queue.keep(embedded.fingerprint, kept)

    def _run(self) -> None:
        wait_ms = self._settings.retry_first_ms
        while not self._stop.is_set():
            try:
                self._live.follow()
                self._progressed()
                while not self._stop.is_set() and not self.held() and self._step():
                    self._progressed()
                self.waits_for = ""
                wait_ms = self._settings.retry_first_ms
                while not self._stop.is_set() and not self._work.is_set() and self.prepare():
                    self._passed += _MUCH
                self._settle_memory()
                self._work.wait()
                self._work.clear()
                continue
            except AicoMemoryError as error:
                self.waits_for = error.code
                self._log.info("indexer_waits", code=error.code, detail=error.detail, milliseconds=wait_ms)
            except Exception as error:
                self.waits_for = type(error).__name__
                self._log.error("indexer_failed", error=type(error).__name__, exc_info=True)
            if self._stop.wait(wait_ms / 1000):
                return
            wait_ms = min(wait_ms * 2, self._settings.retry_limit_ms)

    def _settle_memory(self) -> None:
        """After much work the heap is full of holes, and what questions read is there to stay."""
        if self._passed >= _MUCH and not self._work.is_set():
            self._passed = 0
            settle_memory()

    def _step(self) -> bool:
        drained = self.drain()
        return self.maintain() or drained


def _nothing() -> bool:
    return False


def _batches(bare: Sequence[Unembedded], texts: int, characters: int) -> list[list[Unembedded]]:
    found: list[list[Unembedded]] = []
    held = 0
    for one in bare:
        length = len(one.text or "")
        if not found or len(found[-1]) >= texts or held + length > characters:
            found.append([])
            held = 0
        found[-1].append(one)
        held += length
    return found
