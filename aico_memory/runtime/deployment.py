"""What a deployment consists of, and the run state by which the command line finds it."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aico_memory.errors import InvalidMessage, StoreLocked
from aico_memory.paths import Home

# Stopping goes from the last level to the first; the broker starts alone, the others together after it.
LEVELS: tuple[tuple[str, ...], ...] = (
    ("broker",), ("model", "working"), ("semantic", "behavioral"), ("consolidation", "context"), ("scheduler",),
)  # fmt: skip
PROCESSES: tuple[str, ...] = tuple(name for level in LEVELS for name in level)
WORKERS: tuple[str, ...] = PROCESSES[1:]
LOCK = "supervisor.lock"

ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        # One computing thread a process: two on busy cores make the slowest answers ten times slower.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        # Eight processes with a heap arena for each thread waste memory.
        "MALLOC_ARENA_MAX": "2",
        "PYTHONFAULTHANDLER": "1",
    }
)


@dataclass(frozen=True, slots=True)
class ProcessState:
    """One line of the process table."""

    name: str
    pid: int | None
    # starting | running | restarting | stopping | stopped | failed
    state: str
    restarts: int
    since: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ProcessTable:
    """What the supervisor says about its deployment."""

    supervisor: int
    ready: bool
    since: str
    clock: str
    encryption: str
    processes: tuple[ProcessState, ...] = field(default_factory=tuple)
    # Process id of the one whose forks they are; None where each is an interpreter of its own.
    fork_server: int | None = None

    def write(self, home: Home) -> None:
        """Replace the table on disk in one step."""
        temporary = home.process_table.with_suffix(".new")
        temporary.write_text(json.dumps(asdict(self), indent=1))
        temporary.replace(home.process_table)


def read_table(home: Home) -> ProcessTable | None:
    """The table of the last or running supervisor; None where there never was one."""
    try:
        content: dict[str, Any] = json.loads(home.process_table.read_text())
    except (OSError, ValueError):
        return None
    processes = tuple(ProcessState(**entry) for entry in content.pop("processes"))
    return ProcessTable(**content, processes=processes)


def chosen_processes(only: str | None) -> tuple[str, ...]:
    """The processes of `--only a,b` in order, the broker always among them; all where nothing is given."""
    if not only:
        return PROCESSES
    wanted = {name.strip() for name in only.split(",") if name.strip()}
    unknown = sorted(wanted - set(PROCESSES))
    if unknown:
        raise InvalidMessage(f"There is no process {unknown[0]!r}", f"Processes are: {', '.join(PROCESSES)}.")
    return tuple(name for name in PROCESSES if name in wanted | {"broker"})


class HomeLock:
    """One supervisor a home: the lock lives as long as the process that took it."""

    def __init__(self, home: Home) -> None:
        home.ensure()
        self._descriptor = os.open(home.run / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._descriptor, 32, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise StoreLocked(f"A deployment runs already in {home.root} (supervisor {holder or 'unknown'})") from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Let another supervisor in."""
        os.close(self._descriptor)


def running_supervisor(home: Home) -> int | None:
    """Process id of the supervisor that holds this home; None where none does."""
    path: Path = home.run / LOCK
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        text = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        return int(text) if text.isdigit() else None
    else:
        return None
    finally:
        os.close(descriptor)
