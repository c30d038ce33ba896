"""A job of the schedule and one firing of it."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass, field
from enum import StrEnum

from aico_memory.domain.scheduling.cron import Cron
from aico_memory.ids import compose_uuid7, derive_id, stable_hash64


class Resource(StrEnum):
    """How much of the machine a job takes; two heavy jobs never run at once."""

    LIGHT = "light"
    HEAVY = "heavy"


class Misfire(StrEnum):
    """What happens to firings whose time passed while nobody looked."""

    # The latest of them fires, once; the others count as missed.
    ONCE = "once"
    # None fires unless it is still within the grace.
    SKIP = "skip"


class Outcome(StrEnum):
    """Where a firing stands; DONE, FAILED and MISSED are final, except that a late report still counts."""

    PLANNED = "planned"
    FIRED = "fired"
    DONE = "done"
    FAILED = "failed"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class Job:
    """One entry of config/schedule.yaml; durations in seconds."""

    name: str
    cron: Cron
    topic: str
    priority: int = 50
    resource: Resource = Resource.LIGHT
    max_duration: int = 3600
    waits_for_idle: bool = False
    # A firing that waits for idleness runs this long after its time anyway.
    latest: int = 0
    jitter: int = 0
    misfire: Misfire = Misfire.ONCE
    enabled: bool = True
    # Whether the worker announces the end (JobFinished); else firing is all there is to know.
    reports: bool = False
    # Why no worker listens yet; such a job can neither be enabled nor triggered.
    awaiting: str = ""


@dataclass(frozen=True, slots=True)
class Firing:
    """One firing and what became of it; times in Unix microseconds, 0 where it has not happened."""

    firing_id: uuid.UUID
    job: str
    planned_us: int
    outcome: Outcome = Outcome.PLANNED
    fired_us: int = 0
    finished_us: int = 0
    manual: bool = False
    # Earlier firings of the same job that this one stands in for.
    missed: int = 0
    # Planned time of the first of those that were still waiting; 0 where none was. Waiting counts from here.
    since_us: int = 0
    detail: str = ""
    user_ids: tuple[str, ...] = field(default=())
    phases: tuple[str, ...] = field(default=())

    @property
    def seconds(self) -> float:
        """How long it ran; 0 where it has not ended or did not run."""
        return max(0, self.finished_us - self.fired_us) / 1e6 if self.fired_us and self.finished_us else 0.0


def firing_identity(job: str, planned_us: int) -> uuid.UUID:
    """The id of a firing: job and scheduled time, the same in every process and after every restart."""
    return compose_uuid7(planned_us // 1000, hashlib.sha256(f"firing\0{job}\0{planned_us}".encode()).digest())


def trigger_identity(firing_id: uuid.UUID) -> uuid.UUID:
    """The event id of the trigger that a firing publishes: publishing it twice is publishing it once."""
    return derive_id(firing_id, "trigger")


def jitter_us(firing_id: uuid.UUID, jitter_seconds: int) -> int:
    """The delay of one firing, 0 to `jitter_seconds` in microseconds, fixed by its id."""
    return stable_hash64(f"jitter/{firing_id}") % (jitter_seconds * 1_000_000 + 1)
