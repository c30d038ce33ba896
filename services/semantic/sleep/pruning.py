"""Phase 14: old weak variants are given up; entities of one name become one, edges follow their items, activation spreads."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.gate.tagging import neighbours_of, spread
from aico_memory.domain.graph.entities import Identities, merge
from aico_memory.domain.memory import OPEN
from aico_memory.domain.sleep.derived import is_derived
from aico_memory.domain.sleep.names import VARIANTS
from aico_memory.domain.sleep.tidying import given_up, invalidated, one_entity
from aico_memory.domain.temporal.evolution import differences
from aico_memory.domain.temporal.versions import BELIEVED, version_of_memory
from aico_memory.ids import derive_id
from aico_memory.settings.memory_model import MemoryModelSettings
from aico_memory.settings.write_path import TagSettings
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.graphing import Graphing
from services.semantic.sleep.phase import Outcome, Sample, Step
from services.semantic.sleep.theming import SAMPLES


class Variants:
    """A page of items a step; the first also resolves the scope's entities."""

    name = VARIANTS

    def __init__(self, graphing: Graphing, model: MemoryModelSettings, tags: TagSettings) -> None:
        self._graphing = graphing
        self._model = model
        self._tags = tags

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """Items beyond `after`, by ascending id."""
        counts: Counter[str] = Counter(seen=0, invalidated=0)
        if not step.after:
            counts["merged_entities"] = self._resolve(transaction, step)
        page = transaction.items([step.scope], (), bytes.fromhex(step.after), step.limit)
        own = [one for one in page if one.memory.owner == step.owner]
        counts["seen"] = len(own)
        if not own and len(page) < step.limit:
            return Outcome()
        samples: list[Sample] = []
        for one in own:
            if given_up(one.memory, step.at_us, self._model.knowledge):
                self._give_up(transaction, step, one)
                counts["invalidated"] += 1
                detail = f"confidence {one.memory.confidence:.2f}"
                samples.append(Sample(one.memory.memory_id, "invalidated", "old_weak_variant", detail))
        counts["edges"] = self._follow(transaction, own)
        counts["spread"] = self._spread(transaction, step, own)
        after = page[-1].memory.memory_id.hex() if len(page) == step.limit else ""
        gone = [one.memory_id for one in samples]
        return Outcome(counts, tuple(samples[:SAMPLES]), {"invalidated": gone}, after)

    @staticmethod
    def _give_up(transaction: SemanticTransaction, step: Step, variant: Known) -> None:
        gone = invalidated(variant.memory, step.at_us)
        transaction.put_item(replace(variant, memory=gone), None, step.sequence)
        for change in differences(variant.memory, gone, step.at_us, step.cause.bytes, "sleep: an old weak variant"):
            transaction.add_evolution(change)

    @staticmethod
    def _resolve(transaction: SemanticTransaction, step: Step) -> int:
        merges = transaction.merges(step.scope)
        found = 0
        for kept, absorbed in one_entity(transaction.entities(step.scope), Identities(merges, OPEN)):
            # Once a pair: an undone merge has this id already, and is not made again.
            merge_id = derive_id(uuid.UUID(bytes=absorbed.entity_id), f"merged into {kept.entity_id.hex()}").bytes
            if any(one.merge_id == merge_id for one in merges):
                continue
            made = merge(kept, absorbed, merges, merge_id, step.at_us, "name", 1.0)
            if made is not None:
                transaction.put_merge(made, step.scope)
                merges = [*merges, made]
                found += 1
        return found

    def _follow(self, transaction: SemanticTransaction, items: Sequence[Known]) -> int:
        behind = edges_behind(transaction, items)
        self._graphing.follow(transaction, behind)
        return len(behind)

    def _spread(self, transaction: SemanticTransaction, step: Step, items: Sequence[Known]) -> int:
        """Neighbours of what was used since it was last done last longer, once."""
        active = [one.memory for one in items if one.memory.status == "active" and not is_derived(one.memory)]
        done = transaction.applied_at("spread", [one.memory_id for one in active])
        used = [one.memory_id for one in active if done.get(one.memory_id, 0) < one.last_accessed_us <= step.at_us]
        if not used:
            return 0
        near = sorted(neighbours_of(used, transaction.relations(used)))
        neighbours = [one.memory for one in transaction.known(near, [step.scope]) if one.memory.owner == step.owner]
        stronger = spread([step.scope], neighbours, self._tags, self._model.retention)
        for memory in stronger:
            transaction.set_strength(memory)
        transaction.note_applied("spread", dict.fromkeys(used, step.at_us))
        return len(stronger)


def edges_behind(transaction: SemanticTransaction, items: Sequence[Known]) -> list[Known]:
    """Items whose edge says something else of its validity than what is believed of the item."""
    stated = [one for one in items if one.predicate and not one.memory.variant_of]
    histories = transaction.histories([one.memory.memory_id for one in stated], BELIEVED)
    behind = []
    for one in stated:
        edge = transaction.edge_of(one.memory.memory_id)
        believed = version_of_memory(one.memory, histories[one.memory.memory_id]).beliefs
        if edge is not None and (edge.beliefs != believed or edge.confidence != one.memory.confidence):
            behind.append(one)
    return behind
