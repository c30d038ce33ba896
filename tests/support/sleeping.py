"""Sleep for tests: steps of phases as the consolidation worker would ask for them."""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.domain.sleep import names

ITEM_PHASES = (
    names.DECAY, names.EMOTION, names.SYNAPSES, names.PLACES, names.UTILITY, names.REHEARSAL, names.EXPIRY, names.FORGETTING,
)  # fmt: skip


@dataclass
class Slept:
    """What the steps of a phase reported."""

    steps: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    samples: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def slumber(worker: Any, phase: str, at_us: int, user: str = "ada", run: str = "night", most: int = 200) -> Slept:
    """All steps of one phase for one user."""
    slept, after = Slept(), ""
    while slept.steps < most:
        step = sleep_pb2.SleepStep(run_id=run, user_id=user, phase=phase, number=slept.steps, after=after, at_us=at_us)
        event_id = uuid.uuid5(uuid.NAMESPACE_OID, f"{run} {user} {phase} {slept.steps} {at_us}")
        worker.tell(step, user, event_id)
        done = worker.emitted(("slept", sleep_pb2.SleepStepDone))[-1]
        worker.handlers.state.settle_outgoing([one.event_id for one in worker.handlers.state.outgoing(1000)])
        assert (done.run_id, done.user_id, done.phase, done.number) == (run, user, phase, slept.steps)
        slept.steps += 1
        slept.counts.update(done.counts)
        slept.samples += done.samples
        slept.errors += [done.error] if done.error else []
        after = done.next
        if not after:
            return slept
    raise AssertionError(f"{phase} does not end")


def night(worker: Any, at_us: int, user: str = "ada", run: str = "night") -> dict[str, Slept]:
    """The item phases in their order."""
    return {phase: slumber(worker, phase, at_us, user, run) for phase in ITEM_PHASES}
