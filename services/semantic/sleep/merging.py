"""Phase 11: of items that say the same one is enough; every pair of a scope is looked at, by the stored vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from aico_memory.domain import lifecycle
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.graph.relations import relate
from aico_memory.domain.memory import OPEN, Memory
from aico_memory.domain.sleep.clusters import may_be_clustered
from aico_memory.domain.sleep.derived import is_derived
from aico_memory.domain.sleep.names import REDUNDANCY
from aico_memory.domain.sleep.redundancy import Twins, Wording, close_pairs, compared_words, merges, wording_of
from aico_memory.domain.temporal.evolution import differences
from aico_memory.models.sleep_tables import SleepWords
from aico_memory.settings.knowledge import KnowledgeSettings
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.sleep.deriving import News
from services.semantic.sleep.phase import Outcome, Sample, Step
from services.semantic.sleep.theming import SAMPLES

_NEVER: frozenset[str] = frozenset()


class Redundancy:
    """Each step compares the next items of the scope with all that follow them."""

    name = REDUNDANCY

    def __init__(self, languages: Mapping[str, SleepWords], figures: KnowledgeSettings) -> None:
        self._languages = languages
        self._figures = figures

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """Rows of one block against the rest; `after` is the id of the last item that was compared with all others."""
        outlines = [
            one for one in transaction.active_outlines(step.scope)
            if one.owner == step.owner and may_be_clustered(one, step.at_us) and one.memory_id.hex() > step.after
        ]  # fmt: skip
        if not outlines:
            return Outcome()
        fingerprint = transaction.active_fingerprint()
        found = transaction.vectors_of([one.memory_id for one in outlines], fingerprint) if fingerprint else {}
        with_vector = [one for one in outlines if one.memory_id in found]
        block = min(step.limit, len(with_vector))
        counts = {"seen": block, "without_vector": len(outlines) - len(with_vector), "compared": 0, "close": 0, "merged": 0}
        if not block:
            return Outcome(counts)
        rows = np.stack([found[one.memory_id] for one in with_vector])
        counts["compared"] = block * (len(with_vector) - block) + block * (block - 1) // 2
        pairs = close_pairs(rows, 0, block, self._figures.redundancy_cosine)
        counts["close"] = len(pairs)
        last = with_vector[block - 1].memory_id.hex()
        after = last if block < len(with_vector) else ""
        if after:
            # The rest is counted by the step that begins there.
            counts["without_vector"] = sum(one.memory_id.hex() <= last for one in outlines) - block
        news = News()
        samples: list[Sample] = []
        for twins in self._merges(transaction, step, with_vector, pairs):
            if self._merge(transaction, step, twins):
                counts["merged"] += 1
                news.add("superseded", twins.merged)
                news.add("reinforced", twins.kept)
                detail = f"cosine {twins.cosine:.2f}, the same words"
                samples.append(Sample(twins.merged, "merged", "redundancy", detail, (twins.kept,)))
        return Outcome(counts, tuple(samples[:SAMPLES]), news.changed, after)

    def _merges(
        self, transaction: SemanticTransaction, step: Step, outlines: list[Memory], pairs: list[tuple[int, int, float]]
    ) -> tuple[Twins, ...]:
        if not pairs:
            return ()
        places = sorted({place for left, right, _ in pairs for place in (left, right)})
        known = transaction.known([outlines[place].memory_id for place in places], [step.scope])
        at = {one.memory.memory_id: number for number, one in enumerate(known)}
        inside = [
            (at[outlines[left].memory_id], at[outlines[right].memory_id], cosine)
            for left, right, cosine in pairs
            if outlines[left].memory_id in at and outlines[right].memory_id in at
        ]
        return merges(known, inside, self._wording, transaction.mean_access(step.scope))

    def _merge(self, transaction: SemanticTransaction, step: Step, twins: Twins) -> bool:
        found = {one.memory.memory_id: one for one in transaction.known([twins.kept, twins.merged], [step.scope])}
        kept, merged = found[twins.kept], found[twins.merged]
        if "superseded" not in lifecycle.TRANSITIONS[merged.memory.status]:
            return False
        gone = lifecycle.superseded(merged.memory, twins.kept, OPEN, step.at_us)
        self._put(transaction, step, merged, gone)
        # Both are reversible from what is stored: proof and ties are copied, nothing is moved away.
        for proof in transaction.evidence(twins.merged):
            transaction.add_evidence(replace(proof, memory_id=twins.kept))
        ties = [relate(twins.kept, "supersedes", twins.merged, twins.cosine, step.at_us)]
        known_ties = transaction.relations([twins.merged])
        gave_way = [one.object for one in known_ties if one.type == "supersedes" and one.subject == twins.merged]
        for earlier in transaction.known(gave_way, [step.scope]):
            # What gave way to it before gives way to the other now: no chain has to be followed.
            if earlier.memory.superseded_by == twins.merged and earlier.memory.valid_until_us == OPEN:
                self._put(transaction, step, earlier, replace(earlier.memory, superseded_by=twins.kept))
                ties.append(relate(twins.kept, "supersedes", earlier.memory.memory_id, twins.cosine, step.at_us))
        ends = sorted({end for one in known_ties for end in (one.subject, one.object)})
        # A summary knows by itself which items it tells.
        derived = {one.memory.memory_id for one in transaction.known(ends, [step.scope]) if is_derived(one.memory)}
        for one in known_ties:
            if one.subject in derived:
                continue
            ends = [twins.kept if end == twins.merged else end for end in (one.subject, one.object)]
            if ends[0] != ends[1] and one.type not in {"supersedes", "contradicts"}:
                ties.append(relate(ends[0], one.type, ends[1], one.confidence, one.at_us))
        transaction.add_relations(ties)
        self._put(transaction, step, kept, _with(kept, merged.memory, step.at_us))
        return True

    @staticmethod
    def _put(transaction: SemanticTransaction, step: Step, before: Known, after: Memory) -> None:
        if after == before.memory:
            return
        transaction.put_item(replace(before, memory=after), None, step.sequence)
        for change in differences(before.memory, after, step.at_us, step.cause.bytes, "sleep: says the same as another"):
            transaction.add_evolution(change)

    def _wording(self, memory: Memory) -> Wording:
        known = self._languages.get(memory.language)
        said = compared_words(memory.text, memory.language)
        if known is None:
            return wording_of(said, _NEVER, lambda word: False)
        return wording_of(said, known.empty, known.tells_time)


def _with(kept: Known, merged: Memory, at_us: int) -> Memory:
    """What the other was believed, used and referred to counts for the one that stays; an immutable one stays as it is.

    Not its importance: by that items are clustered, and a merge must part no cluster.
    """
    memory = kept.memory
    if memory.immutable:
        return memory
    return replace(
        memory, confidence=max(memory.confidence, merged.confidence),
        last_accessed_us=max(memory.last_accessed_us, merged.last_accessed_us),
        last_referenced_us=max(memory.last_referenced_us, merged.last_referenced_us), updated_at_us=at_us,
    )  # fmt: skip
