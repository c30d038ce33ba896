"""All algorithms in all worlds: who reaches how high a chance of a thumb up, and when."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context, parent_process

import numpy as np

from aico_memory.bench.behavior.baselines import (
    BestFixed,
    HierarchicalGreedy,
    LinUcb,
    Player,
    RandomChoice,
    ThompsonCells,
    play,
)
from aico_memory.bench.behavior.system import RealSystem, Rules
from aico_memory.bench.behavior.worlds import WORLDS, Floats, World, draw_world, load_worlds
from aico_memory.domain.behavioral.choosing import Chooser
from aico_memory.domain.behavioral.diversity import Diversity
from aico_memory.domain.behavioral.hierarchical import HierarchicalFigures, HierarchicalPolicy
from aico_memory.domain.behavioral.learning import LearningFigures
from aico_memory.domain.behavioral.policy import HybridFigures, HybridPolicy
from aico_memory.domain.behavioral.population import RefitFigures, designed, refitted
from aico_memory.domain.behavioral.prior import Prior
from aico_memory.domain.behavioral.style_space import StyleSpace
from aico_memory.domain.behavioral.trigger import TriggerWeights
from aico_memory.paths import shipped_config
from aico_memory.runtime.environment import environment
from aico_memory.settings.behavioral import BehavioralSettings
from aico_memory.stores.behavioral.prior_file import FILE as PRIOR_FILE
from aico_memory.stores.behavioral.prior_file import load_prior
from aico_memory.stores.behavioral.skill_file import FILE, load_skills

COLD, SHIPPED, LEARNED = "ours, cold", "ours, shipped prior", "ours, prior from 200 users"
HYBRID = "hybrid 40/30/30"
FIXED = "best fixed skill per intent"
LINUCB_PRIOR = "LinUCB, prior from 200 users"
BASELINES = (
    "random",
    "Thompson (user, bucket, skill)",
    HYBRID,
    "Thompson (user, skill)",
    "LinUCB, cold",
    "hierarchical, trigger prior, greedy",
    LINUCB_PRIOR,
    FIXED,
)
OURS = (COLD, SHIPPED, LEARNED)
# Those who came before, and for how many interactions each.
COMPANY, COMPANY_INTERACTIONS = 200, 50
# What libraries of linear algebra look at when they are loaded: two processes with two threads each take five times as long.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is simulated."""

    users: int = 200
    seeds: int = 5
    interactions: int = 200
    feedback: tuple[float, ...] = (1.0, 0.3)
    worlds: tuple[str, ...] = WORLDS
    parameterisation: str = "main"
    algorithms: tuple[str, ...] = (*BASELINES, *OURS)
    processes: int = 2
    first_seed: int = 1


@dataclass(frozen=True, slots=True)
class Job:
    """One algorithm with one company of people."""

    world: str
    feedback: float
    algorithm: str
    seed: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """True chance of a thumb up, users of all seeds x interactions; and what the best choice would have had."""

    world: str
    feedback: float
    algorithm: str
    reached: Floats
    oracle: float


@dataclass(frozen=True, slots=True)
class _Stage:
    """The configured rules and priors."""

    rules: Rules
    chooser: Chooser
    cold: Prior
    shipped: Prior
    styles: Floats
    figures: HierarchicalFigures


@cache
def _stage() -> _Stage:
    settings = BehavioralSettings()
    catalogue = load_skills(shipped_config() / FILE)
    trigger = settings.trigger
    weights = TriggerWeights(trigger.intent, trigger.time_of_day, trigger.sentiment, trigger.topic)
    bound = Diversity(**settings.diversity.model_dump())
    chooser = Chooser(weights, trigger.threshold, trigger.candidates, bound)
    learning = LearningFigures(**settings.learning.model_dump())
    start = Prior(level=settings.hierarchical.level, slope=settings.hierarchical.slope)
    cold = designed(start, catalogue, settings.hierarchical.design)
    styles = 2.0 * np.array([skill.dimensions for skill in catalogue]) - 1.0
    # The chance of each choice is logged by the worker; here nobody reads it.
    figures = HierarchicalFigures(settings.hierarchical.temperature, trigger.candidates, 0)
    rules = Rules(catalogue, chooser, learning, settings.hierarchical.cells)
    return _Stage(rules, chooser, cold, load_prior(shipped_config() / PRIOR_FILE, cold), styles, figures)


