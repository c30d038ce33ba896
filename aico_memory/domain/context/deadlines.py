"""How long to wait for whom. Times are milliseconds."""

from __future__ import annotations

# Of the requester's allowance, what the way there and back may take.
WAY_SHARE = 0.1


def total_time(configured: float, requester: float) -> float:
    """Time for the whole answer: the configured one, or less where the requester waits less (0: says nothing)."""
    return configured if requester <= 0 else max(1.0, min(configured, requester * (1 - WAY_SHARE)))


def tier_time(remaining: float, reserve: float, missed: int, probe: float) -> float:
    """Time to wait for one tier: what remains less the reserve; a short probe where it missed the last time.

    A tier that is away costs the full wait once, not at every question.
    """
    left = max(0.0, remaining - reserve)
    return min(left, probe) if missed else left
