"""What was learned of how a person wants to be answered, from the command line."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from aico_memory.cli.app import app, command
from aico_memory.cli.behavior import PANEL
from aico_memory.cli.face import Face, face_of
from aico_memory.cli.memory import User

SkillId = Annotated[str, typer.Argument(help="The skill.")]


@command(app, "explain-selection", "explain-selection REQUEST_ID --user ana", panel=PANEL)
def explain_selection(
    context: typer.Context,
    request_id: Annotated[str, typer.Argument(help="The selection's request id.")],
    user: User = "me",
) -> None:
    """Why a skill was chosen: the shares of trigger, posterior and alignment."""
    face = face_of(context)
    with face.client() as client:
        found = client.explain_selection(request_id, user)
    face.show(found, lambda data: _fields(face, data))


@command(app, "preferences", "preferences --user ana", "preferences --user ana --bucket 12", panel=PANEL)
def preferences(
    context: typer.Context,
    user: User = "me",
    bucket: Annotated[int | None, typer.Option(help="Only this context bucket.", min=0)] = None,
) -> None:
    """The style a user prefers, by context bucket and by named dimension."""
    face = face_of(context)
    with face.client() as client:
        found = client.preferences(user, bucket)
    rows = [[entry["bucket"], name, f"{value:.3f}"] for entry in found for name, value in entry["dimensions"].items()]
    face.show(found, lambda _: face.table(("bucket", "dimension", "value"), rows))


@command(app, "style", "style --user ana", panel=PANEL)
def style(context: typer.Context, user: User = "me") -> None:
    """What a user likes of each style dimension, over all skills, and how sure that is."""
    face = face_of(context)
    with face.client() as client:
        found = client.style(user)
    rows = [[one["dimension"], f"{one['slope']:+.3f}", f"{one['deviation']:.3f}"] for one in found]
    face.show(found, lambda _: face.table(("dimension", "slope", "deviation"), rows))


@command(app, "learn-now", "learn-now", panel=PANEL)
def learn_now(context: typer.Context) -> None:
    """Run the nightly batch: reasons move preferences, the common prior is refitted."""
    face = face_of(context)
    with face.client() as client:
        found = client.learn_now()
    face.show(found, lambda data: _fields(face, data))


@command(app, "undo-learning", "undo-learning --user ana", "undo-learning --user ana --until 2026-03-01T00:00:00Z", panel=PANEL)
def undo_learning(
    context: typer.Context,
    user: User = "me",
    until: Annotated[str | None, typer.Option(help="ISO time; what was learned after it is taken back. Without: all.")] = None,
) -> None:
    """Take back what was learned of a user after a point in time."""
    face = face_of(context)
    with face.client() as client:
        found = client.undo_learning(user, until)
    face.show(found, lambda data: _fields(face, data))


@command(app, "feedback-list", "feedback-list --user ana", panel=PANEL)
def feedback_list(context: typer.Context, user: User = "me", limit: Annotated[int, typer.Option(min=1, max=1000)] = 20) -> None:
    """A user's feedback events, newest first."""
    face = face_of(context)
    with face.client() as client:
        found = client.feedback_list(user, limit)
    columns = ("event_id", "at", "skill_id", "reward", "reason", "undone")
    face.show(found, lambda data: face.table(columns, [[entry[key] for key in columns] for entry in data]))


@command(app, "feedback-delete", "feedback-delete EVENT_ID --user ana", panel=PANEL)
def feedback_delete(
    context: typer.Context,
    event_id: Annotated[str, typer.Argument(help="The feedback event.")],
    user: User = "me",
) -> None:
    """Delete one feedback event and what it taught."""
    face = face_of(context)
    with face.client() as client:
        found = client.delete_feedback(user, event_id)
    face.show(found, lambda data: _fields(face, data))


@command(app, "skill-put", "skill-put 'Answer in rhyme.' --name Rhymes --intent creative --user ana", panel=PANEL)
def skill_put(
    context: typer.Context,
    template: str,
    user: User = "me",
    name: Annotated[str | None, typer.Option(help="What to call it.")] = None,
    skill_id: Annotated[str | None, typer.Option(help="Make a new version of this skill.")] = None,
    intent: Annotated[list[str] | None, typer.Option(help="It applies with this intent; repeatable.")] = None,
    sentiment: Annotated[list[str] | None, typer.Option(help="It applies with this sentiment; repeatable.")] = None,
    time_of_day: Annotated[list[str] | None, typer.Option(help="It applies at this time of day; repeatable.")] = None,
) -> None:
    """Create a skill of a user's own."""
    face = face_of(context)
    with face.client() as client:
        found = client.put_skill(
            user, template, name=name, skill_id=skill_id, intents=intent or (), sentiments=sentiment or (),
            times_of_day=time_of_day or (),
        )  # fmt: skip
    face.show(found, lambda data: _fields(face, data))


@command(app, "skill-change", "skill-change concise_response archive --user ana", panel=PANEL)
def skill_change(
    context: typer.Context,
    skill_id: SkillId,
    action: Annotated[str, typer.Argument(help="accept, archive, restore or delete.")],
    user: User = "me",
) -> None:
    """Put a skill aside, bring it back, accept a proposed one, or delete one's own."""
    face = face_of(context)
    with face.client() as client:
        found = client.change_skill(user, skill_id, action)
    face.show(found, lambda data: _fields(face, data))


@command(app, "policies", "policies", panel=PANEL)
def policies(context: typer.Context) -> None:
    """The selection policies, and the priors that were learned from people."""
    face = face_of(context)
    with face.client() as client:
        found = client.policies()

    def show(data: dict[str, Any]) -> None:
        for one in data["policies"]:
            mark = " (in use)" if one["in_use"] else ""
            face.out.print(f"[bold]{escape(one['name'])}[/]{mark}  {escape(one['description'])}")
        face.out.print(f"prior in use: {escape(data['prior'])}")
        columns = ("version", "fitted_at", "users", "thumbs", "status")
        face.table(columns, [[entry[key] for key in columns] for entry in data["priors"]])

    face.show(found, show)


@command(app, "behavior-figures", "behavior-figures --since 2026-03-01T00:00:00Z", panel=PANEL)
def behavior_figures(
    context: typer.Context,
    since: Annotated[str | None, typer.Option(help="ISO time.")] = None,
    until: Annotated[str | None, typer.Option(help="ISO time.")] = None,
) -> None:
    """Selections, explorations and thumbs by the hour and skill."""
    face = face_of(context)
    with face.client() as client:
        found = client.behavior_figures(since, until)
    columns = ("hour", "skill_id", "what", "count", "total", "largest")
    face.show(found, lambda data: face.table(columns, [[entry[key] for key in columns] for entry in data]))


def _fields(face: Face, data: dict[str, Any]) -> None:
    for name, value in data.items():
        face.out.print(f"[bold]{escape(name)}[/]  {escape(str(value))}")
