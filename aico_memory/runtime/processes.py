"""Acting on the processes of a running deployment from outside its supervisor."""

from __future__ import annotations

import os
import signal

import psutil

from aico_memory.errors import BusUnavailable, NotFound, StartFailed
from aico_memory.paths import Home
from aico_memory.runtime.deployment import ProcessState, read_table, running_supervisor
from aico_memory.runtime.waiting import until


def process_state(home: Home, name: str) -> ProcessState:
    """The table's line of one process; BusUnavailable where nothing runs, NotFound where it has none."""
    table = read_table(home)
    if table is None or running_supervisor(home) is None:
        raise BusUnavailable("No deployment runs in this home")
    for state in table.processes:
        if state.name == name:
            return state
    raise NotFound(f"No process {name!r} belongs to this deployment", "See `aico-memory status`.")


def restart_process(home: Home, name: str, seconds: float = 60.0, number: signal.Signals = signal.SIGTERM) -> int:
    """End one process (SIGTERM: drained) and wait until the supervisor has it ready again; its new pid.

    One that was given up is tried again, and with it all others that were; StartFailed where it is given up once more.
    """
    state = process_state(home, name)
    before = state.pid
    if before is None and state.state == "failed":
        supervisor = running_supervisor(home)
        if supervisor is not None:
            os.kill(supervisor, signal.SIGCONT)
        return await_running(home, name, None, seconds, state.since)
    if before is None:
        raise NotFound(f"{name} does not run at this moment", "See `aico-memory status`.")
    os.kill(before, number)
    return await_running(home, name, before, seconds)


def await_running(home: Home, name: str, other_than: int | None, seconds: float = 60.0, given_up: str = "") -> int:
    """The pid of a process once it is ready as another one than before; StartFailed where it is given up.

    `given_up`: since when it was before, which is no answer.
    """

    def again() -> int | None:
        state = process_state(home, name)
        if state.state == "failed" and state.since != given_up:
            raise StartFailed(f"{name} does not start: {state.reason}", f"Its log is {home.logs / name}.log; mend that first.")
        return state.pid if state.state == "running" and state.pid != other_than else None

    return until(again, seconds, f"{name} is not ready again")


def stop_deployment(home: Home, seconds: float = 60.0, at_once: bool = False) -> bool:
    """Drain and stop; False where nothing ran, DeadlineExceeded where it takes too long."""
    supervisor = running_supervisor(home)
    if supervisor is None:
        return False
    try:
        process = psutil.Process(supervisor)
        process.send_signal(signal.SIGTERM)
        if at_once:
            process.send_signal(signal.SIGTERM)
    except psutil.NoSuchProcess:
        return True
    until(lambda: True if running_supervisor(home) is None else None, seconds, f"The supervisor {supervisor} has not stopped")
    return True
