"""The semantic worker: what the bus says becomes memories, and questions about them are answered."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import bus_pb2, context_pb2, extraction_pb2, semantic_pb2, sleep_pb2, write_path_pb2
from aico_memory.models.calibration import calibrated, thresholds_of
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.gazetteer import load_gazetteer
from aico_memory.models.language_tables import load_function_words
from aico_memory.models.sleep_tables import load_sleep_words
from aico_memory.runtime.ports import Handlers, Ports, RequestHandler
from aico_memory.stores.index.text_source import TextSource
from aico_memory.stores.semantic.port import IndexQueue, ReadingQueue, SemanticStore, SemanticTransaction
from aico_memory.stores.semantic.retrieval_port import RetrievalReads
from aico_memory.stores.semantic.sql_queue import SqlIndexQueue
from aico_memory.stores.semantic.sql_reading import SqlReadingQueue
from aico_memory.stores.semantic.sql_retrieval import SqlRetrieval
from aico_memory.stores.semantic.sql_store import SqlSemanticStore
from aico_memory.stores.semantic.sql_text import SqlTextSource
from services.semantic.adjusting import ADJUSTMENTS, Adjusting
from services.semantic.answering import Answering
from services.semantic.candidates import CandidateAnswers
from services.semantic.direct_recall import DirectRecall
from services.semantic.embedding import BusEmbedder, Embedder
from services.semantic.export import export_page
from services.semantic.fact_verbs import FactVerbs
from services.semantic.fused import says_nothing
from services.semantic.indexer import Indexer
from services.semantic.live_index import LiveIndex
from services.semantic.maintenance import IndexMaintenance
from services.semantic.model_reader import ModelReader
from services.semantic.preparing import Preparing
from services.semantic.ranking import open_ranker
from services.semantic.sleep.cancelling import Cancelling
from services.semantic.sleep.importance import Importance
from services.semantic.sleep.jobs import SleepJobs
from services.semantic.sleep.knowledge_phases import knowledge_phases
from services.semantic.sleep.phases import sleep_phases
from services.semantic.sleep.prospect import Prospect
from services.semantic.sleep.retelling import Retelling, SummaryTeller
from services.semantic.sleep.sleepers import Sleepers
from services.semantic.sleep.stepping import Stepping
from services.semantic.sleep.wishing import Wishes
from services.semantic.time_verbs import TimeVerbs
from services.semantic.tokens import FormationRules
from services.semantic.write_path import Effect, WritePath

STORE = "semantic"
# How often it is looked whether somebody's key is gone.
_LOOK_US = 5_000_000
JUDGED = topic_of(write_path_pb2.MemoriesJudged).name


def build(ports: Ports) -> SemanticHandlers:
    """Open the store and start the indexer."""
    store = SqlSemanticStore.open(
        ports.home.store(STORE), ports.vault.store_key(STORE), ports.vault.users, ports.vault.namer(STORE),
        ports.settings.semantic.recent_bytes,
    )  # fmt: skip
    stop = threading.Event()
    indexing = BusEmbedder(ports.link, ports.settings.semantic.embed_timeout_seconds, stop)
    # The transaction waits for these, and everything behind it.
    forming = BusEmbedder(ports.link, ports.settings.write_path.work.embed_seconds, stop, interactive=True)
    retrieval = SqlRetrieval(store)
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
        self._retrieval = retrieval
        self._looked_us = 0
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
        tables = load_formation_tables(ports.home).configured(every.write_path)
        ranker = open_ranker(
            store, texts, self._live, ports.link, self._rules.languages, ports.home, every, ports.courtesy,
            {code: grammar.calendar for code, grammar in tables.grammars.items()},
        )  # fmt: skip
        self._texts = self._live.texts = ranker.texts
        self._indexer.follow = self._texts.catch_up
        self._indexer.hold = retrieval.hold
        ahead = every.retrieval.prepared_memories
        self._indexer.prepare = Preparing(texts, self._texts, self._live, retrieval.hold, ahead, ports.courtesy.give_way).step
        recall = DirectRecall(store, tables, every.recall, settings.default_language)
        self._answering = Answering(
            store,
            self._live,
            self._rules.languages,
            settings,
            ports.clock,
            ports.settings.identity,
            retrieval,
            ranker,
            recall,
            lambda: self.settled(store.cursor()[1]),
            every.memory_model.importance,
        )
        self._write_path = WritePath(store, self._rules, tables, forming, every, ports.log, ports.courtesy.give_way)
        self._verbs = verbs = FactVerbs(ports, every, store, queue, tables, self._write_path)
        time_verbs = TimeVerbs(ports, store, self._write_path.gating.policy)
        model = every.language_model
        wishes = Wishes(every.memory_model.knowledge.model_calls) if model.enabled else None
        knowledge = knowledge_phases(every, self._write_path.graphing, self._rules, load_sleep_words(ports.home), wishes)
        self._teller = SummaryTeller(Wishes(0) if wishes is None else wishes, ports.link, ports.clock, model, ports.log)
        phases = (*sleep_phases(ports.home, every, self._write_path), *knowledge)
        self._adjusting = Adjusting(ports, every, store, ranker, ranker.shown, self._write_path.gating.policy)
        self._jobs = SleepJobs(Stepping(phases, self._write_path.gating.policy, settings, ports.log, ports.courtesy.give_way))
        self._effects: Mapping[str, Effect] = {
            **self._write_path.effects, **verbs.effects, **time_verbs.effects,
            **dict.fromkeys(self._jobs.effects, self._jobs.begin), topic_of(sleep_pb2.SleepStep).name: self._jobs.step,
            topic_of(extraction_pb2.SummaryTold).name: Retelling(self._rules, self._write_path.gating.policy).take,
            **self._adjusting.effects, JUDGED: self._adjusting.after(verbs.effects[JUDGED]),
            topic_of(sleep_pb2.JobCancelled).name: Cancelling(queue, ports.log).cancel,
            topic_of(semantic_pb2.AnnounceDue).name: Prospect(settings).announce,
        }  # fmt: skip
        self.topics = tuple(sorted(self._effects))
        answering, sleepers = self._answering, Sleepers(store)
        importance = Importance(store, lambda: self._live.current()[0])
        candidates = CandidateAnswers(
            store, retrieval, ranker, recall, self._rules.gazetteer, ports.settings.identity, ports.clock,
            lambda: self.settled(store.cursor()[1]), says_nothing(self._rules.languages), every.write_path.tags.pair_count,
        )  # fmt: skip
        self.requests: Mapping[str, RequestHandler] = {
            topic_of(semantic_pb2.SemanticQuery).name: lambda event, _: answering.query(event),
            topic_of(semantic_pb2.GetMemory).name: lambda event, _: answering.get(event),
            topic_of(semantic_pb2.ListMemories).name: lambda event, _: answering.page(event),
            topic_of(semantic_pb2.MemoryHistoryRequest).name: lambda event, _: answering.history(event),
            topic_of(context_pb2.CandidatesRequest).name: lambda event, _: candidates.candidates(event),
            topic_of(sleep_pb2.SleepersRequest).name: lambda event, _: sleepers.page(event),
            topic_of(sleep_pb2.ImportanceRequest).name: lambda event, _: importance.page(event),
            topic_of(context_pb2.AroundRequest).name: lambda event, _: candidates.around(event),
            ADJUSTMENTS: lambda event, _: self._adjusting.page(event),
            **verbs.requests,
            **time_verbs.requests,
        }
        self._reader = ModelReader(store, reading, ports.link, ports.clock, every.language_model, tables, ports.log)
        self._indexer.held = self._reader.held = self._teller.held = ports.read_only
        self._adjusting.after_commit()
        self._indexer.start()
        self._reader.start()
        self._teller.start()

    def prepare(self, events: Sequence[Event]) -> None:
        """Before the transaction: read what the events state, and embed it."""
        self._write_path.prepare(events)

    def apply(self, transaction: SemanticTransaction, event: Event) -> None:
        self._effects[event.topic](transaction, event)
        self._write_path.applied(transaction, event)

    def after_commit(self) -> None:
        self._write_path.committed()
        self._adjusting.after_commit()
        self._indexer.wake()
        self._reader.wake()
        self._teller.wake()

    def idle(self, now_us: int) -> None:
        if abs(now_us - self._looked_us) >= _LOOK_US:
            self._looked_us = now_us
            self._retrieval.forget_destroyed()

    def settled(self, applied: int) -> int:
        oldest = self._queue.oldest_pending()
        return min(applied, oldest - 1) if oldest else applied

    def status(self) -> dict[str, object]:
        active, _ = self._live.current()
        adjusted = self._adjusting.status()
        model = self._indexer.model_fingerprint
        job = self._queue.job()
        shown: dict[str, object] = {
            "alarms": adjusted.pop("alarms"), "adjustments": adjusted,
            "memories": self.state.count(), "index": self._live.status(),
            "text_index": self._texts.status(), "index_outbox": self._queue.pending_count(),
            "fingerprint": active, "model_mismatch": bool(active and model and active != model),
            "not_embedded": self._indexer.skipped, "formed_without_vectors": self._write_path.forming.without_vectors,
        }  # fmt: skip
        if active or model:
            shown["thresholds"] = thresholds_of(active or model, self._figures).source
        if self._reads:
            shown["language_model"] = {**self._reader.status(), "summaries": self._teller.status()}
        if self._indexer.waits_for:
            shown["indexer_waits_for"] = self._indexer.waits_for
        if sleeping := self._jobs.status(self.state):
            shown["sleep_jobs"] = sleeping
        if job is not None:
            shown["maintenance"] = {"rebuild": job.rebuild, "stage": job.stage, "after_row": job.after_row}
        return shown

    def export(self, user: str, after: str, limit: int) -> bus_pb2.ExportPage:
        return export_page(self.state, user, after, limit)

    def close(self) -> None:
        self._stop.set()
        self._verbs.close()
        self._reader.close()
        self._teller.close()
        self._indexer.close()
        self._live.close()
        self.state.close()
