"""Recorded streams and canonical exports."""

from __future__ import annotations

import math
import signal
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from aico_memory.cli.app import app, command
from aico_memory.cli.face import Exit, Face, face_of
from aico_memory.cli.files import Force, require_free
from aico_memory.cli.waiting import progress
from aico_memory.contracts.recording import open_recording
from aico_memory.contracts.v1 import recording_pb2
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.runtime.deployment import WORKERS, read_table
from aico_memory.runtime.divergence import Divergence, first_divergence
from aico_memory.vault.permissions import replace_private

PANEL = "Streams"
SPEED_HELP = "fast, original, step (Enter before each frame), or a factor of the original pace."


@command(app, "record", "record monday.stream.zst", "record live.stream --follow", panel=PANEL)
def record(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="File to write; .gz and .zst are compressed.")],
    start: Annotated[int, typer.Option("--from", min=0, help="Begin after this global sequence.")] = 0,
    everything: Annotated[bool, typer.Option("--all", help="Also what the workers published.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Go on recording until Ctrl-C.")] = False,
    force: Force = False,
) -> None:
    """Write the journal's messages from outside as a stream that `replay` understands. Only you can read the file."""
    from aico_memory.runtime.recorder import record_stream

    face = face_of(context)
    require_free(file, force)
    stop = threading.Event()
    if follow:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        face.err.print("Recording; Ctrl-C ends it.")
    with face.operator() as link, progress(face, "recording") as shown:
        frames = record_stream(
            link, face.home, file, start=start, everything=everything, follow=follow, stop=stop, progressed=shown
        )
    face.show({"file": str(file), "frames": frames}, lambda data: face.say(f"{data['frames']} frames in {data['file']}"))


@command(app, "replay", "replay monday.stream.zst", "replay tests/streams/rough_sea.stream --speed 60", panel=PANEL)
def replay(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A recorded stream.", exists=True, dir_okay=False)],
    speed: Annotated[str, typer.Option(help=SPEED_HELP)] = "fast",
) -> None:
    """Publish a recorded stream: same event ids and times, as the identities it names.

    With AICO_MEMORY_CLOCK=manual the deployment's clock follows the stream. Refusals that belong to the stream are
    checked; exit code 1 where a frame ended otherwise than the stream says.
    """
    face = face_of(context)
    account = play_file(face, file, speed)
    face.show(account, lambda data: _print_account(face, data))
    if account["unexpected"]:
        raise typer.Exit(int(Exit.ERROR))


def play_file(face: Face, file: Path, speed: str = "fast") -> dict[str, Any]:
    """Replay a file into the running deployment; the account as JSON values."""
    from aico_memory.runtime.playback import Player

    with open_recording(file) as (header, frames), progress(face, "replaying") as shown:
        step = _step(face) if speed == "step" else None
        player = Player(face.home, header, speed=_factor(speed), step=step, progressed=shown)
        return asdict(player.play(frames))


def _factor(speed: str) -> float | None:
    if speed in ("fast", "step"):
        return None
    try:
        factor = 1.0 if speed == "original" else float(speed)
    except ValueError:
        factor = 0.0
    if not 0 < factor < math.inf:
        raise InvalidMessage(f"{speed!r} is no speed", f"Give {SPEED_HELP}")
    return factor


def _step(face: Face) -> Any:
    def wait(frame: recording_pb2.RecordedFrame) -> None:
        what = frame.record.topic if frame.WhichOneof("what") == "record" else frame.WhichOneof("what")
        face.err.print(f"[dim]{frame.ordinal}[/] {escape(str(what))} {escape(frame.label)} — Enter")
        typer.get_binary_stream("stdin").readline()

    return wait


def _print_account(face: Face, account: dict[str, Any]) -> None:
    face.out.print(
        f"{account['frames']} frames: {account['published']} accepted, {account['refused']} refused, {account['marks']} marks"
    )
    for line in account["unexpected"]:
        face.out.print(f"[red]unexpected[/]  {escape(line)}")


