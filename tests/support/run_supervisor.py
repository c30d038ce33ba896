"""Run a supervisor over the stand-in processes: `python -m tests.support.run_supervisor HOME SETTINGS NAMES`."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from aico_memory.errors import AicoMemoryError
from aico_memory.paths import Home
from aico_memory.runtime.supervisor import Supervisor
from aico_memory.settings.root import Settings
from aico_memory.settings.runtime import RuntimeSettings


def main() -> int:
    home, settings, names = sys.argv[1:]
    runtime = RuntimeSettings.model_validate(json.loads(settings))
    supervisor = Supervisor(
        Home(Path(home)), Settings(runtime=runtime), names.split(","), package="tests.support.processes",
        echo=lambda name, line: say(f"log {name} {line}"), progressed=lambda line: say(f"progress {line}"),
    )  # fmt: skip
    try:
        asyncio.run(supervisor.run(lambda table: say(f"ready {json.dumps([state.pid for state in table.processes])}")))
    except AicoMemoryError as error:
        say(f"error {error.code} {error.detail}")
        return 1
    say("stopped")
    return 0


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
