"""The schedule's file, looked at again and again: what it says now is in force, or why it is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from aico_memory.domain.scheduling.job import Job
from aico_memory.errors import ConfigurationInvalid
from aico_memory.paths import Home, config_file
from aico_memory.runtime.schedule_file import FILE, load_schedule

Signature = tuple[str, int, int, int]


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """What is in force, and why the file as it is now is not."""

    jobs: Mapping[str, Job]
    # The file that was read last.
    path: str = ""
    # Unix microseconds.
    loaded_us: int = 0
    error: str = ""
    # Jobs that the last reading added, changed or took away.
    changed: tuple[str, ...] = ()


class ScheduleWatch:
    """Reads the file where it has changed. A file that is wrong leaves the schedule of before in force."""

    def __init__(self, home: Home, now_us: int) -> None:
        """Raises ConfigurationInvalid: there is no schedule of before."""
        self._home = home
        path = config_file(home, FILE)
        self._seen = _signature(path)
        self.state = ScheduleState(load_schedule(home), str(path), now_us)

    def look(self, now_us: int, *, again: bool = False) -> bool:
        """Whether other jobs are in force now; `again` reads the file also where it looks the same."""
        path = config_file(self._home, FILE)
        signature = _signature(path)
        if signature == self._seen and not again:
            return False
        self._seen = signature
        before = self.state
        try:
            jobs = load_schedule(self._home)
        except ConfigurationInvalid as error:
            self.state = replace(before, path=str(path), error=error.detail)
            return False
        self.state = ScheduleState(jobs, str(path), now_us, changed=_changed(before.jobs, jobs))
        return bool(self.state.changed)


def _changed(before: Mapping[str, Job], after: Mapping[str, Job]) -> tuple[str, ...]:
    return tuple(sorted(name for name in {*before, *after} if before.get(name) != after.get(name)))


def _signature(path: Path) -> Signature:
    """What tells one version of a file from another; a file that cannot be looked at is its own version."""
    try:
        found = path.stat()
    except OSError:
        return (str(path), 0, 0, 0)
    return (str(path), found.st_mtime_ns, found.st_size, found.st_ino)
