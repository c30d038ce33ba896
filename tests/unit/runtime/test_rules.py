"""Rules of the runtime that need no process."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from aico_memory.clock import SharedManualClock, SystemClock
from aico_memory.errors import ConfigurationInvalid, DeadlineExceeded, InvalidMessage
from aico_memory.paths import Home
from aico_memory.runtime.clocks import CLOCK_VARIABLE, clock_for, note_clock_mode
from aico_memory.runtime.deployment import PROCESSES, ProcessState, ProcessTable, chosen_processes, read_table
from aico_memory.runtime.joblog import ProcessLog, readable
from aico_memory.runtime.restarts import HOPELESS_EXIT, RestartPolicy
from aico_memory.runtime.waiting import until
from aico_memory.settings.runtime import RuntimeSettings

SETTINGS = RuntimeSettings(restart_first_ms=100, restart_limit_ms=400, crash_loop_count=4, crash_loop_seconds=10)


def test_the_wait_before_a_restart_doubles_up_to_its_limit_while_a_process_does_not_get_ready() -> None:
    policy = RestartPolicy(SETTINGS)
    waits = [policy.after_death(100.0 * number, -signal.SIGKILL, was_ready=False) for number in range(4)]
    assert waits == [0.1, 0.2, 0.4, 0.4]
    assert policy.after_death(1000.0, 1, was_ready=True) == 0.1


def test_too_many_deaths_of_its_own_in_a_short_time_end_a_process() -> None:
    policy = RestartPolicy(SETTINGS)
    assert [policy.after_death(float(second), 1, was_ready=True) is None for second in range(4)] == [False] * 3 + [True]


def test_deaths_far_apart_are_no_crash_loop() -> None:
    policy = RestartPolicy(SETTINGS)
    assert all(policy.after_death(11.0 * number, 1, was_ready=True) is not None for number in range(20))


def test_a_kill_from_outside_is_never_a_crash_loop_but_a_segmentation_fault_is() -> None:
    killed, faulty = RestartPolicy(SETTINGS), RestartPolicy(SETTINGS)
    assert all(killed.after_death(0.0, -signal.SIGKILL, was_ready=True) is not None for _ in range(50))
    # One record may crash native code: there is room to find it out, and an end.
    assert [faulty.after_death(0.0, -signal.SIGSEGV, was_ready=True) is None for _ in range(8)] == [False] * 7 + [True]


def test_a_record_that_crashes_native_code_is_found_out_before_its_worker_is_given_up() -> None:
    defaults = RuntimeSettings()
    policy = RestartPolicy(defaults)
    # The first death, one in the first batch, one an attempt.
    deaths = 2 + defaults.max_attempts
    assert all(policy.after_death(float(number), -signal.SIGSEGV, was_ready=False) is not None for number in range(deaths))


def test_a_hopeless_exit_is_not_tried_again() -> None:
    assert RestartPolicy(SETTINGS).after_death(0.0, HOPELESS_EXIT, was_ready=False) is None


def test_what_worked_here_before_is_tried_after_a_longer_wait_and_not_for_ever() -> None:
    once, flapping = RestartPolicy(SETTINGS), RestartPolicy(SETTINGS)
    assert once.after_death(0.0, HOPELESS_EXIT, was_ready=True) == 0.4
    assert once.after_death(1.0, HOPELESS_EXIT, was_ready=False) is None
    waits = [flapping.after_death(float(second), HOPELESS_EXIT, was_ready=True) for second in range(4)]
    assert waits == [0.4, 0.4, 0.4, None]


def test_a_log_is_written_in_whole_lines_and_rotated_by_size(tmp_path: Path) -> None:
    shown: list[tuple[str, str]] = []
    log = ProcessLog(tmp_path / "working.log", 100, 2, echo=lambda name, line: shown.append((name, line)))
    log.feed(b"first ha")
    log.feed(b"lf\nsecond\n")
    assert shown == [("working", "first half"), ("working", "second")]
    for _ in range(20):
        log.feed(b"x" * 40 + b"\n")
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["working.log", "working.log.1", "working.log.2"]
    assert all(path.stat().st_size <= 100 for path in tmp_path.iterdir())


def test_an_endless_line_is_cut_and_not_kept_in_memory(tmp_path: Path) -> None:
    log = ProcessLog(tmp_path / "x.log", 10_000_000, 1)
    for _ in range(100):
        log.feed(b"y" * 10_000)
    assert (tmp_path / "x.log").stat().st_size > 900_000
    log.close()


def test_the_reason_of_an_end_is_the_typed_error_or_the_last_line_of_a_trace(tmp_path: Path) -> None:
    log = ProcessLog(tmp_path / "x.log", 10_000, 1)
    log.feed(b'{"event": "crashed", "exception": "Traceback\\nValueError: no hat"}\n')
    assert log.reason() == "ValueError: no hat"
    log.feed(b'{"event": "stopped", "detail": "Key does not fit", "code": "wrong_key", "mend": "Give it."}\nbye\n')
    assert log.reason() == "Key does not fit (wrong_key). Give it."
    log.close()


def test_a_json_log_line_becomes_readable_and_another_one_stays() -> None:
    line = '{"event": "applied", "level": "warning", "timestamp": "2026-05-01T10:11:12Z", "records": 3, "process": "working"}'
    assert readable("working", line) == ("warning", "10:11:12 working        applied records=3")
    assert readable("broker", "plain")[1] == "broker         plain"


def test_the_process_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.ensure()
    table = ProcessTable(1, True, "now", "system", "development", (ProcessState("broker", 2, "running", 0, "then"),))
    table.write(home)
    assert read_table(home) == table
    assert read_table(Home(tmp_path / "elsewhere")) is None


def test_only_always_brings_the_broker_and_knows_its_names() -> None:
    assert chosen_processes("semantic, working") == ("broker", "working", "semantic")
    assert chosen_processes(None) == PROCESSES
    with pytest.raises(InvalidMessage, match="gateway"):
        chosen_processes("gateway")


def test_a_client_without_the_variable_follows_the_deployments_clock(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert isinstance(clock_for(home, {}), SystemClock)
    note_clock_mode(home, "manual")
    assert isinstance(clock_for(home, {}), SharedManualClock)
    assert isinstance(clock_for(home, {CLOCK_VARIABLE: "system"}), SystemClock)
    with pytest.raises(ConfigurationInvalid):
        clock_for(home, {CLOCK_VARIABLE: "sundial"})


def test_waiting_for_a_condition_has_an_end() -> None:
    answers = iter([None, None, 5])
    assert until(lambda: next(answers), 5, "no five") == 5
    with pytest.raises(DeadlineExceeded, match="no hat within 0 s"):
        until(lambda: None, 0, "no hat")
