"""What waits for a person, and who may write what, from the command line."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from aico_memory.cli.app import command, group
from aico_memory.cli.face import Face, face_of
from aico_memory.cli.memory import PANEL, Group, Project, User
from aico_memory.errors import InvalidMessage

review = group("review", "Memories that wait for a person: list, promote, reject.", PANEL)
policy = group("policy", "What may be written, and as what: show, set, history, rollback, read-only, shadow-report.", PANEL)
Reason = Annotated[str | None, typer.Option(help="Why; kept with the memory.")]
# Without the variable of other commands: left out, everybody is meant.
Whom = Annotated[str | None, typer.Option("--user", "-u", help="Of this user; without user, group and project: everybody's.")]


@command(review, "list", "review list --user ana", "review list -u ana --status shadow --json")
def list_waiting(
    context: typer.Context,
    user: User = "me",
    status: Annotated[list[str] | None, typer.Option(help="candidate or shadow; may be repeated. Left out: both.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 100,
    group: Group = None,
    project: Project = None,
) -> None:
    """What waits, the most important first, with the rule that made it wait and what it would have done."""
    face = face_of(context)
    with face.client() as client:
        found = client.review_queue(user, status, limit, group, project)
    face.show(found, lambda data: _print_waiting(face, data))


@command(review, "promote", "review promote 0198c0de-… --user ana")
def promote(
    context: typer.Context,
    memory_id: str,
    user: User = "me",
    reason: Reason = None,
    group: Group = None,
    project: Project = None,
) -> None:
    """Accept what waits: it is decided anew against what is known now, with your word behind it.

    What is superseded, expired or disabled holds again, and what holds in its place ends.
    """
    face = face_of(context)
    with face.client() as client:
        outcome = client.promote(memory_id, user, reason, group, project)
    face.show(outcome, lambda data: _print_outcome(face, data))


@command(review, "reject", "review reject 0198c0de-… --user ana --reason 'a joke'")
def reject(
    context: typer.Context,
    memory_id: str,
    user: User = "me",
    reason: Reason = None,
    group: Group = None,
    project: Project = None,
) -> None:
    """Lay aside what waits: it was never believed, and stays in the history."""
    face = face_of(context)
    with face.client() as client:
        outcome = client.reject(memory_id, user, reason, group, project)
    face.show(outcome, lambda data: _print_outcome(face, data))


@command(policy, "show", "policy show", "policy show --user ana")
def show(context: typer.Context, user: Whom = None, group: Group = None, project: Project = None) -> None:
    """What holds now."""
    face = face_of(context)
    with face.client() as client:
        state = client.policy(user, group, project)
    face.show(state, lambda data: _print_policy(face, data))


@command(policy, "history", "policy history --user ana")
def history(context: typer.Context, user: Whom = None, group: Group = None, project: Project = None) -> None:
    """All versions that are kept, the newest last; who set each, and which one a rollback restored."""
    face = face_of(context)
    with face.client() as client:
        versions = client.policy(user, group, project)["versions"]
    columns = ("number", "at", "by", "restored", "mode", "write_enabled", "read_only", "min_confidence", "scope_items")
    face.show(versions, lambda data: face.table(columns, [[entry.get(key) for key in columns] for entry in data]))


@command(
    policy,
    "set",
    "policy set --mode manual",
    "policy set --user ana --approve preference --approve constraint",
    "policy set --user ana --scope-items 0 --min-confidence 0.7",
)
def set_policy(
    context: typer.Context,
    user: Whom = None,
    group: Group = None,
    project: Project = None,
    mode: Annotated[str | None, typer.Option(help="auto: active at once; shadow: operators see it; manual: it waits.")] = None,
    write: Annotated[bool | None, typer.Option("--write/--no-write", help="Whether items are written; records are.")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="A kind that may be written; may repeat. `all`: every kind.")] = None,
    approve: Annotated[list[str] | None, typer.Option(help="A kind that waits for review; may be repeated; or `none`.")] = None,
    min_confidence: Annotated[float | None, typer.Option(help="From 0 to 1; below it nothing is written.")] = None,
    min_evidence: Annotated[int | None, typer.Option(help="Events that an item rests on at least.")] = None,
    session_writes: Annotated[
        int | None, typer.Option(help="Writes a session before inferences wait; what is stated never does. 0: no limit.")
    ] = None,
    hour_writes: Annotated[int | None, typer.Option(help="The same of an hour. 0: no limit.")] = None,
    scope_items: Annotated[
        int | None, typer.Option(help="Active items; those said longest ago go dormant. 0: no limit.")
    ] = None,
) -> None:
    """Change what may be written, as a new version. What is not named stays as it is."""
    given = {
        "mode": mode, "write_enabled": write, "kinds": _kinds(kind, "all"), "require_approval_kinds": _kinds(approve, "none"),
        "min_confidence": min_confidence, "min_evidence": min_evidence, "session_writes": session_writes,
        "hour_writes": hour_writes, "scope_items": scope_items,
    }  # fmt: skip
    fields = {name: value for name, value in given.items() if value is not None}
    face = face_of(context)
    with face.client() as client:
        state = client.set_policy(user, group, project, **fields)
    face.show(state, lambda data: _print_policy(face, data))


@command(policy, "rollback", "policy rollback --user ana")
def rollback(context: typer.Context, user: Whom = None, group: Group = None, project: Project = None) -> None:
    """Let the previous policy hold again, at once; a second rollback goes one further back. read-only stays as it is."""
    face = face_of(context)
    with face.client() as client:
        state = client.rollback_policy(user, group, project)
    face.show(state, lambda data: _print_policy(face, data))


@command(policy, "read-only", "policy read-only on", "policy read-only off", "policy read-only on --user ana")
def read_only(
    context: typer.Context,
    switch: Annotated[str, typer.Argument(metavar="on|off")],
    user: Whom = None,
    group: Group = None,
    project: Project = None,
) -> None:
    """The emergency switch: while it is on no memory item changes. Messages are kept, and wait; nothing is lost."""
    if switch not in ("on", "off"):
        raise InvalidMessage(f"{switch!r} is neither on nor off", "Say `policy read-only on` or `off`.")
    face = face_of(context)
    with face.client() as client:
        state = client.set_read_only(switch == "on", user, group, project)
    face.show(state, lambda data: _print_policy(face, data))


@command(policy, "shadow-report", "policy shadow-report --user ana --since 2026-03-01T00:00:00Z")
def shadow_report(
    context: typer.Context,
    user: User = "me",
    since: Annotated[str | None, typer.Option(help="Decided at or after this time: ISO 8601 with zone.")] = None,
    until: Annotated[str | None, typer.Option(help="Decided before this time.")] = None,
    group: Group = None,
    project: Project = None,
) -> None:
    """What was decided, and what the modes auto and shadow would have done with each statement by itself.

    Each is compared with what was stored when it came, under the mode that held then. In shadow mode nothing is stored
    that a later statement could change or end, so that a change counts as CREATE: no forecast of a run in the other mode.
    """
    face = face_of(context)
    with face.client() as client:
        report = client.shadow_report(user, since, until, group, project)
    face.show(report, lambda data: _print_report(face, data))


def _kinds(given: list[str] | None, nothing: str) -> list[str] | None:
    """The kinds named; the word that stands for the empty list gives it."""
    return [] if given == [nothing] else given or None


def _print_waiting(face: Face, found: dict[str, Any]) -> None:
    if not found["results"]:
        face.out.print("Nothing waits.")
    for item in found["results"]:
        face.out.print(f"[bold]{item['status']}[/]  {escape(item['memory'])}")
        touched = f" ← {escape(item['target_memory'])}" if item["target_memory"] else ""
        face.out.print(f"    {escape(item['rule'])}; would {item['instead']}{touched}")
        face.out.print(f"    [dim]importance {item['importance']:.2f}  confidence {item['confidence']:.2f}  {item['id']}[/]")
    if found["waiting"] > len(found["results"]):
        face.out.print(f"[dim]{found['waiting']} wait in all.[/]")


def _print_outcome(face: Face, outcome: dict[str, Any]) -> None:
    face.out.print(f"[bold]{outcome['action']}[/]  {escape(outcome['rule'])}  {escape(outcome['memory']['memory'])}")
    face.out.print(f"    [dim]{outcome['memory']['status']}  {outcome['id']}[/]")
    for changed in outcome["changed"]:
        face.out.print(f"    [dim]changed {changed}[/]")


def _print_policy(face: Face, state: dict[str, Any]) -> None:
    newest = state["versions"][-1] if state["versions"] else None
    since = f"version {newest['number']} of {newest['at']} by {newest['by']}" if newest else "no version of its own"
    face.out.print(f"[bold]{escape(state['scope'])}[/]  [dim]{escape(since)}[/]")
    shown = {**state["effective"], "kinds": ", ".join(state["effective"]["kinds"]) or "all",
             "require_approval_kinds": ", ".join(state["effective"]["require_approval_kinds"]) or "none"}  # fmt: skip
    face.table(("field", "value"), list(shown.items()))


def _most(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


def _print_report(face: Face, report: dict[str, Any]) -> None:
    face.out.print(f"{report['messages']} messages, {report['statements']} statements" + (", cut" if report["cut"] else ""))
    names = sorted({*report["done"], *report["in_auto"], *report["in_shadow"]})
    rows = [[name, *(report[part].get(name, 0) for part in ("done", "in_auto", "in_shadow"))] for name in names]
    face.table(("action", "done", "in auto", "in shadow"), rows)
    for part in ("rules", "filters"):
        if report[part]:
            counts: list[tuple[str, int]] = sorted(report[part].items(), key=_most)
            face.table((part, "count"), counts)
