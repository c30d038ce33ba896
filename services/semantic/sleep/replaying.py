"""Phase 3: pairs that were retrieved together are strengthened together; tags that ran out go."""

from __future__ import annotations

from aico_memory.domain.gate.tagging import Pair
from aico_memory.domain.graph.relations import due_for_pruning, relate
from aico_memory.domain.memory import Memory
from aico_memory.domain.sleep import names
from aico_memory.domain.strength.retention import strengthened
from aico_memory.settings.memory_model import MemoryModelSettings
from aico_memory.settings.write_path import TagSettings
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.sleep.phase import Outcome, Sample, Step


class Synapses:
    """Each new retrieval of a pair is replayed once; items that belong together are related from then on."""

    name = names.SYNAPSES

    def __init__(self, model: MemoryModelSettings, tags: TagSettings) -> None:
        self._model = model
        self._tags = tags

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """The next pairs of a scope; what was replayed is not due any more."""
        # A pair touches two items.
        limit = max(1, step.limit // 2)
        due = transaction.pairs_due(step.scope, step.owner, self._tags.pair_count, limit)
        ids = sorted({memory_id for pair in due for memory_id in pair})
        items = {one.memory.memory_id: one.memory for one in transaction.known(ids, [step.scope])}
        stronger = dict(items)
        samples = []
        for pair, together in due.items():
            for memory_id in pair:
                if memory_id in stronger:
                    stronger[memory_id] = self._stronger(stronger[memory_id])
            samples.append(Sample(pair.first, "strengthened", f"retrieved together {together} times", "", (pair.second,)))
        for memory in stronger.values():
            transaction.set_strength(memory)
        related = self._relate(transaction, step, [pair for pair in due if set(pair) <= items.keys()])
        transaction.note_replayed(due)
        dropped = transaction.drop_tags(step.scope, step.owner, step.at_us)
        counts = {"seen": len(ids), "strengthened": len(stronger), "related": related} if due else {}
        if dropped:
            counts["dropped_tags"] = dropped
        return Outcome(counts, tuple(samples), {}, "more" if len(due) == limit else "")

    def _stronger(self, memory: Memory) -> Memory:
        return strengthened(memory, self._tags.together_factor, self._model.retention)

    def _relate(self, transaction: SemanticTransaction, step: Step, pairs: list[Pair]) -> int:
        """What fires together is related, where nothing says how yet."""
        ids = sorted({memory_id for pair in pairs for memory_id in pair})
        known = {frozenset((one.subject, one.object)) for one in transaction.relations(ids)}
        graph = self._model.graph
        found = [
            relate(pair.first, "related_to", pair.second, graph.related_confidence, step.at_us)
            for pair in pairs
            if frozenset(pair) not in known
        ]
        added = transaction.add_relations(found)
        if added and transaction.relation_count(step.scope) >= graph.prune_from:
            transaction.drop_relations(due_for_pruning(transaction.scope_relations(step.scope), graph))
        return added
