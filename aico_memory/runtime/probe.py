"""Asking the running processes how they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any

from aico_memory.contracts.v1 import bus_pb2
from aico_memory.errors import AicoMemoryError
from aico_memory.runtime.waiting import answered

if TYPE_CHECKING:
    from aico_memory.bus.link import Link

ANSWER_SECONDS = 5.0


def worker_status(link: Link, process: str, seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
    """What one worker says of itself."""
    asked = link.request(bus_pb2.WorkerStatusRequest(process=process), timeout=seconds)
    answer = answered(asked, seconds + 1, f"The question how {process} is")
    status: dict[str, Any] = json.loads(answer.detail_json)
    return status


def worker_statuses(link: Link, processes: Sequence[str], seconds: float = ANSWER_SECONDS) -> dict[str, dict[str, Any]]:
    """What all of them say, asked at once; `{"error": …}` for one that does not answer."""
    asked = {
        name: link.request(bus_pb2.WorkerStatusRequest(process=name), timeout=seconds) for name in processes if name != "broker"
    }
    found: dict[str, dict[str, Any]] = {}
    for name, future in asked.items():
        try:
            found[name] = json.loads(future.result(seconds + 1).detail_json)
        except (AicoMemoryError, FutureTimeout, ValueError) as error:
            found[name] = {"error": getattr(error, "code", type(error).__name__)}
    return found


def broker_says(link: Link, verb: str, body: dict[str, Any] | None = None, seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
    """The broker's answer to a control verb."""
    return answered(link.control(verb, body or {}), seconds, f"The broker's `{verb}`")
