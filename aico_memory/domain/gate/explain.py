"""The record of every decision: what was noticed, what was near, which rule decided, what shadow mode would have done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aico_memory.domain.formation.formed import Formed
from aico_memory.domain.gate.apply import Applied
from aico_memory.domain.gate.comparing import compare
from aico_memory.domain.gate.decide import WRITING, Decision
from aico_memory.domain.gate.policy import Admission
from aico_memory.domain.gate.score import Score
from aico_memory.domain.gate.statement import Neighbour, Statement


class Seen(NamedTuple):
    """A neighbour as the gate saw it. Ids only: the texts are sealed with their items."""

    memory_id: bytes
    similarity: float
    same_key: bool
    contradiction: str
    status: str


class Outcome(NamedTuple):
    """What was done with one statement, and why."""

    statement_id: bytes
    kind: str
    act: str
    predicate: str
    importance: float
    confidence: float
    channels: tuple[float, float, float, float]
    neighbours: tuple[Seen, ...]
    admission: str
    action: str
    rule: str
    reason: str
    target: bytes
    # What `auto` would have done, and what `shadow` would have.
    in_auto: str
    in_shadow: str
    waits: bool
    written: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that the write path did with one message."""

    event_id: bytes
    filtered: tuple[str, ...]
    classes: tuple[tuple[str, float], ...]
    density: int
    emotion: str
    valence: float
    arousal: float
    language: str
    strong: bool
    trace: tuple[str, ...]
    outcomes: tuple[Outcome, ...]


def outcome(
    new: Statement, scored: Score, neighbours: Sequence[Neighbour], admission: Admission, decision: Decision,
    applied: Applied | None, negations: frozenset[str], same_wording: float, shown: int = 10,
) -> Outcome:  # fmt: skip
    """`decision` as the gate made it; what was carried out stands in `applied`, which may have made a candidate of it."""
    final = applied.decision if applied else decision
    near = sorted(neighbours, key=lambda one: (-one.similarity, one.known.memory.memory_id))[:shown]
    seen = []
    for one in near:
        found = compare(new, one, negations, same_wording)
        memory = one.known.memory
        seen.append(Seen(memory.memory_id, one.similarity, found.same_key, found.contradiction, memory.status))
    in_auto = decision.instead or decision.action
    written = tuple(one.memory.memory_id for one in applied.items) if applied else ()
    return Outcome(
        new.statement_id, new.fact.kind, new.fact.act, new.fact.predicate, scored.importance, scored.confidence,
        (*scored.channels,), tuple(seen), admission.rule, final.action, final.rule, final.reason, final.target, in_auto,
        in_shadow(decision, admission), final.waits, written,
    )  # fmt: skip


def in_shadow(decision: Decision, admission: Admission) -> str:
    """What shadow mode would have done: whatever writes would have become a shadow; what is not admitted stays so."""
    if admission.verdict != "admit":
        return "SKIP"
    planned = decision.instead or decision.action
    return "SHADOW" if planned in WRITING else planned


def explanation(event_id: bytes, formed: Formed, outcomes: Sequence[Outcome]) -> Explanation:
    """The record of one message; a message that made nothing has one as well."""
    return Explanation(
        event_id, formed.filtered, formed.classes, formed.density, formed.emotion, formed.valence, formed.arousal,
        formed.language, formed.strong, formed.trace, tuple(outcomes),
    )  # fmt: skip
