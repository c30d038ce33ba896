"""The supervisor over stand-in processes: real processes, real signals."""

from __future__ import annotations

import json
import signal
from functools import partial
from pathlib import Path

import psutil
import pytest

from aico_memory.errors import StartFailed, StoreLocked
from aico_memory.paths import Home
from aico_memory.runtime.deployment import HomeLock, read_table, running_supervisor
from aico_memory.runtime.processes import await_running, process_state, restart_process, stop_deployment
from aico_memory.runtime.waiting import until
from tests.support.supervisors import NAMES, QUICK, StartSupervisor


@pytest.fixture(params=[True, False], ids=["forked", "spawned"])
def supervise(request: pytest.FixtureRequest, start_supervisor: StartSupervisor) -> StartSupervisor:
    """Both ways of starting processes keep what is said here."""
    return partial(start_supervisor, fork_server=request.param)


def test_it_becomes_ready_shows_all_processes_and_drains_in_reverse_on_one_signal(supervise: StartSupervisor) -> None:
    supervisor = supervise()
    supervisor.until_line("ready")
    table = read_table(supervisor.home)
    assert table is not None
    assert table.ready
    assert [(state.name, state.state, state.restarts) for state in table.processes] == [
        ("broker", "running", 0), ("working", "running", 0), ("semantic", "running", 0),
    ]  # fmt: skip
    supervisor.signal(signal.SIGINT)
    assert supervisor.wait() == 0
    drained = [line.split()[1] for line in supervisor.lines if line.endswith("drained")]
    assert drained == ["semantic", "working", "broker"]
    after = read_table(supervisor.home)
    assert after is not None
    assert {state.state for state in after.processes} == {"stopped"}


def test_a_start_tells_who_is_ready_and_who_is_waited_for(supervise: StartSupervisor) -> None:
    supervisor = supervise()
    supervisor.until_line("ready")
    told = [line.removeprefix("progress ") for line in supervisor.lines if line.startswith("progress ")]
    assert told[0] == "starting broker, working, semantic"
    assert told[1] == "broker ready; waiting for working, semantic"
    assert told[-1].endswith(" ready")
    supervisor.signal(signal.SIGINT)
    assert supervisor.wait() == 0
    assert [line for line in supervisor.lines if "stopping before" in line] == []


def test_a_start_that_is_interrupted_says_so(supervise: StartSupervisor) -> None:
    supervisor = supervise({"semantic": "never_ready"})
    supervisor.until_line("progress broker ready")
    supervisor.signal(signal.SIGINT)
    assert supervisor.wait() == 0
    assert [line for line in supervisor.lines if "stopping before everything is ready" in line] != []


def test_logs_of_all_are_kept_one_file_each_and_shown_in_one_place(supervise: StartSupervisor) -> None:
    supervisor = supervise()
    supervisor.until_line("ready")
    supervisor.signal(signal.SIGTERM)
    supervisor.wait()
    assert {line for line in supervisor.lines if line.endswith("starts")} == {
        f"log {name} {name} starts" for name in NAMES.split(",")
    }
    assert (supervisor.home.logs / "working.log").read_text() == "working starts\nworking drained\n"


def test_a_killed_process_is_started_again_and_counted(supervise: StartSupervisor) -> None:
    supervisor = supervise()
    supervisor.until_line("ready")
    pid = restart_process(supervisor.home, "working", 120, signal.SIGKILL)
    table = read_table(supervisor.home)
    assert table is not None
    working = next(state for state in table.processes if state.name == "working")
    assert (working.pid, working.restarts) == (pid, 1)
    assert working.reason == "ended by SIGKILL", "status tells why it was started again"
    assert table.ready


def test_many_kills_from_outside_are_no_crash_loop(supervise: StartSupervisor) -> None:
    supervisor = supervise()
    supervisor.until_line("ready")
    for _ in range(int(QUICK["crash_loop_count"]) + 2):
        restart_process(supervisor.home, "semantic", 120, signal.SIGKILL)
    assert await_running(supervisor.home, "semantic", None)


