"""Suggestions, what became of them and what that says, from the command line."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.markup import escape

from aico_memory.cli.app import app, command, group
from aico_memory.cli.behavior import PANEL
from aico_memory.cli.face import Face, face_of
from aico_memory.cli.memory import User
from aico_memory.domain.advisor.outcome import OUTCOMES
from aico_memory.errors import InvalidMessage

outcomes = group("outcomes", "What became of suggestions, in as much detail as is needed.", PANEL)
suggestion = group("suggestion", "Suggestions that are shown and not answered yet.", PANEL)

SuggestionId = Annotated[str, typer.Argument(help="The suggestion.")]
Value = Annotated[str, typer.Argument(help="Key of the target; may be left out.")]
Reason = Annotated[str | None, typer.Option(help="Why.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Repeatable.")]
Evidence = Annotated[list[str] | None, typer.Option(help="What shows it; repeatable.")]
State = Annotated[str | None, typer.Option(help="As JSON.")]


@command(outcomes, "record", "outcomes record s17 add_habit morning_run --outcome rejected --reason 'too early' --user ana")
def record(
    context: typer.Context,
    suggestion_id: SuggestionId,
    type_name: Annotated[str, typer.Argument(metavar="TYPE", help="Type of suggestion, a name such as add_habit.")],
    value: Value = "",
    outcome: Annotated[str, typer.Option(help="accepted, rejected, expired or superseded.")] = "accepted",
    user: User = "me",
    reason: Reason = None,
    before: State = None,
    after: State = None,
    evidence: Evidence = None,
    tag: Tags = None,
    created: Annotated[str | None, typer.Option(help="ISO time.")] = None,
    decided: Annotated[str | None, typer.Option(help="ISO time.")] = None,
) -> None:
    """Record what became of a suggestion."""
    if value in OUTCOMES:
        raise InvalidMessage(f"{value!r} is what became of it, not the key of a target", f"Say: --outcome {value}")
    face = face_of(context)
    with face.client() as client:
        found = client.record_outcome(
            user, suggestion_id, type_name, value, outcome, reason=reason, state_before=_json(before), state_after=_json(after),
            evidence=evidence or (), created=created, decided=decided, tags=tag or (),
        )  # fmt: skip
    face.show(found, face.fields)


@command(outcomes, "list", "outcomes list --user ana", "outcomes list 'running in the morning' --user ana --outcome rejected")
def list_outcomes(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for; without: the newest.")] = "",
    user: User = "me",
    layer: Annotated[int, typer.Option(min=1, max=3, help="1: a line each, 2: how it came about, 3: everything.")] = 1,
    type_name: Annotated[list[str] | None, typer.Option("--type", help="Only these types; repeatable.")] = None,
    outcome: Annotated[list[str] | None, typer.Option(help="Only these outcomes; repeatable.")] = None,
    tag: Tags = None,
    since: Annotated[str | None, typer.Option(help="Decided at or after this time.")] = None,
    until: Annotated[str | None, typer.Option(help="Decided before this time.")] = None,
    top_k: Annotated[int | None, typer.Option("--top-k", "-k", min=1, max=1000, help="Most outcomes.")] = None,
) -> None:
    """Past outcomes, best first for a query, else newest first."""
    face = face_of(context)
    with face.client() as client:
        found = client.outcomes(
            user, layer, query or None, types=type_name or (), outcomes=outcome or (), tags=tag or (), since=since, until=until,
            top_k=top_k,
        )  # fmt: skip
    face.show(found, lambda data: _print(face, data))


@command(outcomes, "show", "outcomes show o17 o3 --user ana", "outcomes show o17 --layer 2 --user ana")
def show(
    context: typer.Context,
    ids: Annotated[list[str], typer.Argument(help="Ids of outcomes or suggestions, as `outcomes list` shows them.")],
    user: User = "me",
    layer: Annotated[int, typer.Option(min=1, max=3)] = 3,
) -> None:
    """Some outcomes, with everything that is known."""
    face = face_of(context)
    with face.client() as client:
        found = client.outcomes(user, layer, ids=ids)
    face.show(found, lambda data: _print(face, data))


@command(outcomes, "delete", "outcomes delete o17 --user ana", "outcomes delete --all --user ana")
def delete(
    context: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of outcomes or suggestions.")] = None,
    user: User = "me",
    everything: Annotated[bool, typer.Option("--all", help="All of them, open suggestions and the profile.")] = False,
) -> None:
    """Delete outcomes and what the profile learned from them."""
    face = face_of(context)
    if bool(ids) == everything:
        raise InvalidMessage("Say which outcomes", "Give ids or --all, not both.")
    with face.client() as client:
        found = client.delete_outcomes(user, ids or (), everything)
    face.show(found, face.fields)


@command(outcomes, "compact", "outcomes compact", "outcomes compact --user ana")
def compact(
    context: typer.Context,
    user: Annotated[str | None, typer.Option("--user", "-u", help="Only this user's.", envvar="AICO_MEMORY_USER")] = None,
) -> None:
    """Keep of old outcomes id, type, value, outcome and date; says what that saves."""
    face = face_of(context)
    with face.client() as client:
        found = client.compact_outcomes(user)
    face.show(found, face.fields)


@command(outcomes, "curate", "outcomes curate")
def curate(context: typer.Context) -> None:
    """Make the generalisations over people anew, and the Markdown file that shows them."""
    face = face_of(context)
    with face.client() as client:
        found = client.curate_insights()
    face.show(found, lambda data: _insights(face, data))


@command(outcomes, "insights", "outcomes insights", "outcomes insights --status promoted")
def insights(
    context: typer.Context, status: Annotated[str | None, typer.Option(help="candidate, promoted or rejected.")] = None
) -> None:
    """Generalisations over at least k people."""
    face = face_of(context)
    with face.client() as client:
        found = client.insights(status)
    face.show(found, lambda data: _insights(face, data))


@command(outcomes, "review", "outcomes review 4be1a7c9f0 promote")
def review(
    context: typer.Context,
    insight_id: Annotated[str, typer.Argument(help="The insight.")],
    action: Annotated[str, typer.Argument(help="promote or reject.")],
) -> None:
    """Put a generalisation to use, or put it aside for good."""
    face = face_of(context)
    with face.client() as client:
        found = client.review_insight(insight_id, action)
    face.show(found, face.fields)


@command(suggestion, "make", "suggestion make add_habit morning_run --reason 'you sleep badly' --user ana")
def make(
    context: typer.Context,
    type_name: Annotated[str, typer.Argument(metavar="TYPE", help="Type of suggestion, a name such as add_habit.")],
    value: Value = "",
    user: User = "me",
    reason: Reason = None,
    suggestion_id: Annotated[str | None, typer.Option(help="An id of your own.")] = None,
    before: State = None,
    evidence: Evidence = None,
    tag: Tags = None,
    expires: Annotated[str | None, typer.Option(help="ISO time.")] = None,
) -> None:
    """Note a suggestion that is being shown."""
    face = face_of(context)
    with face.client() as client:
        found = client.make_suggestion(
            user, type_name, value, reason, suggestion_id, _json(before), evidence or (), tag or (), expires
        )
    face.show(found, face.fields)


@command(suggestion, "list", "suggestion list --user ana")
def list_suggestions(context: typer.Context, user: User = "me") -> None:
    """A user's open suggestions."""
    face = face_of(context)
    with face.client() as client:
        found = client.suggestions(user)
    columns = ("suggestion_id", "type", "value", "reason", "created_at", "expires_at")
    face.show(found, lambda data: face.table(columns, [[entry[key] for key in columns] for entry in data]))


