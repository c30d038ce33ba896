"""Sleep, jobs and re-indexing."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from aico_memory.cli.app import app, command, group
from aico_memory.cli.face import Face, face_of
from aico_memory.cli.waiting import progress
from aico_memory.clock import format_us
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import semantic_pb2, sleep_pb2
from aico_memory.errors import AicoMemoryError
from aico_memory.ids import derive_id, new_id
from aico_memory.runtime.clocks import clock_for
from aico_memory.runtime.sleeping import await_sleep, run_account, start_sleep

PANEL = "Sleep and jobs"
FINISHED = topic_of(sleep_pb2.JobFinished).name
nap = group("sleep", "Consolidation: replaying what was lived through into long-term memory.", PANEL)


@command(nap, "now", "sleep now --wait", "sleep now --user ana --user ben --wait")
def sleep_now(
    context: typer.Context,
    user: Annotated[list[str] | None, typer.Option("--user", "-u", help="Only this user; may be repeated.")] = None,
    phase: Annotated[list[str] | None, typer.Option(help="Only this phase; may be repeated.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Return when the run is complete.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="With --wait: give up after so many seconds.")] = 600.0,
) -> None:
    """Consolidate now instead of tonight."""
    face = face_of(context)
    report = run_sleep(face, user or [], phase or [], timeout if wait else None)
    face.show(report, lambda data: face.out.print(escape(_describe(data))))
    if wait and report["status"] != "complete":
        raise AicoMemoryError(f"The run ended as {report['status']}: {report['error']}")


def run_sleep(face: Face, users: list[str], phases: list[str], wait_seconds: float | None) -> dict[str, Any]:
    """Start a manual consolidation and, where asked, wait for its end; its account."""
    now = clock_for(face.home).now_us()
    with face.operator() as link:
        firing = start_sleep(link, new_id(now), now, users, phases)
        if wait_seconds is None:
            return {"firing_id": firing, "status": "started"}
        with progress(face, "sleeping") as shown:
            return run_account(await_sleep(link, firing, wait_seconds, shown))


def _describe(report: dict[str, Any]) -> str:
    if report["status"] == "started":
        return f"Started as {report['firing_id']}."
    return f"{report['status']}: {report['experiences']} experiences of {report['users']} users, run {report['run_id']}"


@command(nap, "runs", "sleep runs --limit 5")
def runs(context: typer.Context, limit: Annotated[int, typer.Option(min=1, max=1000)] = 20) -> None:
    """The last runs."""
    face = face_of(context)
    with face.operator() as link:
        page = link.request(sleep_pb2.RunsRequest(limit=limit)).result(10.0)
    found = [run_account(run) for run in page.runs]
    columns = ("run_id", "status", "users", "experiences", "started", "finished", "error")
    face.show(found, lambda data: face.table(columns, [[run[key] for key in columns] for run in data]))


@command(app, "jobs", "jobs --history 20", panel=PANEL)
def jobs(
    context: typer.Context, history: Annotated[int, typer.Option(min=0, max=1000, help="Past firings to show.")] = 10
) -> None:
    """The schedule, when each job runs next, and what ran."""
    face = face_of(context)
    with face.operator() as link:
        page = link.request(sleep_pb2.JobsRequest(history=history)).result(10.0)
    report = {
        "idle": page.idle,
        "cpu_percent": page.cpu_percent,
        "jobs": [
            {"name": job.name, "cron": job.cron, "zone": job.zone, "enabled": job.enabled, "next": format_us(job.next_us),
             "last": format_us(job.last_us), "last_outcome": job.last_outcome, "waits_for_idle": job.waits_for_idle}
            for job in page.jobs
        ],
        "firings": [
            {"firing_id": firing.firing_id, "job": firing.job, "planned": format_us(firing.planned_us),
             "fired": format_us(firing.fired_us), "outcome": firing.outcome, "seconds": firing.seconds}
            for firing in page.firings
        ],
    }  # fmt: skip
    face.show(report, lambda data: _print_jobs(face, data))


def _print_jobs(face: Face, report: dict[str, Any]) -> None:
    columns = ("name", "cron", "zone", "enabled", "next", "last", "last_outcome")
    face.table(columns, [[job[key] for key in columns] for job in report["jobs"]])
    if report["firings"]:
        face.out.print()
        shown = ("job", "planned", "fired", "outcome")
        face.table(shown, [[firing[key] for key in shown] for firing in report["firings"]])
    face.out.print(f"\nidle: {'yes' if report['idle'] else 'no'}, processor {report['cpu_percent']:.0f} %")


@command(app, "reindex", "reindex", "reindex --rebuild", panel=PANEL)
def reindex(
    context: typer.Context,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Drop and rebuild; re-embed where the model changed.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Give up waiting after so many seconds.")] = 3600.0,
) -> None:
    """Check the derived indexes against the database, or build them anew; returns when it is done."""
    from aico_memory.runtime.sleeping import await_record

    face = face_of(context)
    now = clock_for(face.home).now_us()
    event_id = new_id(now)
    command_message = semantic_pb2.Reindex(firing_id=f"manual/{event_id}", planned_at_us=now, rebuild=rebuild)
    with face.operator() as link, progress(face, "re-indexing"):
        record = make_record(command_message, event_id=event_id, occurred_us=now)
        acknowledged = link.publish([record])[0].result(30.0)
        # The semantic worker says under this id that the job has ended, whatever restarts lay in between.
        await_record(link, FINISHED, derive_id(event_id, "finished"), acknowledged.global_sequence, timeout)
    face.show({"event_id": str(event_id), "done": True}, lambda _: face.say("Done."))
