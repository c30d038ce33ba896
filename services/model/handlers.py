"""The model service: vectors, labels, and what a language model reads; nothing outlives it but exports and a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic
from types import MappingProxyType

import numpy as np

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import extraction_pb2, model_pb2
from aico_memory.errors import InvalidMessage
from aico_memory.models.cache import EmbeddingCache
from aico_memory.models.embedder import Embedder, Vectors
from aico_memory.models.embedding_queue import EmbeddingQueue
from aico_memory.models.language_tables import load_tables
from aico_memory.models.load import ModelAccount, load_embedder
from aico_memory.models.span_reader import SpanReader, load_span_reader
from aico_memory.runtime.ports import Handlers, Ports, RequestHandler
from aico_memory.settings.models import ModelSettings
from aico_memory.stores.sql.twin import MemoryConsumerState
from services.model.extraction import Extraction, open_extraction
from services.model.labels import Labels, load_labels
from services.model.reading import read_words

# An answer of 768-dimensional vectors stays below the bus's megabyte.
MAX_TEXTS = 256
CUDA_SLICE_FACTOR = 32


class ModelHandlers(Handlers):
    """Embeddings in order of who waits, labels by the configured classifiers."""

    name = "model"

    def __init__(
        self, embedder: Embedder, account: ModelAccount, labels: Labels, settings: ModelSettings, extraction: Extraction,
        reader: SpanReader,
    ) -> None:  # fmt: skip
        self.state = MemoryConsumerState()
        self._embedder = embedder
        self._account = account
        self._labels = labels
        self._extraction = extraction
        on_gpu = account.device == "cuda"
        self._queue = EmbeddingQueue(
            embedder,
            slice_texts=settings.slice_texts * (CUDA_SLICE_FACTOR if on_gpu else 1),
            waiting_texts=settings.waiting_texts,
            together=on_gpu,
            threads=1 if on_gpu else settings.question_threads,
        )
        self._queries = EmbeddingCache(settings.query_cache_entries, settings.query_cache_seconds)
        self._documents = EmbeddingCache(settings.document_cache_entries, settings.document_cache_seconds)
        self.requests: Mapping[str, RequestHandler] = MappingProxyType(
            {
                topic_of(model_pb2.EmbedRequest).name: self._on_embed,
                topic_of(model_pb2.AnalyseRequest).name: self._on_analyse,
                topic_of(model_pb2.ReadRequest).name: lambda event, _: read_words(event, reader),
                topic_of(extraction_pb2.ExtractRequest).name: lambda event, _: extraction.answer(event),
                topic_of(extraction_pb2.SummariseRequest).name: lambda event, _: extraction.summarise(event),
                topic_of(extraction_pb2.UnderstandRequest).name: lambda event, _: extraction.understand(event),
            }
        )
        labels.learn(embedder.model, embedder.languages, lambda texts: self._queue.submit(texts, interactive=False).result())

    def _on_embed(self, event: Event, ports: Ports) -> model_pb2.Embeddings:
        request: model_pb2.EmbedRequest = event.message
        if len(request.texts) > MAX_TEXTS:
            raise InvalidMessage(f"EmbedRequest.texts has {len(request.texts)} texts; allowed are {MAX_TEXTS}")
        rows, cached = self._embed(list(request.texts), request.interactive)
        return model_pb2.Embeddings(
            vectors=rows.astype("<f4", copy=False).tobytes(),
            dimension=self._embedder.dimension,
            fingerprint=self._embedder.fingerprint,
            model=self._embedder.model,
            cached=cached,
            languages=self._embedder.languages,
        )

    def _on_analyse(self, event: Event, ports: Ports) -> model_pb2.Analysis:
        request: model_pb2.AnalyseRequest = event.message
        return self._labels.analyse(request.text, request.tasks, lambda text: self._embed([text], True)[0][0], self._embedder)

    def _embed(self, texts: Sequence[str], interactive: bool) -> tuple[Vectors, int]:
        cache = self._queries if interactive else self._documents
        found = cache.find(texts, monotonic())
        missing = list(dict.fromkeys(text for text, row in zip(texts, found, strict=True) if row is None))
        made = dict(zip(missing, self._queue.embed(missing, interactive=interactive), strict=True))
        for text, row in made.items():
            cache.keep(text, row, monotonic())
        rows = np.zeros((len(texts), self._embedder.dimension), dtype=np.float32)
        for place, (text, known) in enumerate(zip(texts, found, strict=True)):
            rows[place] = made[text] if known is None else known
        return rows, len(texts) - sum(row is None for row in found)

    def apply(self, transaction: object, event: Event) -> None:
        raise InvalidMessage(f"The model service consumes nothing, and was given {event.topic}")

    def status(self) -> dict[str, object]:
        return {
            **self._account.as_status(),
            "languages": list(self._embedder.languages) or "every",
            "classifiers": self._labels.as_status(),
            "query_cache": self._queries.as_status(),
            "document_cache": self._documents.as_status(),
            "embedded": self._queue.embedded,
            "waiting": self._queue.waiting,
            "language_model": self._extraction.status(),
        }

    def close(self) -> None:
        self._extraction.close()
        self._queue.close()
        self._labels.close()
        self._embedder.close()


def build(ports: Ports) -> ModelHandlers:
    """The handlers of this deployment's model."""
    settings = ports.settings.models
    embedder, account = load_embedder(settings, ports.home.model)
    ports.log.info(
        "model loaded", model=account.model, source=account.source, why=account.reason, served_by=account.served_by,
        seconds=account.seconds,
    )  # fmt: skip
    labels = load_labels(settings, load_tables(ports.home), ports.home)
    reader = load_span_reader(ports.home, settings.threads)
    return ModelHandlers(embedder, account, labels, settings, open_extraction(ports), reader)
