"""The language model in the model service: one process speaks to the endpoint, and only where it is switched on."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import extraction_pb2
from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.formation.prompting import Told
from aico_memory.domain.memory import OPEN
from aico_memory.domain.sleep.derived import SUMMARY
from aico_memory.errors import AicoMemoryError
from aico_memory.models.llm.endpoint import endpoint_of
from aico_memory.runtime.ports import Ports

if TYPE_CHECKING:
    from aico_memory.models.llm.extractor import Extractor, Reading
    from aico_memory.models.llm.summariser import Summariser
    from aico_memory.models.llm.understander import Understander

RULES = "rules"
_MOST_MS = 2**31


class Extraction:
    """Answers questions about messages; without an extractor it says that, and why."""

    def __init__(
        self, extractor: Extractor | None, reason: str, stop: threading.Event, summariser: Summariser | None = None,
        understander: Understander | None = None,
    ) -> None:  # fmt: skip
        self._extractor = extractor
        self._summariser = summariser
        self._understander = understander
        self._reason = reason
        self._stop = stop

    def answer(self, event: Event) -> extraction_pb2.Extraction:
        """What the model reads in a message, beside the rules."""
        if self._extractor is None:
            return extraction_pb2.Extraction(answered_by=RULES, degraded=self._reason)
        request: extraction_pb2.ExtractRequest = event.message
        told = Told(request.text, request.said_at_us or event.occurred_us, request.speaker, request.zone, tuple(request.recent))
        return reading_message(self._extractor.read(told, request.event_id))

    def summarise(self, event: Event) -> extraction_pb2.Summary:
        """A text of several memories; without a model why there is none."""
        if self._summariser is None:
            return extraction_pb2.Summary(answered_by=RULES, degraded=self._reason)
        request: extraction_pb2.SummariseRequest = event.message
        told = self._summariser.summarise(tuple(request.texts), request.characters, request.memory_id, request.kind or SUMMARY)
        return extraction_pb2.Summary(
            text=told.text, answered_by=told.answered_by, degraded=told.degraded, model=told.model,
            prompt_hash=told.prompt_hash, milliseconds=told.milliseconds, prompt_tokens=told.prompt_tokens,
            answer_tokens=told.answer_tokens,
        )  # fmt: skip

    def understand(self, event: Event) -> extraction_pb2.Understanding:
        """The kind of a question and texts that could answer it; without a model why there is neither."""
        if self._understander is None:
            return extraction_pb2.Understanding(answered_by=RULES, degraded=self._reason)
        request: extraction_pb2.UnderstandRequest = event.message
        found = self._understander.understand(request.query, request.passages, request.event_id)
        return extraction_pb2.Understanding(
            intent=found.intent, passages=found.passages, answered_by=found.answered_by, degraded=found.degraded,
            model=found.model, prompt_hash=found.prompt_hash, milliseconds=found.milliseconds,
            prompt_tokens=found.prompt_tokens, answer_tokens=found.answer_tokens,
        )  # fmt: skip

    def status(self) -> dict[str, object]:
        """Plain values for the status: where messages go, or that they go nowhere."""
        if self._extractor is None:
            return {"state": self._reason}
        return {"state": "on", **self._extractor.status()}

    def close(self) -> None:
        """Wait for no further try."""
        self._stop.set()


def open_extraction(ports: Ports, environment: Mapping[str, str] = os.environ) -> Extraction:
    """By these settings. A mistake in them is told by log and status; embeddings are served all the same."""
    settings = ports.settings.language_model
    stop = threading.Event()
    if not settings.enabled:
        return Extraction(None, "off", stop)
    try:
        endpoint = endpoint_of(settings, environment)
    except AicoMemoryError as error:
        ports.log.error("language model refused", code=error.code, detail=error.detail, mend=error.mend)
        return Extraction(None, f"refused: {error.detail}", stop)
    # Nothing that could speak to a network is loaded where no model is configured.
    from aico_memory.models.fact_tables import load_formation_tables
    from aico_memory.models.gazetteer import load_gazetteer
    from aico_memory.models.llm.asking import Asking
    from aico_memory.models.llm.chat import ChatEndpoint
    from aico_memory.models.llm.extractor import Extractor
    from aico_memory.models.llm.operations import OperationsLog
    from aico_memory.models.llm.summariser import Summariser
    from aico_memory.models.llm.understander import Understander

    log = OperationsLog(ports.home.logs, settings.log_bytes, settings.log_files)
    chat = ChatEndpoint(endpoint, settings, stop)
    asking = Asking(chat, settings, log, ports.clock, ports.vault.namer("operations"))
    tables = load_formation_tables(ports.home).configured(ports.settings.write_path)
    extractor = Extractor(asking, settings, tables, load_gazetteer(ports.home))
    ports.log.info("language model on", endpoint_host=endpoint.host, model=settings.model, prompt=extractor.prompt_hash)
    return Extraction(extractor, "", stop, Summariser(asking, settings), Understander(asking, settings))


def reading_message(reading: Reading) -> extraction_pb2.Extraction:
    """A reading as it goes over the bus."""
    return extraction_pb2.Extraction(
        facts=[_fact_message(fact) for fact in reading.facts],
        refused=[extraction_pb2.RefusedFact(rule=one.rule, reason=one.reason, claim=one.claim) for one in reading.refused],
        answered_by=reading.answered_by, degraded=reading.degraded, model=reading.model, prompt_hash=reading.prompt_hash,
        milliseconds=reading.milliseconds, prompt_tokens=reading.prompt_tokens, answer_tokens=reading.answer_tokens,
        again=reading.again_ms is not None, again_ms=min(reading.again_ms or 0, _MOST_MS),
    )  # fmt: skip


def _fact_message(fact: FormedFact) -> extraction_pb2.ExtractedFact:
    return extraction_pb2.ExtractedFact(
        text=fact.text, kind=fact.kind, subject=fact.subject, predicate=fact.predicate, value=fact.value,
        object_key=fact.object_key, single_valued=fact.single_valued, act=fact.act, corrected=fact.corrected,
        valid_from_us=fact.valid_from_us, valid_until_us=0 if fact.valid_until_us >= OPEN else fact.valid_until_us,
        entities=fact.entities, language=fact.language, confidence_base=fact.confidence_base, excerpt=fact.excerpt,
    )  # fmt: skip
