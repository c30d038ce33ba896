"""Phase 15: the links of the unified index, from items to what they rest on and to each other; what dangles is repaired."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import RECORD, Memory
from aico_memory.domain.sleep.derived import is_derived
from aico_memory.domain.sleep.names import INDEX
from aico_memory.domain.temporal.evolution import differences
from aico_memory.ids import derive_id
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.editing import VERSION
from services.semantic.graphing import Graphing
from services.semantic.sleep.deriving import News, set_aside
from services.semantic.sleep.phase import Outcome, Sample, Step
from services.semantic.sleep.pruning import edges_behind
from services.semantic.sleep.theming import SAMPLES


class UnifiedIndex:
    """A page of items a step. Vectors and words are checked by the index job, which reads the whole store anyway."""

    name = INDEX

    def __init__(self, graphing: Graphing) -> None:
        self._graphing = graphing

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """Items beyond `after`, by ascending id."""
        page = transaction.items([step.scope], (), bytes.fromhex(step.after), step.limit)
        own = [one for one in page if one.memory.owner == step.owner]
        if not own and len(page) < step.limit:
            return Outcome()
        mended = self.mended(transaction, step, own)
        after = page[-1].memory.memory_id.hex() if len(page) == step.limit else ""
        return replace(mended, after=after)

    def mended(self, transaction: SemanticTransaction, step: Step, own: Sequence[Known]) -> Outcome:
        """The links of these items, of one scope, repaired."""
        counts: Counter[str] = Counter(seen=len(own), links=0, dangling=0, repaired=0)
        news = News()
        samples: list[Sample] = []
        self._evidence(transaction, step, own, counts, samples, news)
        self._references(transaction, step, own, counts, samples, news)
        self._relations(transaction, step, own, counts)
        self._edges(transaction, own, counts)
        return Outcome(counts, tuple(samples[:SAMPLES]), news.changed)

    @staticmethod
    def _evidence(
        transaction: SemanticTransaction, step: Step, own: Sequence[Known], counts: Counter[str], samples: list[Sample],
        news: News,
    ) -> None:  # fmt: skip
        """L1 → L0: the message of each proof has its record, an edit the version that it replaced.

        A summary that rests on nothing is told no more.
        """
        proofs = {one.memory.memory_id: transaction.evidence(one.memory.memory_id) for one in own}
        messages = {proof.event_id for found in proofs.values() for proof in found if len(proof.event_id) == 16}
        left = {
            derive_id(uuid.UUID(bytes=event_id), what).bytes: event_id for event_id in messages for what in (RECORD, VERSION)
        }
        there = {left[one.memory.memory_id] for one in transaction.known(sorted(left), [step.scope])}
        for one in own:
            found = proofs[one.memory.memory_id]
            counts["links"] += len(found)
            counts["without_record"] += sum(proof.event_id not in there for proof in found)
            if found:
                continue
            counts["without_evidence"] += 1
            samples.append(Sample(one.memory.memory_id, "found", "without_evidence"))
            if is_derived(one.memory) and one.memory.status == "active":
                reason = "sleep: it rests on nothing"
                news.add("updated", *set_aside(transaction, [one], step.at_us, step.cause, step.sequence, reason))
                counts.update({"dangling": 1, "repaired": 1})

    @staticmethod
    def _references(
        transaction: SemanticTransaction, step: Step, own: Sequence[Known], counts: Counter[str], samples: list[Sample],
        news: News,
    ) -> None:  # fmt: skip
        """superseded_by, variant_of and version_of name items that are there."""
        named = {end for one in own for end in _named(one.memory)}
        there = {one.memory.memory_id for one in transaction.known(sorted(named), [step.scope])}
        for one in own:
            memory = one.memory
            counts["links"] += len(_named(memory))
            gone = [end for end in _named(memory) if end not in there]
            if not gone:
                continue
            mended = replace(
                memory, superseded_by=_kept(memory.superseded_by, there), variant_of=_kept(memory.variant_of, there),
                version_of=_kept(memory.version_of, there),
            )  # fmt: skip
            if mended.variant_of is None and memory.variant_of is not None and memory.status == "active":
                # Nothing is left that it doubts; it may be the key's only item now, or one too many.
                mended = replace(mended, status="superseded", invalidated_at_us=step.at_us)
            transaction.put_item(replace(one, memory=replace(mended, updated_at_us=step.at_us)), None, step.sequence)
            for change in differences(memory, mended, step.at_us, step.cause.bytes, "sleep: what it named is not there"):
                transaction.add_evolution(change)
            news.add("updated", memory.memory_id)
            counts.update({"dangling": len(gone), "repaired": len(gone)})
            samples.append(Sample(memory.memory_id, "repaired", "dangling_reference", others=tuple(gone)))

    @staticmethod
    def _relations(transaction: SemanticTransaction, step: Step, own: Sequence[Known], counts: Counter[str]) -> None:
        """Both ends of a relation are there and in this scope."""
        ids = [one.memory.memory_id for one in own]
        relations = transaction.relations(ids)
        ends = {end for one in relations for end in (one.subject, one.object)}
        there = {one.memory.memory_id for one in transaction.known(sorted(ends), [step.scope])}
        lost = [one.key for one in relations if one.subject not in there or one.object not in there]
        transaction.drop_relations(lost)
        counts.update({"links": len(relations), "dangling": len(lost), "repaired": len(lost)})

    def _edges(self, transaction: SemanticTransaction, own: Sequence[Known], counts: Counter[str]) -> None:
        """Edges say of their validity what is believed of the items that state them."""
        behind = edges_behind(transaction, own)
        self._graphing.follow(transaction, behind)
        stated = sum(bool(one.predicate) for one in own)
        counts.update({"links": stated, "dangling": len(behind), "repaired": len(behind)})


def _named(memory: Memory) -> tuple[bytes, ...]:
    return tuple(end for end in (memory.superseded_by, memory.variant_of, memory.version_of) if end is not None)


def _kept(end: bytes | None, there: Iterable[bytes]) -> bytes | None:
    return end if end in set(there) else None
