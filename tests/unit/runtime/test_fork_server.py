"""Processes as forks of one that has loaded what they share: real forks, real kills."""

from __future__ import annotations

import json
import os
import signal
import sys

import psutil
import pytest

from aico_memory.paths import Home
from aico_memory.runtime.deployment import ProcessTable, read_table
from aico_memory.runtime.processes import await_running, restart_process
from aico_memory.runtime.waiting import until
from tests.support.supervisors import NAMES, RunningSupervisor, StartSupervisor

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes are spawned")
SPAWNED_BY = "aico_memory.runtime.launch"


def table_of(home: Home) -> ProcessTable:
    table = read_table(home)
    assert table is not None
    return table


def pids_of(home: Home) -> dict[str, int | None]:
    return {state.name: state.pid for state in table_of(home).processes}


def another_server(home: Home, than: int) -> int:
    def again() -> int | None:
        return server if (server := table_of(home).fork_server) not in (None, than) else None

    return until(again, 120, "no other fork server")


def described(supervisor: RunningSupervisor, name: str) -> dict[str, object]:
    line = supervisor.until_line(f'log {name} {{"files"')
    words: dict[str, object] = json.loads(line.removeprefix(f"log {name} "))
    return words


def test_every_process_is_the_supervisors_own_child_and_ps_tells_what_it_does(start_supervisor: StartSupervisor) -> None:
    supervisor = start_supervisor()
    supervisor.until_line("ready")
    for name, pid in pids_of(supervisor.home).items():
        process = psutil.Process(pid)
        assert process.ppid() == supervisor.process.pid
        assert process.name() == f"aico-{name}"
        assert " ".join(process.cmdline()) == f"aico-memory {name} --home {supervisor.home.root}"
    server = psutil.Process(table_of(supervisor.home).fork_server)
    assert server.num_threads() == 1
    assert server.children() == []


def test_a_fork_is_born_like_a_process_of_its_own(start_supervisor: StartSupervisor) -> None:
    births = {}
    for fork_server in (True, False):
        supervisor = start_supervisor({"semantic": "describe"}, fork_server=fork_server)
        births[fork_server] = described(supervisor, "semantic")
        supervisor.signal(signal.SIGTERM)
        supervisor.wait()
    forked, spawned = births[True], births[False]
    assert forked["files"] == [0, 1, 2], "nothing that the fork server or another process had open is handed down"
    assert forked["leads"], "a session of its own: Ctrl-C on the terminal reaches the supervisor only"
    same = ("files", "stdin", "leads", "signals", "module", "cwd", "thread")
    assert {key: forked[key] for key in same} == {key: spawned[key] for key in same}
    assert without_numbers(forked["arguments"]) == without_numbers(spawned["arguments"])
    assert forked["environment"] == spawned["environment"]


def without_numbers(arguments: object) -> list[str]:
    assert isinstance(arguments, list)
    return [argument for argument in arguments if not argument.isdigit()]


def test_two_forks_do_not_draw_the_same_random_numbers(start_supervisor: StartSupervisor) -> None:
    supervisor = start_supervisor({"working": "describe"})
    draws = [described(supervisor, "working")["draw"]]
    supervisor.until_line("ready")
    restart_process(supervisor.home, "working", 120, signal.SIGKILL)
    draws.append(described(supervisor, "working")["draw"])
    assert len(set(draws)) == 2


def test_a_killed_fork_server_is_replaced_and_no_process_notices(start_supervisor: StartSupervisor) -> None:
    supervisor = start_supervisor()
    supervisor.until_line("ready")
    before = pids_of(supervisor.home)
    first = table_of(supervisor.home).fork_server
    assert first is not None
    os.kill(first, signal.SIGKILL)
    another_server(supervisor.home, first)
    assert pids_of(supervisor.home) == before
    assert all(state.restarts == 0 for state in table_of(supervisor.home).processes)
    pid = restart_process(supervisor.home, "working", 120, signal.SIGKILL)
    assert psutil.Process(pid).name() == "aico-working", "the next one forks"
    supervisor.signal(signal.SIGTERM)
    assert supervisor.wait() == 0


