"""A thread that asks the model service for one thing after another, behind everything else, where a model is configured."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import wait
from threading import Event, Thread
from typing import Any

from google.protobuf.message import Message

from aico_memory.errors import AccessDenied, BusUnavailable, DeadlineExceeded, InvalidMessage, TooLarge
from aico_memory.runtime.ports import LinkPort
from aico_memory.settings.language_model import LanguageModelSettings

# How often it looks whether there is something to do again, or whether it is told to stop.
LOOK_SECONDS = 0.5
_MARGIN_SECONDS = 5.0
# The bus will never take it: what the rules made stands.
REFUSED = (AccessDenied, InvalidMessage, TooLarge)


class ModelThread:
    """Inherit it and say what a step is, and what a failure of one means."""

    def __init__(self, name: str, link: LinkPort, settings: LanguageModelSettings) -> None:
        self._link = link
        self._settings = settings
        self._stop = Event()
        self._work = Event()
        # Whether nothing may be written at present.
        self.held: Callable[[], bool] = lambda: False
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin, where a model is configured."""
        if self._settings.enabled:
            self._thread.start()

    def wake(self) -> None:
        """There may be more to do."""
        self._work.set()

    def close(self) -> None:
        """Stop; what waits is not lost by it."""
        self._stop.set()
        self._work.set()
        if self._thread.is_alive():
            self._thread.join()

    def step(self) -> bool:
        """One piece of work; False where there is none."""
        raise NotImplementedError

    def failed(self, error: Exception) -> None:
        """A step has raised this; the thread goes on after a pause."""
        raise NotImplementedError

    def ask(self, request: Message, user: str) -> Any:
        """The model service's answer. Raises BusUnavailable where the thread is told to stop meanwhile, DeadlineExceeded."""
        settings = self._settings
        seconds = settings.attempts * (settings.timeout_seconds + settings.retry_limit_seconds) + _MARGIN_SECONDS
        future = self._link.request(request, user=user, timeout=seconds)
        waited = 0.0
        while not wait([future], LOOK_SECONDS).done:
            waited += LOOK_SECONDS
            if self._stop.is_set():
                future.cancel()
                raise BusUnavailable("The worker stops")
            if waited > seconds:
                future.cancel()
                raise DeadlineExceeded("The model service does not answer")
        return future.result()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                while not self._stop.is_set() and not self.held() and self.step():
                    pass
            except Exception as error:
                self.failed(error)
            self._work.wait(LOOK_SECONDS)
            self._work.clear()
