"""Answers about sleep and jobs as JSON values, for the client and for the command line."""

from __future__ import annotations

from typing import Any

from aico_memory.clock import format_us
from aico_memory.contracts.v1 import sleep_pb2

Account = dict[str, Any]


def run_account(run: sleep_pb2.Run) -> Account:
    """A run: its phases in their order, what was held before and after, and decisions with their reasons."""
    return {
        "run_id": run.run_id,
        "firing_id": run.firing_id,
        "status": run.status,
        "manual": run.manual,
        "shard": run.shard,
        "users": run.users,
        "users_done": run.users_done,
        "experiences": run.experiences,
        "started": format_us(run.started_us),
        "finished": format_us(run.finished_us),
        "seconds": max(0, run.finished_us - run.started_us) / 1e6 if run.started_us and run.finished_us else None,
        "error": run.error or None,
        "before": dict(sorted(run.before.items())),
        "after": dict(sorted(run.after.items())),
        "phases": [phase_account(phase) for phase in run.phases],
    }


def phase_account(phase: sleep_pb2.PhaseReport) -> Account:
    """What one phase did over all users; `seconds` is the time of all users added up."""
    return {
        "phase": phase.phase,
        "counts": dict(sorted(phase.counts.items())),
        "seconds": phase.seconds,
        "error": phase.error or None,
        "samples": [
            {"memory_id": one.memory_id, "decision": one.decision, "rule": one.rule, "detail": one.detail,
             "others": list(one.others)}
            for one in phase.samples
        ],
    }  # fmt: skip


def status_account(status: sleep_pb2.SleepStatus, user: str = "") -> Account:
    """What consolidation does; with a user, where that one stands in the cycle."""
    account: Account = {
        "status": status.status,
        "run": run_account(status.run) if status.HasField("run") else None,
        "at_work": [
            {"user_id": one.user_id, "phase": one.phase, "steps": one.steps, "phases_done": one.phases_done,
             "phases": one.phases, "started": format_us(one.started_us)}
            for one in status.at_work
        ],
        "last": run_account(status.last) if status.HasField("last") else None,
    }  # fmt: skip
    if user:
        account["user"] = {
            "user_id": user,
            "first_seen": format_us(status.seen_us),
            "last_replayed": format_us(status.replayed_us),
            "last_full": format_us(status.full_us),
            "day": status.shard,
        }
    return account


def pending_account(page: sleep_pb2.PendingPage) -> list[Account]:
    """Who has experiences that wait."""
    return [{"user_id": one.user_id, "experiences": one.experiences, "oldest": format_us(one.oldest_us)} for one in page.users]


def estimate_account(estimate: sleep_pb2.Estimate) -> Account:
    """How long a run would take; `runs` 0 means that nothing of the kind has been measured yet."""
    return {
        "users": estimate.users,
        "full": estimate.full,
        "experiences": estimate.experiences,
        "items": estimate.items,
        "seconds": estimate.seconds,
        "budget_seconds": estimate.budget_seconds,
        "phases": [{"phase": one.phase, "seconds": one.seconds, "runs": one.runs} for one in estimate.phases],
    }


def jobs_account(page: sleep_pb2.JobsPage) -> Account:
    """The schedule, whether it is the file's, and what ran."""
    return {
        "idle": page.idle,
        "cpu_percent": page.cpu_percent,
        "schedule": schedule_account(page.schedule),
        "jobs": [
            {
                "name": job.name, "cron": job.cron, "zone": job.zone, "topic": job.topic, "enabled": job.enabled,
                "next": format_us(job.next_us), "last": format_us(job.last_us), "last_outcome": job.last_outcome or None,
                "priority": job.priority, "resource": job.resource, "waits_for_idle": job.waits_for_idle,
                "max_duration": job.max_duration, "latest": job.latest, "jitter": job.jitter, "misfire": job.misfire,
                "running": job.running or None, "awaiting": job.awaiting or None,
            }
            for job in page.jobs
        ],
        "firings": [firing_account(firing) for firing in page.firings],
    }  # fmt: skip


def firing_account(firing: sleep_pb2.JobFiring) -> Account:
    """One firing and what became of it."""
    return {
        "firing_id": firing.firing_id,
        "job": firing.job,
        "planned": format_us(firing.planned_us),
        "fired": format_us(firing.fired_us),
        "finished": format_us(firing.finished_us),
        "outcome": firing.outcome,
        "seconds": firing.seconds,
        "manual": firing.manual,
        "missed": firing.missed,
        "detail": firing.detail or None,
    }


def schedule_account(state: sleep_pb2.ScheduleState) -> Account:
    """Whether the file is in force as it is."""
    return {
        "path": state.path,
        "loaded": format_us(state.loaded_us),
        "error": state.error or None,
        "changed": list(state.changed),
    }
