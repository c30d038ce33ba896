"""Replaying into a deployment of its own, made for this and removed after it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aico_memory.cli.detach import start_detached
from aico_memory.cli.face import Face
from aico_memory.cli.streams import export_lines, play_file
from aico_memory.clock import SharedManualClock, from_us
from aico_memory.contracts.recording import open_recording
from aico_memory.errors import AicoMemoryError
from aico_memory.paths import HOME_VARIABLE, Home
from aico_memory.runtime.clocks import CLOCK_VARIABLE, MANUAL
from aico_memory.runtime.environment import environment
from aico_memory.runtime.processes import stop_deployment
from aico_memory.settings.load import ENVIRONMENT_PREFIX

EXPORT_VARIABLE = f"{ENVIRONMENT_PREFIX}models__export_folder"


def export_of_fresh_replay(face: Face, file: Path, number: int) -> list[str]:
    """The canonical export of an empty deployment after this stream."""
    with open_recording(file) as (header, _), fresh_deployment(face, header.clock_start_us) as fresh:
        face.err.print(f"[dim]replay {number} into {fresh.home.root}[/]")
        account = play_file(fresh, file)
        if account["unexpected"]:
            raise AicoMemoryError(f"The replay went otherwise than the stream says: {account['unexpected'][0]}")
        return export_lines(fresh)


@contextmanager
def fresh_deployment(face: Face, start_us: int) -> Iterator[Face]:
    """A deployment with a manual clock in a folder that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="aico-memory-replay-") as folder:
        fresh = Face(Home(Path(folder)), face.identity, face.as_json, face.out, face.err)
        SharedManualClock(fresh.home.manual_clock, from_us(start_us)).close()
        # The model's export is the same in every home: once is enough.
        export = os.environ.get(EXPORT_VARIABLE) or str(face.home.model)
        with environment({CLOCK_VARIABLE: MANUAL, HOME_VARIABLE: folder, EXPORT_VARIABLE: export}):
            try:
                start_detached(fresh, "", None)
                yield fresh
            finally:
                stop_deployment(fresh.home)
