"""Lists that are longer than one answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from aico_memory.errors import InvalidMessage

MAX_LISTED: Final = 1_000_000
# Entries that one answer holds at most.
PAGE: Final = 1000

Row = TypeVar("Row")
Cursor = TypeVar("Cursor", str, bytes)


class Rows(list[Row]):
    """A list that tells whether there is more than was asked for: `cut`."""

    def __init__(self, rows: Iterable[Row] = (), cut: bool = False) -> None:
        super().__init__(rows)
        self.cut = cut


def checked_limit(limit: int) -> int:
    """The number of entries asked for; InvalidMessage unless it is 1 to MAX_LISTED."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LISTED:
        raise InvalidMessage(f"limit is {limit!r}; allowed is 1 to {MAX_LISTED}")
    return limit


async def paged(ask: Callable[[int, Cursor], Awaitable[tuple[Iterable[Row], Cursor]]], limit: int, behind: Cursor) -> list[Row]:
    """At most `limit` entries behind a cursor, page by page; `ask`: (entries, cursor) -> those, and the cursor of the rest."""
    left, found = checked_limit(limit), list[Row]()
    while left:
        page, behind = await ask(min(left, PAGE), behind)
        rows = list(page)[:left]
        found += rows
        left -= len(rows)
        if not behind or not rows:
            break
    return found
