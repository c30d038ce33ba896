"""A memory as it was known at an earlier moment: what was learned of it since is told of no question about then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from aico_memory.domain.memory import OPEN, Evolution, Memory
from aico_memory.domain.temporal.versions import BELIEVED, STATUS, VALID_FROM, VALID_UNTIL

# Trust that nothing took away.
_STANDING: Final = frozenset({"active", "candidate", "shadow"})
_ENDED: Final = frozenset({"superseded", "expired"})


def as_known(memory: Memory, changes: Iterable[Evolution], known_us: int) -> Memory:
    """The memory with the trust and the validity that were believed of it at `known_us`, when it was known.

    `changes` are those of the item; of a former text those of the item that it is a version of. Where they are gone, what
    was closed since was active, and a persistent one open. What took its place is named where that was known, too.
    """
    edited_us = OPEN if memory.version_of is None else memory.invalidated_at_us
    log = sorted((one for one in changes if one.what in BELIEVED and one.at_us < edited_us), key=lambda one: one.at_us)
    before: dict[str, str] = {}
    for one in log:
        if one.at_us > known_us:
            before.setdefault(one.what, one.old_value)
    closed_since = known_us < memory.invalidated_at_us < OPEN
    status = before.get(STATUS, "active" if closed_since else memory.status)
    until_us = int(before.get(VALID_UNTIL, memory.valid_until_us))
    unrecorded = closed_since and not before and memory.version_of is None and memory.status in _ENDED
    if unrecorded and memory.temporal_type == "persistent":
        until_us = OPEN
    same = status == memory.status and memory.invalidated_at_us <= known_us
    closed = [one.at_us for one in log if one.what == STATUS and one.at_us <= known_us]
    invalidated_us = memory.invalidated_at_us if same else closed[-1] if closed and status not in _STANDING else OPEN
    return replace(
        memory, status=status, valid_from_us=int(before.get(VALID_FROM, memory.valid_from_us)), valid_until_us=until_us,
        invalidated_at_us=invalidated_us, superseded_by=memory.superseded_by if same else None,
    )  # fmt: skip
