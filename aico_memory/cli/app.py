"""The command tree of `aico-memory`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from aico_memory import __version__
from aico_memory.cli.face import EXIT_TEXT, Face
from aico_memory.errors import InvalidMessage
from aico_memory.paths import find_home

USAGE_MEND = "`aico-memory COMMAND --help` shows what it takes."
EVERYWHERE = "Every command also takes --json, --home FOLDER and --identity NAME, in any place."

app = typer.Typer(
    name="aico-memory",
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog=f"{EVERYWHERE}\n\n{EXIT_TEXT}\n\nFirst steps: aico-memory up --detach\n\n"
    "aico-memory add 'I moved to Lisbon' --user ana --wait\n\naico-memory search 'where does she live' --user ana",
)


def command(
    into: typer.Typer, name: str, *examples: str, panel: str | None = None, negative_numbers: bool = False
) -> Callable[[Any], Any]:
    """Register a command whose help ends with examples; `negative_numbers` lets -1 be an argument."""
    settings = {"ignore_unknown_options": True} if negative_numbers else None
    lines = [f"  aico-memory {example}" for example in examples]
    epilog = "\n\n".join((["[bold]Examples[/]", *lines] if lines else []) + [f"[dim]{EVERYWHERE}[/]"])
    return into.command(name, epilog=epilog, rich_help_panel=panel, context_settings=settings)


class Group(TyperGroup):
    """Shows its help to people where it is called without a command; to programs that is wrong usage."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        face = ctx.find_object(Face)
        if not args and face is not None and face.as_json:
            raise InvalidMessage("Missing command", USAGE_MEND)
        return super().parse_args(ctx, args)


def group(name: str, text: str, panel: str) -> typer.Typer:
    """A group of commands."""
    child = typer.Typer(cls=Group, rich_markup_mode="rich", no_args_is_help=True, help=text)
    app.add_typer(child, name=name, rich_help_panel=panel)
    return child


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"aico-memory {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    home: Annotated[str, typer.Option(help="Folder of data, keys and run state.", envvar="AICO_MEMORY_HOME")] = "",
    identity: Annotated[str, typer.Option(help="Identity to connect as.", envvar="AICO_MEMORY_IDENTITY")] = "default",
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """A long-term memory for AI companions: an authenticated, durable message bus and its workers."""
    context.obj = Face(find_home(home or None), identity, json)
