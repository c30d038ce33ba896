"""What a process asks of its own memory."""

from __future__ import annotations

import gc
import weakref

from aico_memory.runtime.kernel import settle_memory


class Node:
    """May hold itself."""

    def __init__(self) -> None:
        self.other = self


def test_what_nobody_needs_goes_and_what_stays_is_walked_no_more() -> None:
    gone, kept = weakref.ref(Node()), Node()
    before = gc.get_freeze_count()
    try:
        settle_memory()
        assert gone() is None
        assert kept.other is kept
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()
