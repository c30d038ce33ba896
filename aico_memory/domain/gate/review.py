"""Candidates and shadows: what waits for a person, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from aico_memory.domain.gate.apply import Applied, Standing, apply
from aico_memory.domain.gate.decide import WRITING, Decision, decide
from aico_memory.domain.gate.policy import Admission, WritePolicy
from aico_memory.domain.gate.statement import Known, Neighbour, Statement, restoration
from aico_memory.domain.lifecycle import activated, rejected, require_transition, shadowed
from aico_memory.domain.memory import Evolution, Memory, Scope
from aico_memory.domain.temporal.evolution import differences
from aico_memory.errors import ImmutableItem, InvalidMessage, RefusedTransition
from aico_memory.ids import derive_id
from aico_memory.settings.memory_model import MemoryModelSettings
from aico_memory.settings.write_path import PredictionErrorSettings, ThresholdSettings

WAITING: Final = ("candidate", "shadow")
# What held, or was held for true, and may be brought back.
CLOSED: Final = frozenset({"superseded", "expired", "disabled"})
_ADMITTED: Final = Admission("admit", "reviewed")


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The item after review, the record of it, and what promoting it did to others."""

    memory: Memory
    changes: tuple[Evolution, ...]
    applied: Applied | None = None


def queue(items: Iterable[Memory], scopes: Sequence[Scope], statuses: Sequence[str] = WAITING) -> tuple[Memory, ...]:
    """What waits in these scopes: the most important first, in it the oldest. InvalidMessage for another status."""
    wrong = sorted(set(statuses) - set(WAITING))
    if wrong:
        raise InvalidMessage(f"{', '.join(wrong)} does not wait for review", f"Ask for {' or '.join(WAITING)}.")
    found = [one for one in items if one.status in statuses and one.scope in scopes]
    return tuple(sorted(found, key=lambda one: (-one.importance, one.created_at_us, one.memory_id)))


def reject(memory: Memory, at_us: int, cause: bytes) -> Reviewed:
    """It was never believed. RefusedTransition where it does not wait."""
    after = rejected(memory, at_us)
    return Reviewed(after, differences(memory, after, at_us, cause, "rejected in review"))


def to_shadow(memory: Memory, at_us: int, cause: bytes) -> Reviewed:
    """Seen by operators from now on. RefusedTransition where it is no candidate."""
    after = shadowed(memory, at_us)
    return Reviewed(after, differences(memory, after, at_us, cause, "shadowed in review"))


def promote(
    statement: Statement, waiting: Memory, at_us: int, cause: bytes, neighbours: Sequence[Neighbour], variants: Sequence[Known],
    standing: Standing, evidence: int, thresholds: ThresholdSettings, figures: PredictionErrorSettings,
    model: MemoryModelSettings,
) -> Reviewed:  # fmt: skip
    """It is decided anew against what is known now, with the word of the reviewer behind it.

    Where it makes an item of its own the waiting one becomes that item; where it only
    confirms, ends or corrects another, it is laid aside. What was said since counts:
    the decision tells of an item that was denied or ended meanwhile. Raises RefusedTransition,
    InvalidMessage without evidence, ImmutableItem where an immutable item stands against it.
    """
    require_transition(waiting.status, "active")
    if evidence < 1:
        raise InvalidMessage(f"{waiting.status} does not lead to active without evidence", "Add evidence, then promote it.")
    # A reviewer's word is a correction in its rank; the act stays what was said.
    said = replace(statement, role="user", fact=replace(statement.fact, explicit=True))
    others = [one for one in neighbours if one.known.memory.memory_id != waiting.memory_id]
    decision = decide(said, others, variants, _ADMITTED, WritePolicy(), thresholds, figures)
    if decision.action == "CANDIDATE":
        raise ImmutableItem(
            f"The memory {UUID(bytes=decision.target)} is immutable", "Lift its anchor first, or reject the candidate."
        )
    if decision.action not in WRITING | {"REINFORCE"}:
        after = _laid_aside(waiting, at_us)
        return Reviewed(after, differences(waiting, after, at_us, cause, f"promoted: {decision.rule}"))
    rest = {key: value for key, value in (standing.known or {}).items() if key != waiting.memory_id}
    applied = apply(said, decision, replace(standing, known=rest), model)
    if applied.decision.action == "CANDIDATE":
        raise ImmutableItem("An immutable item would change", "Lift its anchor first, or reject the candidate.")
    own = next((one.memory for one in applied.items if one.memory.memory_id == waiting.memory_id), None)
    after = _laid_aside(waiting, at_us) if own is None else _in_place(own, activated(waiting, at_us, evidence))
    reason = f"promoted: {decision.rule}"
    applied = replace(
        applied,
        decision=_come_out(applied.decision, after, statement),
        histories=_learned_now(applied.histories, waiting, statement, at_us),
    )
    return Reviewed(after, differences(waiting, after, at_us, cause, reason), applied)


