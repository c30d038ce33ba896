"""What the broker knows about one connection of its ROUTER."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from aico_memory.bus.access import Identity
from aico_memory.bus.journal import Provenance


@dataclass(frozen=True, slots=True)
class Grant:
    """A publish that was allowed: decided once per connection, topic and user."""

    place: Provenance
    durable: bool
    max_bytes: int
    # A durable record whose sender waits for an answer: refused while writing is stopped.
    command: bool = False


class TokenBucket:
    """Rate limit: `rate` tokens a second, at most `burst` at once."""

    __slots__ = ("_at", "_burst", "_rate", "tokens")

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        # What is left; `take` refills it.
        self.tokens = burst
        self._at = monotonic()

    def take(self, count: int) -> bool:
        """Take so many tokens, or none where there are too few."""
        now = monotonic()
        self.tokens = min(self._burst, self.tokens + (now - self._at) * self._rate)
        self._at = now
        if self.tokens < count:
            return False
        self.tokens -= count
        return True

    def wait_ms(self, count: int) -> int:
        """Milliseconds after which so many tokens are there, at least 1."""
        return max(1, int(1000 * (min(count, self._burst) - self.tokens) / self._rate) + 1) if self._rate else 1000


class Connection:
    """One DEALER that said Hello; known by the routing id that the ROUTER made."""

    __slots__ = (
        "answers", "bucket", "expected", "grants", "identity", "published", "ranges", "refused", "resync_at",
        "resync_expected", "routing_id", "seen", "session", "since",
    )  # fmt: skip

    def __init__(self, routing_id: bytes, identity: Identity, session: bytes, expected: int, bucket: TokenBucket) -> None:
        self.routing_id = routing_id
        self.identity = identity
        self.session = session
        # Producer sequence of the next durable record.
        self.expected = expected
        self.bucket = bucket
        self.grants: dict[bytes, Grant] = {}
        # Runs of the drain at hand: (first producer sequence, index of the first record or -1 for refused ones, count).
        self.answers: list[tuple[int, int, int]] = []
        self.resync_at = 0.0
        self.resync_expected = -1
        self.ranges = 0
        self.published = 0
        self.refused = 0
        self.since = self.seen = monotonic()
