"""What every command shares: home, identity, output as text or JSON, errors in one line, exit codes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from aico_memory.domain.retrieval.escaping import without_controls
from aico_memory.errors import (
    AccessDenied,
    AicoMemoryError,
    BusUnavailable,
    DeadlineExceeded,
    InsecurePermissions,
    InvalidMessage,
    NotAuthorised,
    NotFound,
    StoreLocked,
    WrongKey,
)  # fmt: skip
from aico_memory.paths import Home, find_home

if TYPE_CHECKING:
    from aico_memory.bus.link import Link
    from aico_memory.client import MemoryClient

WIDE = 400
# What JSON leaves as it is: C1 and DEL control a terminal, signs of direction turn a line round.
_CONTROLS = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
SHARED_VALUES = {"--home": "/path/to/folder", "--identity": "operator"}
SHARED = tuple(SHARED_VALUES)
SHARED_FLAGS = ("--json",)


class Exit(IntEnum):
    """Exit codes of `aico-memory`."""

    OK = 0
    ERROR = 1
    USAGE = 2
    NOT_RUNNING = 3
    REFUSED = 4
    NOT_FOUND = 5
    DEADLINE = 6


EXIT_TEXT = (
    "Exit codes: 0 done · 1 error, or a check that found something · 2 wrong usage or input · 3 not running · "
    "4 refused (key, role, permissions, another owner) · 5 not found · 6 deadline passed."
)


def exit_code(error: AicoMemoryError) -> Exit:
    """The exit code of an error."""
    kinds: tuple[tuple[type[AicoMemoryError] | tuple[type[AicoMemoryError], ...], Exit], ...] = (
        ((NotAuthorised, AccessDenied, WrongKey, InsecurePermissions, StoreLocked), Exit.REFUSED),
        (BusUnavailable, Exit.NOT_RUNNING),
        (NotFound, Exit.NOT_FOUND),
        (DeadlineExceeded, Exit.DEADLINE),
        (InvalidMessage, Exit.USAGE),
    )
    return next((code for kind, code in kinds if isinstance(error, kind)), Exit.ERROR)


# The status of an answer where nothing is learned of the user, and what to do about it.
NO_CONSENT = "no_consent"
WITHOUT_CONSENT = "The system may not learn from this user (see `aico-memory consent`)."


def readable(value: object) -> str:
    """A value as people read it: numbers with four digits, nothing for None, lists and mappings without brackets."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {readable(one)}" for name, one in value.items())
    return ", ".join(map(readable, value)) if isinstance(value, list | tuple) else str(value)


@dataclass(slots=True)
class Face:
    """The command line of one call."""

    home: Home
    identity: str = "default"
    as_json: bool = False
    out: Console = field(default_factory=lambda: _console(False))
    err: Console = field(default_factory=lambda: _console(True))

    def show(self, data: Any, text: Callable[[Any], None] | None = None) -> None:
        """JSON of `data` where that is asked for, else what `text` writes of it."""
        if self.as_json or text is None:
            self.write(as_json(data, None if self.as_json else 2))
        else:
            text(data)

    def write(self, line: str) -> None:
        """One line as it is, without markup; controls of a terminal that stand in it are not passed on."""
        sys.stdout.write(without_controls(line) + "\n")
        sys.stdout.flush()

    def say(self, line: str) -> None:
        """A line for people; not part of JSON output."""
        if not self.as_json:
            self.out.print(line)

    def table(self, columns: Sequence[str], rows: Iterator[Sequence[object]] | Sequence[Sequence[object]]) -> None:
        """A table for people; strings are taken as they are."""
        table = Table(*columns, box=None, header_style="bold", pad_edge=False)
        for row in rows:
            table.add_row(*(escape("" if cell is None else str(cell)) for cell in row))
        self.out.print(table)

    def fields(self, data: Mapping[str, Any]) -> None:
        """A line for each field, for people; and what to do where the answer is that there is no consent."""
        for name, value in data.items():
            self.out.print(f"[bold]{escape(name)}[/]  {escape(readable(value))}")
        if data.get("status") == NO_CONSENT:
            self.out.print(WITHOUT_CONSENT)

    def fail(self, error: AicoMemoryError) -> Exit:
        """Say what went wrong and how to mend it, in one line; returns the exit code."""
        if self.as_json:
            told: dict[str, Any] = {"code": error.code, "detail": error.detail, "mend": error.mend}
            self.write(json.dumps({"error": {**told, "event_ids": error.event_ids} if error.event_ids else told}))
        else:
            self.err.print(f"[red]error[/] [bold]{error.code}[/]: {escape(error.detail)}. [dim]{escape(error.mend)}[/]")
            for event_id in error.event_ids:
                self.err.print(f"[dim]event {event_id}[/]")
        return exit_code(error)

    def user(self, name: str) -> str:
        """The user id that a name stands for (`identity.aliases`); "" stays nobody."""
        from aico_memory.settings.load import load_settings

        return load_settings(self.home).identity.user(name) if name else ""

    @contextmanager
    def client(self) -> Iterator[MemoryClient]:
        """A client as the chosen identity."""
        from aico_memory.client import MemoryClient

        with MemoryClient.connect(home=self.home.root, identity=self.identity) as client:
            yield client

    @contextmanager
    def operator(self) -> Iterator[Link]:
        """A link as the operator of this home, for administration."""
        from aico_memory.runtime.links import open_link

        with open_link(self.home, "operator" if self.identity == "default" else self.identity) as link:
            yield link


@contextmanager
def kept(event_ids: Sequence[str]) -> Iterator[None]:
    """Where waiting for acknowledged events fails, the error names them: nobody has to add them again."""
    try:
        yield
    except AicoMemoryError as error:
        told = type(error)(error.detail, f"It is kept all the same (`event_ids` of this error). {error.mend}")
        told.event_ids = tuple(event_ids)
        raise told from error


def as_json(data: Any, indent: int | None = None) -> str:
    """JSON of it; what would control a terminal is escaped, and is read back as the same text."""
    text = json.dumps(data, ensure_ascii=False, default=str, indent=indent)
    return _CONTROLS.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


class _Quiet(Console):
    """A console that passes on no control characters of the texts it is given; colours are its own."""

    def render_str(self, text: str, **more: Any) -> Text:
        return super().render_str(without_controls(text), **more)


def _console(stderr: bool) -> Console:
    # Tables that go into a file or a pipe are not cut to a terminal's width.
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else WIDE
    return _Quiet(stderr=stderr, highlight=False, soft_wrap=True, width=width)


def face_of(context: typer.Context) -> Face:
    """The face that the root callback made."""
    face = context.find_object(Face)
    return face if face is not None else Face(find_home())


def hoist(arguments: Sequence[str]) -> list[str]:
    """Let the options that every command takes stand anywhere: move them to the front.

    InvalidMessage where one that takes a value has none.
    """
    front: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            rest += [argument, *waiting]
        elif argument in SHARED:
            value = next(waiting, None)
            if value is None or value in SHARED + SHARED_FLAGS:
                raise InvalidMessage(f"{argument} needs a value", f"Give it, e.g. {argument} {SHARED_VALUES[argument]}.")
            front += [argument, value]
        elif argument.startswith(tuple(f"{name}=" for name in SHARED)) or argument in SHARED_FLAGS:
            front.append(argument)
        else:
            rest.append(argument)
    return front + rest
