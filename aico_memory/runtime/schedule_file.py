"""Reading config/schedule.yaml: every key checked, the first wrong one named with its path."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml
from pydantic import Field, ValidationError, model_validator

from aico_memory.contracts.registry import topics
from aico_memory.domain.scheduling.cron import parse_cron
from aico_memory.domain.scheduling.job import Job, Misfire, Resource
from aico_memory.errors import ConfigurationInvalid, InvalidMessage
from aico_memory.paths import Home, config_file
from aico_memory.settings.section import Section

FILE = "schedule.yaml"
LOCAL = "local"
_LOCALTIME = Path("/etc/localtime")
_DAY = 86_400


class JobEntry(Section):
    """One job as the file states it; see config/schedule.yaml for the meaning of the keys."""

    cron: str
    topic: str
    zone: str = ""
    priority: int = Field(default=50, ge=0, le=100)
    resource: Resource = Resource.LIGHT
    max_duration: int = Field(default=3600, ge=1, le=7 * _DAY)
    reports: bool = False
    idle: bool = False
    latest: int = Field(default=0, ge=0, le=_DAY)
    jitter: int = Field(default=0, ge=0, le=_DAY)
    misfire: Misfire = Misfire.ONCE
    enabled: bool = True
    awaiting: str = Field(default="", max_length=200)

    @model_validator(mode="after")
    def _hang_together(self) -> JobEntry:
        if self.idle and not self.latest:
            raise ValueError("a job that waits for idleness needs `latest`, the seconds after which it runs anyway")
        if self.enabled and self.awaiting:
            raise ValueError("a job that awaits its worker cannot be enabled")
        return self


class ScheduleFile(Section):
    """The whole file."""

    zone: str = LOCAL
    jobs: dict[str, JobEntry] = Field(default_factory=dict)


def load_schedule(home: Home) -> dict[str, Job]:
    """The jobs by name; ConfigurationInvalid names file and key of what is wrong."""
    return parse_schedule(config_file(home, FILE))


def parse_schedule(path: Path) -> dict[str, Job]:
    """The jobs of one file."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ConfigurationInvalid(f"{path} cannot be read as YAML: {error}") from error
    try:
        entries = ScheduleFile.model_validate(content if content is not None else {})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ConfigurationInvalid(f"{key}: {first['msg']} (in {path})") from error
    return {name: _job(name, entry, entries.zone, path) for name, entry in entries.jobs.items()}


def local_zone(environment: Mapping[str, str], localtime: Path = _LOCALTIME) -> ZoneInfo:
    """The machine's zone by TZ or the link that stands for it; UTC where neither names one."""
    named = environment.get("TZ", "").removeprefix(":")
    if not named and localtime.is_symlink():
        _, _, named = str(localtime.resolve()).partition("zoneinfo/")
    try:
        return ZoneInfo(named) if named else ZoneInfo("UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def _job(name: str, entry: JobEntry, default_zone: str, path: Path) -> Job:
    zone = _zone(entry.zone or default_zone, f"jobs.{name}.zone" if entry.zone else "zone", path)
    try:
        cron = parse_cron(entry.cron, zone)
    except InvalidMessage as error:
        raise ConfigurationInvalid(f"jobs.{name}.cron: {error.detail} (in {path})") from error
    _check_topic(name, entry.topic, path)
    return Job(
        name, cron, entry.topic, entry.priority, entry.resource, entry.max_duration, entry.idle, entry.latest,
        entry.jitter, entry.misfire, entry.enabled, entry.reports, entry.awaiting,
    )  # fmt: skip


def _zone(name: str, key: str, path: Path) -> ZoneInfo:
    if name == LOCAL:
        return local_zone(os.environ)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigurationInvalid(f"{key}: {name!r} is no time zone (in {path})") from error


def _check_topic(job: str, name: str, path: Path) -> None:
    """A trigger is a durable message about nobody that carries the firing it stands for."""
    topic = topics().get(name)
    fields = {"firing_id", "planned_at_us"}
    if topic is None or not topic.durable or topic.needs_user or not fields <= set(topic.message.DESCRIPTOR.fields_by_name):
        raise ConfigurationInvalid(f"jobs.{job}.topic: {name!r} is no topic that a schedule can trigger (in {path})")
