"""Writes a journal and, after each drain that is durable, notes what was acknowledged.

`python tests/support/journal_writer.py HOME DRAINS [weak]`; `weak` switches all syncing off, to show
that the power-cut test would notice.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any

import lmdb

from aico_memory.bus.journal import Journal, Provenance, ahead
from aico_memory.clock import SystemClock
from aico_memory.ids import new_id
from aico_memory.paths import Home
from aico_memory.settings.bus import BusSettings
from aico_memory.settings.security import SecuritySettings
from aico_memory.vault.master import open_vault

TOPICS = ("memory/working/message/v1/", "memory/working/turn/v1/")


def main() -> None:
    home, drains = Home(Path(sys.argv[1])), int(sys.argv[2])
    if "weak" in sys.argv:
        really = lmdb.open

        def without_sync(*arguments: Any, **options: Any) -> lmdb.Environment:
            return really(*arguments, **{**options, "sync": False})

        lmdb.open = without_sync
        ahead.sync_data = lambda _: None
    settings = BusSettings(segment_first_bytes=1 << 20, segment_bytes=1 << 20, min_free_bytes=0)
    journal = Journal(home.journal, settings, open_vault(home, SecuritySettings(), {}), SystemClock())
    chance = random.Random(7)
    acknowledged = os.open(home.journal / "acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for _ in range(drains):
        identifiers = [new_id() for _ in range(chance.randint(1, 40))]
        journal.append(
            [
                (Provenance(chance.choice(TOPICS), "alice", "x"), one.bytes, one.bytes * chance.randint(1, 200))
                for one in identifiers
            ]
        )
        os.write(acknowledged, b"".join(one.bytes for one in identifiers))
    journal.close()


if __name__ == "__main__":
    main()
