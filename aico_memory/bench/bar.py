"""A bar that a benchmark holds or misses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """One ratio or figure of the quality chapter."""

    name: str
    measured: float
    bar: float
    at_least: bool

    @property
    def held(self) -> bool:
        return self.measured >= self.bar if self.at_least else self.measured <= self.bar
