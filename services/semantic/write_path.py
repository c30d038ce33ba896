"""The write path put together: forming before the transaction; gate, persistence and edits inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from google.protobuf.message import Message

from aico_memory.contracts.envelope import Event, reply_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import extraction_pb2, semantic_pb2, working_pb2
from aico_memory.domain.formation.grammar import FormationTables
from aico_memory.domain.memory import RECORD, Memory
from aico_memory.errors import AicoMemoryError
from aico_memory.settings.root import Settings
from aico_memory.stores.semantic.item_port import ItemReads
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.activation import Activation
from services.semantic.convert import record_message
from services.semantic.editing import Editing
from services.semantic.embedding import Embedder
from services.semantic.enriching import Enriching
from services.semantic.explaining import item_message
from services.semantic.forming import Forming
from services.semantic.gating import Gating
from services.semantic.graphing import Graphing
from services.semantic.index_updates import IndexUpdates
from services.semantic.persisting import Persisting
from services.semantic.second_look import SecondLook
from services.semantic.tokens import FormationRules
from services.semantic.writing import Writing, ask_for_maintenance

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

Effect = Callable[[SemanticTransaction, Event], None]
# What a person is told; anything else is tried again.
REFUSALS = frozenset({"not_found", "immutable", "refused_transition", "invalid_message", "read_only", "access_denied"})
_DAY_US = 86_400_000_000


class WritePath:
    """What each event does to L1."""

    def __init__(
        self,
        reads: ItemReads,
        rules: FormationRules,
        tables: FormationTables,
        embedder: Embedder,
        settings: Settings,
        log: FilteringBoundLogger,
        give_way: Callable[[], None],
    ) -> None:
        figures, model = settings.write_path, settings.memory_model
        self._work = figures.work
        self._identity = settings.identity
        # Beginning of the day for which what is not kept longer has gone: in a transaction that stands, and in the present one.
        self._pruned_us = self._pruning_us = 0
        self.forming = Forming(reads, tables, rules.gazetteer, embedder, figures.work, figures.score, log, give_way)
        self.graphing = Graphing(model.graph)
        self.persisting = Persisting(rules, self.graphing, model, figures)
        self.gating = Gating(tables, self.persisting, model, figures)
        asked = max(figures.score.recent_queries, settings.consolidation.importance_questions)
        self.second_look = SecondLook(self.gating, self.forming, self.graphing, figures.work.statements)
        self.writing = Writing(
            rules, self.forming, self.gating, self.second_look.taken_up, figures.work.waiting, asked, give_way
        )
        self.editing = Editing(rules, self.forming, self.gating, self.graphing, settings.identity, model.confidence)
        self.enriching = Enriching(self.forming, self.gating, settings.language_model)
        self.updates = IndexUpdates(rules, self.graphing, self.gating.policy, settings.identity)
        self.activation = Activation(figures, model.retention, settings.identity, self.gating.policy, give_way)
        self.effects: Mapping[str, Effect] = {
            topic_of(working_pb2.Message).name: self.writing.write,
            topic_of(working_pb2.ToolResult).name: self.writing.write,
            topic_of(working_pb2.Turn).name: self.writing.write,
            topic_of(extraction_pb2.FactsExtracted).name: self.enriching.take,
            topic_of(semantic_pb2.UpdateMemory).name: self._update,
            topic_of(semantic_pb2.InvalidateMemory).name: self._invalidate,
            topic_of(semantic_pb2.AnchorMemory).name: self._anchor,
            topic_of(semantic_pb2.ReplayExperiences).name: self.writing.replay,
            topic_of(semantic_pb2.MemoriesUsed).name: self.activation.note_use,
            topic_of(semantic_pb2.Reindex).name: ask_for_maintenance,
            topic_of(semantic_pb2.UpdateIndex).name: self._update_index,
        }

    def prepare(self, events: Sequence[Event]) -> None:
        """Read what the events state and embed it, before the transaction."""
        self._pruning_us = self._pruned_us
        self.forming.prepare(events)

    def applied(self, transaction: SemanticTransaction, event: Event) -> None:
        """After each event: what a model is to read is queued; with the first of a day, what is not kept longer goes."""
        self.enriching.queue(transaction, event)
        # By days of the bus's clock and not by a count of records: how many there are depends on the machine's speed (reports
        # of use, batches of a replay), and the same stream has to lead to the same state.
        day_us = (event.received_us or event.occurred_us) // _DAY_US * _DAY_US
        if day_us > self._pruning_us:
            self._pruning_us = day_us
            transaction.forget_before(day_us - round(self._work.kept_days * _DAY_US), day_us)

    def committed(self) -> None:
        """What was applied stands."""
        self.forming.committed()
        self._pruned_us = self._pruning_us

    def _update(self, transaction: SemanticTransaction, event: Event) -> None:
        answered(transaction, event, lambda: self._page(transaction, event, self._edited(transaction, event)))

    def _edited(self, transaction: SemanticTransaction, event: Event) -> Memory:
        edited = self.editing.update(transaction, event)
        self.enriching.queue_edit(transaction, event, edited)
        return edited

    def _anchor(self, transaction: SemanticTransaction, event: Event) -> None:
        answered(transaction, event, lambda: self._page(transaction, event, self.editing.anchor(transaction, event)))

    def _update_index(self, transaction: SemanticTransaction, event: Event) -> None:
        answered(transaction, event, lambda: self.updates.update(transaction, event))

    def _invalidate(self, transaction: SemanticTransaction, event: Event) -> None:
        answered(transaction, event, lambda: self._page(transaction, event, self.editing.invalidate(transaction, event)))

    def _page(self, transaction: SemanticTransaction, event: Event, memory: Memory) -> Message:
        """The memory as it stands now, an item with its reading."""
        evidence = transaction.evidence(memory.memory_id)
        known = [] if memory.kind == RECORD else transaction.known([memory.memory_id], [memory.scope])
        if not known:
            return semantic_pb2.MemoryPage(records=[record_message(memory, evidence)])
        return semantic_pb2.MemoryPage(records=[item_message(known[0], evidence, self._identity.names(event.user))])


def answered(transaction: SemanticTransaction, event: Event, effect: Callable[[], Message]) -> None:
    """Reply with what the effect gives, or with the refusal: nothing was changed where a rule refused."""
    outcome: Message | AicoMemoryError
    try:
        with transaction.attempt():
            outcome = effect()
    except AicoMemoryError as error:
        if error.code not in REFUSALS:
            raise
        outcome = error
    if event.reply_to:
        transaction.emit(reply_record(event, outcome))
