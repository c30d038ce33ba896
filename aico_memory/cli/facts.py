"""Facts from the command line: what is true, why it was written, what an answer used."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from aico_memory.cli.app import app, command
from aico_memory.cli.face import Face, face_of, kept
from aico_memory.cli.memory import PANEL, Group, Project, Session, User


@command(
    app,
    "recall",
    "recall 'Where does she live?' --user ana",
    "recall 'Wo arbeite ich?' -u ana --as-of 2026-03-01T00:00:00Z",
    "recall 'Nerede yaşıyorum?' -u ana --known-as-of 2026-03-01T00:00:00Z",
    "recall 'When is the release?' -u ana --project garden",
    "recall 'What did I eat yesterday?' -u ana --zone Europe/Lisbon",
    panel=PANEL,
)
def recall(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="In English, German or Turkish.")],
    user: User = "me",
    as_of: Annotated[str | None, typer.Option(help="What was true then: ISO 8601 with zone. Left out: now.")] = None,
    known_as_of: Annotated[str | None, typer.Option(help="By what had been said then, whenever it arrived.")] = None,
    zone: Annotated[
        str | None, typer.Option(help="IANA zone in which the question's own dates are meant; else that of --as-of.")
    ] = None,
    group: Group = None,
    project: Project = None,
) -> None:
    """Answer a question with what is, or was, true: the value as it was said, and from when until when it held.

    Unlike search, which ranks what is alike, it gives what answers the question and nothing else: one fact, several
    where several hold at once, none where nothing was true then.
    """
    face = face_of(context)
    with face.client() as client:
        found = client.recall(question, user, as_of, known_as_of, group, project, zone)
    face.show(found, lambda data: _print_facts(face, data))


@command(app, "explain", "explain 0198c0de-… --user ana", panel=PANEL)
def explain(
    context: typer.Context,
    identifier: Annotated[str, typer.Argument(metavar="EVENT_ID|MEMORY_ID", help="Id of a message, or of a memory.")],
    user: User = "me",
    group: Group = None,
    project: Project = None,
) -> None:
    """Why a message led to what it led to, or how a memory came about.

    Of each message: which filters matched, how it was classed, and for each thing it says the memories it was held
    against with their similarity, the rule that decided, and what shadow mode would have done.
    """
    face = face_of(context)
    with face.client() as client:
        found = client.explain(identifier, user, group_id=group, project_id=project)
    face.show(found, lambda data: _print_explanation(face, data))


@command(
    app,
    "add-turn",
    "add-turn 'Where do I live?' 'You live in Porto.' --user ana -s chat1 --interaction i17",
    panel=PANEL,
)
def add_turn(
    context: typer.Context,
    question: Annotated[str, typer.Argument(metavar="INPUT", help="What was asked.")],
    response: Annotated[str, typer.Argument(help="What was answered.")],
    user: User = "me",
    session: Session = None,
    timestamp: Annotated[str | None, typer.Option(help="When it was said: ISO 8601 with zone.")] = None,
    zone: Annotated[str | None, typer.Option(help="IANA zone in which the turn's own dates are meant.")] = None,
    summary: Annotated[str | None, typer.Option(help="A summary of the answer.")] = None,
    interaction: Annotated[str | None, typer.Option(help="Names this turn in a later `reinforce`.")] = None,
    injected: Annotated[list[str] | None, typer.Option(help="Id of a memory that stood in the prompt; may repeat.")] = None,
    reinforce_used: Annotated[bool, typer.Option("--reinforce/--no-reinforce", help="Strengthen what it used.")] = True,
    group: Group = None,
    project: Project = None,
    wait: Annotated[bool, typer.Option("--wait", help="Return when it is worked off.")] = False,
) -> None:
    """Add a whole turn: what was asked and what was answered. Facts that the answer used grow more certain."""
    face = face_of(context)
    with face.client() as client:
        turn = client.add_turn(
            user, question, response, summary, interaction, session, group, project, timestamp, zone, injected, reinforce_used
        )  # fmt: skip
        if wait:
            with kept([turn["event_id"]]):
                client.flush(60.0)
    face.show(turn, lambda data: face.write(data["interaction_id"]))


@command(app, "reinforce", "reinforce i17 --user ana", "reinforce i17 -u ana --delta 0.1", panel=PANEL)
def reinforce(
    context: typer.Context,
    interaction: Annotated[str, typer.Argument(help="Id of a stored interaction.")],
    user: User = "me",
    delta: Annotated[float | None, typer.Option(min=0, max=1, help="Confidence that a match adds.")] = None,
    group: Group = None,
    project: Project = None,
) -> None:
    """Look once more for what an answer used; each fact grows once an interaction, however often this is called."""
    face = face_of(context)
    with face.client() as client:
        found = client.reinforce(interaction, user, delta, group, project)
    face.show(found, lambda data: _print_reinforced(face, data))


@command(app, "judge", "judge 0198c0de-… --helpful --user ana", "judge 0198c0de-… 0198c0df-… --unhelpful -u ana", panel=PANEL)
def judge(
    context: typer.Context,
    memory_ids: Annotated[list[str], typer.Argument(help="Ids of the memories that an answer used.")],
    helpful: Annotated[bool, typer.Option("--helpful/--unhelpful", help="Whether they helped.")],
    user: User = "me",
    identifier: Annotated[str | None, typer.Option("--id", help="UUID of the event; twice has one effect.")] = None,
    group: Group = None,
    project: Project = None,
) -> None:
    """Say whether memories helped: their utility moves towards 1 or 0, and with it the reward of what is like them."""
    face = face_of(context)
    with face.client() as client:
        found = client.judge(memory_ids, user, helpful, group, project, identifier)
    face.show(found, lambda data: face.table(
        ("memory", "utility", "id"), [(one["memory"], f"{one['utility']:.3f}", one["id"]) for one in data["results"]]
    ))  # fmt: skip


def _print_facts(face: Face, found: dict[str, Any]) -> None:
    if not found["results"]:
        face.out.print("Nothing that is known answers this.")
    for fact in found["results"]:
        value = "" if fact["value"] is None else f"[bold]{escape(fact['value'])}[/]  "
        face.out.print(f"{value}{escape(fact['memory'])}")
        span = f"{fact['valid_from'] or 'open'} to {fact['valid_until'] or 'open'}"
        face.out.print(f"    [dim]{span}  confidence {fact['confidence']:.2f}  {fact['id']}[/]")
    if found["degraded"]:
        face.err.print(f"[yellow]degraded[/]  {escape(', '.join(found['degraded']))}")


def _print_explanation(face: Face, found: dict[str, Any]) -> None:
    for event in found["events"]:
        classes = ", ".join(f"{name} {score:.2f}" for name, score in event["classes"].items()) or "none"
        face.out.print(f"[bold]message[/] {event['event_id']}")
        face.out.print(f"  filters  {', '.join(event['filtered']) or 'none'}")
        face.out.print(f"  classes  {classes}")
        feeling = f"{event['emotion']} {event['valence']:+.2f}, arousal {event['arousal']:.2f}"
        face.out.print(f"  density  {event['density']}   feeling  {feeling}")
        for line in event["trace"]:
            # Filters and classes stand above.
            if not line.startswith(("filter ", "class ")):
                face.out.print(f"  [dim]{escape(line)}[/]")
        for outcome in event["statements"]:
            _print_outcome(face, outcome)
    for memory in found["memories"]:
        face.out.print(f"[bold]memory[/]  {escape(memory['memory'])}")
        face.out.print(f"  [dim]{memory['kind']}  {memory['status']}  confidence {memory['confidence']:.2f}  {memory['id']}[/]")
        _print_detail(face, memory)
    for change in found["changes"]:
        shown = f"{change['field']}: {change['old_value'] or '–'} → {change['new_value'] or '–'}"
        face.out.print(f"  {change['created_at']}  {escape(shown)}  [dim]{escape(change['reason'] or '')}[/]")


def _print_detail(face: Face, memory: dict[str, Any]) -> None:
    strength, use, feeling, origin = memory["strength"], memory["use"], memory["feeling"], memory["provenance"]
    flash = ", flashbulb" if feeling["flashbulb"] else ""
    face.out.print(
        f"  [dim]{memory['tier']}/{memory['sub_tier']}  importance {memory['importance']:.2f} ({memory['importance_level']})  "
        f"utility {memory['utility']:.2f}  {feeling['emotion']}, arousal {feeling['arousal']:.2f}{flash}[/]"
    )
    face.out.print(
        f"  [dim]stability {strength['stability']:.1f} d  storage {strength['storage']:.2f}  retrieval "
        f"{strength['retrieval']:.2f}  used {use['accesses']}, referred to {use['references']} times  "
        f"{origin['write_source']} of {origin['data_source']} ({origin['source_confidence']:.1f})[/]"
    )
    for source in memory["sources"]:
        said = f": {escape(source['excerpt'])}" if source["excerpt"] else ""
        face.out.print(f"  [dim]evidence {source['event_id']}  {source['method']} {source['confidence']:.2f}{said}[/]")


def _print_outcome(face: Face, outcome: dict[str, Any]) -> None:
    face.out.print(
        f"  [bold]{outcome['action']}[/] {escape(outcome['act'])} {escape(outcome['predicate'] or outcome['kind'])}: "
        f"{escape(outcome['rule'])} ({escape(outcome['reason'])})"
    )
    channels = "  ".join(f"{name} {value:.2f}" for name, value in outcome["channels"].items())
    face.out.print(f"    importance {outcome['importance']:.2f} ({channels})   confidence {outcome['confidence']:.2f}")
    face.out.print(f"    policy {escape(outcome['admission'])}; auto {outcome['in_auto']}, shadow {outcome['in_shadow']}")
    for one in outcome["neighbours"]:
        why = f"  {escape(one['contradiction'])}" if one["contradiction"] else ""
        key = "  same key" if one["same_key"] else ""
        face.out.print(f"    [dim]near {one['similarity']:.2f}  {one['status']}  {one['id']}{key}{why}[/]")


def _print_reinforced(face: Face, found: dict[str, Any]) -> None:
    if not found["results"]:
        face.out.print("Nothing that it had not reinforced before.")
    for item in found["results"]:
        face.out.print(f"{item['id']}  {item['old_confidence']:.3f} → {item['new_confidence']:.3f}")
