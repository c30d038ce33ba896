"""Phases over the strengths of single items: decay, emotion, utility, rehearsal. None of them opens anybody's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aico_memory.domain.kinds import days_between
from aico_memory.domain.memory import Condition, Memory
from aico_memory.domain.sleep import names, upkeep
from aico_memory.domain.strength.forgetting import last_use_us
from aico_memory.domain.strength.retention import endangered, rehearsed
from aico_memory.domain.temporal.evolution import differences
from aico_memory.settings.memory_model import MemoryModelSettings
from aico_memory.stores.semantic.item_port import Upkeep
from aico_memory.stores.semantic.port import SemanticTransaction
from aico_memory.stores.semantic.sleep_port import Rested
from services.semantic.sleep.phase import Outcome, Sample, Step

Changed = list[tuple[Memory, Memory]]


class _Fading:
    """Something of what is unused grows less, or drifts, over time."""

    name: str
    what: Upkeep
    # The strength that changes, and what that is called.
    strength: str
    called: str

    def __init__(self, figures: MemoryModelSettings) -> None:
        self._figures = figures

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """Items beyond `after` for which it is due."""
        rested = Rested(self.what, upkeep.period_start_us(step.at_us, self._figures))
        found = transaction.outlines(step.scope, step.owner, self._may(step.at_us), after_id(step), step.limit, rested)
        applied = transaction.applied_at(self.what, _ids(found))
        pairs = [(one, self._faded(one, applied.get(one.memory_id, 0), step.at_us)) for one in found]
        kept(transaction, step, self.what, pairs, found)
        samples = tuple(
            Sample(old.memory_id, self.called, f"{old.kind} unused for {_idle_days(old, step):.0f} days",
                   f"{self.strength} {getattr(old, self.strength):.3f} to {getattr(new, self.strength):.3f}")
            for old, new in upkeep.greatest_change(pairs, self.strength)
        )  # fmt: skip
        changed = [old.memory_id for old, new in pairs if new != old]
        return outcome(found, step, {self.called: len(changed)}, samples, {"updated": changed})

    def _may(self, at_us: int) -> Sequence[Condition]:
        raise NotImplementedError

    def _faded(self, memory: Memory, applied_us: int, at_us: int) -> Memory:
        raise NotImplementedError


class Decay(_Fading):
    """Phase 1: confidence of what is unused decays, by kind and tier."""

    name, what, strength, called = names.DECAY, "decay", "confidence", "decayed"

    def _may(self, at_us: int) -> Sequence[Condition]:
        return upkeep.may_decay(at_us, self._figures)

    def _faded(self, memory: Memory, applied_us: int, at_us: int) -> Memory:
        return upkeep.decayed_item(memory, applied_us, at_us, self._figures)


class Utility(_Fading):
    """Phase 5: utility drifts back to neutral."""

    name, what, strength, called = names.UTILITY, "drift", "utility", "drifted"

    def _may(self, at_us: int) -> Sequence[Condition]:
        return upkeep.may_drift(at_us, self._figures)

    def _faded(self, memory: Memory, applied_us: int, at_us: int) -> Memory:
        return upkeep.drifted_item(memory, applied_us, at_us, self._figures)


class Emotion:
    """Phase 2: flashbulbs last longer."""

    name = names.EMOTION

    def __init__(self, figures: MemoryModelSettings) -> None:
        self._figures = figures

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """Flashbulbs beyond `after` that were not relived in this period."""
        rested = Rested("emotion", upkeep.period_start_us(step.at_us, self._figures))
        found = transaction.outlines(step.scope, step.owner, upkeep.FLASHBULBS, after_id(step), step.limit, rested)
        pairs = [(one, upkeep.relived(one, self._figures.retention)) for one in found]
        kept(transaction, step, "emotion", pairs, found)
        samples = tuple(_stronger(old, new, "a flashbulb memory") for old, new in pairs)
        return outcome(found, step, {"strengthened": len(found)}, samples, {})


class Rehearsal:
    """Phase 6: what is about to be lost is replayed, the weakest first, so many a cycle."""

    name = names.REHEARSAL

    def __init__(self, figures: MemoryModelSettings) -> None:
        self._figures = figures

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """The weakest that were not rehearsed in this period, as far as there is room in the cycle."""
        figures = self._figures.retention
        rested = Rested("rehearsal", step.at_us - round(figures.rehearsal_period_hours * 3_600_000_000))
        done = transaction.applied_count(rested, step.scope, step.owner)
        room = upkeep.rehearsal_room(done, step.limit, figures)
        if not room:
            return Outcome()
        found = transaction.waning(step.scope, step.owner, step.at_us, upkeep.waning_us(figures), rested, room)
        applied = transaction.applied_at("rehearsal", _ids(found))
        weak = endangered([(one, applied.get(one.memory_id, 0)) for one in found], step.at_us, figures)
        pairs = [(one.memory, rehearsed(one.memory, figures)) for one in weak]
        kept(transaction, step, "rehearsal", pairs, [one.memory for one in weak])
        samples = tuple(
            _stronger(old, new, f"retrievability {one.retrievability:.2f}", "rehearsed")
            for one, (old, new) in zip(weak, pairs, strict=True)
        )
        counts = {"seen": len(found), "rehearsed": len(pairs)} if found else {}
        more = len(pairs) == step.limit and done + len(pairs) < figures.rehearsals_per_cycle
        return Outcome(counts, samples, {}, "more" if more else "")


def after_id(step: Step) -> bytes:
    """The id behind which a step begins, where a phase goes through items by id."""
    return bytes.fromhex(step.after)


def outcome(
    found: Sequence[Memory], step: Step, counts: Mapping[str, int], samples: tuple[Sample, ...],
    changed: Mapping[str, Sequence[bytes]],
) -> Outcome:  # fmt: skip
    """Of a page by id: full pages have another behind them."""
    following = found[-1].memory_id.hex() if len(found) == step.limit else ""
    return Outcome({"seen": len(found), **counts} if found else {}, samples, changed, following)


def kept(transaction: SemanticTransaction, step: Step, what: Upkeep, pairs: Changed, seen: Sequence[Memory]) -> None:
    """New strengths and what they follow from; that it was applied to all that were seen."""
    for old, new in pairs:
        if new == old:
            continue
        transaction.set_strength(new)
        note_changes(transaction, step, old, new, f"sleep: {what}")
    transaction.note_applied(what, dict.fromkeys(_ids(seen), step.at_us))


def note_changes(transaction: SemanticTransaction, step: Step, old: Memory, new: Memory, reason: str) -> None:
    """One record for each recorded field that changed, caused by the step."""
    for change in differences(old, new, step.at_us, step.cause.bytes, reason):
        transaction.add_evolution(change)


def _stronger(old: Memory, new: Memory, rule: str, decision: str = "strengthened") -> Sample:
    return Sample(old.memory_id, decision, rule, f"stability {old.stability:.1f} to {new.stability:.1f} days")


def _idle_days(memory: Memory, step: Step) -> float:
    return days_between(last_use_us(memory), step.at_us)


def _ids(found: Sequence[Memory]) -> list[bytes]:
    return [one.memory_id for one in found]
