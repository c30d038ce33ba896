"""Steps of sleep on the bus: one phase over one part of one owner's memories, in the transaction of its event.

Where the next step begins is told by the report, so whoever asks for the steps
needs no state of ours, and a step that is asked for again finds nothing left to do.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aico_memory.contracts.envelope import Event, make_record
from aico_memory.contracts.v1 import semantic_pb2, sleep_pb2
from aico_memory.domain.gate.policy import LONG_TERM_PAUSED, READ_ONLY, WritePolicy
from aico_memory.domain.memory import Scope
from aico_memory.errors import AicoMemoryError, InvalidMessage
from aico_memory.ids import derive_id
from aico_memory.settings.semantic import SemanticSettings
from aico_memory.stores.semantic.item_port import ItemReads
from aico_memory.stores.semantic.port import SemanticTransaction
from services.semantic.convert import id_text, scope_message
from services.semantic.sleep.phase import Outcome, Sample, SleepPhase, Step

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

UNKNOWN_PHASE = "unknown_phase"
# A rule that fails fails this step alone; trouble with the store is none of it, and is tried again.
_OF_THE_RULE = (AicoMemoryError, ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
_OF_THE_STORE = frozenset({"storage_full", "store_corrupt", "store_locked", "closed_connection", "bus_unavailable"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a step begins: the first scope behind `scope`, or that one beyond `after`."""

    scope: Scope | None = None
    after: str = ""

    @classmethod
    def read(cls, text: str) -> Place:
        """From a report's `next`. Raises InvalidMessage."""
        if not text:
            return cls()
        try:
            kind, name, after = json.loads(text)
        except (ValueError, TypeError):
            raise InvalidMessage(f"{text[:64]!r} is not where a step begins") from None
        if not all(isinstance(part, str) for part in (kind, name, after)):
            raise InvalidMessage(f"{text[:64]!r} is not where a step begins")
        return cls(Scope(kind, name), after)

    def written(self) -> str:
        """As a report's `next`."""
        return json.dumps([*self.scope, self.after]) if self.scope else ""


@dataclass(slots=True)
class Taken:
    """What a step did, over however many scopes it went."""

    counts: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)
    next: str = ""
    error: str = ""


class Stepping:
    """Takes steps of the registered phases; one instance a worker, used by its consumer thread only."""

    def __init__(
        self,
        phases: Iterable[SleepPhase],
        policy: Callable[[ItemReads, Scope], WritePolicy],
        figures: SemanticSettings,
        log: FilteringBoundLogger,
        give_way: Callable[[], None] = lambda: None,
    ) -> None:
        self._phases: Mapping[str, SleepPhase] = {one.name: one for one in phases}
        self._policy = policy
        self._figures = figures
        self._log = log
        self._give_way = give_way

    @property
    def names(self) -> tuple[str, ...]:
        """The phases that can be asked for."""
        return tuple(self._phases)

    def step(self, transaction: SemanticTransaction, event: Event) -> None:
        """Effect of `SleepStep`: take it, and report."""
        message: sleep_pb2.SleepStep = event.message
        taken = self.take(transaction, message, event)
        done = sleep_pb2.SleepStepDone(
            run_id=message.run_id, user_id=message.user_id, phase=message.phase, number=message.number, next=taken.next,
            counts=dict(sorted(taken.counts.items())), samples=[_sample(one) for one in taken.samples], error=taken.error,
        )  # fmt: skip
        transaction.emit(
            make_record(
                done, event_id=derive_id(event.event_id, "slept"), occurred_us=event.occurred_us, user=message.user_id,
                causation_id=event.event_id, correlation_id=event.correlation_id,
            )
        )  # fmt: skip

    def take(self, transaction: SemanticTransaction, message: sleep_pb2.SleepStep, event: Event) -> Taken:
        """One step: through scopes with nothing to look at, to the end of the first part with something."""
        self._give_way()
        taken = Taken()
        phase = self._phases.get(message.phase)
        if phase is None:
            taken.error = UNKNOWN_PHASE
            return taken
        try:
            place = Place.read(message.after)
        except InvalidMessage as error:
            taken.error = error.code
            return taken
        # One's own scope in any case: it may hold records alone.
        scopes = sorted({*transaction.owned_scopes(message.user_id), Scope("user", message.user_id)})
        for scope in scopes:
            if place.scope is not None and (scope < place.scope or (scope == place.scope and not place.after)):
                continue
            after = place.after if scope == place.scope else ""
            step = Step(
                scope, message.user_id, after, self._figures.sleep_step_items, message.at_us or event.occurred_us,
                event.event_id, event.global_sequence,
            )  # fmt: skip
            outcome = self._taken(transaction, phase, step, taken)
            taken.counts.update(outcome.counts)
            taken.samples += outcome.samples[: self._figures.sleep_samples - len(taken.samples)]
            self._announce(transaction, step, phase.name, outcome)
            if outcome.after:
                taken.next = Place(scope, outcome.after).written()
                break
            if outcome.counts or taken.error:
                taken.next = Place(scope).written() if scope != scopes[-1] else ""
                break
        return taken

    def _taken(self, transaction: SemanticTransaction, phase: SleepPhase, step: Step, taken: Taken) -> Outcome:
        """What the phase did; nothing where writing is switched off, the owner's memory is paused, or its rule failed."""
        if self._policy(transaction, step.scope).read_only:
            taken.error = READ_ONLY
            return Outcome()
        if transaction.paused_us(step.owner):
            taken.error = LONG_TERM_PAUSED
            return Outcome()
        try:
            with transaction.attempt():
                return phase.step(transaction, step)
        except _OF_THE_RULE as error:
            if isinstance(error, AicoMemoryError) and error.code in _OF_THE_STORE:
                raise
            self._log.error("sleep_step_failed", phase=phase.name, error=type(error).__name__, exc_info=True)
            taken.error = error.code if isinstance(error, AicoMemoryError) else type(error).__name__
            return Outcome()

    def _announce(self, transaction: SemanticTransaction, step: Step, phase: str, outcome: Outcome) -> None:
        for action, memory_ids in outcome.changed.items():
            if not memory_ids:
                continue
            changed = semantic_pb2.Changed(
                action=action, memory_ids=[id_text(one) for one in memory_ids], reason=f"sleep: {phase}",
                scope=scope_message(step.scope), rule=phase, event_id=step.cause.bytes,
            )  # fmt: skip
            event_id = derive_id(step.cause, f"changed {step.scope.key} {action}")
            transaction.emit(
                make_record(changed, event_id=event_id, occurred_us=step.at_us, user=step.owner, causation_id=step.cause)
            )


def _sample(one: Sample) -> sleep_pb2.PhaseSample:
    return sleep_pb2.PhaseSample(
        memory_id=str(uuid.UUID(bytes=one.memory_id)), decision=one.decision, rule=one.rule, detail=one.detail,
        others=[str(uuid.UUID(bytes=other)) for other in one.others],
    )  # fmt: skip
