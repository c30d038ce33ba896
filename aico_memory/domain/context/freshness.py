"""When a kept answer still tells what a new one would: versions of scopes, and how far the tiers had come.

A scope's version moves with everything that is said or done in it. An answer is kept under the versions
that stood when it was asked for, and only where the tiers that gave it had by then applied all that
moved them: what was on its way to a tier would change the answer without moving anything any more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

Versions = tuple[int, ...]


class ScopeVersions:
    """Versions by scope key, for a bounded number of scopes; what was forgotten counts as changed."""

    def __init__(self, most: int) -> None:
        self._most = most
        # Scope -> (version, global sequence that the tiers must have applied).
        self._scopes: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._version = 1
        # Everything before this version, and everything up to this sequence, is over for every scope.
        self._everywhere = 0
        self._awaited = 0

    def moved(self, scopes: Iterable[str], sequence: int = 0) -> None:
        """Something changed in these scopes; `sequence` is that of the record that a tier has yet to apply, 0: none."""
        self._version += 1
        for scope in scopes:
            _, awaited = self._scopes.get(scope, (0, 0))
            self._scopes[scope] = (self._version, max(awaited, sequence))
            self._scopes.move_to_end(scope)
        while len(self._scopes) > self._most:
            _, (version, awaited) = self._scopes.popitem(last=False)
            self._everywhere = max(self._everywhere, version)
            self._awaited = max(self._awaited, awaited)

    def moved_everywhere(self, sequence: int = 0) -> None:
        """Something changed, and nobody knows where."""
        self._version += 1
        self._everywhere = self._version
        self._awaited = max(self._awaited, sequence)

    def of(self, scopes: Sequence[str]) -> Versions:
        """The versions of these scopes at this moment."""
        return tuple(max(self._scopes.get(scope, (0, 0))[0], self._everywhere) for scope in scopes)

    def awaited(self, scopes: Sequence[str]) -> int:
        """Global sequence through which a tier must have come to know all that happened in these scopes."""
        return max(self._awaited, *(self._scopes.get(scope, (0, 0))[1] for scope in scopes), 0)
