"""How the system changed its own rules, and taking that back, from the command line."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from aico_memory.cli.app import command, group
from aico_memory.cli.face import Face, face_of

guardrails = group("guardrails", "Changes of the system's own rules: list, show, approve, rollback, run.", "Deployment")
Id = Annotated[str, typer.Argument(help="Id of the change: see `guardrails list`.")]
SAMPLES = 3
Reason = Annotated[str | None, typer.Option(help="Why; kept in the ledger.")]


@command(guardrails, "list", "guardrails list", "guardrails list --subject write_policy --json")
def list_adjustments(
    context: typer.Context,
    subject: Annotated[str | None, typer.Option(help="behavioral_prior, ranking_profile or write_policy.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
) -> None:
    """What was tried, what became of it and why, the newest first."""
    face = face_of(context)
    with face.client() as client:
        found = client.adjustments(subject, limit)
    face.show(found, lambda data: _print_list(face, data))


@command(guardrails, "show", "guardrails show 0198c0de-…")
def show(context: typer.Context, adjustment_id: Id) -> None:
    """One change: scores before and after, drift, what was seen since, the rules and what a rollback restores."""
    face = face_of(context)
    with face.client() as client:
        found = client.adjustment(adjustment_id)
    face.show(found)


@command(guardrails, "approve", "guardrails approve 0198c0de-…")
def approve(context: typer.Context, adjustment_id: Id) -> None:
    """Apply what is proposed."""
    face = face_of(context)
    with face.client() as client:
        found = client.approve_adjustment(adjustment_id)
    face.show(found, lambda data: _print_list(face, [data]))


@command(guardrails, "rollback", "guardrails rollback 0198c0de-…", "guardrails rollback 0198c0de-… --reason 'odd choices'")
def rollback(context: typer.Context, adjustment_id: Id, reason: Reason = None) -> None:
    """Let the rules hold again that stood before it, exactly; doing it twice changes nothing more."""
    face = face_of(context)
    with face.client() as client:
        found = client.roll_back_adjustment(adjustment_id, reason)
    face.show(found, lambda data: _print_list(face, [data]))


@command(guardrails, "run", "guardrails run")
def run(context: typer.Context) -> None:
    """Try out now what reviews and judgements propose for long-term memory, instead of tonight (see also `learn-now`)."""
    face = face_of(context)
    with face.client() as client:
        found = client.self_adjust()
    face.show(found, lambda data: _print_run(face, data))


def _print_run(face: Face, found: dict[str, Any]) -> None:
    for subject, told in sorted(found["told"].items()):
        face.out.print(f"[bold]{subject}[/]  {escape(told)}")
    if found["adjustments"]:
        _print_list(face, found["adjustments"])


def _print_list(face: Face, found: list[dict[str, Any]]) -> None:
    if not found:
        face.out.print("Nothing was changed, and nothing is proposed.")
    colours = {"applied": "green", "proposed": "yellow", "rolled_back": "red"}
    for one in found:
        colour = colours.get(one["status"], "dim")
        face.out.print(
            f"[{colour}]{one['status']:<12}[/] [bold]{one['subject']}[/] {escape(one['replaces'])} → {escape(one['version'])}"
        )
        face.out.print(f"    {escape(one['reason'])}")
        before, after = one["before"], one["after"]
        face.out.print(
            f"    success {before['success']:.3f} → {after['success']:.3f}, violations {before['violations']:.3f} → "
            f"{after['violations']:.3f} on {after['cases']} cases, {one['changed']} decided otherwise"
        )
        for sample in one["samples"][:SAMPLES]:
            face.out.print(f"      [dim]{escape(sample)}[/]")
        face.out.print(f"    [dim]{one['at']}  by {escape(one['by'])}  {one['id']}[/]")
