"""The text index in memory: one inverted index a scope, with that scope's own statistics, read from the truth when asked.

Writers only note that something changed; a question brings the scopes it names up to date first,
so what is committed is found. A scope is dropped when the bound is reached and read again when needed.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock, RLock
from typing import TypeVar

import numpy as np

from aico_memory.domain.memory import OPEN, Facets, Scope
from aico_memory.domain.retrieval.bm25 import scored
from aico_memory.domain.retrieval.question import AskedWord
from aico_memory.stores.index.scope_text import ScopeText, TextRow
from aico_memory.stores.index.text_port import TextHit
from aico_memory.stores.index.text_source import RowRules, TextSource, rows_of

_Found = TypeVar("_Found")
# Rows after which whoever reads ahead lets others go first.
_SLICE = 100
_PLAIN = Facets("record", "episodic", "active", "", 0, 0, OPEN, 0, OPEN)


class InvertedTextIndex:
    """The port `TextIndex` over tokens that were made elsewhere; BM25 with the statistics of each scope."""

    def __init__(self) -> None:
        self._scopes: dict[Scope, ScopeText] = {}
        self._owners: dict[int, Scope] = {}

    def put(self, key: int, scope: Scope, tokens: Sequence[str]) -> None:
        if self._owners.get(key, scope) != scope:
            self.remove([key])
        self._owners[key] = scope
        self._scopes.setdefault(scope, ScopeText(0)).put(TextRow(key, _PLAIN, tokens, turn=False))

    def remove(self, keys: Iterable[int]) -> None:
        for key in keys:
            scope = self._owners.pop(key, None)
            if scope is not None:
                self._scopes[scope].remove([key])

    def ranked(self, tokens: Sequence[str], scopes: Sequence[Scope]) -> Iterator[TextHit]:
        asked = [AskedWord((("", token),), 1.0) for token in dict.fromkeys(tokens)]
        found: list[TextHit] = []
        for scope in dict.fromkeys(scopes):
            text = self._scopes.get(scope)
            if text is not None and asked:
                alive = text.alive()
                counts = text.count_words(asked)
                # Rows whose length is 0 hold none of the words.
                result = scored(counts._replace(often=np.where(alive, counts.often, np.float32(0))), text.lengths(), alive)
                keys = text.keys()
                found += (TextHit(int(keys[at]), float(result.bm25[at])) for at in np.flatnonzero(result.bm25 > 0))
        yield from sorted(found, key=lambda hit: (-hit.score, hit.key))

    def count(self) -> int:
        return len(self._owners)


class InMemoryText:
    """Scopes in a bounded amount of memory, each as its memories stand now. Safe from many threads."""

    def __init__(self, source: TextSource, rules: RowRules, *, cache_bytes: int, load_batch: int, session_gap_us: int) -> None:
        self._source = source
        self._rules = rules
        self._bound = cache_bytes
        self._load_batch = load_batch
        self._gap_us = session_gap_us
        self._lock = RLock()
        self._scopes: OrderedDict[Scope, ScopeText] = OrderedDict()
        # Bytes of each of them, and of all: with thousands of people nobody adds them up for every question.
        self._sizes: dict[Scope, int] = {}
        self._total = 0
        self._position = source.position()
        # Scopes that are being read, with what changed meanwhile.
        self._loading: dict[Scope, set[int]] = {}
        self._guards: dict[Scope, Lock] = {}
        # Questions that wait for a scope, or look at it.
        self._awaited: Counter[Scope] = Counter()
        self._loads = 0

    def read(self, scopes: Sequence[Scope], look: Callable[[Sequence[ScopeText]], _Found]) -> _Found:
        """What `look` finds in these scopes, up to date; nobody changes them meanwhile."""
        wanted = list(dict.fromkeys(scopes))
        with self._lock:
            self._awaited.update(wanted)
        try:
            while True:
                for scope in wanted:
                    if scope not in self._scopes:
                        self._load(scope)
                with self._lock:
                    self._catch_up()
                    texts = [self._scopes[scope] for scope in wanted if scope in self._scopes]
                    # One may have been dropped meanwhile.
                    if len(texts) == len(wanted):
                        for scope in wanted:
                            self._scopes.move_to_end(scope)
                        found = look(texts)
                        self._keep_bound(wanted)
                        return found
        finally:
            with self._lock:
                self._awaited.subtract(wanted)
                # Those that nobody waits for any more.
                self._awaited = +self._awaited

    def prepare(self, scope: Scope, rest: Callable[[], None]) -> bool:
        """Read a scope that nobody has asked for yet, while there is room; whether there was.

        `rest` is called now and then, so that others go first; not from the moment on in which somebody waits for it.
        """
        if self._total >= self._bound / 2:
            return False
        self._load(scope, lambda: None if self.awaited(scope) else rest())
        return True

    def awaited(self, scope: Scope) -> bool:
        """Whether a question waits until this scope has been read, or looks at it."""
        return self._awaited[scope] > 0

    def catch_up(self) -> None:
        """Take in what has changed; scopes that were not in memory are read while there is room, before anybody asks."""
        with self._lock:
            others = self._catch_up()
        for scope in others:
            if self._total < self._bound / 2:
                self._load(scope)

    def _catch_up(self) -> set[Scope]:
        """Under the lock; the scopes of what has changed elsewhere."""
        others: set[Scope] = set()
        while changes := self._source.changes(self._position, self._load_batch):
            held = {change.key: change.scope for change in changes if change.scope in self._scopes}
            for change in changes:
                if change.scope in self._loading:
                    self._loading[change.scope].add(change.key)
                elif change.scope not in self._scopes:
                    others.add(change.scope)
            for scope in set(held.values()):
                self._take(self._scopes[scope], [key for key, owner in held.items() if owner == scope])
                self._weigh(scope)
            self._position = changes[-1].position
        return others

    def _take(self, text: ScopeText, keys: Sequence[int]) -> None:
        opened = dict(self._source.opened(keys)) if keys else {}
        for key in keys:
            memory = opened.get(key)
            if memory is None:
                text.remove([key])
            else:
                text.put(self._rules.row(key, memory))

    def _load(self, scope: Scope, rest: Callable[[], None] | None = None) -> None:
        """Read a scope that is not in memory; questions about others go on meanwhile."""
        with self._lock:
            guard = self._guards.setdefault(scope, Lock())
        with guard:
            with self._lock:
                if scope in self._scopes:
                    return
                self._loading[scope] = set()
            text = ScopeText(self._gap_us)
            try:
                for number, row in enumerate(rows_of(self._source, scope, self._rules, self._load_batch), 1):
                    text.put(row)
                    if rest is not None and not number % _SLICE:
                        rest()
            except BaseException:
                with self._lock:
                    del self._loading[scope]
                raise
            with self._lock:
                self._catch_up()
                # What changed while it was read stands in it as it was or as it is.
                self._take(text, sorted(self._loading.pop(scope)))
                self._guards.pop(scope, None)
                self._scopes[scope] = text
                self._weigh(scope)
                self._loads += 1
                self._keep_bound([scope])

    def verify(self) -> list[str]:
        """Which scopes differ from the truth in number, in words; they are read again."""
        found = []
        with self._lock:
            self._catch_up()
            for scope, text in list(self._scopes.items()):
                have, truth = len(text), self._source.size(scope)
                if have != truth:
                    del self._scopes[scope]
                    self._weigh(scope)
                    found.append(f"a scope has {have} texts indexed, {truth} stored")
        return found

    def drop(self, scope: Scope | None = None) -> None:
        """Forget a scope (None: all); the next question reads it again."""
        with self._lock:
            for one in list(self._scopes) if scope is None else [scope]:
                self._scopes.pop(one, None)
                self._weigh(one)

    def status(self) -> dict[str, object]:
        """Sizes, for `aico-memory status`."""
        with self._lock:
            texts = list(self._scopes.values())
            return {
                "name": "memory", "scopes": len(texts), "texts": sum(map(len, texts)),
                "bytes": self._total, "loads": self._loads,
            }  # fmt: skip

    def _weigh(self, scope: Scope) -> None:
        """Note what a scope takes now, or that it is no longer held; under the lock."""
        text = self._scopes.get(scope)
        size = 0 if text is None else text.nbytes
        self._total += size - self._sizes.pop(scope, 0)
        if text is not None:
            self._sizes[scope] = size

    def _keep_bound(self, kept: Sequence[Scope]) -> None:
        """Push out what was asked longest ago; under the lock. Scopes that a question waits for stay, however large."""
        for scope in list(self._scopes) if self._total > self._bound else ():
            if scope not in kept and not self.awaited(scope):
                del self._scopes[scope]
                self._weigh(scope)
            if self._total <= self._bound:
                return
