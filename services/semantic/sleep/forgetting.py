"""Phase 8: five rules of what rests, one after the other over a scope. Nothing is deleted.

The threshold of access below which the last two rules may act is found once, at the
beginning of the scope, and goes along from step to step, as does how many are too many.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aico_memory.domain.kinds import DAY_US, ITEM_KINDS
from aico_memory.domain.lifecycle import may_fade
from aico_memory.domain.memory import Condition, Memory, Scope
from aico_memory.domain.sleep import names
from aico_memory.domain.sleep.duplicates import say_the_same
from aico_memory.domain.sleep.likeness import Floats, close_pairs
from aico_memory.domain.sleep.upkeep import AWAKE, UNANCHORED, unused_since
from aico_memory.domain.strength import forgetting as rules
from aico_memory.settings.memory_model import MemoryModelSettings
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.sleep.phase import Outcome, Sample, Step
from services.semantic.sleep.placing import rest
from services.semantic.sleep.stages import Part, Stage, following, in_stages, shorter
from services.semantic.sleep.strength_phases import after_id


@dataclass(frozen=True, slots=True)
class _Vectors:
    """Of the awake items of an owner in a scope at the beginning of the rule, by ascending id."""

    # Scope, owner and moment of the steps that they are read for.
    place: tuple[Scope, str, int]
    ids: list[bytes]
    vectors: Floats


class Forgetting:
    """What is contradicted, over, of no use, told twice, or too much."""

    name = names.FORGETTING

    def __init__(self, model: MemoryModelSettings) -> None:
        self._model = model
        self._figures = model.forgetting
        self._held: _Vectors | None = None
        self._stages: Mapping[str, Stage] = {
            "contradicted": self._contradicted, "past": shorter(self._past, 2), "useless": shorter(self._useless, 2),
            "duplicates": self._duplicates, "room": shorter(self._room, 4),
        }  # fmt: skip

    def step(self, transaction: SemanticTransaction, step: Step) -> Outcome:
        """The next items that rest, by the first rule that still finds any."""
        return in_stages(transaction, step, self._stages)

    def _contradicted(self, transaction: SemanticTransaction, step: Step) -> Part:
        pairs = transaction.contradictions(step.scope, step.owner, bytes.fromhex(step.after), step.limit)
        known = transaction.known(sorted({memory_id for pair in pairs for memory_id in pair}), [step.scope])
        items = {one.memory.memory_id: one.memory for one in known}
        found: dict[bytes, tuple[Memory, str]] = {}
        for left, right in pairs:
            if left in items and right in items:
                older = rules.older(items[left], items[right])
                if may_fade(older) and older.owner == step.owner:
                    found.setdefault(older.memory_id, (older, "a later one contradicts it"))
        after = b"".join(pairs[-1]).hex() if len(pairs) == step.limit else ""
        return self._rested(transaction, step, found.values(), rules.CONTRADICTED, len(pairs), after)

    def _past(self, transaction: SemanticTransaction, step: Step) -> Part:
        wanted = (Condition("valid_until_us", "le", step.at_us), Condition("tier", "in", AWAKE), *UNANCHORED)
        page = transaction.outlines(step.scope, step.owner, wanted, after_id(step), step.limit)
        found = [(one, "what it says is over") for one in page]
        return self._rested(transaction, step, found, rules.PAST, len(page), following(page, step))

    def _useless(self, transaction: SemanticTransaction, step: Step) -> Part:
        figures = self._figures
        idle = unused_since(step.at_us - round(figures.useless_days * DAY_US))
        low = (Condition("utility", "lt", figures.useless_utility), Condition("tier", "in", AWAKE))
        page = transaction.outlines(step.scope, step.owner, (*low, *UNANCHORED, *idle), after_id(step), step.limit)
        found = [
            (one, f"utility {one.utility:.2f}, unused for long")
            for one in page
            if rules.is_useless(one, step.at_us, self._model.kinds, figures)
        ]
        return self._rested(transaction, step, found, rules.USELESS, len(page), following(page, step))

    def _duplicates(self, transaction: SemanticTransaction, step: Step) -> Part:
        if step.after:
            number, _, beyond = step.after.partition(" ")
            threshold = float(number)
        else:
            threshold, beyond = transaction.crowd(step.scope, step.owner).mean_accesses, ""
        held = self._vectors_of(transaction, step)
        first = bisect_right(held.ids, bytes.fromhex(beyond))
        last = min(first + step.limit, len(held.ids))
        pairs = close_pairs(held.ids, held.vectors, first, last, self._figures.duplicate_cosine)
        known = transaction.known(sorted({memory_id for left, right, _ in pairs for memory_id in (left, right)}), [step.scope])
        # What was put to rest or ended since the vectors were read is no partner any more.
        items = {one.memory.memory_id: one for one in known if one.memory.status == "active" and one.memory.tier in AWAKE}
        found: dict[bytes, tuple[Memory, str]] = {}
        for left, right, cosine in pairs:
            if {left, right} & found.keys() or not {left, right} <= items.keys():
                continue
            weaker = rules.less_useful(items[left].memory, items[right].memory)
            spare = rules.may_be_spared(weaker, threshold, step.at_us, self._model.kinds, self._figures)
            if spare and say_the_same(items[left], items[right]):
                found[weaker.memory_id] = (weaker, f"cosine {cosine:.2f} with another that says the same")
        after = f"{threshold!r} {held.ids[last - 1].hex()}" if last < len(held.ids) else ""
        if not after:
            self._held = None
        return self._rested(transaction, step, found.values(), rules.DUPLICATE, last - first, after)

    def _vectors_of(self, transaction: SemanticTransaction, step: Step) -> _Vectors:
        """Read once for all steps that follow each other, and again after a kill."""
        place = (step.scope, step.owner, step.at_us)
        if self._held is None or self._held.place != place or not step.after:
            fingerprint = transaction.active_fingerprint()
            self._held = _Vectors(place, *transaction.awake_vectors(step.scope, step.owner, fingerprint))
        return self._held

    def _room(self, transaction: SemanticTransaction, step: Step) -> Part:
        figures = self._figures
        if step.after:
            threshold, left = _numbers(step.after)
        else:
            crowd = transaction.crowd(step.scope, step.owner)
            threshold = crowd.mean_accesses
            left = crowd.awake - figures.active_target if crowd.awake > figures.active_limit else 0
        if left <= 0:
            return Part()
        made_by = {kind: rules.spared_if_made_by(kind, step.at_us, self._model.kinds) for kind in ITEM_KINDS}
        lately_us = step.at_us - round(figures.spared_days * DAY_US)
        limit = min(left, step.limit)
        page = transaction.least_useful(step.scope, step.owner, threshold, made_by, lately_us, limit)
        found = [(one, f"one of the {left} least useful: {one.utility:.2f}") for one in page]
        more = left - len(page) if len(page) == limit else 0
        return self._rested(transaction, step, found, rules.TOO_MANY, len(page), f"{threshold!r} {more}" if more else "")

    @staticmethod
    def _rested(
        transaction: SemanticTransaction, step: Step, found: Iterable[tuple[Memory, str]], rule: str, seen: int, after: str
    ) -> Part:
        samples = []
        for memory, why in found:
            rest(transaction, step, memory, f"sleep: {rule}")
            samples.append(Sample(memory.memory_id, "rested", rule, why))
        ids = [one.memory_id for one in samples]
        return Part(seen, {"rested": len(ids), f"rested: {rule}": len(ids)} if ids else {}, samples, {"demoted": ids}, after)


def _numbers(after: str) -> tuple[float, int]:
    threshold, _, left = after.partition(" ")
    return float(threshold), int(left)
