"""`bench index`: from which size on the large vector index is worth it."""

from __future__ import annotations

from typing import Annotated

import typer

from aico_memory.bench.machine import describe_machine
from aico_memory.cli.bench import Seed, bench, progress_of
from aico_memory.cli.face import face_of


@bench.command("index")
def index(
    context: typer.Context,
    sizes: Annotated[list[int] | None, typer.Option("--size", help="Vectors; repeatable.", min=1_000)] = None,
    questions: Annotated[int, typer.Option(help="Questions an index and size.", min=10)] = 50,
    chroma: Annotated[bool, typer.Option(help="Also build Chroma: minutes from 100,000 vectors on.")] = True,
    seed: Seed = 1,
) -> None:
    """The exact vector index beside Chroma, in this process, over made-up vectors: what `semantic.exact_limit` is set by."""
    from aico_memory.bench.index.report import as_json, show
    from aico_memory.bench.index.run import run_index

    face = face_of(context)
    with progress_of(face) as progress:
        rows = run_index(tuple(sorted(sizes or (1_000, 10_000, 50_000))), questions, seed, progress, approximate=chroma)
    machine = describe_machine()
    face.show(as_json(machine, rows), lambda _: show(face.out, machine, rows))
