"""Phase 4: what proved itself moves up, what is neither used nor useful goes to rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from aico_memory.domain.graph.relations import SUPERSEDES
from aico_memory.domain.kinds import days_between
from aico_memory.domain.memory import Condition, Memory
from aico_memory.domain.sleep import names, places
from aico_memory.domain.sleep.derived import is_derived
from aico_memory.domain.sleep.places import PlaceCues
from aico_memory.domain.strength.forgetting import last_use_us
from aico_memory.settings.memory_model import MemoryModelSettings
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.sleep.phase import Outcome, Sample, Step
from services.semantic.sleep.stages import Part, Stage, following, in_stages, shorter
from services.semantic.sleep.strength_phases import after_id, note_changes

_Why = Callable[[Memory], str]


class Places:
    """Promotion by accesses, by utility, by siblings; then demotion."""

    name = names.PLACES

    def __init__(self, model: MemoryModelSettings, cues: Mapping[str, PlaceCues]) -> None:
        self._model = model
        self._figures = model.forgetting
        self._cues = cues
        self._stages: Mapping[str, Stage] = {
            "accessed": shorter(self._accessed, 3), "useful": shorter(self._useful, 3),
            "siblings": shorter(self._siblings, 4), "idle": shorter(self._idle, 2),
        }  # fmt: skip

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """The next moves of a scope."""
        return in_stages(transaction, step, self._stages)

    def _accessed(self, transaction: SemanticTransaction, step: Step) -> Part:
        found = self._due(transaction, step, places.often_accessed(self._figures))
        return self._promoted(transaction, step, found, lambda one: f"{one.access_count} accesses")

    def _useful(self, transaction: SemanticTransaction, step: Step) -> Part:
        found = self._due(transaction, step, places.useful_for_long(step.at_us, self._figures))
        return self._promoted(transaction, step, found, lambda one: f"utility {one.utility:.2f}")

    def _siblings(self, transaction: SemanticTransaction, step: Step) -> Part:
        least = self._figures.promote_siblings
        found = transaction.siblings(step.scope, step.owner, least, step.at_us, after_id(step), step.limit)
        return self._promoted(transaction, step, found, lambda one: f"{least} or more share an entity")

    def _idle(self, transaction: SemanticTransaction, step: Step) -> Part:
        found = self._due(transaction, step, places.long_useless(step.at_us, self._figures))
        samples = []
        for one in found:
            rest(transaction, step, one, "sleep: neither used nor useful")
            idle = f"unused for {days_between(last_use_us(one), step.at_us):.0f} days"
            samples.append(Sample(one.memory_id, "demoted", idle, f"utility {one.utility:.2f}"))
        ids = [one.memory_id for one in found]
        return Part(len(found), {"demoted": len(ids)} if ids else {}, samples, {"demoted": ids}, following(found, step))

    def _due(self, transaction: SemanticTransaction, step: Step, wanted: Sequence[Condition]) -> list[Memory]:
        return transaction.outlines(step.scope, step.owner, wanted, after_id(step), step.limit)

    def _promoted(self, transaction: SemanticTransaction, step: Step, found: Sequence[Memory], why: _Why) -> Part:
        doubtful = [one.memory_id for one in found if places.would_go_down(one, step.at_us, self._figures)]
        drifted = transaction.applied_at("drift", doubtful) if doubtful else {}
        rising = [
            one.memory_id for one in found
            if places.stays_up(one, drifted.get(one.memory_id, 0), step.at_us, self._model)
        ]  # fmt: skip
        samples = []
        # The words decide the place, so only these are opened.
        for known in transaction.known(rising, [step.scope]):
            memory = known.memory
            tier, sub_tier = places.place_of(memory, self._cues.get(memory.language))
            after = replace(memory, tier=tier, sub_tier=sub_tier, updated_at_us=step.at_us)
            transaction.put_outline(after, step.sequence)
            note_changes(transaction, step, memory, after, f"sleep: {why(memory)}")
            samples.append(Sample(memory.memory_id, "promoted", why(memory), f"{memory.sub_tier} to {sub_tier}"))
        ids = [one.memory_id for one in samples]
        return Part(len(found), {"promoted": len(ids)} if ids else {}, samples, {"promoted": ids}, following(found, step))


def rest(transaction: SemanticTransaction, step: Step, memory: Memory, reason: str) -> None:
    """An item goes dormant; a strong hit or its being said again wakes it. No summary stands for it any more."""
    after = replace(memory, tier="dormant", updated_at_us=step.at_us)
    transaction.put_outline(after, step.sequence)
    note_changes(transaction, step, memory, after, reason)
    ties = [
        one.key for one in transaction.relations([memory.memory_id])
        if one.type == SUPERSEDES and one.object == memory.memory_id
    ]  # fmt: skip
    if ties:
        holders = transaction.known(sorted({one.subject for one in ties}), [memory.scope])
        summaries = {one.memory.memory_id for one in holders if is_derived(one.memory)}
        transaction.drop_relations([one for one in ties if one.subject in summaries])
