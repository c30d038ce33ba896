"""Power cuts: the journal's files with every write after the last completed sync dropped or torn."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from aico_memory.bus.journal import Journal, Provenance, read_range
from aico_memory.clock import SystemClock
from aico_memory.contracts.wire import unpack_batch
from aico_memory.ids import new_id
from aico_memory.paths import Home
from aico_memory.settings.bus import BusSettings
from aico_memory.settings.security import SecuritySettings
from aico_memory.vault.master import open_vault
from tests.support import powercut
from tests.support.journal_writer import TOPICS

CUTS = 20
DRAINS = 120
ROOT = Path(__file__).resolve().parent.parent.parent
SETTINGS = BusSettings(segment_first_bytes=1 << 20, segment_bytes=1 << 20, min_free_bytes=0)


def make_home(folder: Path) -> Home:
    home = Home(folder)
    home.ensure()
    vault = open_vault(home, SecuritySettings(), {})
    vault.users.sealer("alice")
    home.journal.mkdir()
    return home


def recorded_run(folder: Path, library: Path, *arguments: str) -> tuple[Home, list[powercut.Operation]]:
    """Run the writer under the recorder."""
    home, log = make_home(folder / "home"), folder / "record"
    subprocess.run(
        [sys.executable, str(ROOT / "tests/support/journal_writer.py"), str(home.root), str(DRAINS), *arguments],
        env={
            **os.environ, "LD_PRELOAD": str(library), "POWERCUT_ROOT": str(home.journal), "POWERCUT_LOG": str(log),
            "PYTHONPATH": str(ROOT),
        },
        check=True, timeout=100,
    )  # fmt: skip
    return home, powercut.read_record(log)


def lost_after_cut(home: Home, folder: Path, files: dict[str, bytes], acknowledged: bytes) -> int:
    """Acknowledged records that are not there, in order and with their content, when the journal is opened again."""
    after = Home(folder)
    shutil.copytree(home.keys, after.keys)
    after.journal.mkdir()
    for path, content in files.items():
        if not path.endswith("acknowledged"):
            (after.journal / Path(path).name).write_bytes(content)
    vault = open_vault(after, SecuritySettings(), {})
    journal = Journal(after.journal, SETTINGS, vault, SystemClock())
    try:
        found = read_range(journal, [topic.encode() for topic in TOPICS], 1, 1 << 20, 1 << 30)
        records = [one for batch in found.batches for one in unpack_batch(batch)[2]]
        assert found.erased == found.unreadable == 0
        assert all(one.envelope == one.event_id * (len(one.envelope) // 16) for one in records)
        assert [one.global_sequence for one in records] == list(range(1, len(records) + 1))
        wanted = [acknowledged[at : at + 16] for at in range(0, len(acknowledged), 16)]
        # The order is that of the acknowledgements; beyond them at most one drain may stand.
        assert [one.event_id for one in records[: len(wanted)]] == wanted[: len(records)]
        again = journal.append([(Provenance(TOPICS[0], "alice", "x"), new_id().bytes, b"after the cut")])
        assert again.duplicates == 0
        return len(wanted) - min(len(wanted), len(records))
    finally:
        journal.close()


def cut_often(tmp_path: Path, home: Home, operations: list[powercut.Operation], seed: int) -> list[int]:
    """Losses of each of the cuts, at random points after the first acknowledgement; -1 where it does not open."""
    chance = random.Random(seed)
    notes = [number for number, one in enumerate(operations) if one.path.endswith("acknowledged")]
    losses = []
    for number in range(CUTS):
        point = chance.randint(notes[0] + 1, len(operations) - 1)
        before = operations[:point]
        acknowledged = b"".join(one.data for one in before if one.path.endswith("acknowledged"))
        try:
            losses.append(lost_after_cut(home, tmp_path / f"cut{seed}-{number}", powercut.cut(before, chance), acknowledged))
        except Exception:
            losses.append(-1)
    return losses


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path | None:
    return powercut.build(tmp_path_factory.mktemp("powercut"))


def test_no_acknowledged_record_is_lost_in_twenty_power_cuts(tmp_path, library) -> None:
    if library is None:
        losses = cut_between_pages(tmp_path)
    else:
        home, operations = recorded_run(tmp_path, library)
        assert sum(one.kind == powercut.SYNC for one in operations) > DRAINS
        losses = cut_often(tmp_path, home, operations, seed=1)
    assert losses == [0] * CUTS


def test_without_the_sync_the_same_cuts_lose_acknowledged_records(tmp_path, library) -> None:
    """What the test above is worth: it fails for a journal that does not sync."""
    if library is None:
        losses = cut_between_pages(tmp_path, synced=False)
    else:
        home, operations = recorded_run(tmp_path, library, "weak")
        # In a process of its own: what LMDB finds in such a file may end the process.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as apart:
            try:
                losses = apart.submit(cut_often, tmp_path, home, operations, 2).result(90)
            except BrokenProcessPool:
                losses = [-1]
    assert any(losses)


def cut_between_pages(tmp_path: Path, synced: bool = True) -> list[int]:
    """Where there is no C compiler: the pages that a commit changed, dropped or torn, its meta pages last.

    LMDB writes data pages, syncs, then writes one of its two meta pages (0 and 1) synchronously; the log ahead
    writes pages of their own for each entry and syncs. Without the syncs any page of the last commits may be
    missing whatever was acknowledged.
    """
    home = make_home(tmp_path / "home")
    vault, chance = open_vault(home, SecuritySettings(), {}), random.Random(3)
    journal = Journal(home.journal, SETTINGS, vault, SystemClock())
    acknowledged = b""
    losses = []
    for number in range(CUTS):
        before = files_of(home)
        identifiers = [new_id() for _ in range(chance.randint(1, 40))]
        journal.append([(Provenance(TOPICS[0], "alice", "x"), one.bytes, one.bytes * 100) for one in identifiers])
        after = files_of(home)
        during = {name: mixed(name, before[name], after[name], chance) if name in before else after[name] for name in after}
        if not synced:
            acknowledged += b"".join(one.bytes for one in identifiers)
        try:
            losses.append(lost_after_cut(home, tmp_path / f"cut{number}", during, acknowledged))
        except Exception:
            losses.append(-1)
        if synced:
            acknowledged += b"".join(one.bytes for one in identifiers)
    journal.close()
    return losses


def files_of(home: Home) -> dict[str, bytes]:
    """What the journal has written."""
    return {path.name: path.read_bytes() for pattern in ("*.mdb", "ahead.log") for path in home.journal.glob(pattern)}


def mixed(name: str, before: bytes, after: bytes, chance: random.Random) -> bytes:
    """The file with some of the changed sectors, and none of the meta pages of an LMDB file."""
    content = bytearray(before.ljust(len(after), b"\0"))
    for at in range(2 * 4096 if name.endswith(".mdb") else 0, len(after), powercut.SECTOR):
        if content[at : at + powercut.SECTOR] != after[at : at + powercut.SECTOR] and chance.random() < 0.5:
            content[at : at + powercut.SECTOR] = after[at : at + powercut.SECTOR]
    return bytes(content)


def test_the_simulation_without_a_compiler_tells_a_synced_journal_from_one_that_is_not(tmp_path) -> None:
    assert cut_between_pages(tmp_path / "synced") == [0] * CUTS
    assert any(cut_between_pages(tmp_path / "weak", synced=False))
