"""Memories step by step from the command line: what there is, how it came about, everything; and all layers at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape

from aico_memory.cli.app import app, command, group
from aico_memory.cli.face import Face, face_of
from aico_memory.cli.memory import PANEL, AsOf, Group, KnownAsOf, Project, Session, Tiers, TopK, User
from aico_memory.domain.advisor.outcome import OUTCOMES
from aico_memory.domain.memory import KINDS, STATUSES

disclose = group("disclose", "Memories in as much detail as is needed, with what reading them costs.", PANEL)
Ids = Annotated[list[str], typer.Argument(help="Ids as `disclose search` shows them.")]
Told = Annotated[
    list[str] | None,
    typer.Option(
        "--kind", help=f"Only these kinds; may be repeated: {', '.join(KINDS)}. Or outcome alone: what became of suggestions."
    ),
]
Of = Annotated[list[str] | None, typer.Option("--kind", help="outcome: the ids are of outcomes and no memories.")]


@command(
    disclose, "search", "disclose search 'where does she live' --user ana", "disclose search tea -u ana -k 5 --kind preference",
    "disclose search running -u ana --kind outcome --status rejected --tag morning",
)  # fmt: skip
def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    user: User = "me",
    top_k: TopK = None,
    as_of: AsOf = None,
    known_as_of: KnownAsOf = None,
    kind: Told = None,
    tier: Tiers = None,
    status: Annotated[
        list[str] | None,
        typer.Option(help=f"Only these states; may be repeated: {', '.join(STATUSES)}. Of outcomes: {', '.join(OUTCOMES)}."),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Of outcomes: only with this tag; all that are named.")] = None,
    session: Session = None,
    since: Annotated[str | None, typer.Option(help="Said at or after this time.")] = None,
    until: Annotated[str | None, typer.Option(help="Said before this time.")] = None,
    in_group: Group = None,
    project: Project = None,
) -> None:
    """What there is: a line each."""
    face = face_of(context)
    given = {"kind": kind or None, "tier": tier or None, "status": status or None, "tag": tag or None, "session_id": session,
             "since": since, "until": until}  # fmt: skip
    filters = {key: value for key, value in given.items() if value is not None}
    with face.client() as client:
        found = client.disclose(
            user, "search", query, top_k=top_k, filters=filters or None, as_of=as_of, known_as_of=known_as_of,
            group_id=in_group, project_id=project,
        )  # fmt: skip
    face.show(found, lambda data: _print(face, data))


@command(disclose, "timeline", "disclose timeline 0198c0de-… --user ana")
def timeline(
    context: typer.Context, memory_ids: Ids, user: User = "me", kind: Of = None, in_group: Group = None, project: Project = None
) -> None:
    """How they came about: what changed, and what was said around them."""
    _at_depth(context, "timeline", memory_ids, user, kind, in_group, project)


@command(disclose, "detail", "disclose detail 0198c0de-… --user ana", "disclose detail o17 -u ana --kind outcome")
def detail(
    context: typer.Context, memory_ids: Ids, user: User = "me", kind: Of = None, in_group: Group = None, project: Project = None
) -> None:
    """Everything that is known of them."""
    _at_depth(context, "detail", memory_ids, user, kind, in_group, project)


@command(app, "unified", "unified 'tea' --user ana", "unified tea -u ana --layer L0 --layer L1", panel=PANEL)
def unified(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    user: User = "me",
    layer: Annotated[list[str] | None, typer.Option(help="Only these: L0, L1, L2; may be repeated.")] = None,
    top_k: TopK = None,
    in_group: Group = None,
    project: Project = None,
) -> None:
    """One search over what was said, what is remembered and how to behave."""
    face = face_of(context)
    with face.client() as client:
        found = client.query_unified(query, user, layer or ("L0", "L1", "L2"), top_k, in_group, project)
    face.show(found, lambda data: _print_layers(face, data))


@command(app, "verify-links", "verify-links --user ana", "verify-links -u ana --repair", panel=PANEL)
def verify_links(
    context: typer.Context,
    user: User = "me",
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Memories looked at.")] = 1000,
    repair: Annotated[bool, typer.Option("--repair", help="Bring all of the user's memories up to date first.")] = False,
    in_group: Group = None,
    project: Project = None,
) -> None:
    """Follow the links between memories and what was said, and name those that lead nowhere."""
    face = face_of(context)
    with face.client() as client:
        found = client.verify_links(user, limit, repair, in_group, project)
    face.show(found, lambda data: _print_links(face, data))


@command(app, "update-index", "update-index 0198c0de-… --user ana", "update-index -u ana --group climbers", panel=PANEL)
def update_index(
    context: typer.Context,
    memory_ids: Annotated[list[str] | None, typer.Argument(help="Ids of memories; none: all that the user has.")] = None,
    user: User = "me",
    in_group: Group = None,
    project: Project = None,
) -> None:
    """Bring words, vectors and links of memories up to date, and say what was repaired."""
    face = face_of(context)
    with face.client() as client:
        found = client.update_index(user, memory_ids or (), group_id=in_group, project_id=project)
    face.show(found, lambda data: _print_update(face, data))


def _print_layers(face: Face, data: dict[str, Any]) -> None:
    rows = [
        (hit["layer"], f"{hit['score']:.2f}", hit["text"][:100], hit["kind"], str(len(hit["links"])), hit["id"])
        for hit in data["results"]
    ]
    face.table(("layer", "score", "text", "kind", "links", "id"), rows)
    if data["degraded"]:
        face.err.print(f"[yellow]degraded[/]  {escape(', '.join(data['degraded']))}")


def _print_links(face: Face, data: dict[str, Any]) -> None:
    face.say(
        f"{data['memories']} memories, {data['links']} links, {data['sound']} sound, {len(data['dangling'])} dangling, "
        f"{len(data['without_record'])} messages without record{'' if data['complete'] else ' (not all could be looked at)'}"
    )
    for name, links in (("dangling", data["dangling"]), ("without record", data["without_record"])):
        for link in links:
            face.out.print(f"[dim]{name}  {link['layer']}  {escape(link['id'])}[/]")
    if data["degraded"]:
        face.err.print(f"[yellow]degraded[/]  {escape(', '.join(data['degraded']))}")
    if "repaired" in data:
        _print_update(face, data["repaired"])


def _print_update(face: Face, data: dict[str, Any]) -> None:
    face.say(
        f"{data['memories']} memories brought up to date: {data['links']} links, {data['dangling']} dangling, "
        f"{data['repaired']} repaired, {data['without_record']} proofs without record, {data['vectors']} vectors to be made"
    )
    for one in data["findings"]:
        face.out.print(f"[dim]{one['decision']}  {one['rule']}  {escape(one['id'])}[/]")


def _at_depth(
    context: typer.Context, depth: str, memory_ids: Sequence[str], user: str, kind: list[str] | None, in_group: str | None,
    project: str | None,
) -> None:  # fmt: skip
    face = face_of(context)
    filters = {"kind": kind} if kind else None
    with face.client() as client:
        found = client.disclose(user, depth, memory_ids=memory_ids, filters=filters, group_id=in_group, project_id=project)
    face.show(found, lambda data: _print(face, data))


def _print(face: Face, data: dict[str, Any]) -> None:
    for one in data["results"]:
        face.out.print(f"[bold]{one['score']:.2f}[/]  {escape(one['text'])}")
        face.out.print(f"    [dim]{one['kind']}  {one['days_ago']} days ago  {one['id']}[/]")
        for place in ("before", "after"):
            for beside in one.get(place, ()):
                face.out.print(f"    {place}: {escape(beside['text'])}")
        for change in one.get("changes", ()):
            before = "" if change["old_value"] is None else f"{escape(str(change['old_value']))} → "
            face.out.print(f"    {escape(str(change['field']))}: {before}{escape(str(change['new_value']))}")
    if not data["results"]:
        face.out.print("Nothing found.")
    face.err.print(f"[dim]{data['tokens']} tokens; in full {data['tokens_in_full']}[/]")
    if data["degraded"]:
        face.err.print(f"[yellow]degraded[/]  {escape(', '.join(data['degraded']))}")
