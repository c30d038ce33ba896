"""The emergency stop of all writing, from the command line: it also works where the deployment hangs or does not run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.markup import escape

from aico_memory.bus.read_only import ReadOnlySwitch, WriteStop
from aico_memory.cli.app import app, command
from aico_memory.cli.face import Face, face_of
from aico_memory.clock import format_us
from aico_memory.errors import AicoMemoryError, DeadlineExceeded, InvalidMessage
from aico_memory.runtime.clocks import clock_for
from aico_memory.runtime.deployment import read_table, running_supervisor
from aico_memory.runtime.probe import broker_says, worker_statuses
from aico_memory.runtime.waiting import until

PANEL = "Deployment"
COMMAND_LINE = "command line"
LOOK_SECONDS = 0.1
ON, OFF, STATUS = "on", "off", "status"


@command(app, "read-only", "read-only on --reason 'strange facts'", "read-only status --json", "read-only off", panel=PANEL)
def read_only(
    context: typer.Context,
    switch: Annotated[str, typer.Argument(metavar="on|off|status")] = STATUS,
    reason: Annotated[str, typer.Option(help="Why; shown in status and doctor.")] = "",
    timeout: Annotated[float, typer.Option(min=0.1, help="How long every worker may take to confirm, in seconds.")] = 20.0,
) -> None:
    """Stop all writing of every worker at once. It holds over restarts, and nothing is lost.

    Questions are answered as before. Messages are acknowledged and wait in the bus's journal; after `off` they are applied
    in order. Commands that wait for an answer (an edit, a thumb) are refused with read_only.
    """
    if switch not in (ON, OFF, STATUS):
        raise InvalidMessage(f"{switch!r} is none of on, off and status", "Say `read-only on`, `off` or `status`.")
    face = face_of(context)
    if switch != STATUS:
        throw(face, switch, reason)
    report = stop_account(face, ReadOnlySwitch(face.home).state())
    if switch != STATUS and report["workers"]:
        late = "Not every worker has confirmed; see `read-only status`"
        report = until(lambda: _confirmed(face, switch == ON), timeout, late, LOOK_SECONDS)
    face.show(report, lambda data: _print(face, data))


def throw(face: Face, switch: str, reason: str) -> None:
    """Throw the switch: through the broker, who writes it into the audit log, else on the disk."""
    if running_supervisor(face.home) is not None:
        try:
            with face.operator() as link:
                broker_says(link, "read_only", {"action": switch, "reason": reason})
            return
        except AicoMemoryError as error:
            face.say(f"[yellow]The broker does not take it ({error.code}); it is written to the home.[/]")
    own = ReadOnlySwitch(face.home)
    if switch == ON:
        own.stop(COMMAND_LINE, reason, clock_for(face.home).now_us())
    else:
        own.release()


def stop_account(face: Face, state: WriteStop) -> dict[str, Any]:
    """The switch, what each worker says of it (None: no answer), and how many records wait."""
    report: dict[str, Any] = {
        "on": state.on, "since": format_us(state.since_us), "by": state.by, "reason": state.reason,
        "workers": {}, "waiting": {},
    }  # fmt: skip
    table = read_table(face.home)
    if running_supervisor(face.home) is None or table is None:
        return report
    alive = [one.name for one in table.processes if one.state == "running"]
    try:
        with face.operator() as link:
            workers: Mapping[str, Mapping[str, Any]] = worker_statuses(link, alive)
            consumers = broker_says(link, "consumers")["consumers"]
    except AicoMemoryError:
        return {**report, "workers": dict.fromkeys(alive)}
    report["workers"] = {name: worker.get("read_only") for name, worker in sorted(workers.items())}
    report["waiting"] = {consumer["name"]: consumer["lag"] for consumer in consumers if consumer["lag"]}
    return report


def _confirmed(face: Face, on: bool) -> dict[str, Any] | None:
    try:
        report = stop_account(face, ReadOnlySwitch(face.home).state())
    except DeadlineExceeded:
        return None
    return report if all(told is on for told in report["workers"].values()) else None


def _print(face: Face, report: dict[str, Any]) -> None:
    if not report["on"]:
        face.out.print("[green]Writing is allowed.[/]")
    else:
        why = f": {report['reason']}" if report["reason"] else ""
        face.out.print(f"[red]All writing is stopped[/] since {report['since']} by {escape(report['by'] + why)}")
    if report["workers"]:
        rows = [
            (name, {True: "stopped", False: "writes"}.get(told, "no answer"), report["waiting"].get(name, 0))
            for name, told in report["workers"].items()
        ]
        face.table(("worker", "state", "waiting"), rows)