def run(plan: Plan, progress: Callable[[str], None]) -> list[Outcome]:
    """Every algorithm in every world, at every share of feedback; equal plans give equal outcomes."""
    jobs = [
        Job(world, feedback, algorithm, plan.first_seed + seed)
        for world in plan.worlds
        for feedback in plan.feedback
        for algorithm in plan.algorithms
        for seed in range(plan.seeds)
    ]
    found: dict[Job, tuple[Floats, float]] = {}
    for done, (job, reached, oracle) in enumerate(_played(jobs, plan), 1):
        found[job] = reached, oracle
        progress(f"{done} of {len(jobs)}: {job.algorithm}, {job.world}")
    outcomes = []
    for world in plan.worlds:
        for feedback in plan.feedback:
            for algorithm in plan.algorithms:
                rows = [found[Job(world, feedback, algorithm, plan.first_seed + seed)] for seed in range(plan.seeds)]
                reached = np.concatenate([row[0] for row in rows])
                outcomes.append(Outcome(world, feedback, algorithm, reached, float(np.mean([row[1] for row in rows]))))
    return outcomes


def _played(jobs: list[Job], plan: Plan) -> Iterator[tuple[Job, Floats, float]]:
    if plan.processes <= 1:
        for job in jobs:
            yield job, *play_one(job, plan)
        return
    # The longest first, so that no process ends alone.
    ordered = sorted(jobs, key=lambda job: -(job.algorithm in {*OURS, HYBRID}))
    pool = ProcessPoolExecutor(plan.processes, mp_context=get_context("spawn"), initializer=_end_with_parent)
    with environment(_ONE_THREAD), pool:
        waiting = {pool.submit(play_one, job, plan): job for job in ordered}
        for future in as_completed(waiting):
            yield waiting[future], *future.result()


def _end_with_parent() -> None:
    """A parent that was terminated tells its pool nothing, which would simulate on for minutes."""
    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, name="end-with-parent", daemon=True).start()


def play_one(job: Job, plan: Plan) -> tuple[Floats, float]:
    """users x interactions of one job, and the mean of the best choices."""
    stage = _stage()
    world = _drawn(job, plan, 0)
    reached = play(world, _player(job, plan, world, stage), job.feedback)
    best = world.best()[np.arange(len(world.visits))[:, None], world.visits]
    return reached, float(best.mean())


def _drawn(job: Job, plan: Plan, company: int) -> World:
    stage = _stage()
    figures = load_worlds(plan.parameterisation)[job.world]
    users, steps = (COMPANY, COMPANY_INTERACTIONS) if company else (plan.users, plan.interactions)
    chooser = stage.chooser
    return draw_world(
        figures, stage.rules.catalogue, chooser.weights, chooser.threshold, users, steps, job.seed, company, stage.shipped
    )


def _player(job: Job, plan: Plan, world: World, stage: _Stage) -> Player:
    seed = job.seed
    match job.algorithm:
        case "random":
            return RandomChoice(world, seed)
        case "Thompson (user, bucket, skill)":
            return ThompsonCells(world, seed, by_bucket=True)
        case "Thompson (user, skill)":
            return ThompsonCells(world, seed, by_bucket=False)
        case "LinUCB, cold":
            return LinUcb(world, stage.styles, seed)
        case "hierarchical, trigger prior, greedy":
            return HierarchicalGreedy(world, seed)
        case "best fixed skill per intent":
            return BestFixed(world, seed)
        case "LinUCB, prior from 200 users":
            company = _drawn(job, plan, 1)
            before = LinUcb(company, stage.styles, seed)
            play(company, before, job.feedback)
            return LinUcb(world, stage.styles, seed, before.prior())
        case "hybrid 40/30/30":
            return RealSystem(world, stage.rules, HybridPolicy(HybridFigures()), stage.cold, seed)
        case _:
            prior = {COLD: stage.cold, SHIPPED: stage.shipped}.get(job.algorithm)
            if prior is None:
                prior = _learned(job, plan, stage)
            return RealSystem(world, stage.rules, HierarchicalPolicy(stage.figures), prior, seed)


def _learned(job: Job, plan: Plan, stage: _Stage) -> Prior:
    """The prior after 200 other people, served from the base skills' prior, by the nightly refit."""
    company = _drawn(job, plan, 1)
    before = RealSystem(company, stage.rules, HierarchicalPolicy(stage.figures), stage.cold, job.seed)
    play(company, before, job.feedback)
    space = StyleSpace({skill.skill_id: skill.dimensions for skill in stage.rules.catalogue}, stage.cold)
    prior = refitted(stage.cold, before.everybody(), space, RefitFigures(), "simulated")
    if prior is None:
        raise RuntimeError("two hundred people were too few for a common prior")
    return prior