def bring_back(
    statement: Statement, closed: Memory, at_us: int, cause: bytes, heard: int, standing: Standing, evidence: int,
    model: MemoryModelSettings,
) -> Reviewed:  # fmt: skip
    """What is superseded, expired or disabled holds again, by the word of the reviewer; what is held instead ends with it.

    `standing` has the item itself. Raises RefusedTransition where it became part of another or its value is held already,
    InvalidMessage without evidence, ImmutableItem where an immutable item stands against it.
    """
    if closed.fact_key and closed.variant_of is None:
        activated(closed, at_us, evidence)
        restoration_id = derive_id(UUID(bytes=closed.memory_id), f"restored {cause.hex()}").bytes
        said = restoration(statement, closed.valid_from_us, restoration_id, cause, at_us, heard)
        decision = Decision("UPDATE", "brought_back", "It was brought back in review", closed.memory_id)
        applied = apply(said, decision, standing, model)
        if applied.decision.action == "CANDIDATE":
            raise ImmutableItem("An immutable item would change", "Lift its anchor first.")
        own = next((one.memory for one in applied.items if one.memory.memory_id == closed.memory_id), None)
        if own is not None and own.status == "active":
            return Reviewed(replace(own, last_referenced_us=max(own.last_referenced_us, at_us)), (), applied)
    raise _stays(closed)


def _laid_aside(waiting: Memory, at_us: int) -> Memory:
    """What waits and is not needed; what stood before stays what it was. RefusedTransition for that."""
    if waiting.status in WAITING:
        return rejected(waiting, at_us)
    raise _stays(waiting)


def _stays(memory: Memory) -> RefusedTransition:
    return RefusedTransition(
        f"This memory is {memory.status} and does not come back: another one says now what holds",
        "Say it again, or change the memory that holds now with `update`.",
    )


def _come_out(decision: Decision, own: Memory, statement: Statement) -> Decision:
    """What became of the item itself where others said since that it is over; what was told as past is written as past."""
    if own.status == "disabled":
        return replace(decision, action="RETRACT", rule="retracted_since", reason="It was denied after it had been said")
    if own.status == "expired" and own.valid_until_us < statement.fact.valid_until_us:
        return replace(decision, action="END", rule="ended_since", reason="It ended after it had been said")
    return decision


def _learned_now(
    histories: Iterable[tuple[bytes, tuple[Evolution, ...]]], waiting: Memory, statement: Statement, at_us: int
) -> tuple[tuple[bytes, tuple[Evolution, ...]], ...]:
    """What a reviewed statement did to others was learned with the review, whenever it was said; so was all of itself."""
    return tuple(
        (
            memory_id,
            () if memory_id == waiting.memory_id else tuple(
                replace(one, at_us=max(one.at_us, at_us)) if one.cause == statement.event_id else one for one in history
            ),
        )
        for memory_id, history in histories
    )  # fmt: skip


def _in_place(own: Memory, promoted: Memory) -> Memory:
    """What the chain says of validity, and what the waiting item had gathered."""
    return replace(
        own, created_at_us=promoted.created_at_us, pinned=promoted.pinned, immutable=promoted.immutable,
        updated_at_us=max(own.updated_at_us, promoted.updated_at_us),
    )  # fmt: skip
