"""`bench skills`: what selection and feedback cost over the bus."""

from __future__ import annotations

from typing import Annotated

import typer

from aico_memory.bench.machine import describe_machine
from aico_memory.cli.bench import Runs, Seed, bench, exit_where_missed, progress_of
from aico_memory.cli.face import face_of


@bench.command("skills")
def skills(
    context: typer.Context,
    users: Annotated[int, typer.Option(help="Users in the store.", min=1)] = 1_000,
    skills: Annotated[int, typer.Option(help="Skills of each: the base skills, and of their own up to this.", min=1)] = 100,
    thumbs: Annotated[int, typer.Option(help="Thumbs of each before anything is timed.", min=0)] = 10,
    samples: Annotated[int, typer.Option(help="Timed requests of a kind and run.", min=20)] = 200,
    runs: Runs = 3,
    seed: Seed = 1,
) -> None:
    """Selection and feedback over the bus with many users of many skills, and what a user takes on disk.

    A deployment of its own, one request at a time, timed at the client. Exits with 1 where a bar is missed.
    """
    from aico_memory.bench.skills.report import as_json, show
    from aico_memory.bench.skills.run import Plan, run_skills

    face = face_of(context)
    plan = Plan(users, skills, thumbs, samples, runs, seed)
    with progress_of(face) as progress:
        stages = run_skills(plan, progress)
    machine = describe_machine()
    result = as_json(machine, plan, stages)
    face.show(result, lambda _: show(face.out, machine, plan, stages))
    exit_where_missed(result)
