"""Benchmarks; each prints the machine, the versions, medians with spread, and ratios taken in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from aico_memory.bench.machine import describe_machine
from aico_memory.cli.app import group
from aico_memory.cli.face import Exit, Face, face_of

bench = group("bench", "Measure this machine; results of record stand in docs/BENCHMARKS.md.", "Development")

Runs = Annotated[int, typer.Option(help="Repetitions; medians are of these.", min=1)]
Seed = Annotated[int, typer.Option(help="Seed of what is random.")]


@contextmanager
def progress_of(face: Face) -> Iterator[Callable[[str], None]]:
    """What is being measured: one line that changes on a terminal, a line each elsewhere."""
    if not face.err.is_terminal:
        yield face.err.print
        return
    with face.err.status("starting") as status:

        def say(text: str) -> None:
            status.update(text)

        yield say


def exit_where_missed(result: Mapping[str, Any]) -> None:
    """End with an error where a bar is not held."""
    if not all(bar["held"] for bar in result["bars"]):
        raise typer.Exit(Exit.ERROR)


@bench.command("bus")
def bus(
    context: typer.Context,
    runs: Runs = 5,
    count: Annotated[int, typer.Option(help="Messages a run and load.", min=1000)] = 100_000,
    subscribers: Annotated[
        list[int] | None, typer.Option(help="Also measure with this many subscribers; repeatable. By default 16 and 64.")
    ] = None,
    replay: Annotated[int, typer.Option(help="Messages of the journal that is replayed; 0: no replay.", min=0)] = 1_000_000,
) -> None:
    """The complete broker beside Redis Streams, NATS JetStream and a raw CURVE proxy, in one run.

    Publisher, broker and subscriber are processes of their own; every contestant is driven by a client as lean as
    ours. Needs redis-server and nats-server (scripts/install_peers.sh); says so where one is missing.
    """
    from aico_memory.bench.bus.report import as_json, show
    from aico_memory.bench.bus.run import Plan, run_bus

    face = face_of(context)
    with progress_of(face) as progress:
        rows, bars, remarks = run_bus(Plan(runs, count, tuple(subscribers or (16, 64)), replay), progress)
    machine = describe_machine()
    face.show(as_json(machine, rows, bars, remarks), lambda _: show(face.out, machine, rows, bars, remarks))


@bench.command("facts")
def facts(
    context: typer.Context,
    half: Annotated[
        str, typer.Option(help="Only this part of the streams: develop, held-out, other-hands, unread or learn.")
    ] = "",
    misses: Annotated[bool, typer.Option(help="Also print what was answered wrongly.")] = False,
    in_process: Annotated[bool, typer.Option(help="Without a deployment, in this process: fast.")] = False,
    rules_alone: Annotated[bool, typer.Option(help="With --in-process: without the learned reader.")] = False,
) -> None:
    """Streams of statements in English, German and Turkish: what is true now, what was true then.

    Through a fresh deployment with `add`, `flush` and `recall`, or with --in-process without one; beside it
    the baselines "latest statement" and "most similar", with false merges and false invalidations. Rules may be made
    from the half `develop`; of `held-out` and `unread` only the figures count; `learn` is what the reader has learned from, and
    is left out where it is not named. `exact` counts values that are the expected words.
    """
    from aico_memory.bench.facts.bus import run_over_the_bus
    from aico_memory.bench.facts.report import as_json, as_text
    from aico_memory.bench.facts.run import run_streams
    from aico_memory.bench.facts.streams import LEARN, load_streams
    from aico_memory.models.fact_tables import load_formation_tables
    from aico_memory.models.load import load_embedder
    from aico_memory.models.reader_trust import load_reader
    from aico_memory.paths import find_home
    from aico_memory.settings.models import ModelSettings

    face = face_of(context)
    home = find_home()
    streams = [one for one in load_streams(half == LEARN) if not half or one.half.replace(" ", "-") == half]
    with progress_of(face) as progress:
        progress("loading the embedding model")
        embedder, account = load_embedder(ModelSettings(), home.model)
        progress(f"{len(streams)} streams")
        if in_process:
            tallies = run_streams(streams, load_formation_tables(home), embedder, None if rules_alone else load_reader(home))
        else:
            tallies = run_over_the_bus(streams, embedder, progress)
    way = "in process" if in_process else "over the bus"
    result = as_json(describe_machine(), tallies, account.model, way)
    wrong = [line for tally in tallies.values() for line in tally.misses]
    face.show(
        {**result, "misses": wrong} if misses else result,
        lambda data: face.write("\n".join([as_text(data), *(wrong if misses else ())])),
    )


@bench.command("chat")
def chat(
    context: typer.Context,
    data: Annotated[Path, typer.Option(help="Folder of chat logs: <day>.raw.txt with lines `[HH:MM] <nick> text`.")],
    limit: Annotated[int, typer.Option(help="Lines; the logs repeat, later, where they hold fewer. 0: each once.", min=0)] = 0,
) -> None:
    """Real chat through a fresh deployment: what is filtered, kept and merged by rule; speed, latency, peak memory."""
    from aico_memory.bench.chat.report import as_json, as_text
    from aico_memory.bench.chat.run import run_chat

    face = face_of(context)
    with progress_of(face) as progress:
        result = run_chat(data, limit, progress)
    face.show(as_json(describe_machine(), result), lambda shown: face.write(as_text(shown)))


@bench.command("behavior")
def behavior(
    context: typer.Context,
    users: Annotated[int, typer.Option(help="People a seed.", min=2)] = 200,
    seeds: Annotated[int, typer.Option(help="Worlds drawn.", min=1)] = 5,
    interactions: Annotated[int, typer.Option(help="Interactions of each person.", min=10)] = 200,
    parameters: Annotated[str, typer.Option(help="Which parameters of the simulation: main or check.")] = "main",
    world: Annotated[list[str] | None, typer.Option(help="Only this world; repeatable.")] = None,
    feedback: Annotated[list[float] | None, typer.Option(help="Only this share of feedback (0 to 1); repeatable.")] = None,
    algorithm: Annotated[list[str] | None, typer.Option(help="Only this algorithm; repeatable.")] = None,
    curves: Annotated[str, typer.Option(help="Folder for learning curves as PNG; needs matplotlib.")] = "",
    processes: Annotated[int, typer.Option(help="Processes that simulate.", min=1)] = 2,
    seed: Seed = 1,
) -> None:
    """Simulated people with tastes of their own: how soon selection serves them well, beside eight baselines.

    The real trigger matching, policy, learning and refit choose and learn; the figures of the simulated worlds stand
    in aico_memory/bench/behavior/worlds.yaml.
    """
    from pathlib import Path

    from aico_memory.bench.behavior.report import as_json, as_text, bars_of, row_of
    from aico_memory.bench.behavior.run import BASELINES, OURS, Plan, run
    from aico_memory.bench.behavior.worlds import WORLDS, load_worlds
    from aico_memory.bench.drawing import require_drawing

    face = face_of(context)
    known = (*BASELINES, *OURS)
    wanted = (tuple(world or WORLDS), tuple(feedback or (1.0, 0.3)), tuple(algorithm or known))
    if unknown := sorted((set(wanted[0]) - set(WORLDS)) | (set(wanted[2]) - set(known))):
        raise typer.BadParameter(f"{unknown[0]!r}; worlds are {', '.join(WORLDS)}; algorithms are {', '.join(known)}")
    if any(not 0 < share <= 1 for share in wanted[1]):
        raise typer.BadParameter("a share of feedback is above 0 and at most 1")
    try:
        load_worlds(parameters)
    except KeyError:
        raise typer.BadParameter(f"there are no parameters {parameters!r}") from None
    if curves:
        require_drawing()
    plan = Plan(users, seeds, interactions, wanted[1], wanted[0], parameters, wanted[2], processes, seed)
    with progress_of(face) as progress:
        outcomes = run(plan, progress)
    rows = [row_of(outcome) for outcome in outcomes]
    result = as_json(describe_machine(), plan, rows, bars_of(rows))
    if curves:
        from aico_memory.bench.behavior.curves import draw

        result["curves"] = [str(path) for path in draw(outcomes, Path(curves), parameters)]
    face.show(result, lambda data: face.write(as_text(data)))


@bench.command("injection")
def injection(context: typer.Context) -> None:
    """Texts of many hands that try to give orders to the memory, beside ordinary wishes in much the same words.

    Counts whom they bind by wordings alone and with the rule that is learned from the other hands, in this process.
    """
    from aico_memory.bench.facts.streams import LEARN
    from aico_memory.bench.injection.report import as_json, as_text
    from aico_memory.bench.injection.run import run_injection
    from aico_memory.bench.injection.texts import ORDINARY, load_texts, ordinary_messages
    from aico_memory.models.fact_tables import load_formation_tables
    from aico_memory.paths import find_home
    from aico_memory.settings.load import load_settings

    face = face_of(context)
    home = find_home()
    with progress_of(face) as progress:
        progress("reading the texts")
        tables = load_formation_tables(home).configured(load_settings(home).write_path)
        ordinary = ordinary_messages(LEARN)
        fresh = {language: some[ORDINARY:] for language, some in ordinary.items()}
        outcome = run_injection(load_texts(), ordinary, fresh, tables, progress)
    face.show(as_json(describe_machine(), outcome), lambda data: face.write(as_text(data)))


@bench.command("feedback")
def feedback_text(
    context: typer.Context,
    data: Annotated[
        Path | None, typer.Option(help="Folder of <language>.yaml files; by default the held-out sentences.")
    ] = None,
    part: Annotated[str, typer.Option(help="Only this part of them: development or final.")] = "",
) -> None:
    """Feedback text in twelve languages sorted into six categories, beside the older centroid and n-grams alone.

    With the embedding model of this home; the language of a sentence is not told to the classifier. Exits with 1 where
    a bar is missed.
    """
    from aico_memory.bench.feedback.report import as_json, as_text
    from aico_memory.bench.feedback.run import run_feedback
    from aico_memory.bench.feedback.sentences import FOLDER, load_sentences
    from aico_memory.models.feedback_tables import load_classifier, load_phrases
    from aico_memory.models.load import load_embedder
    from aico_memory.paths import find_home
    from aico_memory.settings.load import load_settings

    face = face_of(context)
    home = find_home()
    settings = load_settings(home)
    figures = settings.behavioral.feedback_text
    phrases = load_phrases(home)
    held_out = load_sentences(data or FOLDER, part, phrases)
    with progress_of(face) as progress:
        progress("loading the embedding model")
        embedder, account = load_embedder(settings.models, home.model)
        progress("learning the phrases")
        classifier = load_classifier(home, figures)
        outcome = run_feedback(phrases, held_out.sentences, classifier, embedder, figures.threshold, progress)
        embedder.close()
    result = as_json(describe_machine(), outcome, account.model, part, held_out.left_out)
    face.show(result, lambda shown: face.write(as_text(shown)))
    exit_where_missed(result)


@bench.command("retrieval")
def retrieval(
    context: typer.Context,
    data: Annotated[Path, typer.Option(help="Folder of the evaluation data (locomo, xquad, prefeval).")],
    in_process: Annotated[bool, typer.Option(help="The same rules and indexes in this process: no bus, no store.")] = False,
    only: Annotated[
        list[str] | None, typer.Option(help="conversations, languages or preferences; repeatable. Default: all.")
    ] = None,
    ablation: Annotated[bool, typer.Option(help="Also learn and score without each family of features.")] = True,
) -> None:
    """Long conversations by category, passages in six languages, implied preferences; beside older designs.

    A deployment of its own: messages are published by the client and questions asked as searches. The weights by which
    a conversation is searched are learned on the others. Exits with 1 where a bar is missed.
    """
    from aico_memory.bench.retrieval.data import LANGUAGES
    from aico_memory.bench.retrieval.local import open_workshop
    from aico_memory.bench.retrieval.report import as_json, as_text
    from aico_memory.bench.retrieval.run import Plan, run_retrieval
    from aico_memory.models.question_tables import load_routing
    from aico_memory.models.ranking_tables import load_profiles
    from aico_memory.paths import find_home

    face = face_of(context)
    home = find_home()
    known = ("conversations", "languages", "preferences")
    parts = set(only or known)
    if unknown := sorted(parts.difference(known)):
        raise typer.BadParameter(f"{unknown[0]!r}; there are {', '.join(known)}")
    plan = Plan(
        data, in_process, "conversations" in parts, LANGUAGES if "languages" in parts else (), "preferences" in parts, ablation
    )
    with progress_of(face) as progress:
        progress("loading the embedding model")
        workshop = open_workshop(home)
        outcome = run_retrieval(plan, workshop, load_profiles(home), load_routing(home), progress)
    result = as_json(describe_machine(), plan, outcome, workshop.model)
    face.show(result, lambda shown: face.write(as_text(shown)))
    exit_where_missed(result)


@bench.command("tokens")
def tokens(
    context: typer.Context,
    size: Annotated[int, typer.Option(help="Tokens of an outcome in full.", min=100, max=2000)] = 500,
    seed: Seed = 1,
) -> None:
    """Outcomes in three depths against fetching all, compaction of a long history, and the size of contexts.

    Through a deployment of its own, counted with its tokenizer. Exits with 1 where a bar is missed.
    """
    from aico_memory.bench.tokens.report import as_json, as_text
    from aico_memory.bench.tokens.run import Plan, run_tokens

    face = face_of(context)
    with progress_of(face) as progress:
        found = run_tokens(Plan(tokens=size, seed=seed), progress)
    result = as_json(describe_machine(), found)
    face.show(result, lambda shown: face.write(as_text(shown)))
    exit_where_missed(result)