@command(suggestion, "accept", "suggestion accept s17 --user ana")
def accept(
    context: typer.Context, suggestion_id: SuggestionId, user: User = "me", reason: Reason = None, after: State = None
) -> None:
    """The user accepts a suggestion."""
    face = face_of(context)
    with face.client() as client:
        found = client.accept_suggestion(user, suggestion_id, reason, _json(after))
    face.show(found, face.fields)


@command(suggestion, "reject", "suggestion reject s17 --reason 'too early' --user ana")
def reject(
    context: typer.Context, suggestion_id: SuggestionId, user: User = "me", reason: Reason = None, after: State = None
) -> None:
    """The user rejects a suggestion."""
    face = face_of(context)
    with face.client() as client:
        found = client.reject_suggestion(user, suggestion_id, reason, _json(after))
    face.show(found, face.fields)


@command(app, "should-suggest", "should-suggest add_habit morning_run --user ana", panel=PANEL)
def should_suggest(
    context: typer.Context,
    type_name: Annotated[str, typer.Argument(metavar="TYPE", help="Type of suggestion, a name such as add_habit.")],
    value: Value = "",
    user: User = "me",
    text: Annotated[str | None, typer.Option(help="What it is about, for finding similar ones.")] = None,
) -> None:
    """Whether to suggest something: yes, caution or no, and why."""
    face = face_of(context)
    with face.client() as client:
        found = client.should_suggest(user, type_name, value, text)

    def tell(data: dict[str, Any]) -> None:
        face.out.print(f"[bold]{data['verdict']}[/]")
        for one in data["reasons"]:
            face.out.print(f"  {one['advice']:8}{escape(one['rule'])}: {escape(one['text'])}")
        for one in data["similar"]:
            face.out.print(f"  [dim]{one['score']:.2f}  {escape(one['text'])}[/]")
        _degraded(face, data)

    face.show(found, tell)


@command(app, "profile", "profile --user ana", panel=PANEL)
def profile(context: typer.Context, user: User = "me") -> None:
    """What is known of a user's answers to suggestions."""
    face = face_of(context)
    with face.client() as client:
        found = client.profile(user)

    def tell(data: dict[str, Any]) -> None:
        columns = ("type", "accepted", "rejected", "expired", "superseded", "rate", "confidence")
        face.table(columns, [[entry[key] for key in columns] for entry in data["acceptance"]])
        for one in data["patterns"]:
            face.out.print(f"[bold]{escape(one['name'])}[/]  {one['advice']}  {escape(one['description'])}")
        face.fields({**data["totals"], **data["trends"]})
        face.fields({key: data[key] for key in ("learning", "last_outcome", "compacted_through")})

    face.show(found, tell)


@command(app, "agent-tools", "agent-tools --json", panel=PANEL)
def agent_tools(context: typer.Context) -> None:
    """The advisor's verbs as function-calling schemas."""
    from aico_memory.client.tool_verbs import tools

    face_of(context).show(tools())


def _json(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidMessage(f"A state is no JSON: {error}") from error


def _print(face: Face, data: dict[str, Any]) -> None:
    for one in data["results"]:
        score = f"[bold]{one['score']:.2f}[/]  " if one["score"] else ""
        face.out.print(f"{score}{escape(one['text'])}")
    face.err.print(f"[dim]{data['tokens']} tokens; in full {data['tokens_in_full']}; by {data['answered_by']}[/]")
    _degraded(face, data)


def _insights(face: Face, data: dict[str, Any]) -> None:
    columns = ("insight_id", "status", "people", "statement")
    face.table(columns, [[entry[key] for key in columns] for entry in data["insights"]])
    face.err.print(f"[dim]{escape(data['file'])}[/]")


def _degraded(face: Face, data: dict[str, Any]) -> None:
    if data["degraded"]:
        face.err.print(f"[yellow]degraded[/]  {escape(', '.join(data['degraded']))}")
