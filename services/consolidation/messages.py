"""What a run says: every message carries an id derived from run, user and batch, so that saying it again changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import semantic_pb2, sleep_pb2, working_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.domain.consolidation.run import Batch, PhaseTotals, Run, Status
from aico_memory.ids import derive_id, new_id


def replay_record(run: Run, batch: Batch, now_us: int) -> OutgoingRecord:
    """Hands a batch to semantic memory."""
    message = semantic_pb2.ReplayExperiences(
        run_id=str(run.run_id), user_id=batch.user, batch=batch.number, event_ids=batch.event_ids
    )
    event_id = derive_id(run.run_id, f"{batch.phase}/{batch.user}", batch.number)
    return make_record(message, event_id=event_id, occurred_us=now_us, user=batch.user, correlation_id=run.run_id)


def consolidated_record(run: Run, batch: Batch, now_us: int) -> OutgoingRecord:
    """Tells working memory that a batch's experiences may expire."""
    message = working_pb2.Consolidated(user_id=batch.user, run_id=str(run.run_id), event_ids=batch.event_ids)
    event_id = derive_id(run.run_id, f"consolidated/{batch.phase}/{batch.user}", batch.number)
    return make_record(message, event_id=event_id, occurred_us=now_us, user=batch.user, correlation_id=run.run_id)


def complete_records(run: Run, users: int, totals: Sequence[PhaseTotals]) -> list[OutgoingRecord]:
    """Announces a run's end, to everybody and to the scheduler."""
    complete = sleep_pb2.ConsolidationComplete(
        run_id=str(run.run_id),
        firing_id=run.firing_id,
        users=users,
        experiences=sum(total.replayed for total in totals),
        phases=[phase_report(total) for total in totals],
        started_us=run.started_us,
        finished_us=run.finished_us,
        outcome=run.status.value,
    )
    at = run.finished_us
    records = [make_record(complete, event_id=derive_id(run.run_id, "complete"), occurred_us=at, correlation_id=run.run_id)]
    if run.firing_id:
        outcome = "done" if run.status is Status.DONE else "failed"
        finished = sleep_pb2.JobFinished(firing_id=run.firing_id, outcome=outcome, at_us=at, detail=run.error)
        records.append(
            make_record(finished, event_id=derive_id(run.run_id, "finished"), occurred_us=at, correlation_id=run.run_id)
        )
    return records


def progress_record(run: Run, batch: Batch, done: int, total: int, now_us: int) -> OutgoingRecord:
    """How far a user's phase is; ephemeral."""
    message = sleep_pb2.ConsolidationProgress(
        run_id=str(run.run_id), user_id=batch.user, phase=batch.phase, done=done, total=total
    )
    return make_record(message, event_id=new_id(now_us), occurred_us=now_us, correlation_id=run.run_id)


def phase_report(total: PhaseTotals) -> sleep_pb2.PhaseReport:
    """A phase's counts as the contract states them."""
    counts = {
        "users": total.users,
        "batches": total.batches,
        "batches_done": total.batches_done,
        "experiences": total.experiences,
        "replayed": total.replayed,
        "memories": total.memories,
        "unknown": total.unknown,
    }
    return sleep_pb2.PhaseReport(phase=total.phase, counts=counts, seconds=total.microseconds / 1e6)


def run_message(run: Run, user_counts: dict[Status, int], totals: Sequence[PhaseTotals]) -> sleep_pb2.Run:
    """A run as the contract states it."""
    return sleep_pb2.Run(
        run_id=str(run.run_id),
        firing_id=run.firing_id,
        status=run.status.value,
        users=sum(user_counts.values()),
        users_done=user_counts.get(Status.DONE, 0),
        experiences=sum(total.replayed for total in totals),
        started_us=run.started_us,
        finished_us=run.finished_us,
        error=run.error,
        phases=[phase_report(total) for total in totals],
    )
