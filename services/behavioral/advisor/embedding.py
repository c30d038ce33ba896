"""Embedding outcomes after they are stored: a batch is asked for, and kept when its answer is there; nobody waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from aico_memory.contracts.v1 import model_pb2
from aico_memory.domain.advisor.outcome import embedded_text
from aico_memory.domain.advisor.records import SealedOutcome
from aico_memory.errors import AicoMemoryError, InvalidMessage, KeyDestroyed, TooLarge
from aico_memory.settings.outcomes import OutcomeSettings
from aico_memory.stores.behavioral.port import BehavioralStore
from aico_memory.vault.sealer import Sealer
from services.behavioral.advisor.finding import Finder
from services.behavioral.advisor.sealing import opened, sealed_vector
from services.behavioral.topic_vectors import rows_of

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

Ask = Callable[[model_pb2.EmbedRequest, float], "Future[Any]"]
# Trouble with a text itself: asking again would give the same.
_UNFIT = (InvalidMessage, TooLarge)


@dataclass(frozen=True, slots=True)
class _Waiting:
    records: Sequence[SealedOutcome]
    answer: Future[Any]


class OutcomeEmbedder:
    """Works in the consumer's thread, between batches: `step` never waits for the model."""

    def __init__(
        self, store: BehavioralStore, ask: Ask, sealer_of: Callable[[str], Sealer], finder: Finder, settings: OutcomeSettings,
        log: FilteringBoundLogger,
    ) -> None:  # fmt: skip
        self._store = store
        self._ask = ask
        self._sealer_of = sealer_of
        self._finder = finder
        self._settings = settings
        self._log = log
        self._waiting: _Waiting | None = None
        self._work = True
        self._not_before = 0.0
        # Of the model under which the last look found nothing left to do.
        self._done_for = ""

    @property
    def at_rest(self) -> bool:
        """Whether everything that was recorded is embedded, as far as is known."""
        return not self._work and self._waiting is None

    def wake(self) -> None:
        """Something was recorded."""
        self._work = True

    def step(self) -> None:
        """Keep what has come; ask for the next batch."""
        if self._finder.fingerprint != self._done_for:
            self._work = True
        if self._waiting is not None:
            if self._waiting.answer.done():
                waiting, self._waiting = self._waiting, None
                self._keep(waiting)
            return
        if self._work and monotonic() >= self._not_before:
            self._next()

    def _next(self) -> None:
        fingerprint = self._finder.fingerprint
        with self._store.reading() as rows:
            records = rows.outcomes_to_embed(fingerprint, self._settings.embed_batch)
        if not records:
            self._work, self._done_for = False, fingerprint
            return
        readable = [(one, text) for one in records if (text := self._text(one))]
        if len(readable) < len(records):
            kept = {one.event_id for one, _ in readable}
            self._give_up([one for one in records if one.event_id not in kept])
        if readable:
            request = model_pb2.EmbedRequest(texts=[text for _, text in readable])
            try:
                answer = self._ask(request, self._settings.embed_seconds)
            except AicoMemoryError as error:
                answer = Future()
                answer.set_exception(error)
            self._waiting = _Waiting([one for one, _ in readable], answer)

    def _text(self, record: SealedOutcome) -> str:
        try:
            return embedded_text(opened(record, self._sealer_of(record.user)))[: self._settings.embed_characters]
        except KeyDestroyed:
            return ""

    def _keep(self, waiting: _Waiting) -> None:
        try:
            answer = waiting.answer.result()
        except _UNFIT as error:
            self._log.warning("outcomes_not_embedded", code=error.code, outcomes=len(waiting.records))
            self._give_up(waiting.records)
            return
        except (AicoMemoryError, CancelledError):
            self._not_before = monotonic() + self._settings.embed_retry_seconds
            return
        vectors = rows_of(answer, len(waiting.records))
        if vectors is None:
            self._not_before = monotonic() + self._settings.embed_retry_seconds
            return
        self._finder.fingerprint = answer.fingerprint
        with self._store.state.transaction() as transaction:
            rows = self._store.within(transaction)
            for record, vector in zip(waiting.records, vectors, strict=True):
                try:
                    sealed = sealed_vector(vector, record, self._sealer_of(record.user))
                except KeyDestroyed:
                    sealed = b""
                rows.put_outcome_vector(record.user, record.number, record.sealed_body, sealed, answer.fingerprint)

    def _give_up(self, records: Sequence[SealedOutcome]) -> None:
        # Found by their words all the same.
        with self._store.state.transaction() as transaction:
            rows = self._store.within(transaction)
            for one in records:
                rows.put_outcome_vector(one.user, one.number, one.sealed_body, b"", self._finder.fingerprint)
