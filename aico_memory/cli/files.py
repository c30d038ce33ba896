"""Files that a command writes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aico_memory.errors import InvalidMessage

Force = Annotated[bool, typer.Option("--force", help="Put it in place of a file that stands there.")]


def require_free(path: Path, force: bool) -> None:
    """InvalidMessage where a file stands there that nobody wants replaced; before anything is read."""
    if path.exists() and not force:
        raise InvalidMessage(f"{path} exists already", "Name another file, or replace it with --force.")
