"""Facts over time from the command line: what held when, how it changed, where a number is heading."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from aico_memory.cli.app import app, command
from aico_memory.cli.face import Face, face_of
from aico_memory.cli.listing import say_if_cut
from aico_memory.cli.memory import PANEL, Group, Project, User
from aico_memory.errors import InvalidMessage

About = Annotated[str | None, typer.Option("--about", help="A predicate such as home_city, or the id of a memory.")]
Fact = Annotated[str, typer.Argument(metavar="PREDICATE|MEMORY_ID", help="A predicate such as home_city, or a memory's id.")]
Number = Annotated[
    str,
    typer.Argument(
        metavar="PREDICATE|MEMORY_ID|skill:ID|style:DIMENSION",
        help="A fact with a number, a skill, or a dimension of the style.",
    ),
]
Bucket = Annotated[int, typer.Option(min=0, help="Context bucket of a style, as `preferences` shows it.")]
Subject = Annotated[str | None, typer.Option(help="Of whom it is said; left out beside a predicate: of the user.")]
Kind = Annotated[list[str] | None, typer.Option(help="Only facts of this kind; may repeat.")]
KnownAsOf = Annotated[str | None, typer.Option(help="By what was known then: ISO 8601 with zone. Left out: today.")]
Limit = Annotated[int, typer.Option(min=1, max=10_000, help="Most results.")]
What = Annotated[str, typer.Option(help="value (the number that the fact states), confidence or utility.")]


@command(
    app,
    "state",
    "state --user ana",
    "state -u ana --at 2026-03-01T00:00:00Z",
    "state -u ana --at 2026-03-01T00:00:00Z --snapshot",
    panel=PANEL,
)
def state(
    context: typer.Context,
    user: User = "me",
    at: Annotated[str | None, typer.Option(help="The moment: ISO 8601 with zone. Left out: now.")] = None,
    known_as_of: KnownAsOf = None,
    snapshot: Annotated[bool, typer.Option("--snapshot", help="As it would have been answered then.")] = False,
    about: About = None,
    subject: Subject = None,
    kind: Kind = None,
    limit: Limit = 10_000,
    group: Group = None,
    project: Project = None,
) -> None:
    """All facts that were true at a moment, as they are believed today or were believed at another moment."""
    face = face_of(context)
    if snapshot and known_as_of is not None:
        raise InvalidMessage("A snapshot is as known at its own moment", "Leave out --snapshot or --known-as-of.")
    with face.client() as client:
        # Of now it is the state itself.
        if snapshot and at is not None:
            found = client.snapshot(user, at, about, subject, kind, limit, group, project)
        else:
            found = client.state(user, at, known_as_of, about, subject, kind, limit, group, project)
    face.show(found, lambda data: _print_facts(face, data))


@command(
    app,
    "timeline",
    "timeline --user ana",
    "timeline -u ana --about employer --since 2025-01-01T00:00:00Z --until 2026-01-01T00:00:00Z",
    panel=PANEL,
)
def timeline(
    context: typer.Context,
    user: User = "me",
    about: About = None,
    since: Annotated[str | None, typer.Option(help="ISO 8601 with zone. Left out: from the beginning.")] = None,
    until: Annotated[str | None, typer.Option(help="ISO 8601 with zone. Left out: open.")] = None,
    known_as_of: KnownAsOf = None,
    subject: Subject = None,
    kind: Kind = None,
    limit: Limit = 10_000,
    group: Group = None,
    project: Project = None,
) -> None:
    """What was true when, piece by piece."""
    face = face_of(context)
    with face.client() as client:
        found = client.timeline(user, about, since, until, known_as_of, subject, kind, limit, group, project)
    face.show(found, lambda data: _print_facts(face, data))


@command(app, "evolution", "evolution home_city --user ana", "evolution 0198c0de-… -u ana", panel=PANEL)
def evolution(
    context: typer.Context,
    about: Fact,
    user: User = "me",
    subject: Subject = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most steps; the newest.")] = 1000,
    group: Group = None,
    project: Project = None,
) -> None:
    """How a fact came to be what it is: stated, changed, corrected, confirmed, ended, retracted, and by which message."""
    face = face_of(context)
    with face.client() as client:
        found = client.evolution(user, about, subject, limit, group, project)
    face.show(found, lambda data: _print_steps(face, data))


@command(
    app,
    "trend",
    "trend weight --user ana",
    "trend home_city -u ana --what confidence",
    "trend skill:concise_response -u ana",
    "trend style:verbosity --bucket 12 -u ana",
    panel=PANEL,
)
def trend(
    context: typer.Context,
    about: Number,
    user: User = "me",
    what: What = "value",
    since: Annotated[str | None, typer.Option(help="ISO 8601 with zone.")] = None,
    until: Annotated[str | None, typer.Option(help="ISO 8601 with zone.")] = None,
    subject: Subject = None,
    group: Group = None,
    project: Project = None,
    bucket: Bucket = 0,
    at: Annotated[str | None, typer.Option(help="Also what a skill or style was then.")] = None,
) -> None:
    """How a number moves: slope a day, volatility, and where its level changed (Pettitt's test)."""
    face = face_of(context)
    with face.client() as client:
        found = client.trend(user, about, what, since, until, None, subject, group, project, bucket, at)
    face.show(found, lambda data: _print_trend(face, data))


@command(app, "predict", "predict weight --at 2026-04-01T00:00:00Z --user ana", panel=PANEL)
def predict(
    context: typer.Context,
    about: Number,
    at: Annotated[str, typer.Option(help="The moment: ISO 8601 with zone.")],
    user: User = "me",
    what: What = "value",
    subject: Subject = None,
    group: Group = None,
    project: Project = None,
    bucket: Bucket = 0,
) -> None:
    """The number expected at a moment, with an interval; or that it is unknown, and why."""
    face = face_of(context)
    with face.client() as client:
        found = client.predict(user, about, at, what, subject, group, project, bucket)
    face.show(found, lambda data: _print_prediction(face, data))


def _print_facts(face: Face, found: dict[str, Any]) -> None:
    if not found["results"]:
        face.out.print("Nothing that is known held then.")
    for fact in found["results"]:
        face.out.print(f"{escape(fact['memory'])}")
        span = f"{fact['valid_from'] or 'open'} to {fact['valid_until'] or 'open'}"
        reading = f"  {escape(fact['subject'] or '')} {escape(fact['predicate'])}" if fact["predicate"] else ""
        face.out.print(f"    [dim]{span}  {fact['kind']}{reading}  {fact['id']}[/]")
    say_if_cut(face, found)


def _print_steps(face: Face, found: dict[str, Any]) -> None:
    for step in found["steps"]:
        shown = f"{escape(step['old'] or '–')} → {escape(step['new'] or '–')}"
        face.out.print(f"{step['known_at']}  [bold]{step['what']}[/]  {shown}")
        face.out.print(f"    [dim]holds from {step['from_time'] or 'open'}  message {step['cause'] or 'not kept'}[/]")
    if found["cut"]:
        face.out.print("[dim]There is more before.[/]")


def _print_trend(face: Face, found: dict[str, Any]) -> None:
    if found["unknown"]:
        face.out.print(f"No trend: {escape(found['unknown'])}.")
    else:
        face.out.print(f"{found['slope']:+.4g} a day   volatility {found['volatility']:.4g}   {len(found['points'])} values")
    if found["then"] is not None:
        face.out.print(f"then {found['then']:.4g}")
    for change in found["changes"]:
        face.out.print(f"  {change['at']}  {change['before']:.4g} → {change['after']:.4g}  [dim]p {change['p_value']:.3g}[/]")
    for point in found["points"]:
        face.out.print(f"    [dim]{point['at']}  {point['value']:g}[/]")


def _print_prediction(face: Face, found: dict[str, Any]) -> None:
    if found["unknown"]:
        face.out.print(f"Unknown: {escape(found['unknown'])}.")
    else:
        share = f"{found['coverage']:.0%}"
        face.out.print(f"{found['value']:.4g}   {share} within {found['low']:.4g} to {found['high']:.4g}")
