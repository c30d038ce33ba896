"""Waiting for a condition of another process, with a deadline."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from time import monotonic
from typing import TypeVar

from aico_memory.errors import DeadlineExceeded

T = TypeVar("T")
STEP_SECONDS = 0.02


def until(
    condition: Callable[[], T | None],
    seconds: float,
    otherwise: str,
    step: float = STEP_SECONDS,
    progress: Callable[[], object] | None = None,
    most: float = math.inf,
) -> T:
    """The first result that is not None; DeadlineExceeded where there is none in time.

    For conditions of other processes, which no event of this one announces. With `progress` the time runs anew
    whenever what that returns has changed, up to `most` seconds in all: long work that goes on is waited for, work that
    stands is not.
    """
    started = monotonic()
    deadline, last = started + seconds, started + max(most, seconds)
    pause = threading.Event()
    before = progress() if progress else None
    while (result := condition()) is None:
        moved = progress is not None and (now := progress()) != before
        if moved:
            before, deadline = now, monotonic() + seconds
        if monotonic() >= (last if moved else min(deadline, last)):
            raise DeadlineExceeded(f"{otherwise} within {seconds:g} s")
        pause.wait(step)
    return result


def answered(future: Future[T], seconds: float, what: str) -> T:
    """What came of a request or a publish; its typed error, or DeadlineExceeded where nothing came in time."""
    try:
        return future.result(seconds)
    except FutureTimeout:
        raise DeadlineExceeded(f"{what} has not been answered within {seconds:g} s") from None