@command(app, "export", "export --canonical -o today.jsonl", "export --canonical --user ana", panel=PANEL)
def export(
    context: typer.Context,
    canonical: Annotated[bool, typer.Option("--canonical", help="Sorted, no operational fields; the only form.")] = True,
    user: Annotated[str, typer.Option("--user", "-u", help="Only this user.")] = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write; default: standard output.")] = None,
    force: Force = False,
) -> None:
    """Write the state of all workers as JSON lines; the first line names the operational fields left out.

    Two deployments that went through the same stream give the same bytes; `diff-exports` compares. Only you can read the file.
    """
    face = face_of(context)
    if output is not None:
        require_free(output, force)
    lines = export_lines(face, user)
    text = "\n".join(lines) + "\n"
    if output is None:
        sys.stdout.write(text)
    else:
        replace_private(output, text.encode())
        face.show({"file": str(output), "lines": len(lines)}, lambda data: face.say(f"{data['lines']} lines in {data['file']}"))


def export_lines(face: Face, user: str = "") -> list[str]:
    """The canonical export of the running deployment."""
    from aico_memory.runtime.export import canonical_export

    table = read_table(face.home)
    running = [state.name for state in table.processes if state.state == "running"] if table else []
    with face.operator() as link, progress(face, "exporting") as shown:
        return canonical_export(link, [name for name in WORKERS if name in running], face.user(user), shown)


@command(app, "diff-exports", "diff-exports a.jsonl b.jsonl --stream tests/streams/rough_sea.stream", panel=PANEL)
def diff_exports(
    context: typer.Context,
    left: Annotated[Path, typer.Argument(exists=True, dir_okay=False)],
    right: Annotated[Path, typer.Argument(exists=True, dir_okay=False)],
    stream: Annotated[Path | None, typer.Option(help="The stream that both went through.")] = None,
) -> None:
    """Compare two canonical exports and name the first event that differs; exit code 1 where one does."""
    face = face_of(context)
    order = stream_events(stream) if stream else []
    # What is no UTF-8 is no JSON either, which is told of it.
    with left.open(encoding="utf-8", errors="replace") as ours, right.open(encoding="utf-8", errors="replace") as theirs:
        report_divergence(face, first_divergence(ours, theirs, order))


def stream_events(file: Path) -> list[str]:
    """Ids of a stream's events in order."""
    with open_recording(file) as (_, frames):
        return [frame.record.event_id.hex() for frame in frames if frame.WhichOneof("what") == "record"]


def report_divergence(face: Face, found: Divergence | None) -> None:
    """Say where two exports differ; leaves with exit code 1 where they do."""
    if found is None:
        face.show({"equal": True}, lambda _: face.say("Equal."))
        return
    face.show({"equal": False, **asdict(found)}, lambda _: _print_divergence(face, found))
    raise typer.Exit(int(Exit.ERROR))


def _print_divergence(face: Face, found: Divergence) -> None:
    face.out.print(f"[red]{found.differing} objects differ[/]; the first event behind that: {found.event_id or 'none named'}")
    face.out.print(f"in {escape(found.section)} {escape(found.key)}: {escape(', '.join(found.fields)) or 'one side lacks it'}")
    face.write(f"- {found.left}")
    face.write(f"+ {found.right}")


@command(app, "verify-replay", "verify-replay tests/streams/moving_house.stream", panel=PANEL)
def verify_replay(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A recorded stream.", exists=True, dir_okay=False)],
    keep: Annotated[Path | None, typer.Option(help="Folder for the two exports.")] = None,
) -> None:
    """Replay a stream into two fresh deployments and compare their exports; names the first event that differs."""
    from aico_memory.cli.verify import export_of_fresh_replay

    face = face_of(context)
    exports = [export_of_fresh_replay(face, file, number) for number in (1, 2)]
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        for number, lines in enumerate(exports, 1):
            replace_private(keep / f"{file.stem}-{number}.jsonl", ("\n".join(lines) + "\n").encode())
    if len(exports[0]) < 2:
        raise NotFound("The replay left nothing that could be compared")
    report_divergence(face, first_divergence(exports[0], exports[1], stream_events(file)))
