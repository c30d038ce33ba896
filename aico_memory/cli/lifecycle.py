"""up, down, restart: a deployment's life."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from typing import Annotated, Any

import typer

from aico_memory.cli.announce import announce, echo_line, say_progress
from aico_memory.cli.app import app, command
from aico_memory.cli.detach import start_detached
from aico_memory.cli.face import Face, face_of
from aico_memory.errors import AicoMemoryError, from_os_error
from aico_memory.runtime.deployment import ProcessTable, chosen_processes
from aico_memory.runtime.processes import restart_process, stop_deployment

PANEL = "Deployment"


@command(app, "up", "up", "up --detach --timeout 60", "up --only broker,working,semantic,model,context", panel=PANEL)
def up(
    context: typer.Context,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Return when everything is ready.")] = False,
    timeout: Annotated[float | None, typer.Option(min=0.1, help="Give up after so many seconds.")] = None,
    only: Annotated[str, typer.Option(help="Start only these processes (and the broker), separated by commas.")] = "",
    quiet: Annotated[bool, typer.Option(help="No log lines on the terminal; the files in logs/ have them.")] = False,
    ready_fd: Annotated[int, typer.Option(hidden=True)] = -1,
) -> None:
    """Start the broker and all workers under one supervisor.

    In the foreground it shows the logs of all; Ctrl-C drains and stops, a second Ctrl-C stops at once.
    With --detach it returns 0 when all is ready, or another code with the reason.
    """
    from aico_memory.runtime.first_start import check_key
    from aico_memory.settings.load import load_settings

    face = face_of(context)
    names = chosen_processes(only)
    if ready_fd < 0:
        check_key(face.home, load_settings(face.home), os.environ)
    if detach:
        announce(face, start_detached(face, only, timeout))
        return
    _run(face, names, timeout, quiet, ready_fd)


def _run(face: Face, names: tuple[str, ...], timeout: float | None, quiet: bool, ready_fd: int) -> None:
    from aico_memory.runtime.supervisor import Supervisor
    from aico_memory.settings.load import load_settings

    def on_ready(table: ProcessTable) -> None:
        if ready_fd >= 0:
            _tell(ready_fd, {"ready": True})
        else:
            announce(face, table)

    def progressed(line: str) -> None:
        if ready_fd >= 0:
            # Whoever started this may have gone meanwhile.
            with suppress(OSError):
                os.write(ready_fd, json.dumps({"progress": line}).encode() + b"\n")
        else:
            say_progress(face, line)

    try:
        settings = load_settings(face.home)
        echo = None if quiet or ready_fd >= 0 else lambda name, line: echo_line(face, name, line)
        supervisor = Supervisor(face.home, settings, names, echo=echo, progressed=progressed)
        asyncio.run(supervisor.run(on_ready, timeout))
    except (AicoMemoryError, OSError) as error:
        if ready_fd >= 0:
            known = from_os_error(error) if isinstance(error, OSError) else error
            _tell(ready_fd, {"code": known.code, "detail": known.detail, "mend": known.mend})
        raise
    face.say("Stopped; everything acknowledged is on disk." if supervisor.was_ready else "Stopped before everything was ready.")


def _tell(ready_fd: int, what: dict[str, Any]) -> None:
    os.write(ready_fd, json.dumps(what).encode() + b"\n")
    os.close(ready_fd)


@command(app, "down", "down", "down --timeout 30", panel=PANEL)
def down(
    context: typer.Context,
    timeout: Annotated[float, typer.Option(min=0.1, help="Wait at most so many seconds for everything to drain.")] = 60.0,
    now: Annotated[bool, typer.Option("--now", help="Do not drain: end at once (nothing acknowledged is lost).")] = False,
) -> None:
    """Drain and stop the deployment of this home."""
    face = face_of(context)
    if not stop_deployment(face.home, timeout, at_once=now):
        face.show({"stopped": False, "running": False}, lambda _: face.say("Nothing is running."))
        return
    face.show({"stopped": True, "running": False}, lambda _: face.say("Stopped."))


@command(app, "restart", "restart semantic", panel=PANEL)
def restart(context: typer.Context, name: Annotated[str, typer.Argument(help="Name of the process.")]) -> None:
    """Drain one process and let the supervisor start it again, or try again one that was given up; returns when it is ready."""
    face = face_of(context)
    pid = restart_process(face.home, name)
    face.show({"name": name, "pid": pid}, lambda _: face.say(f"{name} runs again as {pid}."))
