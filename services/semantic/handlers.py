"""The semantic worker: what the bus says becomes memories, and questions about them are answered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from google.protobuf.message import Message

from aico_memory.contracts.envelope import Event, reply_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import bus_pb2, context_pb2, semantic_pb2, working_pb2
from aico_memory.domain.memory import Memory
from aico_memory.errors import AicoMemoryError
from aico_memory.models.fact_tables import load_formation_tables
from aico_memory.models.gazetteer import load_gazetteer
from aico_memory.models.language_tables import load_function_words
from aico_memory.runtime.ports import Handlers, Ports, RequestHandler
from aico_memory.stores.semantic.port import IndexQueue, SemanticStore, SemanticTransaction
from aico_memory.stores.semantic.sql_queue import SqlIndexQueue
from aico_memory.stores.semantic.sql_store import SqlSemanticStore
from services.semantic import writing
from services.semantic.answering import Answering
from services.semantic.convert import record_message
from services.semantic.embedding import BusEmbedder, Embedder
from services.semantic.export import export_page
from services.semantic.indexer import Indexer
from services.semantic.live_index import LiveIndex
from services.semantic.maintenance import IndexMaintenance
from services.semantic.recalling import Recalling

STORE = "semantic"
Effect = Callable[[SemanticTransaction, Event], None]


def build(ports: Ports) -> SemanticHandlers:
    """Open the store and start the indexer."""
    store = SqlSemanticStore.open(
        ports.home.store(STORE), ports.vault.store_key(STORE), ports.vault.users, lambda text: ports.vault.digest(STORE, text)
    )
    stop = threading.Event()
    embedder = BusEmbedder(ports.link, ports.settings.semantic.embed_timeout_seconds, stop)
    return SemanticHandlers(ports, store, SqlIndexQueue(store), embedder, stop)


class SemanticHandlers(Handlers):
    """Owner of L1."""

    name = STORE

    def __init__(
        self, ports: Ports, store: SemanticStore, queue: IndexQueue, embedder: Embedder, stop: threading.Event
    ) -> None:
        settings = ports.settings.semantic
        self.state: SemanticStore = store
        self._queue = queue
        self._stop = stop
        self._rules = writing.FormationRules(
            load_function_words(ports.home), load_gazetteer(ports.home), settings.default_language
        )
        self._live = LiveIndex(queue, settings)
        self._indexer = Indexer(queue, self._live, embedder, settings, stop, ports.notify, ports.log)
        maintenance = IndexMaintenance(
            store, queue, self._live, self._indexer, self._rules, settings, ports.clock.now_us, ports.log
        )
        self._indexer.maintain = maintenance.step
        self._answering = Answering(store, self._live, self._rules.languages, settings, ports.clock, ports.settings.identity)
        self._effects: Mapping[str, Effect] = {
            topic_of(working_pb2.Message).name: self._with_rules(writing.write_message),
            topic_of(working_pb2.ToolResult).name: self._with_rules(writing.write_tool_result),
            topic_of(semantic_pb2.UpdateMemory).name: self._update,
            topic_of(semantic_pb2.InvalidateMemory).name: self._invalidate,
            topic_of(semantic_pb2.ReplayExperiences).name: writing.replay_experiences,
            topic_of(semantic_pb2.MemoriesUsed).name: writing.note_use,
            topic_of(semantic_pb2.Reindex).name: writing.ask_for_maintenance,
        }
        self.topics = tuple(sorted(self._effects))
        answering = self._answering
        recalling = Recalling(
            store, load_formation_tables(ports.home), ports.link, ports.clock, ports.settings.recall, ports.settings.identity,
            settings.default_language,
        )  # fmt: skip
        self.requests: Mapping[str, RequestHandler] = {
            topic_of(semantic_pb2.SemanticQuery).name: lambda event, _: answering.query(event),
            topic_of(semantic_pb2.GetMemory).name: lambda event, _: answering.get(event),
            topic_of(semantic_pb2.ListMemories).name: lambda event, _: answering.page(event),
            topic_of(semantic_pb2.MemoryHistoryRequest).name: lambda event, _: answering.history(event),
            topic_of(context_pb2.RecallRequest).name: lambda event, _: recalling.recall(event),
        }
        self._indexer.start()

    def apply(self, transaction: SemanticTransaction, event: Event) -> None:
        self._effects[event.topic](transaction, event)

    def after_commit(self) -> None:
        self._indexer.wake()

    def settled(self, applied: int) -> int:
        oldest = self._queue.oldest_pending()
        return min(applied, oldest - 1) if oldest else applied

    def status(self) -> dict[str, object]:
        active, _ = self._live.current()
        model = self._indexer.model_fingerprint
        job = self._queue.job()
        shown: dict[str, object] = {
            "memories": self.state.count(), "index": self._live.status(), "index_outbox": self._queue.pending_count(),
            "fingerprint": active, "model_mismatch": bool(active and model and active != model),
            "not_embedded": self._indexer.skipped,
        }  # fmt: skip
        if self._indexer.waits_for:
            shown["indexer_waits_for"] = self._indexer.waits_for
        if job is not None:
            shown["maintenance"] = {"rebuild": job.rebuild, "stage": job.stage, "after_row": job.after_row}
        return shown

    def export(self, user: str, after: str, limit: int) -> bus_pb2.ExportPage:
        return export_page(self.state, user, after, limit)

    def close(self) -> None:
        self._stop.set()
        self._indexer.close()
        self._live.close()
        self.state.close()

    def _with_rules(self, effect: Callable[[SemanticTransaction, Event, writing.FormationRules], None]) -> Effect:
        return lambda transaction, event: effect(transaction, event, self._rules)

    def _update(self, transaction: SemanticTransaction, event: Event) -> None:
        self._answered(transaction, event, lambda: writing.update_memory(transaction, event, self._rules))

    def _invalidate(self, transaction: SemanticTransaction, event: Event) -> None:
        self._answered(transaction, event, lambda: writing.invalidate_memory(transaction, event))

    def _answered(self, transaction: SemanticTransaction, event: Event, effect: Callable[[], Memory]) -> None:
        """Reply with the memory, or with the refusal: nothing was changed where a rule refused."""
        outcome: Message | AicoMemoryError
        try:
            memory = effect()
            outcome = semantic_pb2.MemoryPage(records=[record_message(memory, transaction.evidence(memory.memory_id))])
        except AicoMemoryError as error:
            if error.code not in _REFUSALS:
                raise
            outcome = error
        if event.reply_to:
            transaction.emit(reply_record(event, outcome))


_REFUSALS = frozenset({"not_found", "immutable", "refused_transition", "invalid_message"})
