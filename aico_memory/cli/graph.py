"""The graph from the command line: who and what there is, what stands around it, ways, changes, merges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape

from aico_memory.cli.app import command, group
from aico_memory.cli.face import Face, face_of
from aico_memory.cli.listing import say_if_cut
from aico_memory.cli.memory import PANEL, Group, Project, User
from aico_memory.client.paging import Rows

graph = group("graph", "Who and what facts speak of, and how they stand to each other.", PANEL)
Name = Annotated[str, typer.Argument(help="Name or id of an entity; `user` is the user.")]
AsOf = Annotated[str | None, typer.Option(help="As of then: ISO 8601 with zone. Left out: now.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="Most results.")]
KnownAsOf = Annotated[str | None, typer.Option(help="By what was known then. Left out: today.")]


@command(graph, "entities", "graph entities --user ana", "graph entities --name anna -u ana")
def entities(
    context: typer.Context,
    user: User = "me",
    name: Annotated[str | None, typer.Option(help="Only those that bear this name.")] = None,
    limit: Limit = 100,
    in_group: Group = None,
    project: Project = None,
) -> None:
    """Who and what facts speak of."""
    face = face_of(context)
    with face.client() as client:
        found = client.entities(user, name, limit, in_group, project)
    columns = ("name", "type", "also", "merges", "id")
    _show_table(face, found, columns, lambda one: (
        one["name"], one["type"] or "", ", ".join(one["aliases"]), " ".join(one["merge_ids"]), one["id"],
    ))  # fmt: skip


@command(graph, "neighbours", "graph neighbours Anna --user ana", "graph neighbours user -u ana --as-of 2026-03-01T00:00:00Z")
def neighbours(
    context: typer.Context,
    entity: Name,
    user: User = "me",
    as_of: AsOf = None,
    known_as_of: KnownAsOf = None,
    limit: Limit = 100,
    in_group: Group = None,
    project: Project = None,
) -> None:
    """What stands around an entity."""
    face = face_of(context)
    with face.client() as client:
        found = client.neighbours(user, entity, as_of, known_as_of, limit, in_group, project)

    def show(data: dict[str, Any]) -> None:
        _print_edges(face, data["edges"])
        say_if_cut(face, data)

    face.show(found, show)


@command(graph, "paths", "graph paths user Berlin --user ana")
def paths(
    context: typer.Context,
    start: Name,
    goal: Name,
    user: User = "me",
    as_of: AsOf = None,
    known_as_of: KnownAsOf = None,
    max_hops: Annotated[int, typer.Option(min=1, max=6)] = 3,
    limit: Limit = 20,
    in_group: Group = None,
    project: Project = None,
) -> None:
    """Ways from one entity to another, the shortest first."""
    face = face_of(context)
    with face.client() as client:
        found = client.paths(user, start, goal, as_of, known_as_of, max_hops, limit, in_group, project)

    def show(data: dict[str, Any]) -> None:
        _print_paths(face, data["results"])
        say_if_cut(face, data)

    face.show({"results": found, "cut": found.cut}, show)


@command(graph, "changes", "graph changes --since 2026-03-01T00:00:00Z --user ana")
def changes(
    context: typer.Context,
    since: Annotated[str, typer.Option(help="ISO 8601 with zone.")],
    user: User = "me",
    until: Annotated[str | None, typer.Option(help="ISO 8601 with zone. Left out: now.")] = None,
    known_as_of: KnownAsOf = None,
    in_group: Group = None,
    project: Project = None,
) -> None:
    """What came and what went between two moments."""
    face = face_of(context)
    with face.client() as client:
        found = client.graph_changes(user, since, until, known_as_of, in_group, project)

    def show(data: dict[str, Any]) -> None:
        for title in ("came", "went"):
            face.out.print(f"[bold]{title}[/]")
            _print_edges(face, data[title])
        say_if_cut(face, data, "ask about a shorter time")

    face.show(found, show)


@command(graph, "hub", "graph hub Anna --user ana")
def hub(
    context: typer.Context,
    entity: Name,
    user: User = "me",
    limit: Limit = 100,
    in_group: Group = None,
    project: Project = None,
) -> None:
    """Every active fact that mentions an entity under any of its names."""
    face = face_of(context)
    with face.client() as client:
        found = client.hub(user, entity, limit, in_group, project)
    _show_table(face, found, ("memory", "kind", "id"), lambda one: (one["memory"], one["kind"], one["id"]))


@command(graph, "related", "graph related 0198c0de-… --user ana", "graph related 0198c0de-… -u ana --type supersedes")
def related(
    context: typer.Context,
    memory_id: Annotated[str, typer.Argument(help="Id of a memory.")],
    user: User = "me",
    type_: Annotated[list[str] | None, typer.Option("--type", help="Only relations of this type; may repeat.")] = None,
    max_hops: Annotated[int, typer.Option(min=1, max=6)] = 2,
    limit: Limit = 100,
    in_group: Group = None,
    project: Project = None,
) -> None:
    """Memories around a memory, the nearest first."""
    face = face_of(context)
    with face.client() as client:
        found = client.related(user, memory_id, type_, max_hops, limit, in_group, project)
    columns = ("hops", "relation", "memory", "status", "id")
    _show_table(face, found, columns, lambda one: (
        one["hops"], one["relation"], one["memory"]["memory"], one["memory"]["status"], one["memory"]["id"],
    ))  # fmt: skip


@command(graph, "merge", "graph merge Anna Annie --user ana")
def merge(
    context: typer.Context,
    kept: Name,
    absorbed: Name,
    user: User = "me",
    in_group: Group = None,
    project: Project = None,
) -> None:
    """Say that two entities are one. Nothing is moved: `graph unmerge` parts them again."""
    face = face_of(context)
    with face.client() as client:
        done = client.merge_entities(user, kept, absorbed, in_group, project)
    face.show(done, lambda data: face.out.print(f"merged: {data['merge_id']}"))


@command(graph, "unmerge", "graph unmerge 0198c0de-… --user ana")
def unmerge(
    context: typer.Context,
    merge_id: Annotated[str, typer.Argument(help="As `graph merge` and `graph entities` show it.")],
    user: User = "me",
    in_group: Group = None,
    project: Project = None,
) -> None:
    """Undo a merge."""
    face = face_of(context)
    with face.client() as client:
        done = client.undo_merge(user, merge_id, in_group, project)
    face.show(done, lambda data: face.out.print(f"undone: {data['merge_id']}"))


def _show_table(face: Face, found: Rows[Any], columns: Sequence[str], row: Callable[[Any], Sequence[object]]) -> None:
    def show(data: dict[str, Any]) -> None:
        face.table(columns, [row(one) for one in data["results"]])
        say_if_cut(face, data)

    face.show({"results": found, "cut": found.cut}, show)


def _print_edges(face: Face, edges: Sequence[dict[str, Any]]) -> None:
    for edge in edges:
        span = f"{edge['valid_from'] or 'open'} to {edge['valid_until'] or 'open'}"
        face.out.print(f"{_edge(edge)}  [dim]{span}  {edge['id']}[/]")


def _print_paths(face: Face, found: Sequence[Sequence[dict[str, Any]]]) -> None:
    if not found:
        face.out.print("No way leads from one to the other.")
    for way in found:
        face.out.print(" · ".join(_edge(edge) for edge in way))


def _edge(edge: dict[str, Any]) -> str:
    return f"{escape(edge['subject'])} [bold]{escape(edge['predicate'])}[/] {escape(edge['object'])}"
