"""What was learned of how a person wants to be answered, from the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from aico_memory.cli.app import app, command
from aico_memory.cli.behavior import PANEL
from aico_memory.cli.face import face_of
from aico_memory.cli.files import Force, require_free
from aico_memory.cli.memory import User
from aico_memory.client.paging import MAX_LISTED
from aico_memory.errors import InvalidMessage
from aico_memory.vault.permissions import replace_private

SkillId = Annotated[str, typer.Argument(help="The skill.")]


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

    def show(_: object) -> None:
        if rows:
            face.table(("bucket", "dimension", "value"), rows)
        else:
            face.out.print("Nothing was learned in a context yet; `style` shows what holds for all, what was stated among it.")

    face.show(found, show)


@command(app, "preference-set", "preference-set verbosity=0.2 structure=0.8 --user ana", panel=PANEL)
def preference_set(
    context: typer.Context,
    values: Annotated[list[str], typer.Argument(help="dimension=value, each from 0 to 1.")],
    user: User = "me",
    bucket: Annotated[int | None, typer.Option(help="Only in this context bucket.", min=0)] = None,
) -> None:
    """Say which style a user wants; it stands over what was learned until then."""
    face = face_of(context)
    style = dict(_stated(value) for value in values)
    with face.client() as client:
        found = client.set_preference(user, style, bucket)
    face.show(found, face.fields)


@command(app, "preference-reset", "preference-reset --user ana", "preference-reset --user ana --bucket 12", panel=PANEL)
def preference_reset(
    context: typer.Context,
    user: User = "me",
    bucket: Annotated[int | None, typer.Option(help="Only this context bucket.", min=0)] = None,
) -> None:
    """Put the preferred style back to neutral; what was learned of style until then counts no more."""
    face = face_of(context)
    with face.client() as client:
        found = client.reset_preference(user, bucket)
    face.show(found, face.fields)


@command(app, "behavior-metrics", "behavior-metrics accuracy", "behavior-metrics slow_skills --limit 5", panel=PANEL)
def behavior_metrics(
    context: typer.Context,
    query: Annotated[
        str, typer.Argument(help="accuracy, slow_skills, adaptation, exploration, aggregate, performance, thompson_sampling.")
    ],
    since: Annotated[str | None, typer.Option(help="ISO time.")] = None,
    until: Annotated[str | None, typer.Option(help="ISO time.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Most rows.")] = None,
) -> None:
    """Ready-made queries over what selection and learning did."""
    face = face_of(context)
    with face.client() as client:
        found = client.behavior_metrics(query, since, until, limit)
    columns = list(dict.fromkeys(name for row in found for name in row))
    shown = [[f"{row[name]:.4g}" if isinstance(row.get(name), float) else row.get(name) for name in columns] for row in found]
    face.show(found, lambda _: face.table(columns, shown))


@command(app, "style", "style --user ana", panel=PANEL)
def style(context: typer.Context, user: User = "me") -> None:
    """What a user likes of each style dimension, over all skills, and how sure that is."""
    face = face_of(context)
    with face.client() as client:
        found = client.style(user)
    rows = [[one["dimension"], f"{one['slope']:+.3f}", f"{one['deviation']:.3f}", one["stated"]] for one in found]
    face.show(found, lambda _: face.table(("dimension", "slope", "deviation", "stated"), rows))


@command(app, "learn-now", "learn-now", panel=PANEL)
def learn_now(context: typer.Context) -> None:
    """Run the nightly batch: reasons move preferences, the common prior is refitted."""
    face = face_of(context)
    with face.client() as client:
        found = client.learn_now()
    face.show(found, face.fields)


@command(app, "undo-learning", "undo-learning --user ana", "undo-learning --user ana --until 2026-03-01T00:00:00Z", panel=PANEL)
def undo_learning(
    context: typer.Context,
    user: User = "me",
    until: Annotated[str | None, typer.Option(help="ISO time; what was learned after it is taken back. Without: all.")] = None,
) -> None:
    """Take back what was learned of a user after a point in time; feedback and skills stand as they stood then."""
    face = face_of(context)
    with face.client() as client:
        found = client.undo_learning(user, until)
    face.show(found, face.fields)


@command(app, "feedback-list", "feedback-list --user ana", "feedback-list --user ana --after EVENT_ID", panel=PANEL)
def feedback_list(
    context: typer.Context,
    user: User = "me",
    limit: Annotated[int, typer.Option(min=1, max=MAX_LISTED)] = 20,
    after: Annotated[str | None, typer.Option(help="Go on behind this event id.")] = None,
) -> None:
    """A user's feedback events, newest first."""
    face = face_of(context)
    with face.client() as client:
        found = client.feedback_list(user, limit, after)
    columns = ("event_id", "at", "skill_id", "reward", "reason", "free_text", "undone")
    rows = [[*(entry[key] for key in columns), _read_as(entry["categories"])] for entry in found]
    face.show(found, lambda _: face.table((*columns, "text read as"), rows))


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
    face.show(found, face.fields)


