"""What is told of a memory as it was known at an earlier moment."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aico_memory.domain.lifecycle import activated, superseded, withdrawn
from aico_memory.domain.memory import OPEN, Evolution, Memory
from aico_memory.domain.temporal.as_known import as_known
from aico_memory.domain.temporal.evolution import differences
from tests.support.memory_items import DAY, START, item

NEW = (2).to_bytes(16, "big")
ROME = item(1, "User lives in Rome")
# The move of day 10 was told on day 20.
MOVED = superseded(ROME, NEW, START + 10 * DAY, START + 20 * DAY)
TOLD = differences(ROME, MOVED, START + 20 * DAY, b"move", "changed")


def told(memory: Memory) -> tuple[str, int, int, bytes | None]:
    return memory.status, memory.valid_until_us, memory.invalidated_at_us, memory.superseded_by


@pytest.mark.parametrize("changes", [TOLD, ()], ids=["recorded", "records are gone"])
def test_an_end_that_was_learned_later_is_not_known_yet(changes: tuple[Evolution, ...]) -> None:
    assert told(as_known(MOVED, changes, START + 19 * DAY)) == ("active", OPEN, OPEN, None)
    assert as_known(MOVED, changes, START + 20 * DAY) == as_known(MOVED, changes, OPEN) == MOVED


def test_what_came_back_was_over_in_between() -> None:
    back = activated(MOVED, START + 30 * DAY, 1)
    changes = (*TOLD, *differences(MOVED, back, START + 30 * DAY, b"back", "promoted"))
    assert told(as_known(back, changes, START + 25 * DAY)) == ("superseded", START + 10 * DAY, START + 20 * DAY, None)
    assert told(as_known(back, changes, START + 5 * DAY)) == ("active", OPEN, OPEN, None)
    assert as_known(back, changes, START + 30 * DAY) == back


def test_what_was_deleted_later_was_believed() -> None:
    gone = withdrawn(ROME, START + 9 * DAY)
    changes = differences(ROME, gone, START + 9 * DAY, b"gone", "deleted")
    assert as_known(gone, changes, START + 8 * DAY).status == "active"
    assert as_known(gone, changes, START + 9 * DAY) == gone


def test_of_a_former_text_what_was_known_before_the_edit_counts() -> None:
    former = replace(ROME, memory_id=NEW, status="superseded", invalidated_at_us=START + 9 * DAY, version_of=ROME.memory_id,
                     superseded_by=ROME.memory_id, valid_until_us=START + 40 * DAY)  # fmt: skip
    bounded = Evolution(ROME.memory_id, "valid_until_us", str(OPEN), str(START + 40 * DAY), START + 5 * DAY, b"end", "ended")
    later = Evolution(ROME.memory_id, "status", "active", "disabled", START + 15 * DAY, b"no", "retracted")
    assert told(as_known(former, (bounded, later), START + 6 * DAY)) == ("active", START + 40 * DAY, OPEN, None)
    assert told(as_known(former, (bounded, later), START + 4 * DAY)) == ("active", OPEN, OPEN, None)
