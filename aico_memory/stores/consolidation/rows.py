"""From records of the ledger to rows and back, in the order of the columns that the statements name."""

from __future__ import annotations

import json
import uuid
from typing import Any

from aico_memory.domain.consolidation.run import Batch, Counts, Decision, PhaseRun, Run, Status, UserRun

ID_BYTES = 16


def run_row(run: Run) -> tuple[object, ...]:
    """Values of one run."""
    return (
        run.run_id.bytes, run.firing_id, run.status.value, run.shard, run.until_us, run.sequence, json.dumps(run.user_ids),
        json.dumps(run.phases), int(run.manual), run.planned_after, run.started_us, run.finished_us, run.error,
        run.planned_stage,
    )  # fmt: skip


def run_of(row: Any) -> Run:
    """The run of a row."""
    return Run(
        uuid.UUID(bytes=row[0]), row[1], Status(row[2]), row[3], row[4], row[5], tuple(json.loads(row[6])),
        tuple(json.loads(row[7])), bool(row[8]), row[9], row[10], row[11], row[12], row[13],
    )  # fmt: skip


def user_row(part: UserRun) -> tuple[object, ...]:
    """Values of one user's part."""
    return (
        part.user, part.pending, part.status.value, json.dumps(part.phases), part.phase, part.started_us, part.finished_us,
        _counts(part.before), _counts(part.after), part.overdue,
    )  # fmt: skip


def user_of(row: Any) -> UserRun:
    """The user's part of a row."""
    user, pending, status, phases, phase, started_us, finished_us, before, after, overdue = row
    return UserRun(
        user, pending, Status(status), tuple(json.loads(phases)), phase, started_us, finished_us, json.loads(before),
        json.loads(after), overdue,
    )  # fmt: skip


def phase_row(phase: PhaseRun) -> tuple[object, ...]:
    """Values of one phase."""
    return (
        phase.user, phase.phase, phase.status.value, phase.experiences, phase.started_us, phase.finished_us, phase.error,
    )  # fmt: skip


def phase_of(row: Any) -> PhaseRun:
    """The phase of a row."""
    return PhaseRun(row[0], row[1], Status(row[2]), *row[3:])


def batch_row(batch: Batch) -> tuple[object, ...]:
    """Values of one batch."""
    return (
        batch.user, batch.phase, batch.number, b"".join(batch.event_ids), batch.status.value, batch.memories, batch.unknown,
        batch.sent_us, batch.finished_us, batch.begins_after, _counts(batch.counts),
        json.dumps([[one.memory_id, one.decision, one.rule, one.detail, one.others] for one in batch.samples]), batch.error,
    )  # fmt: skip


def batch_of(row: Any) -> Batch:
    """The batch of a row."""
    user, phase, number, joined, status, memories, unknown, sent_us, finished_us, begins_after, counts, samples, error = row
    return Batch(
        user, phase, number, ids_of(joined), Status(status), memories, unknown, sent_us, finished_us, begins_after,
        json.loads(counts), tuple(samples_of(samples)), error,
    )  # fmt: skip


def ids_of(joined: bytes) -> tuple[bytes, ...]:
    """Event ids that were stored one behind the other."""
    return tuple(joined[at : at + ID_BYTES] for at in range(0, len(joined), ID_BYTES))


def samples_of(text: str) -> list[Decision]:
    """Decisions that were stored as JSON."""
    return [Decision(item, what, rule, detail, tuple(others)) for item, what, rule, detail, others in json.loads(text)]


def _counts(counts: Counts) -> str:
    return json.dumps(dict(sorted(counts.items())))
