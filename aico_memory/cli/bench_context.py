"""`bench context`: an ablation of the stages between ranking and block."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from aico_memory.bench.machine import describe_machine
from aico_memory.cli.bench import bench, progress_of
from aico_memory.cli.face import Face, face_of


@bench.command("context")
def context_stages(
    context: typer.Context,
    data: Annotated[Path, typer.Option(help="Folder of the evaluation data (locomo).")],
    conversations: Annotated[int, typer.Option(help="Conversations, the first ones.", min=1, max=10)] = 2,
    first: Annotated[int, typer.Option(help="The first of them, counted from 0.", min=0, max=9)] = 0,
    questions: Annotated[int, typer.Option(help="Questions of each.", min=2, max=2000)] = 100,
    only: Annotated[
        list[str] | None, typer.Option(help="Configurations whose name holds this, beside the present one; repeatable.")
    ] = None,
) -> None:
    """Contexts with one stage taken away or changed at a time: diversity, boosts, caps, parts and their merging.

    A deployment of its own, one configuration after the other; each context is scored by the turns that its items rest on.
    """
    from aico_memory.bench.context.run import Plan, run_context

    face = face_of(context)
    with progress_of(face) as progress:
        rows = run_context(Plan(data, conversations, first, questions, tuple(only or ())), progress)
    result = {
        "benchmark": "context",
        "machine": describe_machine(),
        "conversations": conversations,
        "first": first,
        "variants": rows,
    }
    face.show(result, lambda shown: _print(face, shown))


def _print(face: Face, data: dict[str, Any]) -> None:
    columns = ("configuration", "asked", "questions", "recall", "mrr", "items", "tokens")
    rows = [
        (name, kind, *(str(scores[column]) for column in columns[2:]))
        for name, kinds in data["variants"].items()
        for kind, scores in kinds.items()
    ]
    face.table(columns, rows)
