"""The semantic worker: what the bus says becomes memories, and questions about them are answered."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import bus_pb2, context_pb2, semantic_pb2
from aico_memory.models.calibration import calibrated, thresholds_of
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.gazetteer import load_gazetteer
from aico_memory.models.language_tables import load_function_words
from aico_memory.runtime.ports import Handlers, Ports, RequestHandler
from aico_memory.stores.index.text_source import TextSource
from aico_memory.stores.semantic.port import IndexQueue, ReadingQueue, SemanticStore, SemanticTransaction
from aico_memory.stores.semantic.retrieval_port import RetrievalReads
from aico_memory.stores.semantic.sql_queue import SqlIndexQueue
from aico_memory.stores.semantic.sql_reading import SqlReadingQueue
from aico_memory.stores.semantic.sql_retrieval import SqlRetrieval
from aico_memory.stores.semantic.sql_store import SqlSemanticStore
from aico_memory.stores.semantic.sql_text import SqlTextSource
from services.semantic.answering import Answering
from services.semantic.candidates import CandidateAnswers
from services.semantic.direct_recall import DirectRecall
from services.semantic.embedding import BusEmbedder, Embedder
from services.semantic.export import export_page
from services.semantic.fact_verbs import FactVerbs
from services.semantic.indexer import Indexer
from services.semantic.live_index import LiveIndex
from services.semantic.maintenance import IndexMaintenance
from services.semantic.model_reader import ModelReader
from services.semantic.ranking import open_ranker
from services.semantic.time_verbs import TimeVerbs
from services.semantic.tokens import FormationRules
from services.semantic.write_path import Effect, WritePath

STORE = "semantic"


def build(ports: Ports) -> SemanticHandlers:
    """Open the store and start the indexer."""
    store = SqlSemanticStore.open(
        ports.home.store(STORE), ports.vault.store_key(STORE), ports.vault.users, ports.vault.namer(STORE)
    )
    stop = threading.Event()
    indexing = BusEmbedder(ports.link, ports.settings.semantic.embed_timeout_seconds, stop)
    # The transaction waits for these, and everything behind it.
    forming = BusEmbedder(ports.link, ports.settings.write_path.work.embed_seconds, stop, interactive=True)
    retrieval = SqlRetrieval(store.database, store.sealers)
    reading = SqlReadingQueue(store.database)
    texts = SqlTextSource(store)
    return SemanticHandlers(ports, store, SqlIndexQueue(store), reading, retrieval, texts, indexing, forming, stop)


class SemanticHandlers(Handlers):
    """Owner of L1."""

    name = STORE

    def __init__(
        self,
        ports: Ports,
        store: SemanticStore,
        queue: IndexQueue,
        reading: ReadingQueue,
        retrieval: RetrievalReads,
        texts: TextSource,
        indexing: Embedder,
        forming: Embedder,
        stop: threading.Event,
    ) -> None:
        every = calibrated(ports.settings, ports.home)
        settings = every.semantic
        self.state: SemanticStore = store
        self._queue = queue
        self._stop = stop
        self._rules = FormationRules(load_function_words(ports.home), load_gazetteer(ports.home), settings.default_language)
        self._figures = every.write_path.prediction_error
        self._reads = every.language_model.enabled
        self._live = LiveIndex(queue, settings)
        self._indexer = Indexer(queue, self._live, indexing, settings, stop, ports.notify, ports.log)
        maintenance = IndexMaintenance(
            store, queue, self._live, self._indexer, self._rules, settings, ports.clock.now_us, ports.log
        )
        self._indexer.maintain = maintenance.step
        ranker = open_ranker(store, texts, self._live, ports.link, self._rules.languages, ports.home, every)
        self._texts = self._live.texts = ranker.texts
        self._indexer.follow = self._texts.catch_up
        self._answering = Answering(
            store, self._live, self._rules.languages, settings, ports.clock, ports.settings.identity, ranker
        )
        tables = load_formation_tables(ports.home)
        self._write_path = WritePath(store, self._rules, tables, forming, every, ports.log)
        self._verbs = verbs = FactVerbs(ports, every, store, queue, tables, self._write_path)
        time_verbs = TimeVerbs(ports, store)
        self._effects: Mapping[str, Effect] = {**self._write_path.effects, **verbs.effects, **time_verbs.effects}
        self.topics = tuple(sorted(self._effects))
        answering = self._answering
        candidates = CandidateAnswers(
            store, retrieval, ranker, DirectRecall(store, tables, every.recall, settings.default_language),
            self._rules.gazetteer, ports.settings.identity, ports.clock, lambda: self.settled(store.cursor()[1]),
        )  # fmt: skip
        self.requests: Mapping[str, RequestHandler] = {
            topic_of(semantic_pb2.SemanticQuery).name: lambda event, _: answering.query(event),
            topic_of(semantic_pb2.GetMemory).name: lambda event, _: answering.get(event),
            topic_of(semantic_pb2.ListMemories).name: lambda event, _: answering.page(event),
            topic_of(semantic_pb2.MemoryHistoryRequest).name: lambda event, _: answering.history(event),
            topic_of(context_pb2.CandidatesRequest).name: lambda event, _: candidates.candidates(event),
            topic_of(context_pb2.AroundRequest).name: lambda event, _: candidates.around(event),
            **verbs.requests,
            **time_verbs.requests,
        }
        self._reader = ModelReader(store, reading, ports.link, ports.clock, every.language_model, tables, ports.log)
        self._indexer.start()
        self._reader.start()

    def prepare(self, events: Sequence[Event]) -> None:
        """Before the transaction: read what the events state, and embed it."""
        self._write_path.prepare(events)

    def apply(self, transaction: SemanticTransaction, event: Event) -> None:
        self._effects[event.topic](transaction, event)
        self._write_path.applied(transaction, event)

    def after_commit(self) -> None:
        self._write_path.forming.committed()
        self._indexer.wake()
        self._reader.wake()

    def settled(self, applied: int) -> int:
        oldest = self._queue.oldest_pending()
        return min(applied, oldest - 1) if oldest else applied

    def status(self) -> dict[str, object]:
        active, _ = self._live.current()
        model = self._indexer.model_fingerprint
        job = self._queue.job()
        shown: dict[str, object] = {
            "memories": self.state.count(), "index": self._live.status(),
            "text_index": self._texts.status(), "index_outbox": self._queue.pending_count(),
            "fingerprint": active, "model_mismatch": bool(active and model and active != model),
            "not_embedded": self._indexer.skipped, "formed_without_vectors": self._write_path.forming.without_vectors,
        }  # fmt: skip
        if active or model:
            shown["thresholds"] = thresholds_of(active or model, self._figures).source
        if self._reads:
            shown["language_model"] = self._reader.status()
        if self._indexer.waits_for:
            shown["indexer_waits_for"] = self._indexer.waits_for
        if job is not None:
            shown["maintenance"] = {"rebuild": job.rebuild, "stage": job.stage, "after_row": job.after_row}
        return shown

    def export(self, user: str, after: str, limit: int) -> bus_pb2.ExportPage:
        return export_page(self.state, user, after, limit)

    def close(self) -> None:
        self._stop.set()
        self._verbs.close()
        self._reader.close()
        self._indexer.close()
        self._live.close()
        self.state.close()
