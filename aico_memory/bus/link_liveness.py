"""Whether the bus has fallen silent, or only this side was not there to hear it."""

from __future__ import annotations

from typing import Literal

from aico_memory.settings.link import LinkSettings

Way = Literal["dealer", "delivery"]


class Liveness:
    """When each of the two ways was heard last, in time during which the link's thread could listen.

    A thread that got no processor (a loaded machine, a stopped process, a suspended laptop) heard nothing although
    the broker spoke: such a gap between two looks counts as one look, not as silence. All times are monotonic, in s.
    """

    def __init__(self, settings: LinkSettings, look_seconds: float) -> None:
        """`look_seconds`: the longest time between two looks of a thread that runs."""
        self._ping_seconds = settings.ping_seconds
        self._liveness_seconds = settings.liveness_seconds
        self._look_seconds = look_seconds
        self._heard: dict[Way, float] = {"dealer": 0.0, "delivery": 0.0}
        self._pinged_at = 0.0
        self._looked_at: float | None = None

    def looked(self, now: float) -> float:
        """The thread looks; the seconds in which it could not."""
        before, self._looked_at = self._looked_at, now
        away = 0.0 if before is None else max(0.0, now - before - self._look_seconds)
        if away:
            for way in self._heard:
                self._heard[way] += away
        return away

    def established(self, now: float) -> None:
        """A connection stands."""
        self._heard = {"dealer": now, "delivery": now}

    def heard(self, way: Way, now: float) -> None:
        """Something came in."""
        self._heard[way] = now

    def ping_due(self, now: float) -> bool:
        """Whether to ping now; each time it says so counts as a ping."""
        due = min(now - self._heard["dealer"], now - self._pinged_at) > self._ping_seconds
        if due:
            self._pinged_at = now
        return due

    def probe_due(self, now: float) -> bool:
        """Whether the delivery has been quiet for so long that it is to be tried."""
        return now - self._heard["delivery"] > self._liveness_seconds / 2

    def silent(self, now: float) -> bool:
        """Whether one of the ways has been silent for `link.liveness_seconds`."""
        return now - min(self._heard.values()) > self._liveness_seconds
