"""Supervisors in processes of their own, over stand-ins for the processes of a deployment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from aico_memory.paths import Home

ROOT = Path(__file__).resolve().parents[2]
QUICK = {"restart_first_ms": 1, "restart_limit_ms": 5, "crash_loop_count": 3, "stop_timeout_seconds": 1.0}
NAMES = "broker,working,semantic"


class RunningSupervisor:
    """A supervisor in a process of its own, and what it says line by line."""

    def __init__(self, home: Home, acts: dict[str, str], settings: dict[str, object]) -> None:
        environment = {**os.environ, **{f"ACT_{name.upper()}": act for name, act in acts.items()}}
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.run_supervisor", str(home.root), json.dumps({**QUICK, **settings}), NAMES],
            stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment,
        )  # fmt: skip
        self.lines: list[str] = []

    def until_line(self, start: str) -> str:
        """Read on until a line begins so."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if line.startswith(start):
                return line.rstrip()
        raise AssertionError(f"ended without {start!r}: {self.lines}")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        assert self.process.stdout is not None
        self.lines += [line.rstrip() for line in self.process.stdout]
        return self.process.wait(60)


StartSupervisor = Callable[..., RunningSupervisor]
