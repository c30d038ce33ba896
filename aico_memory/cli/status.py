"""status: what runs, how far everybody is, which model and key, how large the stores are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from aico_memory.bus.read_only import MEND, ReadOnlySwitch
from aico_memory.cli.announce import bus_address, model_account, model_words, where_words_go
from aico_memory.cli.app import app, command
from aico_memory.cli.face import Exit, Face, face_of
from aico_memory.clock import format_time, format_us
from aico_memory.errors import AicoMemoryError, ModelMismatch, ReadOnly
from aico_memory.paths import Home
from aico_memory.runtime.clocks import clock_for
from aico_memory.runtime.deployment import ProcessTable, read_table, running_supervisor
from aico_memory.runtime.probe import broker_says, worker_statuses

PANEL = "Deployment"
MEBIBYTE = 1024 * 1024
_BLOCK = 512
# What a home keeps, besides keys and models.
KEPT = ("journal", "working", "semantic", "behavioral", "consolidation", "scheduler")


@command(app, "status", "status", "status --json | jq .consumers", panel=PANEL)
def status(context: typer.Context) -> None:
    """Show processes, lag of each consumer, model, encryption, clock, sizes on disk, idleness and alarms.

    Exit code 0 while a deployment runs in this home, 3 where none does.
    """
    face = face_of(context)
    report = gather_status(face)
    face.show(report, lambda data: _print(face, data))
    if not report["running"]:
        raise typer.Exit(int(Exit.NOT_RUNNING))


def gather_status(face: Face) -> dict[str, Any]:
    """Everything `status` shows, as JSON values."""
    running = running_supervisor(face.home) is not None
    table = read_table(face.home)
    report: dict[str, Any] = {
        "ready": False,
        "running": running,
        "home": str(face.home.root),
        "model": None,
        "encryption": _encryption(table),
        "clock": {"mode": table.clock if table else "system", "now": format_time(clock_for(face.home).now())},
        "processes": [],
        "consumers": [],
        "endpoints": {},
        "sizes": store_sizes(face.home),
        "idle": None,
        "read_only": ReadOnlySwitch(face.home).on,
        "alarms": read_only_alarms(face.home),
    }
    if not running or table is None:
        return report
    report["ready"] = table.ready
    report["since"] = table.since
    report["supervisor"] = table.supervisor
    report["fork_server"] = table.fork_server
    report["processes"] = [
        {"name": state.name, "pid": state.pid, "state": state.state, "restarts": state.restarts, "since": state.since,
         "reason": state.reason, "resident_bytes": _resident(state.pid)}
        for state in table.processes
    ]  # fmt: skip
    address = bus_address(face)
    report["endpoints"] = {key: address[key] for key in ("router", "delivery") if key in address}
    try:
        _ask(face, table, report)
    except AicoMemoryError as error:
        report["ready"] = False
        report["alarms"].append({"alarm": error.code, "detail": error.detail, "mend": error.mend})
    return report


def _ask(face: Face, table: ProcessTable, report: dict[str, Any]) -> None:
    from aico_memory.runtime.links import open_link

    alive = [state.name for state in table.processes if state.state == "running"]
    with open_link(face.home, "operator") as link:
        statistics = broker_says(link, "statistics")
        consumers = broker_says(link, "consumers")
        workers = worker_statuses(link, alive)
    report["consumers"] = [
        {key: consumer.get(key) for key in ("name", "lag", "applied", "settled", "outbox")}
        for consumer in consumers.get("consumers", [])
    ]
    report["head"] = consumers.get("head")
    report["journal"] = statistics
    report["alarms"] += statistics.get("alarms", [])
    report["alarms"] += [
        {"alarm": "worker", "process": name, **(told if isinstance(told, Mapping) else {"detail": str(told)})}
        for name, worker in sorted(workers.items())
        for told in worker.get("alarms", [])
    ]
    report["alarms"] += worker_alarms(workers)
    report["workers"] = workers
    report["model"] = model_account(workers.get("model", {}))
    report["idle"] = workers.get("scheduler", {}).get("idle")


def store_sizes(home: Home) -> dict[str, int]:
    """Bytes on disk of each store that is there."""
    return {name: _size(home.store(name)) for name in KEPT if home.store(name).is_dir()}


def size_words(sizes: Mapping[str, int]) -> str:
    """The sizes in one line."""
    return ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items()) or "none yet"


def _size(folder: Path) -> int:
    size = 0
    for file in folder.iterdir():
        try:
            # Files that are mapped into memory have holes: what they may grow to is not what they take.
            size += file.stat().st_blocks * _BLOCK
        except FileNotFoundError:
            continue
    return size


def read_only_alarms(home: Home) -> list[dict[str, str]]:
    """The emergency stop of all writing, where it is on."""
    stop = ReadOnlySwitch(home).state()
    if not stop.on:
        return []
    detail = f"all writing is stopped since {format_us(stop.since_us)} by {stop.by}"
    return [{"alarm": ReadOnly.code, "detail": f"{detail}: {stop.reason}" if stop.reason else detail, "mend": MEND}]


def worker_alarms(workers: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    """What is wrong by the workers' own accounts, each with its mend."""
    alarms = [
        {"alarm": "worker_silent", "process": name, "detail": f"{name} does not answer ({worker['error']})",
         "mend": f"aico-memory restart {name}"}
        for name, worker in sorted(workers.items()) if "error" in worker
    ]  # fmt: skip
    semantic = workers.get("semantic", {})
    if semantic.get("model_mismatch"):
        error = ModelMismatch(f"The vectors were made by {semantic['fingerprint']}, and another model answers now")
        alarms.append({"alarm": error.code, "process": "semantic", "detail": error.detail, "mend": error.mend})
    return alarms


