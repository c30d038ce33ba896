"""Progress for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from aico_memory.cli.face import Face


@contextmanager
def progress(face: Face, what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal; elsewhere, and with --json, nothing. Call it with the number done so far."""
    if face.as_json or not face.err.is_terminal:
        yield lambda done: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=face.err, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)
