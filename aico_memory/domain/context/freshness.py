"""When a kept answer still tells what a new one would: versions of scopes, and how far the tiers had come.

A scope's version moves with everything that is said or done in it. An answer is kept under the versions
that stood when it was asked for, and only where the tiers that gave it had by then applied all that
moved them: what was on its way to a tier would change the answer without moving anything any more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Versions = tuple[int, ...]


class Applied(NamedTuple):
    """Global sequences of records: how far long-term and working memory have come, or must have."""

    remembered: int = 0
    said: int = 0

    def reaches(self, other: Applied) -> bool:
        """Whether both are at least as far."""
        return self.remembered >= other.remembered and self.said >= other.said

    def further(self, other: Applied) -> Applied:
        """The later of both, each for itself."""
        return Applied(max(self.remembered, other.remembered), max(self.said, other.said))


NOTHING = Applied()
_UNKNOWN = (0, NOTHING)


class ScopeVersions:
    """Versions by scope key, for a bounded number of scopes; what was forgotten counts as changed."""

    def __init__(self, most: int) -> None:
        self._most = most
        # Scope -> its version, and what the tiers must have applied.
        self._scopes: OrderedDict[str, tuple[int, Applied]] = OrderedDict()
        self._version = 1
        # The same for every scope.
        self._everywhere = 0
        self._awaited = NOTHING

    def moved(self, scopes: Iterable[str], awaited: Applied = NOTHING) -> None:
        """Something changed in these scopes; `awaited` is the record that the tiers have yet to apply."""
        self._version += 1
        for scope in scopes:
            _, before = self._scopes.get(scope, _UNKNOWN)
            self._scopes[scope] = (self._version, before.further(awaited))
            self._scopes.move_to_end(scope)
        while len(self._scopes) > self._most:
            _, (version, forgotten) = self._scopes.popitem(last=False)
            self._everywhere = max(self._everywhere, version)
            self._awaited = self._awaited.further(forgotten)

    def moved_everywhere(self, awaited: Applied = NOTHING) -> None:
        """Something changed, and nobody knows where."""
        self._version += 1
        self._everywhere = self._version
        self._awaited = self._awaited.further(awaited)

    def of(self, scopes: Sequence[str]) -> Versions:
        """The versions of these scopes at this moment."""
        return tuple(max(self._scopes.get(scope, _UNKNOWN)[0], self._everywhere) for scope in scopes)

    def awaited(self, scopes: Sequence[str]) -> Applied:
        """What the tiers must have applied to know all that happened in these scopes."""
        found = self._awaited
        for scope in scopes:
            found = found.further(self._scopes.get(scope, _UNKNOWN)[1])
        return found
