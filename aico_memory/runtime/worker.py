"""Entry of every worker process: `raise SystemExit(run_worker(build, "working"))`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType

from aico_memory.bus.link import Link, read_address
from aico_memory.bus.read_only import ReadOnlySwitch
from aico_memory.contracts.envelope import reply_record
from aico_memory.errors import AicoMemoryError, BusUnavailable
from aico_memory.log import configure_logging, get_logger
from aico_memory.paths import Home, find_home
from aico_memory.runtime.clocks import clock_for
from aico_memory.runtime.courtesy import Courtesy
from aico_memory.runtime.kernel import settle_memory
from aico_memory.runtime.loop import WorkerLoop
from aico_memory.runtime.ports import Handlers, Ports
from aico_memory.runtime.watchdog import Watchdog
from aico_memory.settings.load import load_settings
from aico_memory.vault.curve_keys import load_identity
from aico_memory.vault.master import open_vault

__all__ = ["Factory", "Handlers", "Ports", "StopSignals", "announce_ready", "reply_record", "run_worker", "worker_parser"]

Factory = Callable[[Ports], Handlers]
FAILED = 1
# Starting again would not help: wrong key, other journal, unreadable store.
HOPELESS = 3
_HOPELESS_CODES = frozenset({"wrong_key", "journal_lost", "store_corrupt", "model_mismatch", "configuration_invalid",
                             "insecure_permissions", "not_authorised", "access_denied", "version_mismatch"})  # fmt: skip


class StopSignals:
    """SIGTERM and SIGINT set `stop`; a second one ends the process at once."""

    def __init__(self) -> None:
        self.stop = threading.Event()

    def install(self) -> None:
        """Take the signals over; main thread only."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.stop.is_set():
            os._exit(128 + number)
        self.stop.set()


def worker_parser(name: str) -> argparse.ArgumentParser:
    """The options that every process of a deployment understands."""
    parser = argparse.ArgumentParser(prog=f"python -m services.{name}", description=f"The {name} process of AICO Memory.")
    parser.add_argument("--home", help="folder of data, keys and run state (default: AICO_MEMORY_HOME or the platform's)")
    parser.add_argument("--ready-fd", type=int, default=-1, help="write a line here when ready (used by the supervisor)")
    return parser


def announce_ready(home: Home, name: str, ready_fd: int) -> None:
    """Leave `run/<name>.ready` and tell the supervisor."""
    # Most of what was loaded up to here is needed as long as the process lives; but a start opens far more than it keeps.
    settle_memory()
    home.run.mkdir(parents=True, exist_ok=True, mode=0o700)
    (home.run / f"{name}.ready").write_text(json.dumps({"pid": os.getpid()}))
    if ready_fd >= 0:
        os.write(ready_fd, b"ready\n")
        os.close(ready_fd)


def exit_code(error: AicoMemoryError) -> int:
    """What a process says to its supervisor: 3 where another start cannot help, else 1."""
    return HOPELESS if error.code in _HOPELESS_CODES else FAILED


def run_worker(factory: Factory, name: str, argv: Sequence[str] | None = None) -> int:
    """Run one worker until a signal stops it; the exit code: 0 stopped, 1 failed, 3 cannot work here."""
    options = worker_parser(name).parse_args(argv)
    signals = StopSignals()
    signals.install()
    home = find_home(options.home)
    configure_logging(name)
    log = get_logger(name)
    try:
        _run(factory, name, home, signals.stop, options.ready_fd)
    except AicoMemoryError as error:
        log.error("stopped", code=error.code, detail=error.detail, mend=error.mend)
        return exit_code(error)
    except Exception:
        log.error("crashed", exc_info=True)
        return FAILED
    return 0


def _run(factory: Factory, name: str, home: Home, stop: threading.Event, ready_fd: int) -> None:
    settings = load_settings(home)
    configure_logging(name, settings.runtime.log_level)
    # The thread that hears the bus must not wait for one that computes; by default that may take 5 ms a time.
    sys.setswitchinterval(settings.runtime.switch_ms / 1000)
    log = get_logger(name)
    clock = clock_for(home)
    vault = open_vault(home, settings.security)
    link = Link(lambda: read_address(home), load_identity(home, name), settings=settings.link, clock=clock)
    progress = threading.Event()
    try:
        if not _connect(link, stop):
            return
        switch = ReadOnlySwitch(home)
        courtesy = Courtesy(settings.runtime.give_way_ms)
        ports = Ports(link, clock, settings, vault, home, log, progress.set, lambda: switch.on, courtesy)
        watchdog = Watchdog(settings.runtime.stuck_seconds, settings.runtime.stuck_record_seconds)
        loop = WorkerLoop(factory(ports), ports, stop, progress, watchdog.over)
        loop.run(lambda: announce_ready(home, name, ready_fd))
    finally:
        link.close()
        (home.run / f"{name}.ready").unlink(missing_ok=True)
    log.info("drained")


def _connect(link: Link, stop: threading.Event) -> bool:
    """Wait for the broker, however long it takes; False where the worker is told to stop first."""
    while not stop.is_set():
        try:
            link.start(2.0)
            return True
        except BusUnavailable:
            stop.wait(0.2)
    return False
