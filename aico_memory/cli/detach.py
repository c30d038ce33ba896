"""`up --detach`: the supervisor as a process of its own, and its word that all is ready."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

from aico_memory.cli.announce import say_progress
from aico_memory.cli.face import Face
from aico_memory.errors import StartFailed, from_code
from aico_memory.runtime.deployment import HomeLock, ProcessTable, read_table
from aico_memory.settings.load import load_settings

LAST_BYTES = 2_000
# On top of the supervisor's own limit, for its drain.
GRACE_SECONDS = 30.0


def start_detached(face: Face, only: str, timeout: float | None) -> ProcessTable:
    """Start a supervisor in the background and return when it says that all is ready; the typed reason otherwise."""
    home = face.home
    settings = load_settings(home)
    HomeLock(home).release()
    home.ensure()
    log_path = home.logs / "supervisor.log"
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "aico_memory.cli", "--home", str(home.root), "up", "--ready-fd", str(writer)]
    command += ["--timeout", str(timeout)] if timeout else []
    command += ["--only", only] if only else []
    with log_path.open("ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(writer,), start_new_session=True
        )
    os.close(writer)
    limit = (timeout or settings.runtime.start_timeout_seconds) + GRACE_SECONDS
    try:
        answer = read_answer(reader, limit, partial(say_progress, face))
    except BaseException as error:
        process.send_signal(signal.SIGTERM)
        if isinstance(error, KeyboardInterrupt):
            say_progress(face, "stopping before everything is ready; what has started drains")
        raise
    finally:
        os.close(reader)
    if answer is None:
        process.send_signal(signal.SIGTERM)
        raise StartFailed(f"The supervisor ended without a word: {_tail(log_path.read_bytes())}", f"Its log is {log_path}.")
    if "ready" not in answer:
        raise from_code(answer["code"], answer["detail"], answer["mend"])
    table = read_table(home)
    if table is None:
        raise StartFailed("The supervisor left no process table", f"Its log is {log_path}.")
    return table


def read_answer(reader: int, seconds: float, progressed: Callable[[str], None]) -> dict[str, Any] | None:
    """The supervisor's last word, after lines of progress; None where it ends without one."""
    deadline = monotonic() + seconds
    data = b""
    while True:
        while b"\n" in data:
            line, _, data = data.partition(b"\n")
            answer: dict[str, Any] = json.loads(line)
            if "progress" not in answer:
                return answer
            progressed(answer["progress"])
        ready, _, _ = select.select([reader], [], [], max(deadline - monotonic(), 0))
        if not ready:
            raise StartFailed(f"Not ready within {seconds:g} s", "Look at `aico-memory status`, then run `aico-memory doctor`.")
        part = os.read(reader, 65_536)
        if not part:
            return None
        data += part


def _tail(log: bytes) -> str:
    lines = log[-LAST_BYTES:].decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "no output"
