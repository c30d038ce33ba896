"""Records whose statements are over: they stay what was said, and a context of the present does not show them as what is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# What was never believed says nothing of the message it was read in.
_ONCE_TRUE = frozenset({"active", "superseded", "expired", "disabled"})


class Made(NamedTuple):
    """An item that rests on a message; times in Unix microseconds."""

    status: str
    said_at_us: int
    valid_from_us: int
    valid_until_us: int
    memory_id: bytes = b""


def over_since(said_at_us: int, made: Sequence[Made], at_us: int) -> int:
    """Since when all that was read in a message said at `said_at_us` is replaced or corrected, as of `at_us`; 0: it is not.

    What ends another statement ("I left Porto") rests with it on one item and is not over for that.
    """
    believed = [one for one in made if one.status in _ONCE_TRUE]
    if not all(one.status == "superseded" and _its_own(one, said_at_us) for one in believed):
        return 0
    # A correction ends what it corrects where it began.
    until_us = max((max(one.valid_until_us, one.valid_from_us) for one in believed), default=0)
    return until_us if until_us <= at_us else 0


def _its_own(item: Made, said_at_us: int) -> bool:
    return said_at_us < item.valid_until_us or said_at_us == item.said_at_us
