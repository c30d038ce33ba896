"""Reading at a start what will be asked about: the scopes of the newest memories, before anybody waits for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aico_memory.domain.memory import Scope, View
from aico_memory.stores.index.memory_text import InMemoryText
from aico_memory.stores.index.text_source import TextSource
from services.semantic.live_index import LiveIndex

# Memories of a scope that are opened, at a time.
_AT_HAND, _SLICE = 10_000, 100


class Preparing:
    """One scope after the other, for as long as there is room and so many memories are not reached: words and vectors are
    read, and the newest memories opened.
    """

    def __init__(
        self, source: TextSource, texts: InMemoryText, live: LiveIndex, hold: Callable[[Sequence[int]], None], memories: int,
        rest: Callable[[], None],
    ) -> None:  # fmt: skip
        self._source = source
        self._texts = texts
        self._live = live
        self._hold = hold
        self._left = memories
        self._rest = rest
        self._scopes: list[Scope] | None = None

    def step(self) -> bool:
        """Read one scope; False where none is left to be read."""
        if self._scopes is None:
            self._scopes = self._source.newest(self._left)[::-1] if self._left else []
        if not self._scopes or self._left <= 0:
            return False
        scope = self._scopes.pop()
        self._left -= self._source.size(scope)
        if self._left < 0 or not self._texts.prepare(scope, self._rest):
            return False
        _, index = self._live.current()
        if index is not None:
            # No question, and so nothing is compared; but the vectors are there for the first one.
            index.similarities([], View(scopes=(scope,), now_us=0), 0)
        # The newest last: what there is no room for are the oldest.
        keys = self._texts.read([scope], lambda texts: sorted(texts[0].keys().tolist()))[-_AT_HAND:]
        for start in range(0, len(keys), _SLICE):
            self._rest()
            self._hold(keys[start : start + _SLICE])
        return True
