"""For what is measured without a watch: how busy the machine is shall say nothing about what is found."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aico_memory.errors import BusUnavailable, DeadlineExceeded

_TRIES = 20
_PAUSE_SECONDS = 0.5
_LINK_SECONDS = {"connect": 30, "handshake": 20, "liveness": 120, "stall": 60, "request": 600, "command": 600, "publish": 600}
# Variables of a deployment, and of its clients, that wait where others would report an error.
PATIENT: Mapping[str, str] = {f"AICO_MEMORY_SET__link__{name}_seconds": str(value) for name, value in _LINK_SECONDS.items()}


@dataclass(slots=True)
class PatientAsking:
    """Asks again where a tier missed its deadline."""

    # Answers that left a tier out in the end, and how often was asked again because of it.
    degraded: int = 0
    repeated: int = 0

    def whole(self, ask: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """The answer of every tier; with the last try what there is, an answer without results where there was none."""
        found: Mapping[str, Any] = {"results": [], "degraded": ["semantic"]}
        for attempt in range(_TRIES):
            if attempt:
                self.repeated += 1
                time.sleep(_PAUSE_SECONDS)
            try:
                found = ask()
            except (BusUnavailable, DeadlineExceeded):
                continue
            if not found["degraded"]:
                return found
        self.degraded += 1
        return found
