"""Questions to other workers: asked outside of every transaction, again after a pause where no answer comes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from aico_memory.errors import AicoMemoryError, NotFound

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger


class Questions:
    """One open question a key; `monotonic` in seconds, since a manual clock may stand still."""

    def __init__(self, pause_seconds: float, monotonic: Callable[[], float], log: FilteringBoundLogger) -> None:
        self._pause = pause_seconds
        self._monotonic = monotonic
        self._log = log
        self._open: dict[Hashable, Future[Any]] = {}
        self._not_before: dict[Hashable, float] = {}
        self._failed: dict[Hashable, int] = {}

    def failed(self, key: Hashable) -> int:
        """How often in a row nobody has answered this."""
        return self._failed.get(key, 0)

    def poll(self, key: Hashable, ask: Callable[[], Future[Any]]) -> Any:
        """The answer where it is there, else None; NotFound is the caller's to judge, other errors ask again."""
        future = self._open.get(key)
        if future is None:
            if self._monotonic() < self._not_before.get(key, 0.0):
                return None
            try:
                future = self._open[key] = ask()
            except AicoMemoryError as error:
                self._try_later(key, error)
                return None
        if not future.done():
            return None
        del self._open[key]
        try:
            answer = future.result()
        except NotFound:
            self._answered(key)
            raise
        except AicoMemoryError as error:
            self._try_later(key, error)
            return None
        self._answered(key)
        return answer

    def later(self, key: Hashable, seconds: float | None = None) -> None:
        """Ask this again, after the usual pause or another."""
        self._not_before[key] = self._monotonic() + (self._pause if seconds is None else seconds)

    def forget(self) -> None:
        """Nobody waits for any answer any more."""
        self._open.clear()
        self._not_before.clear()
        self._failed.clear()

    def _answered(self, key: Hashable) -> None:
        self._not_before.pop(key, None)
        self._failed.pop(key, None)

    def _try_later(self, key: Hashable, error: AicoMemoryError) -> None:
        self._log.info("question_unanswered", about=str(key[0] if isinstance(key, tuple) else key), code=error.code)
        self._failed[key] = self.failed(key) + 1
        self.later(key)
