"""The thread that has messages read by the language model, one after another, behind everything else."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import extraction_pb2
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.memory import Memory, record_of
from aico_memory.errors import AicoMemoryError
from aico_memory.ids import derive_id
from aico_memory.runtime.ports import LinkPort
from aico_memory.settings.language_model import LanguageModelSettings
from aico_memory.stores.semantic.port import ReadingQueue, SemanticStore, Unread
from services.semantic.enriching import fact_of, is_worded_by
from services.semantic.model_thread import REFUSED, ModelThread
from services.semantic.sharing import Sharing

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

# The endpoint is not to blame for these: whoever else waits is held back as well.
_HOLDING = ("budget_", "paused", "busy")
RULES = "rules"


@dataclass(slots=True)
class _Counts:
    read: int = 0
    left_to_rules: int = 0


class ModelReader(ModelThread):
    """Asks the model service, publishes what came of it, and only then forgets the message.

    A kill in between asks twice and has one effect: the outcome's id derives from the message's.
    """

    def __init__(
        self, store: SemanticStore, queue: ReadingQueue, link: LinkPort, clock: Clock, settings: LanguageModelSettings,
        tables: FormationTables, log: FilteringBoundLogger,
    ) -> None:  # fmt: skip
        super().__init__("model-reader", link, settings)
        self._store = store
        self._queue = queue
        self._clock = clock
        self._sharing = Sharing(tables)
        self._log = log
        self._counts = _Counts()
        self._held_until_us = 0
        # An answer that the bus has not taken yet.
        self._untold: tuple[Unread, extraction_pb2.Extraction] | None = None
        self._waits_for = ""

    def status(self) -> dict[str, object]:
        """How many wait, how many were read, and what holds them back."""
        return {
            "waiting": self._queue.count(), "read": self._counts.read, "left_to_rules": self._counts.left_to_rules,
            "waits_for": self._waits_for,
        }  # fmt: skip

    def step(self) -> bool:
        """One message; False where none is due."""
        if self._untold is not None:
            # It is answered: a bus that was away costs no second question.
            self._tell(*self._untold)
            return True
        now_us = self._clock.now_us()
        if now_us < self._held_until_us:
            return False
        unread = self._queue.due(now_us)
        if unread is None:
            return False
        record = self._record(unread)
        if record is None:
            # Deleted, reworded since, or its owner's key is destroyed: there is nothing to read.
            self._queue.settle(unread.event_id)
            return True
        try:
            extraction = self._as_kept(self._asked(unread, record), record)
        except AicoMemoryError as error:
            extraction = extraction_pb2.Extraction(answered_by=RULES, degraded=error.code, again=True)
        except Exception as error:
            # Whatever it is, the same message is not asked for again at once.
            self._log.error("reading_failed", error=type(error).__name__, exc_info=True)
            extraction = extraction_pb2.Extraction(answered_by=RULES, degraded=type(error).__name__, again=True)
        late = now_us - unread.queued_at_us > self._settings.queue_hours * 3_600_000_000
        if extraction.again and not late:
            self._postpone(unread, extraction)
        else:
            self._tell(unread, extraction)
        return True

    def failed(self, error: Exception) -> None:
        """What waits is read later."""
        if isinstance(error, AicoMemoryError):
            self._waits_for = error.code
            self._log.info("reading_waits", code=error.code, detail=error.detail)
        else:
            self._waits_for = type(error).__name__
            self._log.error("reading_failed", error=type(error).__name__, exc_info=error)

    def _record(self, unread: Unread) -> Memory | None:
        """The record whose present words the event gave: the message's own, or the one that was edited."""
        event_id = unread.event_id
        found = self._store.get([record_of(event_id), *self._store.items_of_event(event_id)], [unread.scope])
        evidence = self._store.evidence([one.memory_id for one in found])
        standing = (one for one in found if one.status != "invalid")
        return next((one for one in standing if is_worded_by(one, event_id, evidence[one.memory_id])), None)

    def _asked(self, unread: Unread, record: Memory) -> extraction_pb2.Extraction:
        request = extraction_pb2.ExtractRequest(
            event_id=unread.event_id, text=record.text, speaker=record.speaker, said_at_us=record.said_at_us,
            zone=unread.zone, recent=self._recent(record),
        )  # fmt: skip
        answer: extraction_pb2.Extraction = self.ask(request, unread.owner)
        return answer

    def _as_kept(self, extraction: extraction_pb2.Extraction, record: Memory) -> extraction_pb2.Extraction:
        """In a scope of several people what one says of themselves stands under their name, before it is embedded."""
        if record.scope.kind == "user":
            return extraction
        for one in extraction.facts:
            fact = self._sharing.told(fact_of(one), record.text, record.owner, record.speaker)
            one.subject, one.text = fact.subject, fact.text
        return extraction

    def _recent(self, record: Memory) -> list[str]:
        most = self._settings.recent_messages
        if not most or not record.session_id:
            return []
        before = self._store.said_before(record.scope, record.session_id, record.said_at_us, most + 1)
        texts = [text for _, text in before]
        if record.text in texts:
            texts.reverse()
            texts.remove(record.text)
            texts.reverse()
        return texts[-most:]

    def _postpone(self, unread: Unread, extraction: extraction_pb2.Extraction) -> None:
        now_us, settings = self._clock.now_us(), self._settings
        self._waits_for = extraction.degraded
        if extraction.degraded.startswith(_HOLDING):
            self._held_until_us = now_us + max(1, extraction.again_ms) * 1000
            return
        growing = min(settings.queue_first_seconds * 2**unread.tries, settings.queue_limit_seconds)
        wait_us = max(round(growing * 1_000_000), extraction.again_ms * 1000)
        self._queue.postpone(replace(unread, next_at_us=now_us + wait_us, tries=min(unread.tries + 1, 30)))

    def _tell(self, unread: Unread, extraction: extraction_pb2.Extraction) -> None:
        event_id = uuid.UUID(bytes=unread.event_id)
        extraction.again, extraction.again_ms = False, 0
        record = make_record(
            extraction_pb2.FactsExtracted(event_id=unread.event_id, extraction=extraction),
            event_id=derive_id(event_id, "extracted"), occurred_us=self._clock.now_us(), user=unread.owner,
            causation_id=event_id,
        )  # fmt: skip
        self._untold = (unread, extraction)
        try:
            for future in self._link.publish([record]):
                future.result(self._settings.timeout_seconds)
        except REFUSED as error:
            self._log.error("reading_refused", code=error.code, event_id=unread.event_id.hex())
        self._untold = None
        self._queue.settle(unread.event_id)
        self._waits_for = ""
        if extraction.degraded:
            self._counts.left_to_rules += 1
        else:
            self._counts.read += 1
