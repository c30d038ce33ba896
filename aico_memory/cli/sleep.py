"""Sleep, jobs and re-indexing."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from aico_memory.bus.read_only import WriteStop
from aico_memory.cli.app import app, command, group
from aico_memory.cli.face import Exit, Face, face_of
from aico_memory.cli.waiting import progress
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import semantic_pb2, sleep_pb2
from aico_memory.domain.sleep.names import NAMES, changes_told
from aico_memory.errors import AicoMemoryError, ConfigurationInvalid, InvalidMessage
from aico_memory.ids import derive_id, new_id
from aico_memory.runtime.clocks import clock_for
from aico_memory.runtime.probe import ask, broker_says
from aico_memory.runtime.sleep_accounts import (
    estimate_account,
    jobs_account,
    pending_account,
    run_account,
    status_account,
)
from aico_memory.runtime.sleeping import await_sleep, start_sleep
from aico_memory.runtime.waiting import answered

PANEL = "Sleep and jobs"
PHASE_HELP = f"Only this phase; may be repeated. Phases: {', '.join(NAMES)}."
FINISHED = topic_of(sleep_pb2.JobFinished).name
nap = group("sleep", "Consolidation: replaying what was lived through into long-term memory.", PANEL)


@command(nap, "now", "sleep now --wait", "sleep now --user ana --user ben --wait", "sleep now --phase redundancy --wait")
def sleep_now(
    context: typer.Context,
    user: Annotated[list[str] | None, typer.Option("--user", "-u", help="Only this user; may be repeated.")] = None,
    phase: Annotated[list[str] | None, typer.Option(help=PHASE_HELP)] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Return when the run is complete.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="With --wait: give up after so many seconds.")] = 600.0,
) -> None:
    """Consolidate now instead of tonight."""
    face = face_of(context)
    report = run_sleep(face, [face.user(one) for one in user or ()], phase or [], timeout if wait else None)
    face.show(report, lambda data: face.out.print(escape(_describe(data))))
    if wait and report["status"] != "complete":
        if face.as_json:
            # The report says it all, and is the one document of this output.
            raise typer.Exit(int(Exit.ERROR))
        raise AicoMemoryError(f"The run ended as {report['status']}: {report['error']}")


def run_sleep(face: Face, users: list[str], phases: list[str], wait_seconds: float | None) -> dict[str, Any]:
    """Start a manual consolidation and, where asked, wait for its end; its account."""
    now = clock_for(face.home).now_us()
    with face.operator() as link:
        stop = WriteStop(**broker_says(link, "read_only_state"))
        if stop.on:
            raise stop.error()
        firing = start_sleep(link, new_id(now), now, users, phases)
        if wait_seconds is None:
            return {"firing_id": firing, "status": "started"}
        with progress(face, "sleeping") as shown:
            return run_account(await_sleep(link, firing, wait_seconds, shown))


def _describe(report: dict[str, Any]) -> str:
    if report["status"] == "started":
        return f"Started as {report['firing_id']}."
    counts = changes_told(phase["counts"] for phase in report["phases"])
    return (
        f"{report['status']}: {report['experiences']} experiences of {report['users']} users; {counts}\n"
        f"What was decided and why: aico-memory sleep runs {report['run_id']}"
    )


@command(nap, "runs", "sleep runs --limit 5", "sleep runs 01a201ba-de09-7395-9ee9-4ac9c7e2feae")
def runs(
    context: typer.Context,
    run_id: Annotated[str, typer.Argument(help="One run, with its phases and decisions.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
) -> None:
    """The last runs, or one with all that it did."""
    face = face_of(context)
    with face.operator() as link:
        page = ask(link, sleep_pb2.RunsRequest(limit=limit, run_id=run_id))
    found = [run_account(run) for run in page.runs]
    if run_id:
        face.show(found[0], lambda data: _print_run(face, data))
        return
    columns = ("run_id", "status", "users", "experiences", "started", "finished", "error")
    face.show(found, lambda data: face.table(columns, [[run[key] for key in columns] for run in data]))


def _print_run(face: Face, run: dict[str, Any]) -> None:
    face.out.print(f"{run['run_id']}  {run['status']}  {run['users_done']} of {run['users']} users, "
                   f"{run['experiences']} experiences, {run['started']} to {run['finished']}")  # fmt: skip
    if run["error"]:
        face.out.print(escape(run["error"]))
    rows = [
        [phase["phase"], f"{phase['seconds']:.2f}", _counts(phase["counts"]), phase["error"] or ""] for phase in run["phases"]
    ]
    face.table(("phase", "seconds", "counts", "error"), rows)
    for name in ("before", "after"):
        if run[name]:
            face.out.print(f"{name}: {_counts(run[name])}")
    for phase in run["phases"]:
        for sample in phase["samples"]:
            face.out.print(escape(f"{phase['phase']}: {sample['decision']} {sample['memory_id']}: {sample['rule']} "
                                  f"{sample['detail']}".rstrip()))  # fmt: skip


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count)


@command(nap, "status", "sleep status", "sleep status --user ana")
def status(context: typer.Context, user: Annotated[str, typer.Option("--user", "-u", help="Also of this user.")] = "") -> None:
    """What consolidation does at this moment, and when it did it last."""
    face = face_of(context)
    named = face.user(user)
    with face.operator() as link:
        found = ask(link, sleep_pb2.SleepStatusRequest(user_id=named), user=named)
    face.show(status_account(found, named), lambda data: _print_status(face, data))


def _print_status(face: Face, report: dict[str, Any]) -> None:
    run, last = report["run"], report["last"]
    if run is None:
        face.out.print(report["status"])
    else:
        face.out.print(f"{report['status']}: run {run['run_id']}, {run['users_done']} of {run['users']} users done")
        columns = ("user_id", "phase", "steps", "phases_done", "phases", "started")
        face.table(columns, [[one[key] for key in columns] for one in report["at_work"]])
    if last is not None:
        face.out.print(f"last: run {last['run_id']}, {last['status']}, finished {last['finished']}")
    if "user" in report:
        face.out.print(", ".join(f"{name} {value}" for name, value in report["user"].items()))


@command(nap, "pending", "sleep pending", "sleep pending --user ana")
def pending(context: typer.Context, user: Annotated[str, typer.Option("--user", "-u", help="Only this user.")] = "") -> None:
    """Who has experiences that wait for consolidation."""
    face = face_of(context)
    found: list[dict[str, Any]] = []
    named, after = face.user(user), ""
    with face.operator() as link:
        while True:
            page = ask(link, sleep_pb2.PendingRequest(user_id=named, after=after), user=named)
            found += pending_account(page)
            after = page.next
            if not after:
                break
    columns = ("user_id", "experiences", "oldest")
    face.show(found, lambda data: face.table(columns, [[one[key] for key in columns] for one in data]))


@command(nap, "estimate", "sleep estimate", "sleep estimate --user ana --phase redundancy")
def estimate(
    context: typer.Context,
    user: Annotated[list[str] | None, typer.Option("--user", "-u", help="Only this user; may be repeated.")] = None,
    phase: Annotated[list[str] | None, typer.Option(help=PHASE_HELP)] = None,
) -> None:
    """How long `sleep now` would take, reckoned from earlier runs, before it is started."""
    face = face_of(context)
    request = sleep_pb2.EstimateRequest(user_ids=[face.user(one) for one in user or ()], phases=phase or [], manual=True)
    with face.operator() as link:
        found = ask(link, request, seconds=30.0)
    face.show(estimate_account(found), lambda data: _print_estimate(face, data))


def _print_estimate(face: Face, report: dict[str, Any]) -> None:
    face.out.print(f"{report['seconds']:.1f} s: {report['experiences']} experiences of {report['users']} users, "
                   f"{report['items']} items of {report['full']} in all phases")  # fmt: skip
    guessed = [phase["phase"] for phase in report["phases"] if not phase["runs"] and phase["seconds"]]
    if guessed:
        face.out.print(f"guessed, since there was no such run yet: {', '.join(guessed)}")
    if report["seconds"] > report["budget_seconds"]:
        face.out.print(f"A run ends after {report['budget_seconds']:.0f} s; the next one goes on with the rest.")


@command(nap, "cancel", "sleep cancel", "sleep cancel 01a201ba-de09-7395-9ee9-4ac9c7e2feae")
def cancel(
    context: typer.Context, run_id: Annotated[str, typer.Argument(help="A run; the one at work where left out.")] = ""
) -> None:
    """End a run; its step under way is still applied, and the rest waits for the next run."""
    face = face_of(context)
    with face.client() as client:
        ended = client.sleep_cancel(run_id or None)
    face.show(
        ended, lambda data: face.say(f"{data['run_id']} is cancelled, {data['users_done']} of {data['users']} users done.")
    )


@command(nap, "mark", "sleep mark --user ana 01a201ba-de09-7395-9ee9-4ac9c7e2feae")
def mark(
    context: typer.Context,
    message_id: Annotated[list[str], typer.Argument(help="Messages by id.")],
    user: Annotated[str, typer.Option("--user", "-u", help="Whose messages.")],
) -> None:
    """Say that messages need no replay any more: they may expire from working memory."""
    face = face_of(context)
    with face.client() as client:
        marked = client.mark_consolidated(user, message_id)
    face.show({"marked": marked}, lambda data: face.say(f"{data['marked']} marked."))


@command(app, "jobs", "jobs --history 20", "jobs --reload", "jobs --run rehearsal", "jobs --cancel consolidation", panel=PANEL)
def jobs(
    context: typer.Context,
    history: Annotated[int, typer.Option(min=0, max=1000, help="Past firings to show.")] = 10,
    reload: Annotated[bool, typer.Option("--reload", help="Read the schedule's file again now.")] = False,
    run: Annotated[str, typer.Option(help="Fire this job now, whatever its time and whether it is enabled.")] = "",
    user: Annotated[
        list[str] | None, typer.Option("--user", "-u", help="With --run: only this user, where it knows any.")
    ] = None,
    cancel: Annotated[str, typer.Option(help="End this job where it runs, or take it off where it waits.")] = "",
) -> None:
    """The schedule, when each job runs next, and what ran."""
    face = face_of(context)
    if user and not run:
        raise InvalidMessage("--user says for whom a job is run", "Give --run JOB with it.")
    if run or cancel:
        with face.client() as client:
            fired = client.run_job(run, user) if run else {}
            if cancel:
                client.cancel_job(cancel)
        if run:
            face.show(fired, lambda data: face.say(f"{data['job']} {data['outcome']}, firing {data['firing_id']}"))
            return
    with face.operator() as link:
        if reload:
            state = ask(link, sleep_pb2.ReloadSchedule())
            if state.error:
                raise ConfigurationInvalid(f"{state.error}; the schedule of before stays in force")
        page = ask(link, sleep_pb2.JobsRequest(history=history))
    account = jobs_account(page)
    # 0 stands for "not said" in the contract.
    face.show({**account, "firings": account["firings"][:history]}, lambda data: _print_jobs(face, data))


def _print_jobs(face: Face, report: dict[str, Any]) -> None:
    columns = ("name", "cron", "zone", "enabled", "next", "last", "last_outcome")
    face.table(columns, [[job[key] for key in columns] for job in report["jobs"]])
    if report["firings"]:
        face.out.print()
        shown = ("job", "planned", "fired", "seconds", "outcome", "missed", "detail")
        face.table(shown, [[firing[key] for key in shown] for firing in report["firings"]])
    face.out.print(f"\nidle: {'yes' if report['idle'] else 'no'}, processor {report['cpu_percent']:.0f} %")
    schedule = report["schedule"]
    if schedule["error"]:
        face.out.print(escape(f"{schedule['path']} is not in force: {schedule['error']}"))
        face.out.print(f"The schedule read at {schedule['loaded']} is.")


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
        acknowledged = answered(link.publish([record])[0], 30.0, "The publish")
        # The semantic worker says under this id that the job has ended, whatever restarts lay in between.
        await_record(link, FINISHED, derive_id(event_id, "finished"), acknowledged.global_sequence, timeout)
    face.show({"event_id": str(event_id), "done": True}, lambda _: face.say("Done."))