def test_who_was_given_up_is_tried_again_on_demand(supervise: StartSupervisor, tmp_path: Path) -> None:
    obstacle = tmp_path / "obstacle"
    supervisor = supervise({"working": f"crash_while:{obstacle}"})
    supervisor.until_line("ready")
    obstacle.touch()
    with pytest.raises(StartFailed, match="stumbles over"):
        restart_process(supervisor.home, "working", 120, signal.SIGKILL)
    assert process_state(supervisor.home, "working").state == "failed"
    with pytest.raises(StartFailed, match="stumbles over"):
        restart_process(supervisor.home, "working", 120)
    assert process_state(supervisor.home, "semantic").restarts == 0
    obstacle.unlink()
    pid = restart_process(supervisor.home, "working", 120)
    assert psutil.pid_exists(pid)
    table = read_table(supervisor.home)
    assert table is not None
    assert table.ready
    supervisor.signal(signal.SIGTERM)
    assert supervisor.wait() == 0
    assert not psutil.pid_exists(pid)


def test_a_process_that_dies_once_while_starting_is_tried_again(supervise: StartSupervisor, tmp_path: Path) -> None:
    supervisor = supervise({"working": f"crash_once:{tmp_path / 'crashed'}"})
    supervisor.until_line("ready")
    assert (tmp_path / "crashed").exists()


def test_a_crash_loop_ends_the_start_with_the_reason_in_the_processs_own_words(supervise: StartSupervisor) -> None:
    supervisor = supervise({"working": "crash"})
    assert supervisor.wait() == 1
    error = next(line for line in supervisor.lines if line.startswith("error"))
    assert "start_failed" in error
    assert "working" in error
    assert "cannot find its hat" in error
    assert running_supervisor(supervisor.home) is None


def test_a_hopeless_process_is_not_tried_again_and_its_typed_reason_is_shown(supervise: StartSupervisor) -> None:
    supervisor = supervise({"semantic": "hopeless"})
    assert supervisor.wait() == 1
    assert sum(line.endswith("semantic starts") for line in supervisor.lines) == 1
    assert "The key does not fit (wrong_key). Give the key." in next(line for line in supervisor.lines if "error" in line)


def test_a_start_that_takes_too_long_names_who_is_late(supervise: StartSupervisor) -> None:
    supervisor = supervise({"semantic": "never_ready"}, start_timeout_seconds=8.0)
    assert supervisor.wait() == 1
    assert "semantic (starting)" in next(line for line in supervisor.lines if line.startswith("error"))


def test_a_process_that_does_not_drain_is_killed_after_its_time(supervise: StartSupervisor) -> None:
    supervisor = supervise({"working": "stubborn"}, stop_timeout_seconds=0.2)
    supervisor.until_line("ready")
    supervisor.signal(signal.SIGTERM)
    assert supervisor.wait() == 0
    assert any(line.endswith("semantic drained") for line in supervisor.lines)


def test_a_second_signal_ends_everything_at_once(supervise: StartSupervisor) -> None:
    supervisor = supervise({"semantic": "stubborn"}, stop_timeout_seconds=100.0)
    pids = json.loads(supervisor.until_line("ready").removeprefix("ready "))
    supervisor.signal(signal.SIGINT)
    until(lambda: stopping(supervisor.home, "semantic"), 120, "the drain did not begin")
    supervisor.signal(signal.SIGINT)
    assert supervisor.wait() == 0
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_nothing_outlives_a_supervisor_that_is_killed(supervise: StartSupervisor) -> None:
    supervisor = supervise({"working": "stubborn"})
    pids = json.loads(supervisor.until_line("ready").removeprefix("ready "))
    table = read_table(supervisor.home)
    assert table is not None
    children = [psutil.Process(pid) for pid in (*pids, table.fork_server) if pid]
    supervisor.signal(signal.SIGKILL)
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive
    # Children die with the thread that made them: others of its threads may hold the lock a moment longer.
    assert supervisor.wait() == -signal.SIGKILL
    assert running_supervisor(supervisor.home) is None


def test_one_supervisor_a_home(supervise: StartSupervisor) -> None:
    supervisor = supervise()
    supervisor.until_line("ready")
    with pytest.raises(StoreLocked, match=str(supervisor.process.pid)):
        HomeLock(supervisor.home)
    assert stop_deployment(supervisor.home, 20)
    supervisor.wait()
    HomeLock(supervisor.home).release()


def stopping(home: Home, name: str) -> bool | None:
    table = read_table(home)
    states = {state.name: state.state for state in table.processes} if table else {}
    return True if states.get(name) == "stopping" else None
