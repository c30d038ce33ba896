"""Skills, feedback and consent from the command line."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from aico_memory.cli.app import app, command
from aico_memory.cli.face import NO_CONSENT, WITHOUT_CONSENT, Face, face_of, readable
from aico_memory.cli.memory import User

if TYPE_CHECKING:
    from aico_memory.client.selection_verbs import Explanation

PANEL = "Behaviour"
PROPOSED = "proposed"
# What both commands that choose a skill may be told of the situation.
Intent = Annotated[str | None, typer.Option(help="Worked out from the message where it is not given.")]
Sentiment = Annotated[str | None, typer.Option(help="positive, neutral or negative.")]
TimeOfDay = Annotated[str | None, typer.Option(help="morning, afternoon, evening or night.")]
Topic = Annotated[str | None, typer.Option(help="What it is about.")]
Zone = Annotated[str | None, typer.Option(help="The person's, such as Europe/Berlin: whose time of day it is.")]
RequestId = Annotated[str | None, typer.Option(help="Names this selection in later feedback.")]


@command(app, "skills", "skills --user ana", panel=PANEL)
def skills(context: typer.Context, user: User = "me") -> None:
    """The skills and how sure the system is of each for this user."""
    face = face_of(context)
    with face.client() as client:
        found = client.skills(user)
    columns = ("skill_id", "name", "type", "status", "confidence", "uses", "positive", "negative")

    def show(data: list[dict[str, Any]]) -> None:
        face.table(columns, [[readable(entry.get(key)) for key in columns] for entry in data])
        for entry in data:
            if entry["status"] == PROPOSED:
                face.out.print(f"[bold]{escape(entry['skill_id'])}[/] is proposed. {escape(entry['evidence'])}.")
                face.out.print(f"  [dim]{escape(entry['template'])}[/]")

    face.show(found, show)


@command(app, "select-skill", "select-skill 'Why does this loop never end?' --user ana --intent technical", panel=PANEL)
def select_skill(
    context: typer.Context,
    message: str,
    user: User = "me",
    intent: Intent = None,
    sentiment: Sentiment = None,
    time_of_day: TimeOfDay = None,
    topic: Topic = None,
    request_id: RequestId = None,
    zone: Zone = None,
) -> None:
    """Choose how to answer, with the shares that led to the choice."""
    face = face_of(context)
    with face.client() as client:
        # Named here, so that the reason can be told where no skill applies.
        named = request_id or str(uuid.uuid4())
        chosen = client.select_skill(
            user, message, intent=intent, sentiment=sentiment, time_of_day=time_of_day, topic=topic, request_id=named, zone=zone
        )
        why = client.explain_selection(named, user) if not (chosen or face.as_json) else None
    face.show(chosen, lambda data: _print_choice(face, data, why))


@command(
    app, "apply-skill", "apply-skill 'Why does this loop never end?' --prompt 'You are a helpful tutor.' --user ana",
    panel=PANEL,
)  # fmt: skip
def apply_skill(
    context: typer.Context,
    message: str,
    prompt: Annotated[str, typer.Option(help="The system prompt that the skill's words are appended to.")] = "",
    user: User = "me",
    intent: Intent = None,
    sentiment: Sentiment = None,
    time_of_day: TimeOfDay = None,
    topic: Topic = None,
    request_id: RequestId = None,
    zone: Zone = None,
) -> None:
    """Choose how to answer, and print the system prompt with the chosen skill's words behind it."""
    face = face_of(context)
    with face.client() as client:
        applied = client.apply_skill(
            user, prompt, message, intent=intent, sentiment=sentiment, time_of_day=time_of_day, topic=topic,
            request_id=request_id, zone=zone,
        )  # fmt: skip
    face.show(applied, lambda data: face.write(data["prompt"]))


