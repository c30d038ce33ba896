"""Benchmarks of a whole deployment: its contexts, its nights, and what kill -9 of its processes costs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from aico_memory.bench.machine import describe_machine
from aico_memory.cli.bench import Runs, Seed, bench, progress_of
from aico_memory.cli.face import Exit, face_of


@bench.command("system")
def system(
    context: typer.Context,
    runs: Runs = 5,
    sizes: Annotated[list[int] | None, typer.Option("--size", help="Messages of the user; repeatable, growing.")] = None,
    questions: Annotated[int, typer.Option(help="Questions a run.", min=10)] = 100,
    users: Annotated[int, typer.Option(help="Then also ask so many other users; 0: none.", min=0)] = 0,
    each: Annotated[int, typer.Option(help="Messages of each of them.", min=1)] = 100,
    writes: Annotated[
        float, typer.Option(help="Ask each size again while so many messages a second are written; 0: not.", min=0, max=1000)
    ] = 0.0,
    plain: Annotated[
        bool, typer.Option("--plain", help="Where over 10,000 messages are stored at once, they state nothing: records only.")
    ] = False,
    seed: Seed = 1,
) -> None:
    """Context over the bus by stage, and the memory of every process, on a deployment of its own.

    Messages become searchable at 60 to 70 a second on two cores: 100,000 of one user or of 1,000 take half an hour, with
    `--plain` a third of it.
    """
    from aico_memory.bench.system.report import as_json, show
    from aico_memory.bench.system.run import Plan, run_system

    face = face_of(context)
    with progress_of(face) as progress:
        chosen = tuple(sorted(sizes)) if sizes is not None else (1_000, 10_000)
        rows, ready = run_system(Plan(chosen, questions, runs, seed, users, each, writes, plain), progress)
    machine = describe_machine()
    face.show(as_json(machine, rows, ready), lambda _: show(face.out, machine, rows, ready))


@bench.command("faults")
def faults(
    context: typer.Context,
    kills: Annotated[int, typer.Option(help="kill -9 of each of the eight processes.", min=1)] = 13,
    pause: Annotated[float, typer.Option(help="Seconds between two steps of the load.", min=0.0)] = 0.03,
    seed: Seed = 1,
) -> None:
    """kill -9 of every process at random moments under load: nothing acknowledged lost, nothing applied twice.

    Afterwards the same steps run without kills, and the canonical exports of both are compared. Exits with 1 on any
    difference. A load faster than memories are formed leaves a backlog, through which a killed worker has to work before
    it counts as back.
    """
    from aico_memory.bench.faults.run import Plan, run_faults

    face = face_of(context)
    with progress_of(face) as progress:
        verdict = run_faults(Plan(kills, seed, pause=pause), progress)
    result = {"benchmark": "faults", "machine": describe_machine(), "held": verdict.held, **asdict(verdict)}
    face.show(result, lambda data: face.write("\n".join(f"{key}: {value}" for key, value in data.items())))
    if not verdict.held:
        raise typer.Exit(Exit.ERROR)


@bench.command("sleep")
def sleep(
    context: typer.Context,
    sizes: Annotated[list[int] | None, typer.Option("--messages", help="Messages of the one user; repeatable.")] = None,
    users: Annotated[int, typer.Option(help="Users of the night of many; 0: no such night.", min=0)] = 100,
    each: Annotated[int, typer.Option(help="Messages of each of them.", min=1)] = 30,
    nights: Annotated[int, typer.Option(help="Nights of the month in fast motion; 0: no month.", min=0)] = 30,
    daily: Annotated[int, typer.Option(help="Messages of each person of the month a day.", min=1)] = 10,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the retrieval benchmark's sets: its conversations live through the month too."),
    ] = None,
    conversations: Annotated[int, typer.Option(help="So many of its conversations.", min=1)] = 10,
    picture: Annotated[Path | None, typer.Option(help="Draw the month into this PNG.")] = None,
    seed: Seed = 1,
) -> None:
    """Nights of one user and of many: time by phase, memory, contexts meanwhile; and a month in fast motion.

    Each night has a deployment of its own; the month has one whose clock is turned by hand.
    """
    from aico_memory.bench.drawing import require_drawing
    from aico_memory.bench.retrieval.data import load_conversations
    from aico_memory.bench.sleep.month import run_month
    from aico_memory.bench.sleep.nights import run_nights
    from aico_memory.bench.sleep.report import as_json, draw, show

    face = face_of(context)
    if picture is not None:
        require_drawing()
    collections = load_conversations(data)[:conversations] if data else []
    with progress_of(face) as progress:
        measured = run_nights(sizes if sizes is not None else [1_000, 10_000], users, each, seed, progress)
        month = run_month(nights, collections, daily, seed, progress) if nights else None
    machine = describe_machine()
    if picture is not None and month is not None:
        draw(month, picture)
    face.show(as_json(machine, measured, month), lambda _: show(face.out, machine, measured, month))
