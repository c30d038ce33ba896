"""What a run says: every message carries an id derived from run, user and batch, so that saying it again changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aico_memory.contracts.envelope import Event, make_record
from aico_memory.contracts.v1 import semantic_pb2, sleep_pb2, working_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.domain.consolidation.run import Batch, Counts, Decision, PhaseTotals, Run, Status, UserRun
from aico_memory.domain.sleep.names import NAMES, REPLAY, night_told
from aico_memory.ids import derive_id, new_id

Samples = Mapping[str, Sequence[Decision]]
Held = tuple[Counts, Counts]


def batch_record(run: Run, batch: Batch, now_us: int) -> OutgoingRecord:
    """Hands a batch or a step to semantic memory."""
    return replay_record(run, batch, now_us) if batch.phase == REPLAY else step_record(run, batch, now_us)


def step_record(run: Run, step: Batch, now_us: int) -> OutgoingRecord:
    """Asks for one step of a phase; all steps of a run are decided for the moment that the run began."""
    message = sleep_pb2.SleepStep(
        run_id=str(run.run_id),
        user_id=step.user,
        phase=step.phase,
        number=step.number,
        after=step.begins_after,
        at_us=run.until_us,
    )
    event_id = derive_id(run.run_id, f"{step.phase}/{step.user}", step.number)
    return make_record(message, event_id=event_id, occurred_us=now_us, user=step.user, correlation_id=run.run_id)


def replay_record(run: Run, batch: Batch, now_us: int) -> OutgoingRecord:
    """Hands a batch to semantic memory."""
    message = semantic_pb2.ReplayExperiences(
        run_id=str(run.run_id), user_id=batch.user, batch=batch.number, event_ids=batch.event_ids
    )
    event_id = derive_id(run.run_id, f"{batch.phase}/{batch.user}", batch.number)
    return make_record(message, event_id=event_id, occurred_us=now_us, user=batch.user, correlation_id=run.run_id)


def consolidated_record(run: Run, batch: Batch, led_to: Iterable[working_pb2.LedTo], now_us: int) -> OutgoingRecord:
    """Tells working memory that a batch's experiences may expire, and what they led to."""
    known = [one for one in led_to if one.event_id in batch.event_ids]
    message = working_pb2.Consolidated(
        user_id=batch.user, run_id=str(run.run_id), event_ids=batch.event_ids, led_to=known
    )  # fmt: skip
    event_id = derive_id(run.run_id, f"consolidated/{batch.phase}/{batch.user}", batch.number)
    return make_record(message, event_id=event_id, occurred_us=now_us, user=batch.user, correlation_id=run.run_id)


def marked_record(event: Event) -> OutgoingRecord:
    """Tells working memory that somebody wants no replay of these."""
    message = working_pb2.Consolidated(user_id=event.message.user_id, event_ids=event.message.event_ids)
    return make_record(
        message,
        event_id=derive_id(event.event_id, "marked"),
        occurred_us=event.received_us or event.occurred_us,
        user=event.message.user_id,
        causation_id=event.event_id,
    )


def complete_records(run: Run, users: int, totals: Sequence[PhaseTotals], samples: Samples, held: Held) -> list[OutgoingRecord]:
    """Announces a run's end, to everybody and to the scheduler."""
    complete = sleep_pb2.ConsolidationComplete(
        run_id=str(run.run_id),
        firing_id=run.firing_id,
        users=users,
        experiences=sum(total.replayed for total in totals),
        phases=phase_reports(totals, samples),
        started_us=run.started_us,
        finished_us=run.finished_us,
        outcome=run.status.value,
        before=held[0],
        after=held[1],
        error=run.error,
    )
    at = run.finished_us
    records = [make_record(complete, event_id=derive_id(run.run_id, "complete"), occurred_us=at, correlation_id=run.run_id)]
    if run.firing_id:
        outcome = "done" if run.status is Status.DONE else "failed"
        detail = run.error or night_told(users, complete.experiences, (phase.counts for phase in complete.phases))
        finished = sleep_pb2.JobFinished(firing_id=run.firing_id, outcome=outcome, at_us=at, detail=detail)
        records.append(
            make_record(finished, event_id=derive_id(run.run_id, "finished"), occurred_us=at, correlation_id=run.run_id)
        )
    return records


def progress_record(message: sleep_pb2.ConsolidationProgress, run: Run, now_us: int) -> OutgoingRecord:
    """How far a user is; ephemeral."""
    return make_record(message, event_id=new_id(now_us), occurred_us=now_us, correlation_id=run.run_id)


def progress_message(
    run: Run, part: UserRun, batch: Batch, done: int, total: int, users: Mapping[Status, int]
) -> sleep_pb2.ConsolidationProgress:
    """How far a user is; `part` as it stands behind this batch."""
    at = part.phases[part.phase] if part.phase < len(part.phases) else ""
    event = {"": "user", batch.phase: "batch"}.get(at, "phase")
    return sleep_pb2.ConsolidationProgress(
        run_id=str(run.run_id),
        user_id=batch.user,
        phase=batch.phase,
        done=done,
        total=total,
        event=event,
        phases_done=part.phase,
        phases=len(part.phases),
        users_done=users.get(Status.DONE, 0),
        users=sum(users.values()),
    )


def phase_reports(totals: Sequence[PhaseTotals], samples: Samples) -> list[sleep_pb2.PhaseReport]:
    """The phases of a run in their order."""
    known = {name: place for place, name in enumerate(NAMES)}
    ordered = sorted(totals, key=lambda total: (known.get(total.phase, len(known)), total.phase))
    return [_phase_report(total, samples.get(total.phase, ())) for total in ordered]


def _phase_report(total: PhaseTotals, samples: Sequence[Decision]) -> sleep_pb2.PhaseReport:
    counts = {"users": total.users, "batches": total.batches, "batches_done": total.batches_done, **total.counts}
    if total.phase == REPLAY:
        counts |= {
            "experiences": total.experiences,
            "replayed": total.replayed,
            "memories": total.memories,
            "unknown": total.unknown,
        }
    if total.failed:
        counts["users_failed"] = total.failed
    shown = [
        sleep_pb2.PhaseSample(
            memory_id=one.memory_id, decision=one.decision, rule=one.rule, detail=one.detail, others=one.others
        )
        for one in samples
    ]
    return sleep_pb2.PhaseReport(
        phase=total.phase, counts=counts, seconds=total.microseconds / 1e6, error=total.error, samples=shown
    )


def run_message(
    run: Run, user_counts: Mapping[Status, int], totals: Sequence[PhaseTotals], samples: Samples, held: Held
) -> sleep_pb2.Run:
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
        phases=phase_reports(totals, samples),
        before=held[0],
        after=held[1],
        until_us=run.until_us,
        shard=run.shard,
        manual=run.manual,
    )
