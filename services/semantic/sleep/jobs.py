"""The jobs of the schedule that run phases over all owners: rehearsal, weekly evolution, clean-up.

A job asks itself for its next step over the bus, so it waits its turn behind
whatever else is said, and a kill costs nothing: the step that was not taken is
still in the journal.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from aico_memory.contracts.envelope import Event, make_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import semantic_pb2, sleep_pb2
from aico_memory.domain.gate.policy import HELD
from aico_memory.domain.sleep import names
from aico_memory.ids import derive_id
from aico_memory.stores.semantic.port import SemanticTransaction
from aico_memory.stores.semantic.sleep_port import SleepJob, SleepReads
from services.semantic.sleep.evolving import EVOLUTION, HISTORY
from services.semantic.sleep.stepping import Stepping, Taken

# What each topic of the schedule runs.
JOBS: Final = {"rehearse": (names.REHEARSAL,), "evolve": (names.DECAY, EVOLUTION), "cleanup": (names.VARIANTS, HISTORY)}
_TOPICS: Final = {"rehearse": semantic_pb2.Rehearse, "evolve": semantic_pb2.Evolve, "cleanup": semantic_pb2.CleanUp}
# Runs of jobs begin so; every other run belongs to the consolidation worker.
_RUN: Final = "job:"
_SAMPLES: Final = 8


class SleepJobs:
    """Effects of the schedule's topics, and of the steps that follow from them."""

    def __init__(self, stepping: Stepping) -> None:
        self._stepping = stepping

    @property
    def effects(self) -> Mapping[str, str]:
        """Which job each topic asks for."""
        return {topic_of(kind).name: job for job, kind in _TOPICS.items()}

    def begin(self, transaction: SemanticTransaction, event: Event) -> None:
        """Ask for the first step of the first owner."""
        job = SleepJob(
            event.event_id.bytes, self.effects[event.topic], event.message.firing_id, event.occurred_us, event.message.user_id
        )
        self._of_next_owner(transaction, event, job, "")

    def step(self, transaction: SemanticTransaction, event: Event) -> None:
        """Effect of `SleepStep`: a job's own step is followed by its next; any other is reported to who asked for it."""
        message: sleep_pb2.SleepStep = event.message
        if not message.run_id.startswith(_RUN):
            self._stepping.step(transaction, event)
            return
        job = transaction.sleep_job(bytes.fromhex(message.run_id.removeprefix(_RUN)))
        if job is None:
            return
        taken = self._stepping.take(transaction, message, event)
        job = _with(job, taken, message.phase)
        phases = self._phases(job)
        place = phases.index(message.phase)
        if taken.next:
            self._ask(transaction, event, job, message.user_id, message.phase, message.number + 1, taken.next)
        elif place + 1 < len(phases):
            self._ask(transaction, event, job, message.user_id, phases[place + 1], 0, "")
        else:
            self._of_next_owner(transaction, event, replace(job, users=job.users + 1), message.user_id)

    def _phases(self, job: SleepJob) -> tuple[str, ...]:
        return tuple(phase for phase in JOBS[job.job] if phase in self._stepping.names)

    @staticmethod
    def status(reads: SleepReads) -> list[dict[str, object]]:
        """How far each job has come."""
        return [{"job": one.job, "users": one.users, "counts": dict(one.counts)} for one in reads.sleep_jobs()]

    def _of_next_owner(self, transaction: SemanticTransaction, event: Event, job: SleepJob, after: str) -> None:
        only = [] if after else [job.only_user]
        following = only if job.only_user else transaction.owners(after, 1)
        if following:
            self._ask(transaction, event, job, following[0], self._phases(job)[0], 0, "")
        else:
            self._finish(transaction, event, job)

    @staticmethod
    def _ask(
        transaction: SemanticTransaction, event: Event, job: SleepJob, user: str, phase: str, number: int, after: str
    ) -> None:
        transaction.put_sleep_job(job)
        step = sleep_pb2.SleepStep(
            run_id=_RUN + job.event_id.hex(), user_id=user, phase=phase, number=number, after=after, at_us=job.at_us
        )
        transaction.emit(
            make_record(
                step, event_id=derive_id(event.event_id, "next step"), occurred_us=event.occurred_us, user=user,
                causation_id=event.event_id,
            )
        )  # fmt: skip

    @staticmethod
    def _finish(transaction: SemanticTransaction, event: Event, job: SleepJob) -> None:
        transaction.finish_sleep_job(job.event_id)
        if not job.firing_id:
            return
        failed = [one for one in job.errors if one not in HELD]
        finished = sleep_pb2.JobFinished(firing_id=job.firing_id, outcome="failed" if failed else "done", detail=told(job))
        cause = uuid.UUID(bytes=job.event_id)
        transaction.emit(
            make_record(finished, event_id=derive_id(cause, "finished"), occurred_us=event.occurred_us, causation_id=cause)
        )


def told(job: SleepJob) -> str:
    """What came of a job, in one line that names nobody and none of their words."""
    parts = [f"{job.users} users", *(f"{name} {count}" for name, count in sorted(job.counts.items()) if count)]
    parts += [f"{decision} {memory_id}: {rule}" for decision, rule, memory_id in job.samples]
    parts += [f"error: {error}" for error in job.errors]
    return "; ".join(parts)


def _with(job: SleepJob, taken: Taken, phase: str) -> SleepJob:
    counts = Counter(job.counts)
    # Two phases of a job see the same items.
    counts.update({f"{phase} {name}" if name == "seen" else name: count for name, count in taken.counts.items()})
    samples = [(one.decision, one.rule, str(uuid.UUID(bytes=one.memory_id))) for one in taken.samples]
    errors = dict.fromkeys([*job.errors, *([taken.error] if taken.error else [])])
    return replace(
        job, counts=dict(sorted(counts.items())), samples=(*job.samples, *samples)[:_SAMPLES], errors=tuple(errors)
    )  # fmt: skip
