"""Skills, feedback and consent from the command line."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from aico_memory.cli.app import app, command
from aico_memory.cli.face import Face, face_of
from aico_memory.cli.memory import User

PANEL = "Behaviour"


@command(app, "skills", "skills --user ana", panel=PANEL)
def skills(context: typer.Context, user: User = "me") -> None:
    """The skills and how sure the system is of each for this user."""
    face = face_of(context)
    with face.client() as client:
        found = client.skills(user)
    columns = ("skill_id", "name", "confidence", "uses", "positive", "negative")
    face.show(found, lambda data: face.table(columns, [[entry.get(key) for key in columns] for entry in data]))


@command(app, "select-skill", "select-skill 'Why does this loop never end?' --user ana --intent technical", panel=PANEL)
def select_skill(
    context: typer.Context,
    message: str,
    user: User = "me",
    intent: Annotated[str | None, typer.Option(help="Worked out from the message where it is not given.")] = None,
    sentiment: Annotated[str | None, typer.Option(help="positive, neutral or negative.")] = None,
    time_of_day: Annotated[str | None, typer.Option(help="morning, afternoon, evening or night.")] = None,
    topic: Annotated[str | None, typer.Option(help="What it is about.")] = None,
    request_id: Annotated[str | None, typer.Option(help="Names this selection in later feedback.")] = None,
) -> None:
    """Choose how to answer, with the shares that led to the choice."""
    face = face_of(context)
    with face.client() as client:
        chosen = client.select_skill(
            user, message, intent=intent, sentiment=sentiment, time_of_day=time_of_day, topic=topic, request_id=request_id
        )
    face.show(chosen, lambda data: _print_choice(face, data))


@command(
    app,
    "feedback",
    "feedback answer-17 concise_answer 1 --user ana",
    "feedback answer-18 concise_answer -1 -u ana --reason too_brief",
    panel=PANEL,
    negative_numbers=True,
)
def feedback(
    context: typer.Context,
    message_id: Annotated[str, typer.Argument(help="The answer that is judged.")],
    skill_id: Annotated[str, typer.Argument(help="The skill that shaped it.")],
    reward: Annotated[str, typer.Argument(help="1 (thumbs up), 0, or -1 (thumbs down).")],
    user: User = "me",
    reason: Annotated[str | None, typer.Option(help="too_verbose, too_brief, wrong_tone, not_helpful, incorrect_info.")] = None,
    free_text: Annotated[str | None, typer.Option(help="At most 300 characters.")] = None,
    request_id: Annotated[str | None, typer.Option(help="The selection this judges.")] = None,
    event_id: Annotated[str | None, typer.Option(help="UUID; the same one twice counts once.")] = None,
) -> None:
    """Say whether an answer was good; it changes what is chosen next."""
    face = face_of(context)
    thumb = _reward(reward)
    with face.client() as client:
        result = client.feedback(
            user, message_id, skill_id, thumb, reason=reason, free_text=free_text, request_id=request_id,
            event_id=event_id,
        )  # fmt: skip
    face.show(result, lambda data: face.out.print(f"{data['status']}, confidence {data['new_confidence']}"))


@command(app, "consent", "consent --behavioral --user ana", "consent --no-behavioral --user ana", panel=PANEL)
def consent(
    context: typer.Context,
    behavioral: Annotated[bool, typer.Option("--behavioral/--no-behavioral", help="Learning from this user's feedback.")],
    user: User = "me",
) -> None:
    """Allow or forbid learning from a user's behaviour."""
    face = face_of(context)
    with face.client() as client:
        state = client.set_consent(user, behavioral=behavioral)
    face.show(state if isinstance(state, dict) else {"behavioral": behavioral}, lambda data: face.out.print(escape(str(data))))


def _reward(text: str) -> int:
    from aico_memory.errors import InvalidReward

    try:
        reward = int(text)
    except ValueError:
        reward = 2
    if reward not in (-1, 0, 1):
        raise InvalidReward(f"The reward is {text!r}")
    return reward


def _print_choice(face: Face, chosen: dict[str, Any]) -> None:
    if not chosen or not chosen.get("skill_id"):
        face.out.print("No skill applies.")
        return
    face.out.print(f"[bold]{escape(str(chosen['skill_name']))}[/]  {escape(str(chosen['skill_id']))}")
    face.out.print(
        f"confidence {chosen['confidence']:.2f}, alignment {chosen['alignment']:.2f}, request {chosen['request_id']}"
    )
    face.out.print("shares  " + "  ".join(f"{name} {share:.2f}" for name, share in (chosen.get("shares") or {}).items()))
    face.out.print(f"[dim]{escape(str(chosen['template']))}[/]")
