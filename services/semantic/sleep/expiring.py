"""Phase 7: what is past its stated end, and what nothing confirmed for the time its kind lives."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from aico_memory.domain import lifecycle
from aico_memory.domain.gate.statement import Known, lapse
from aico_memory.domain.kinds import DAY_US, ITEM_KINDS, days_between, kept_for_good, policy_of
from aico_memory.domain.memory import Condition, Memory
from aico_memory.domain.sleep import names
from aico_memory.domain.sleep.upkeep import AWAKE, UNANCHORED
from aico_memory.domain.strength.forgetting import confirmed_at_us, faded
from aico_memory.ids import derive_id
from aico_memory.settings.memory_model import KindsSettings
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.graphing import Graphing
from services.semantic.sleep.phase import Outcome, Sample, Step
from services.semantic.sleep.stages import Part, Stage, following, in_stages, shorter
from services.semantic.sleep.strength_phases import after_id, note_changes


class Expiry:
    """Ended items expire; stale ones expire, or rest where their kind is kept for good."""

    name = names.EXPIRY

    def __init__(self, kinds: KindsSettings, graphing: Graphing) -> None:
        self._kinds = kinds
        self._graphing = graphing
        lives = {kind: policy_of(kind, kinds).ttl_days for kind in ITEM_KINDS}
        self._lives = {kind: days for kind, days in lives.items() if days is not None}
        self._resting = tuple(kind for kind in self._lives if kept_for_good(kind, kinds))
        self._expiring = tuple(kind for kind in self._lives if kind not in self._resting)
        self._stages: Mapping[str, Stage] = {
            "ended": shorter(self._ended, 4),
            "stale": shorter(self._stale, 4),
            "unconfirmed": shorter(self._unconfirmed, 2),
        }

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """The next items of a scope that are past their end."""
        return in_stages(transaction, step, self._stages)

    def _ended(self, transaction: SemanticTransaction, step: Step) -> Part:
        return self._faded(transaction, step, (Condition("valid_until_us", "le", step.at_us),))

    def _stale(self, transaction: SemanticTransaction, step: Step) -> Part:
        return self._faded(transaction, step, self._since_long(step, self._expiring)) if self._expiring else Part()

    def _unconfirmed(self, transaction: SemanticTransaction, step: Step) -> Part:
        awake = Condition("tier", "in", AWAKE)
        return self._faded(transaction, step, (*self._since_long(step, self._resting), awake)) if self._resting else Part()

    def _since_long(self, step: Step, kinds: tuple[str, ...]) -> tuple[Condition, ...]:
        """Of these kinds, and confirmed before the shortest of their lives."""
        before_us = step.at_us - round(min(self._lives[kind] for kind in kinds) * DAY_US)
        unconfirmed = (Condition(name, "le", before_us) for name in ("created_at_us", "last_referenced_us"))
        return (Condition("kind", "in", kinds), *unconfirmed)

    def _faded(self, transaction: SemanticTransaction, step: Step, wanted: Sequence[Condition]) -> Part:
        page = transaction.outlines(step.scope, step.owner, (*wanted, *UNANCHORED), after_id(step), step.limit)
        pairs = [(one, faded(one, confirmed_at_us(one), step.at_us, self._kinds)) for one in page]
        resting = [(old, new) for old, new in pairs if new.status == "active" and new != old]
        gone = {old.memory_id: new for old, new in pairs if new.status != "active"}
        for old, new in resting:
            transaction.put_outline(new, step.sequence)
            note_changes(transaction, step, old, new, f"sleep: {self._why(old, step)}")
        self._expire(transaction, step, gone)
        samples = [
            Sample(old.memory_id, "expired" if old.memory_id in gone else "rested", self._why(old, step), old.kind)
            for old, new in pairs
            if new != old
        ]
        counts = {"expired": len(gone), "rested": len(resting)}
        changed = {"invalidated": list(gone), "demoted": [old.memory_id for old, _ in resting]}
        return Part(
            len(page), {name: count for name, count in counts.items() if count}, samples, changed, following(page, step)
        )

    def _expire(self, transaction: SemanticTransaction, step: Step, gone: Mapping[bytes, Memory]) -> None:
        ended: list[Known] = []
        for known in transaction.known(list(gone), [step.scope]):
            memory = known.memory
            # The outline knows no words; what was decided is its end.
            outline = gone[memory.memory_id]
            after = replace(
                memory, status=outline.status, valid_until_us=outline.valid_until_us,
                invalidated_at_us=outline.invalidated_at_us, updated_at_us=outline.updated_at_us,
            )  # fmt: skip
            transaction.put_outline(after, step.sequence)
            note_changes(transaction, step, memory, after, f"sleep: {self._why(memory, step)}")
            self._tell_the_chain(transaction, step, after)
            ended.append(replace(known, memory=after))
        for variant in transaction.variants([one.memory.memory_id for one in ended]):
            settled = variant.memory
            if settled.status == "active" and not settled.immutable and settled.memory_id not in gone:
                over = lifecycle.superseded(settled, settled.variant_of or b"", step.at_us, step.at_us)
                transaction.put_outline(over, step.sequence)
                note_changes(transaction, step, settled, over, "sleep: what it doubted is over")
        self._graphing.follow(transaction, ended)

    @staticmethod
    def _tell_the_chain(transaction: SemanticTransaction, step: Step, memory: Memory) -> None:
        """Its end stands among the statements of its key, so that folding them anew does not bring it back."""
        held = transaction.statement(memory.memory_id)
        if held is None or held[1] != "kept" or not held[0].fact.predicate:
            return
        mark = derive_id(uuid.UUID(bytes=memory.memory_id), f"lapsed {step.at_us}").bytes
        ended_us = memory.valid_until_us
        transaction.keep_statement(lapse(held[0], mark, step.cause.bytes, ended_us, step.at_us), "kept")

    def _why(self, memory: Memory, step: Step) -> str:
        if memory.valid_until_us <= step.at_us:
            return "past its end"
        return f"nothing confirmed it for {days_between(confirmed_at_us(memory), step.at_us):.0f} days"