def test_a_fork_server_that_nobody_asks_ends_and_comes_back_for_the_next_start(start_supervisor: StartSupervisor) -> None:
    supervisor = start_supervisor(fork_idle_seconds=0.2)
    supervisor.until_line("ready")
    before = pids_of(supervisor.home)
    for _ in range(2):
        until(lambda: True if table_of(supervisor.home).fork_server is None else None, 120, "the fork server stays")
        children = {child.pid for child in psutil.Process(supervisor.process.pid).children(recursive=True)}
        assert children == set(pids_of(supervisor.home).values()), "nothing of it is left"
        pid = restart_process(supervisor.home, "working", 120, signal.SIGKILL)
        assert psutil.Process(pid).name() == "aico-working"
    after = pids_of(supervisor.home)
    assert {name: pid for name, pid in after.items() if name != "working"} == {
        name: pid for name, pid in before.items() if name != "working"
    }
    supervisor.signal(signal.SIGTERM)
    assert supervisor.wait() == 0
    assert not any("spawned" in line for line in (supervisor.home.logs / "fork_server.log").read_text().splitlines())


def test_a_fork_server_stays_where_it_is_told_to(start_supervisor: StartSupervisor) -> None:
    supervisor = start_supervisor(fork_idle_seconds=0)
    supervisor.until_line("ready")
    first = table_of(supervisor.home).fork_server
    restart_process(supervisor.home, "working", 120, signal.SIGKILL)
    assert table_of(supervisor.home).fork_server == first is not None


def test_a_fork_server_that_is_killed_while_it_forks_leaves_nothing_behind(start_supervisor: StartSupervisor) -> None:
    supervisor = start_supervisor()
    supervisor.until_line("ready")
    for _ in range(12):
        server, pid = table_of(supervisor.home).fork_server, pids_of(supervisor.home)["working"]
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        if server is not None:
            # Somewhere between the request and its answer.
            os.kill(server, signal.SIGKILL)
        await_running(supervisor.home, "working", pid, 120)
    another_server(supervisor.home, 0)
    known = {*pids_of(supervisor.home).values(), table_of(supervisor.home).fork_server}

    def only_known() -> bool | None:
        children = psutil.Process(supervisor.process.pid).children(recursive=True)
        return True if {child.pid for child in children} == known else None

    until(only_known, 120, "a process that nobody knows of")
    supervisor.signal(signal.SIGTERM)
    assert supervisor.wait() == 0


@pytest.mark.parametrize("act", ["deadly_import", "threaded_import"])
def test_where_forking_is_not_possible_processes_are_spawned(start_supervisor: StartSupervisor, act: str) -> None:
    supervisor = start_supervisor({"working": act})
    supervisor.until_line("ready")
    assert SPAWNED_BY in psutil.Process(pids_of(supervisor.home)["working"]).cmdline()
    until(lambda: True if table_of(supervisor.home).fork_server is None else None, 120, "the fork server is kept")
    log = supervisor.home.logs / "fork_server.log"
    until(lambda: True if "spawned from now on" in log.read_text() else None, 120, "it is not said")
    supervisor.signal(signal.SIGTERM)
    assert supervisor.wait() == 0


def test_a_silent_fork_server_is_given_up(start_supervisor: StartSupervisor) -> None:
    supervisor = start_supervisor(fork_seconds=4.0)
    supervisor.until_line("ready")
    server = table_of(supervisor.home).fork_server
    assert server is not None
    os.kill(server, signal.SIGSTOP)
    pid = restart_process(supervisor.home, "working", 120, signal.SIGKILL)
    assert SPAWNED_BY in psutil.Process(pid).cmdline()
    assert not psutil.pid_exists(server)
    assert len(pids_of(supervisor.home)) == len(NAMES.split(","))
