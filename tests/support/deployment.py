"""A whole deployment in a folder of its own: started, asked, turned, and stopped through the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from aico_memory.bus.link import Link
from aico_memory.client import MemoryClient
from aico_memory.clock import SharedManualClock
from aico_memory.paths import Home
from aico_memory.runtime.deployment import ProcessState, read_table
from aico_memory.runtime.links import make_link
from aico_memory.runtime.processes import process_state
from aico_memory.runtime.waiting import until
from aico_memory.vault.curve_keys import load_identity
from tests.support.exports import export_folder

COMMAND = (sys.executable, "-m", "aico_memory.cli")
START = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
T = TypeVar("T")


class Deployment:
    """One deployment; its manual clock stands at START until it is turned.

    `manual=False` follows the machine's clock. Whatever variable of the program the caller's shell has set
    does not reach it, `environment` does.
    """

    def __init__(self, folder: Path, *, manual: bool = True, environment: dict[str, str] | None = None) -> None:
        self.home = Home(folder)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("AICO_MEMORY_")}
        self.environment |= {
            "AICO_MEMORY_HOME": str(folder),
            "AICO_MEMORY_SET__models__export_folder": str(export_folder()),
            "AICO_MEMORY_SET__bus__segment_first_bytes": "1048576",
            **({"AICO_MEMORY_CLOCK": "manual"} if manual else {}),
            **(environment or {}),
        }
        self._manual = manual
        self._clock: SharedManualClock | None = None

    def run(self, *arguments: str, check: bool = True, given: str = "") -> subprocess.CompletedProcess[str]:
        """A command of `aico-memory`; AssertionError with all it said where it should succeed and does not."""
        done = subprocess.run(
            [*COMMAND, *arguments], env=self.environment, input=given, capture_output=True, text=True, check=False, timeout=300
        )
        assert not check or done.returncode == 0, f"aico-memory {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done

    def json(self, *arguments: str) -> Any:
        """What a command says as JSON."""
        return json.loads(self.run(*arguments, "--json").stdout)

    def up(self, *options: str) -> Deployment:
        """Start it; returns when it is ready."""
        if self._manual and self._clock is None:
            self._clock = SharedManualClock(self.home.manual_clock, START)
        self.run("up", "--detach", "--timeout", "120", *options)
        return self

    def down(self) -> None:
        """Drain and stop it."""
        self.run("down")

    def close(self) -> None:
        """Stop it if it runs."""
        self.run("down", "--now", check=False)
        if self._clock is not None:
            self._clock.close()
            self._clock = None

    @property
    def clock(self) -> SharedManualClock:
        """The hands of its clock."""
        assert self._clock is not None, "this deployment follows the machine's clock, or was never started"
        return self._clock

    def advance(self, **by: float) -> None:
        """Turn its clock forward, e.g. `hours=25`."""
        self.clock.advance(timedelta(**by))

    def client(self, identity: str = "default") -> MemoryClient:
        """A connected client."""
        return MemoryClient.connect(home=self.home.root, identity=identity)

    def link(self, identity: str = "operator") -> Link:
        """A started link, for what the client does not offer."""
        made = make_link(self.home, load_identity(self.home, identity))
        try:
            made.start()
        except BaseException:
            made.close()
            raise
        return made

    def process(self, name: str) -> ProcessState:
        """One line of the process table."""
        return process_state(self.home, name)

    def pids(self) -> dict[str, int | None]:
        """Process ids by name, as the supervisor sees them now."""
        table = read_table(self.home)
        assert table is not None
        return {state.name: state.pid for state in table.processes}

    def export(self, user: str = "") -> list[str]:
        """The canonical export."""
        return self.run("export", "--canonical", *(["--user", user] if user else [])).stdout.splitlines()

    def files(self) -> list[Path]:
        """Every file of the home at this moment."""
        return [path for path in self.home.root.rglob("*") if path.is_file()]


def wait_for(condition: Callable[[], T | None], seconds: float = 20.0, otherwise: str = "the condition did not come true") -> T:
    """The first result that is not None; looks again and again, AssertionError at the deadline."""
    return until(condition, seconds, otherwise)


def contents(messages: Sequence[Any]) -> list[str]:
    """What was said, of raw messages."""
    return [str(message["content"]) for message in messages]
