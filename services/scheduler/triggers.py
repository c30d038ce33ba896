"""From a firing to the message that triggers its job, and from a firing to its row for others."""

from __future__ import annotations

from aico_memory.clock import from_us
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.registry import topic_named
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.domain.consolidation.shard import shard_of_day
from aico_memory.domain.scheduling.job import Firing, Job, trigger_identity
from aico_memory.domain.sleep.names import require_phases
from aico_memory.errors import InvalidMessage
from aico_memory.ids import derive_id
from services.scheduler.watching import ScheduleState


def check_arguments(job: Job, user_ids: tuple[str, ...], phases: tuple[str, ...]) -> None:
    """InvalidMessage where the job's message has no place for what a trigger by hand names, or there is no such phase."""
    fields = topic_named(job.topic).message.DESCRIPTOR.fields_by_name
    if user_ids and "user_ids" not in fields and not (len(user_ids) == 1 and "user_id" in fields):
        raise InvalidMessage(f"The job {job.name} takes {'one user' if 'user_id' in fields else 'no users'}")
    if phases and "phases" not in fields:
        raise InvalidMessage(f"The job {job.name} has no phases")
    require_phases(phases)


def trigger_record(job: Job, firing: Firing, now_us: int) -> OutgoingRecord:
    """The durable message of a firing; its event id is the firing's, so that it has one effect however often it is sent."""
    kind = topic_named(job.topic).message
    fields = kind.DESCRIPTOR.fields_by_name
    values: dict[str, object] = {"firing_id": str(firing.firing_id), "planned_at_us": firing.planned_us}
    if "shard" in fields:
        values["shard"] = shard_of_day(from_us(firing.planned_us).astimezone(job.cron.zone))
    if "manual" in fields:
        values["manual"] = firing.manual
    if "user_ids" in fields:
        values["user_ids"] = firing.user_ids
    elif "user_id" in fields and firing.user_ids:
        values["user_id"] = firing.user_ids[0]
    if "phases" in fields:
        values["phases"] = firing.phases
    return make_record(
        kind(**values), event_id=trigger_identity(firing.firing_id), occurred_us=now_us, correlation_id=firing.firing_id
    )


def cancelled_record(job: Job | None, firing: Firing, now_us: int) -> OutgoingRecord:
    """Tells the workers that nobody waits for a firing any more; derived from it, so that saying it twice is saying it once."""
    message = sleep_pb2.JobCancelled(
        firing_id=str(firing.firing_id),
        job=firing.job,
        topic=job.topic if job is not None else "",
        reason=firing.detail,
        at_us=now_us,
    )
    event_id = derive_id(firing.firing_id, "cancelled")
    return make_record(message, event_id=event_id, occurred_us=now_us, correlation_id=firing.firing_id)


def schedule_message(state: ScheduleState) -> sleep_pb2.ScheduleState:
    """The schedule's state as the contract states it."""
    return sleep_pb2.ScheduleState(path=state.path, loaded_us=state.loaded_us, error=state.error, changed=state.changed)


def firing_message(firing: Firing) -> sleep_pb2.JobFiring:
    """A firing as the contract states it."""
    return sleep_pb2.JobFiring(
        firing_id=str(firing.firing_id),
        job=firing.job,
        planned_us=firing.planned_us,
        fired_us=firing.fired_us,
        finished_us=firing.finished_us,
        outcome=firing.outcome.value,
        seconds=firing.seconds,
        manual=firing.manual,
        missed=firing.missed,
        detail=firing.detail,
    )


def job_message(job: Job, next_us: int, last: Firing | None, running: Firing | None = None) -> sleep_pb2.Job:
    """A job as the contract states it; `next_us` 0 where it is not enabled."""
    return sleep_pb2.Job(
        name=job.name,
        cron=job.cron.expression,
        zone=job.cron.zone.key,
        topic=job.topic,
        enabled=job.enabled,
        next_us=next_us,
        last_us=last.planned_us if last else 0,
        last_outcome=last.outcome.value if last else "",
        priority=job.priority,
        resource=job.resource.value,
        waits_for_idle=job.waits_for_idle,
        awaiting=job.awaiting,
        max_duration=job.max_duration,
        latest=job.latest,
        jitter=job.jitter,
        misfire=job.misfire.value,
        running=str(running.firing_id) if running is not None else "",
    )
