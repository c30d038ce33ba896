"""The course of a person's selections from the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from aico_memory.cli.app import app, command
from aico_memory.cli.behavior import PANEL
from aico_memory.cli.face import face_of
from aico_memory.cli.memory import User
from aico_memory.client.paging import MAX_LISTED
from aico_memory.errors import InvalidMessage


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
    face.show(found, face.fields)


@command(
    app, "selection-list", "selection-list --user ana", "selection-list --user ana --skill concise_response --limit 5",
    "selection-list --user ana --after REQUEST_ID",
    panel=PANEL,
)  # fmt: skip
def selection_list(
    context: typer.Context,
    user: User = "me",
    limit: Annotated[int, typer.Option(min=1, max=MAX_LISTED)] = 20,
    skill: Annotated[str | None, typer.Option(help="Only what chose this skill.")] = None,
    after: Annotated[str | None, typer.Option(help="Go on behind this request id.")] = None,
) -> None:
    """What was chosen for a user, newest first, with the request ids that `explain-selection` and feedback take."""
    face = face_of(context)
    with face.client() as client:
        found = client.selection_list(user, limit, skill, after)
    columns = ("request_id", "at", "skill_id", "intent", "time_of_day", "outcome", "reward", "message")
    face.show(found, lambda data: face.table(columns, [[entry[key] for key in columns] for entry in data]))


@command(
    app, "selection-delete", "selection-delete REQUEST_ID --user ana",
    "selection-delete --user ana --until 2026-03-01T00:00:00Z", panel=PANEL,
)  # fmt: skip
def selection_delete(
    context: typer.Context,
    request_id: Annotated[str | None, typer.Argument(help="The request. Without: see --until and --all.")] = None,
    user: User = "me",
    until: Annotated[str | None, typer.Option(help="ISO time; everything up to it.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything.")] = False,
) -> None:
    """Delete what was asked, chosen and why; thumbs, and what they have taught, stay."""
    face = face_of(context)
    if sum((request_id is not None, until is not None, everything)) != 1:
        raise InvalidMessage("Say which selections", "Give a request id, --until or --all.")
    with face.client() as client:
        found = {"deleted": client.delete_selections(user, request_id, until, everything)}
    face.show(found, face.fields)


@command(
    app, "record-response", "record-response REQUEST_ID 'Miso hates the vacuum cleaner.' --user ana",
    "record-response REQUEST_ID '' --user ana", panel=PANEL,
)  # fmt: skip
def record_response(
    context: typer.Context,
    request_id: Annotated[str, typer.Argument(help="The selection's request id.")],
    response: Annotated[str, typer.Argument(help="The answer that was given; '' deletes the one that stands.")],
    user: User = "me",
) -> None:
    """Keep the answer that was given with a selected skill, beside the message it answers."""
    face = face_of(context)
    with face.client() as client:
        found = {"status": client.record_response(user, request_id, response)}
    face.show(found, face.fields)