@command(
    app, "feedback-edit", "feedback-edit EVENT_ID --reward=-1 --reason too_brief --user ana", panel=PANEL,
)  # fmt: skip
def feedback_edit(
    context: typer.Context,
    event_id: Annotated[str, typer.Argument(help="The feedback event.")],
    user: User = "me",
    reward: Annotated[int | None, typer.Option(help="1, 0 or -1; without: as it was.", min=-1, max=1)] = None,
    reason: Annotated[str | None, typer.Option(help="Another reason; '' takes it away.")] = None,
    free_text: Annotated[str | None, typer.Option(help="Another text; '' takes it away.")] = None,
) -> None:
    """Change what one feedback event says; what was learned follows."""
    face = face_of(context)
    with face.client() as client:
        found = client.edit_feedback(user, event_id, reward, reason, free_text)
    face.show(found, face.fields)


@command(app, "behavior-export", "behavior-export --user ana", "behavior-export --user ana -o ana.jsonl", panel=PANEL)
def behavior_export(
    context: typer.Context,
    user: User = "me",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the lines; without: printed.")] = None,
    force: Force = False,
) -> None:
    """Everything that is kept of a user's behaviour: skills, preferences, feedback, selections and their reasons.

    Only you can read the file.
    """
    face = face_of(context)
    if output is not None:
        require_free(output, force)
    with face.client() as client:
        found = client.export_behavior(user)
    lines = [json.dumps(line, sort_keys=True, ensure_ascii=False) for line in found]
    if output is not None:
        replace_private(output, "".join(f"{line}\n" for line in lines).encode())
        face.show({"lines": len(lines), "file": str(output)}, face.fields)
        return
    face.show(found, lambda _: face.write("\n".join(lines)))


@command(app, "skill-put", "skill-put 'Answer in rhyme.' --name Rhymes --intent creative --user ana",
         "skill-put 'Name weights in grams.' --topic 'baking bread' --user ana", panel=PANEL)  # fmt: skip
def skill_put(
    context: typer.Context,
    template: str,
    user: User = "me",
    name: Annotated[str | None, typer.Option(help="What to call it.")] = None,
    skill_id: Annotated[str | None, typer.Option(help="Make a new version of this skill; what is not said stays.")] = None,
    intent: Annotated[list[str] | None, typer.Option(help="It applies with this intent; repeatable.")] = None,
    sentiment: Annotated[list[str] | None, typer.Option(help="It applies with this sentiment; repeatable.")] = None,
    time_of_day: Annotated[list[str] | None, typer.Option(help="It applies at this time of day; repeatable.")] = None,
    topic: Annotated[
        list[str] | None, typer.Option(help="A phrase; it applies to messages that are about such things; repeatable.")
    ] = None,
    style: Annotated[
        list[str] | None, typer.Option(help="dimension=value from 0 to 1; repeatable, others neutral, or as before.")
    ] = None,
) -> None:
    """Create a skill of a user's own."""
    face = face_of(context)
    named = dict(_stated(value) for value in style) if style else None
    with face.client() as client:
        found = client.put_skill(
            user, template, name=name, skill_id=skill_id, intents=intent or (), sentiments=sentiment or (),
            times_of_day=time_of_day or (), dimensions=named, topics=topic or (),
        )  # fmt: skip
    face.show(found, face.fields)


@command(app, "skill-change", "skill-change concise_response archive --user ana", panel=PANEL)
def skill_change(
    context: typer.Context,
    skill_id: SkillId,
    action: Annotated[str, typer.Argument(help="accept, archive, restore, revert or delete.")],
    user: User = "me",
) -> None:
    """Put a skill aside, bring it back, accept a proposed one, go back to the version before, or delete one's own."""
    face = face_of(context)
    with face.client() as client:
        found = client.change_skill(user, skill_id, action)
    face.show(found, face.fields)


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


def _stated(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise InvalidMessage(f"{text!r} is no dimension=value", "For example verbosity=0.2") from None


def _read_as(categories: Mapping[str, float]) -> str:
    """The likeliest category of a text; "" where it is not sorted yet."""
    return max(categories, key=categories.__getitem__, default="")