class _FeedbackGroup(TyperGroup):
    """`feedback classify TEXT` and `feedback give …`; without the word `give` a judgement is meant."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [GIVE, *args]
        return super().parse_args(ctx, args)


GIVE = "give"
feedback_commands = typer.Typer(
    cls=_FeedbackGroup, rich_markup_mode="rich", no_args_is_help=True,
    help="Say whether an answer was good; `feedback answer-17 concise_response 1` is short for `feedback give …`.",
)  # fmt: skip
app.add_typer(feedback_commands, name="feedback", rich_help_panel=PANEL)


@command(
    feedback_commands,
    GIVE,
    "feedback answer-17 concise_response 1 --user ana",
    "feedback answer-18 concise_response -1 -u ana --reason too_brief",
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

    def show(data: dict[str, Any]) -> None:
        face.out.print(f"{data['status']}, confidence {data['new_confidence']:.2f}")
        if data["status"] == NO_CONSENT:
            face.out.print(WITHOUT_CONSENT)

    face.show(result, show)


@command(
    feedback_commands,
    "classify",
    "feedback classify 'Das war mir viel zu lang.'",
    "feedback classify 'Trop court' --language fr",
)
def classify(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="What a person wrote of an answer.")],
    language: Annotated[str | None, typer.Option(help="ISO 639-1 code; guessed where it is not given.")] = None,
) -> None:
    """What a text says of an answer, in six categories; nothing is stored."""
    face = face_of(context)
    with face.client() as client:
        found = client.read_feedback(text, language)

    def show(data: dict[str, Any]) -> None:
        ranked = sorted(data["scores"].items(), key=lambda item: -item[1])
        face.table(("category", "score"), [[name, f"{score:.3f}"] for name, score in ranked])
        acted = ", ".join(data["matching"]) or "nothing"
        face.out.print(f"acted on: {acted} (from {escape(data['calibration'])})")
        face.out.print(f"[dim]language {escape(data['language'])}, answered by {escape(data['answered_by'])}[/]")

    face.show(found, show)


@command(
    app, "consent", "consent --user ana", "consent --behavioral --user ana", "consent --no-long-term --user ana", panel=PANEL
)  # fmt: skip
def consent(
    context: typer.Context,
    behavioral: Annotated[
        bool | None, typer.Option("--behavioral/--no-behavioral", help="Learning from this user's feedback; without: shown.")
    ] = None,
    long_term: Annotated[
        bool | None, typer.Option("--long-term/--no-long-term", help="Items made of what they say; without: paused, not lost.")
    ] = None,
    user: User = "me",
) -> None:
    """Show, allow or forbid learning from a user's behaviour; pause their long-term memory."""
    face = face_of(context)
    with face.client() as client:
        state = client.set_consent(user, behavioral=behavioral, long_term=long_term)
    face.show(state, lambda data: face.out.print(", ".join(f"{name} {'on' if on else 'off'}" for name, on in data.items())))


def _reward(text: str) -> int:
    from aico_memory.errors import InvalidReward

    try:
        reward = int(text)
    except ValueError:
        reward = 2
    if reward not in (-1, 0, 1):
        raise InvalidReward(f"The reward is {text!r}")
    return reward


def _print_choice(face: Face, chosen: dict[str, Any], why: Explanation | None) -> None:
    if not chosen or not chosen.get("skill_id"):
        face.out.print("No skill applies." + (f" {escape(why['explanation'])}" if why and why["explanation"] else ""))
        return
    face.out.print(f"[bold]{escape(str(chosen['skill_name']))}[/]  {escape(str(chosen['skill_id']))}")
    face.out.print(
        f"confidence {chosen['confidence']:.2f}, alignment {chosen['alignment']:.2f}, request {chosen['request_id']}"
    )
    face.out.print("shares  " + "  ".join(f"{name} {share:.2f}" for name, share in (chosen.get("shares") or {}).items()))
    if chosen["outcome"] == NO_CONSENT:
        face.out.print(f"A fixed choice. {WITHOUT_CONSENT}")
    face.out.print(f"[dim]{escape(str(chosen['template']))}[/]")
    if chosen["question"]:
        face.out.print(f"Tried out; to be asked beside the answer: {escape(str(chosen['question']))}")
