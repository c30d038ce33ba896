"""Asking the running processes how they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message

from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import bus_pb2
from aico_memory.errors import AicoMemoryError
from aico_memory.runtime.waiting import answered

if TYPE_CHECKING:
    from aico_memory.bus.link import Link

# Beyond its own deadline the end of a request is told by the link; a thread that is late with it gets this much.
LATE_SECONDS = 1.0
# Who does not answer within this is told as silent; nobody waits longer to see the others.
SILENT_SECONDS = 5.0


def ask(link: Link, message: Message, *, user: str = "", seconds: float | None = None) -> Any:
    """A worker's answer to a request, or its typed error; DeadlineExceeded after `seconds` (default: link.request_seconds)."""
    patience = link.request_seconds if seconds is None else seconds
    asked = link.request(message, user=user, timeout=patience)
    return answered(asked, patience + LATE_SECONDS, f"The question on {topic_of(message).name}")


def worker_status(link: Link, process: str, seconds: float | None = None) -> dict[str, Any]:
    """What one worker says of itself."""
    status: dict[str, Any] = json.loads(ask(link, bus_pb2.WorkerStatusRequest(process=process), seconds=seconds).detail_json)
    return status


def worker_statuses(link: Link, processes: Sequence[str], seconds: float = SILENT_SECONDS) -> dict[str, dict[str, Any]]:
    """What all of them say, asked at once; `{"error": …}` for one that does not answer."""
    asked = {
        name: link.request(bus_pb2.WorkerStatusRequest(process=name), timeout=seconds) for name in processes if name != "broker"
    }
    found: dict[str, dict[str, Any]] = {}
    for name, future in asked.items():
        try:
            found[name] = json.loads(future.result(seconds + LATE_SECONDS).detail_json)
        except (AicoMemoryError, FutureTimeout, ValueError) as error:
            found[name] = {"error": getattr(error, "code", type(error).__name__)}
    return found


def broker_says(link: Link, verb: str, body: dict[str, Any] | None = None, seconds: float | None = None) -> dict[str, Any]:
    """The broker's answer to a control verb; DeadlineExceeded after `seconds` (default: link.request_seconds)."""
    patience = link.request_seconds if seconds is None else seconds
    return answered(link.control(verb, body or {}, patience), patience + LATE_SECONDS, f"The broker's `{verb}`")
