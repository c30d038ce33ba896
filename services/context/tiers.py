"""Asking the owners of the tiers in parallel, each only as long as there is time, and remembering who missed."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from google.protobuf.message import Message

from aico_memory.domain.context.deadlines import tier_time
from aico_memory.errors import AicoMemoryError, DeadlineExceeded, InvalidMessage
from aico_memory.runtime.courtesy import Courtesy
from aico_memory.runtime.ports import LinkPort


class TierHealth:
    """Which tiers missed their last question; thread-safe."""

    def __init__(self) -> None:
        self._missed: Counter[str] = Counter()
        self._total: Counter[str] = Counter()
        # The last question to each tier that missed one.
        self._owed: dict[str, Future[Any]] = {}
        self._lock = threading.Lock()

    def missed(self, tier: str) -> int:
        """How many questions in a row the tier missed."""
        return self._missed[tier]

    def owes(self, tier: str) -> bool:
        """Whether a tier that missed still has a question before it: another one would only keep it longer."""
        with self._lock:
            owed = self._owed.get(tier)
            return bool(self._missed[tier]) and owed is not None and not owed.done()

    def asked(self, tier: str, future: Future[Any]) -> None:
        """A question is under way."""
        with self._lock:
            self._owed[tier] = future

    def answered(self, tier: str) -> None:
        """The tier answers (again), be it too late for the one who asked."""
        with self._lock:
            self._missed.pop(tier, None)

    def miss(self, tier: str) -> None:
        """The tier did not answer in time."""
        with self._lock:
            self._missed[tier] += 1
            self._total[tier] += 1

    def as_status(self) -> dict[str, object]:
        """Misses in a row now and in all, by tier."""
        return {"missing": dict(self._missed), "missed_in_all": dict(self._total)}


@dataclass(slots=True)
class Asked:
    """One question under way."""

    tier: str
    stage: str
    future: Future[Any]
    started: float
    ended: float = 0.0
    # Set where nobody waits for it any more.
    given_up: bool = False
    # The code of the tier's typed refusal.
    refused: str = ""
    # There was no time to ask it.
    too_late: bool = False


@dataclass(slots=True)
class Stopwatch:
    """Milliseconds by stage, of one request."""

    started: float = field(default_factory=monotonic)
    stages: dict[str, float] = field(default_factory=dict)

    def elapsed(self) -> float:
        """Milliseconds since the request arrived."""
        return (monotonic() - self.started) * 1000

    def note(self, stage: str, since: float, until: float | None = None) -> None:
        """A stage took from `since` until now (or `until`), by the monotonic clock."""
        self.stages[stage] = ((monotonic() if until is None else until) - since) * 1000


class Tiers:
    """The questions of one request."""

    def __init__(
        self, link: LinkPort, health: TierHealth, watch: Stopwatch, *, total: float, reserve: float, probe: float,
        courtesy: Courtesy | None = None,
    ) -> None:  # fmt: skip
        self._link = link
        self._health = health
        self._watch = watch
        self._total = total
        self._reserve = reserve
        self._probe = probe
        # Told while this one waits.
        self._courtesy = courtesy or Courtesy()
        # Tiers of which an answer was awaited in vain, each once.
        self.silent: list[str] = []

    def ask(self, tier: str, stage: str, message: Message, user: str = "") -> Asked:
        """Send a question; the answer is waited for by `take`."""
        asked = Asked(tier, stage, Future(), monotonic())
        if self._left() <= self._reserve:
            # Nobody could wait for the answer, which says nothing of the tier.
            asked.too_late = True
            asked.future.set_exception(DeadlineExceeded(f"No time is left to ask {tier}"))
            return asked
        if self._health.owes(tier):
            asked.future.set_exception(DeadlineExceeded(f"{tier} still owes an answer"))
            return asked
        try:
            # The link waits out the whole time, so that a late answer still says that the tier is back.
            asked.future = self._link.request(message, user=user, timeout=max(0.001, self._left() / 1000))
            self._health.asked(tier, asked.future)
        except AicoMemoryError as error:
            asked.future.set_exception(error)
        asked.future.add_done_callback(lambda future: self._note(asked, future))
        return asked

    def time_for(self, tier: str) -> float:
        """Milliseconds for which an answer of this tier would be waited for, from now on."""
        return tier_time(self._left(), self._reserve, self._health.missed(tier), self._probe)

    def take(self, asked: Asked, share: float = 1.0) -> Any | None:
        """The answer, or None where it does not come in the time there is (`share` of it) or the tier fails.

        InvalidMessage is raised: it is the requester's own mistake.
        """
        left = self.time_for(asked.tier) * share
        spent = (monotonic() - asked.started) * 1000 if self._health.missed(asked.tier) else 0.0
        if not asked.future.done():
            with self._courtesy.waiting():
                wait([asked.future], timeout=max(0.0, left - spent) / 1000)
        if not asked.future.done():
            asked.given_up = True
            self._in_vain(asked.tier)
            self._health.miss(asked.tier)
            self._watch.note(asked.stage, asked.started)
            return None
        self._watch.note(asked.stage, asked.started, asked.ended or None)
        error = asked.future.exception()
        if error is None:
            return asked.future.result()
        if isinstance(error, InvalidMessage):
            raise error
        if not isinstance(error, AicoMemoryError):
            raise error
        asked.refused = error.code
        self._in_vain(asked.tier)
        if error.code == "deadline_exceeded" and not asked.too_late:
            self._health.miss(asked.tier)
        return None

    def _note(self, asked: Asked, future: Future[Any]) -> None:
        asked.ended = monotonic()
        if future.cancelled():
            return
        error = future.exception()
        if error is None or (isinstance(error, AicoMemoryError) and error.code not in ("deadline_exceeded", "bus_unavailable")):
            self._health.answered(asked.tier)

    def _in_vain(self, tier: str) -> None:
        if tier not in self.silent:
            self.silent.append(tier)

    def _left(self) -> float:
        return self._total - self._watch.elapsed()
