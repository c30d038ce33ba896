"""Statements for tests of the gate, and a store of them that applies decisions one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from aico_memory.domain.formation.formed import FormedFact
from aico_memory.domain.gate.apply import Applied, Standing, apply
from aico_memory.domain.gate.decide import Decision, decide
from aico_memory.domain.gate.policy import Admission, WritePolicy
from aico_memory.domain.gate.statement import Known, Neighbour, Statement
from aico_memory.domain.memory import OPEN, Evidence, Evolution, Scope
from aico_memory.domain.temporal.versions import STATUS, VALID_FROM, VALID_UNTIL, at, version_of_memory
from aico_memory.settings.memory_model import MemoryModelSettings
from aico_memory.settings.write_path import PredictionErrorSettings
from tests.support.memory_items import DAY, START

ALICE = Scope("user", "alice")
MODEL = MemoryModelSettings()
GATE = PredictionErrorSettings()
ADMITTED = Admission("admit", "admitted")


def day(number: float) -> int:
    return START + round(number * DAY)


def said(
    number: int, value: str, on: float, since: float | None = None, until: float | None = None, **fields: Any
) -> Statement:
    """Alice says on a day where she lives; other acts and predicates by name."""
    of_fact = {name: fields.pop(name) for name in tuple(fields) if name in FormedFact.__dataclass_fields__}
    fact = FormedFact(**{
        "text": f"User lives in {value}", "kind": "profile", "subject": "user", "predicate": "home_city", "value": value,
        "object_key": value.casefold(), "single_valued": True, "valid_from_us": day(on if since is None else since),
        "valid_until_us": OPEN if until is None else day(until),
        "temporal_type": "persistent" if until is None else "time_bounded", "confidence_base": 0.9, **of_fact,
    })  # fmt: skip
    defaults: dict[str, Any] = {"scope": ALICE, "owner": "alice", "confidence": 0.72, "place": 0}
    return Statement(
        statement_id=number.to_bytes(16, "big"), event_id=(1000 + number).to_bytes(16, "big"), said_at_us=day(on),
        received_at_us=day(on), fact=fact, **{**defaults, **fields},
    )  # fmt: skip


@dataclass
class Shelf:
    """Keeps what `apply` returns as a store would."""

    items: dict[bytes, Known] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    changes: list[Evolution] = field(default_factory=list)
    similarity: float = 0.8

    def tell(self, *statements: Statement) -> list[Decision]:
        return [self.tell_one(one).decision for one in statements]

    def tell_one(self, new: Statement) -> Applied:
        near = [Neighbour(known, self.similarity) for known in self.items.values()]
        variants = [known for known in self.items.values() if known.memory.variant_of]
        decision = decide(new, near, variants, ADMITTED, WritePolicy(), GATE.default, GATE)
        return self.keep(new, decision)

    def keep(self, new: Statement, decision: Decision) -> Applied:
        of_key = tuple(one for one in self.statements if one.key == new.key)
        counts = {key: sum(one.memory_id == key for one in self.evidence) for key in self.items}
        known = {key: one for key, one in self.items.items()
                 if one.memory.fact_key == new.key or key in (decision.target, new.statement_id)}  # fmt: skip
        applied = apply(new, decision, Standing(of_key, known, counts), MODEL)
        self.persist(applied)
        return applied

    def persist(self, applied: Applied) -> None:
        self.items.update({one.memory.memory_id: one for one in applied.items})
        into = {(event, before): after for event, before, after in applied.moved}
        self.evidence = [
            replace(one, memory_id=into.get((one.event_id, one.memory_id), one.memory_id)) for one in self.evidence
        ]
        self.evidence += applied.evidence
        if applied.statement is not None:
            self.statements.append(applied.statement)
        causes = {one.event_id for one in self.statements}
        for memory_id, history in applied.histories:
            self.changes = [one for one in self.changes if one.memory_id != memory_id
                            or one.what not in (STATUS, VALID_FROM, VALID_UNTIL) or one.cause not in causes]  # fmt: skip
            self.changes += history
        self.changes += applied.changes

    def held(self, on: float, known: float = 1000) -> list[str]:
        """What is answered for a day, as known on another."""
        versions = [
            version_of_memory(one.memory, [change for change in self.changes if change.memory_id == one.memory.memory_id])
            for one in self.items.values()
            if one.memory.status not in ("candidate", "shadow")
        ]
        texts = {one.memory.memory_id: one.object_key for one in self.items.values()}
        return [texts[version.version_id] for version in at(versions, day(on), day(known))]

    def active(self) -> list[str]:
        return sorted(one.object_key for one in self.items.values() if one.memory.status == "active")


def told(statements: Iterable[Statement]) -> Shelf:
    shelf = Shelf()
    shelf.tell(*statements)
    return shelf
