"""Which clock a process of a deployment uses."""

from __future__ import annotations

import os
from collections.abc import Mapping

from aico_memory.clock import Clock, SharedManualClock, SystemClock
from aico_memory.errors import ConfigurationInvalid
from aico_memory.paths import Home

CLOCK_VARIABLE = "AICO_MEMORY_CLOCK"
MANUAL = "manual"
SYSTEM = "system"


def clock_mode(home: Home, environment: Mapping[str, str] = os.environ) -> str:
    """`manual` or `system`: what the environment says, else what the running deployment uses."""
    given = environment.get(CLOCK_VARIABLE, "")
    if given not in ("", MANUAL, SYSTEM):
        raise ConfigurationInvalid(f"{CLOCK_VARIABLE} is {given!r}", "Set it to `manual` or `system`, or leave it out.")
    if given:
        return given
    try:
        return MANUAL if (home.run / "clock_mode").read_text().strip() == MANUAL else SYSTEM
    except OSError:
        return SYSTEM


def clock_for(home: Home, environment: Mapping[str, str] = os.environ) -> Clock:
    """The clock of every process of this home, a client's included."""
    return SharedManualClock(home.manual_clock) if clock_mode(home, environment) == MANUAL else SystemClock()


def note_clock_mode(home: Home, mode: str) -> None:
    """Let clients that do not have the variable follow the deployment's clock."""
    home.run.mkdir(parents=True, exist_ok=True, mode=0o700)
    (home.run / "clock_mode").write_text(mode + "\n")