def alarm_words(alarm: Mapping[str, Any]) -> str:
    """One line about an alarm."""
    named = {key: value for key, value in alarm.items() if key not in ("alarm", "code", "detail", "mend", "past")}
    words = (alarm.get("alarm"), ", ".join(f"{key} {value}" for key, value in named.items()), alarm.get("detail"))
    return ": ".join(str(word) for word in words if word)


def _resident(pid: int | None) -> int | None:
    """Resident memory of a process in bytes; None where it has gone."""
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss) if pid else None
    except psutil.Error:
        return None


def _encryption(table: ProcessTable | None) -> dict[str, Any]:
    source = table.encryption if table else "unknown"
    report: dict[str, Any] = {"enabled": source not in ("off", "unknown"), "key": source}
    if source == "development":
        report["warning"] = "a development key was made in this home; set AICO_MEMORY_PASSPHRASE or a key file for real data"
    return report


_IDLE_WORDS = {True: "yes", False: "no", None: "not known (the scheduler does not say)"}


def _print(face: Face, report: dict[str, Any]) -> None:
    state = "[green]ready[/]" if report["ready"] else "[yellow]not ready[/]" if report["running"] else "[red]not running[/]"
    face.out.print(f"{state}  {escape(report['home'])}")
    if not report["running"]:
        _print_alarms(face, report)
        face.out.print("Start it with: aico-memory up --detach")
        return
    rows = []
    for process in report["processes"]:
        resident = process["resident_bytes"]
        memory = f"{resident / MEBIBYTE:.0f} MiB" if isinstance(resident, int) else ""
        rows.append((process["name"], process["pid"], process["state"], process["restarts"], memory, process["reason"]))
    face.table(("process", "pid", "state", "restarts", "memory", "reason"), rows)
    face.out.print()
    columns = ("name", "lag", "applied", "settled", "outbox")
    face.table(("consumer", *columns[1:]), [[consumer[key] for key in columns] for consumer in report["consumers"]])
    face.out.print()
    endpoints = report["endpoints"]
    face.out.print(f"bus         {endpoints.get('router', '?')}  {endpoints.get('delivery', '?')}")
    face.out.print(f"model       {escape(model_words(report['model']))}")
    face.out.print(f"words       {escape(where_words_go(face))}")
    key = report["encryption"]
    face.out.print(
        f"encryption  {'on' if key['enabled'] else 'off'}, key: {key['key']}"
        + ("  [yellow]" + key["warning"] + "[/]" if "warning" in key else "")
    )
    face.out.print(f"clock       {report['clock']['mode']}, {report['clock']['now']}")
    face.out.print(f"sizes       {size_words(report['sizes'])}")
    face.out.print(f"idle        {_IDLE_WORDS[report['idle']]}")
    _print_alarms(face, report)


def _print_alarms(face: Face, report: dict[str, Any]) -> None:
    for alarm in report["alarms"]:
        face.out.print(f"[red]alarm[/]       {escape(alarm_words(alarm))}")
        if alarm.get("mend"):
            face.out.print(f"            [dim]{escape(alarm['mend'])}[/]")
