"""kill -9 in the middle of writes."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from aico_memory.stores.sql import SqlConsumerState

WRITER = Path(__file__).with_name("committing_writer.py")


@pytest.mark.faults
def test_after_a_kill_everything_reported_is_there_and_nothing_half(place):
    place.open().close()
    rng = random.Random(7)
    reported = 0
    for _ in range(6):
        arguments = [sys.executable, str(WRITER), str(place.path), place.key.hex(), str(place.migrations)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
            for _ in range(rng.randrange(1, 120)):
                reported = int(writer.stdout.readline())
            writer.kill()
            rest = writer.stdout.read().splitlines()
        reported = int(rest[-1]) if rest else reported
        with place.open() as database:
            state = SqlConsumerState(database)
            cursor = state.cursor()[1]
            with database.read() as connection:
                rows = [row[0] for row in connection.execute("SELECT id FROM facts ORDER BY id")]
                assert connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]
            assert reported <= cursor <= reported + 1
            assert rows == list(range(1, cursor + 1))
            assert [record.event_id for record in state.outgoing(10**6)] == [row.to_bytes(16, "big") for row in rows]
        reported = cursor
