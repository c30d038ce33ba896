"""Real deployments for tests: started by the command line, in homes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from aico_memory import MemoryClient
from aico_memory.bus.link import Link
from aico_memory.clock import SharedManualClock
from aico_memory.paths import Home
from aico_memory.runtime.deployment import read_table
from aico_memory.runtime.links import make_link
from aico_memory.runtime.processes import stop_deployment
from aico_memory.runtime.waiting import until
from aico_memory.vault.curve_keys import load_identity
from tests.support.exports import export_folder

START_SECONDS = 230.0
# What would make a test depend on the machine it runs on.
FOREIGN = ("AICO_MEMORY_HOME", "AICO_MEMORY_PASSPHRASE", "AICO_MEMORY_KEY_FILE", "AICO_MEMORY_CLOCK", "AICO_MEMORY_IDENTITY",
           "AICO_MEMORY_USER", "AICO_MEMORY_CONFIG")  # fmt: skip


@dataclass
class Finished:
    """A finished call of the command line."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Deployment:
    """One home and the command line on it."""

    root: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Home:
        return Home(self.root)

    @property
    def variables(self) -> dict[str, str]:
        """The environment of everything that is started for this home."""
        own = {key: value for key, value in os.environ.items() if key not in FOREIGN}
        models = {"AICO_MEMORY_SET__models__export_folder": str(export_folder())}
        return {**own, **models, "AICO_MEMORY_HOME": str(self.root), **self.environment}

    def run(self, *arguments: str, stdin: str = "", seconds: float = START_SECONDS) -> Finished:
        """Call `aico-memory` and wait for it."""
        done = subprocess.run(
            [sys.executable, "-m", "aico_memory.cli", *arguments],
            input=stdin, capture_output=True, text=True, timeout=seconds, env=self.variables, check=False,
        )  # fmt: skip
        return Finished(done.returncode, done.stdout, done.stderr)

    def ok(self, *arguments: str, stdin: str = "") -> Finished:
        """The same where it must succeed."""
        done = self.run(*arguments, stdin=stdin)
        assert done.code == 0, f"{arguments}: {done.code}\n{done.out}\n{done.err}\n{self.last_words()}"
        return done

    def up(self, *arguments: str) -> Finished:
        return self.ok("up", "--detach", "--timeout", str(START_SECONDS - 10), *arguments)

    def down(self) -> None:
        stop_deployment(self.home, 60.0)

    def status(self) -> Any:
        return self.ok("status", "--json").json

    def pid(self, name: str) -> int:
        table = read_table(self.home)
        assert table is not None
        pid = next(state.pid for state in table.processes if state.name == name)
        assert pid is not None
        return pid

    def client(self, identity: str = "default") -> MemoryClient:
        return MemoryClient.connect(home=self.root, identity=identity)

    def pids(self) -> dict[str, int | None]:
        """Process ids by name."""
        table = read_table(self.home)
        assert table is not None
        return {state.name: state.pid for state in table.processes}

    def link(self, identity: str = "operator") -> Link:
        """A started link, for what the client does not offer."""
        made = make_link(self.home, load_identity(self.home, identity))
        try:
            made.start()
        except BaseException:
            made.close()
            raise
        return made

    def clock(self) -> SharedManualClock:
        """The hands of a deployment with AICO_MEMORY_CLOCK=manual."""
        return SharedManualClock(self.home.manual_clock)

    def export(self) -> list[str]:
        """The canonical export."""
        return self.ok("export", "--canonical").out.splitlines()

    def last_words(self) -> str:
        """The ends of all logs, for a failed test."""
        logs = sorted(self.home.logs.glob("*.log"))
        return "\n".join(f"== {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-5:]) for log in logs)


MakeDeployment = Callable[..., Deployment]


T = TypeVar("T")


def eventually(condition: Callable[[], T | None], otherwise: str, seconds: float = 90.0) -> T:
    """The first result that is not None; looks again and again until the deadline."""
    return until(condition, seconds, otherwise)


def said(content: str, role: str = "user", **more: Any) -> dict[str, Any]:
    """A message as the client takes it."""
    return {"role": role, "content": content, **more}


def contents(found: Mapping[str, Any]) -> Sequence[str]:
    """The texts of search results, best first."""
    return [result["memory"] for result in found["results"]]
