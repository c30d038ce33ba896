"""Subscriptions of a link, free of I/O: permission, chunks, readiness, and all of it again after a reconnect.

A subscription that is sent is not yet one that works: its bytes travel, the
broker may refuse it, and beyond a socket's high-water mark it vanishes without a
word. So topics are subscribed in small chunks, and after each the broker is asked to
publish one empty frame on a topic of this connection; when that arrives, all before it stand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import count

from aico_memory.contracts.wire import READY_PREFIX


class Progress(Enum):
    """How far a subscription has come on this connection."""

    UNSENT = "unsent"
    CHECKING = "checking"
    GRANTED = "granted"
    LIVE = "live"


@dataclass(slots=True, eq=False)
class Wanted:
    """One subscription: its topics, and how far it has come."""

    number: int
    # Topics the broker must allow, and those every connection may have.
    checked: tuple[str, ...]
    free: tuple[bytes, ...] = ()
    consumer: bool = False
    progress: Progress = Progress.UNSENT
    request: int = 0
    chunks: deque[tuple[bytes, ...]] = field(default_factory=deque)
    nonce: bytes = b""
    # When it last moved on, by the monotonic clock.
    moved_at: float = 0.0

    @property
    def prefixes(self) -> tuple[bytes, ...]:
        """Everything to subscribe to."""
        return (*(topic.encode() for topic in self.checked), *self.free)

    @property
    def sent(self) -> tuple[bytes, ...]:
        """What was subscribed to once it is granted; to take back more would take it from others who share the socket."""
        topics = self.prefixes[: len(self.prefixes) - sum(map(len, self.chunks))]
        return (*topics, self.nonce) if self.nonce else topics


class SubscriptionBook:
    """All subscriptions of one link."""

    def __init__(self, session: bytes, chunk: int) -> None:
        self._prefix = READY_PREFIX + session.hex().encode() + b"/"
        self._chunk = chunk
        self._wanted: dict[int, Wanted] = {}
        self._numbers = count(1)
        self._nonces = count(1)

    def __iter__(self) -> Iterator[Wanted]:
        return iter(list(self._wanted.values()))

    def add(self, checked: Sequence[str], free: Sequence[bytes] = (), consumer: bool = False) -> Wanted:
        """Want these topics from now on."""
        wanted = Wanted(next(self._numbers), tuple(checked), tuple(free), consumer)
        self._wanted[wanted.number] = wanted
        return wanted

    def remove(self, wanted: Wanted) -> None:
        """Want them no longer."""
        self._wanted.pop(wanted.number, None)

    def disconnected(self) -> None:
        """Nothing stands any more on a new connection."""
        for wanted in self._wanted.values():
            wanted.progress = Progress.UNSENT
            wanted.nonce = b""
            wanted.chunks.clear()

    def unsent(self) -> list[Wanted]:
        """Subscriptions for which the broker is to be asked now."""
        return [wanted for wanted in self._wanted.values() if wanted.progress is Progress.UNSENT]

    def asked(self, wanted: Wanted, request: int) -> None:
        """The broker has been asked under this number."""
        wanted.progress = Progress.CHECKING
        wanted.request = request

    def answered(self, request: int) -> Wanted | None:
        """The subscription that waits for this answer."""
        for wanted in self._wanted.values():
            if wanted.progress is Progress.CHECKING and wanted.request == request:
                return wanted
        return None

    def granted(self, wanted: Wanted) -> None:
        """The broker allows it: cut it into chunks."""
        wanted.progress = Progress.GRANTED
        prefixes = wanted.prefixes
        wanted.chunks = deque(prefixes[at : at + self._chunk] for at in range(0, len(prefixes), self._chunk))

    def next_chunk(self, wanted: Wanted) -> tuple[bytes, ...]:
        """Prefixes to subscribe to now, the last of them the readiness topic that tells when they stand."""
        wanted.nonce = self.nonce()
        return (*wanted.chunks.popleft(), wanted.nonce)

    def nonce(self) -> bytes:
        """A readiness topic of this connection that was never used."""
        return self._prefix + str(next(self._nonces)).encode() + b"/"

    def ready(self, topic: bytes) -> Wanted | None:
        """The subscription whose chunk stands now; it is LIVE where that was the last one."""
        for wanted in self._wanted.values():
            if wanted.progress is Progress.GRANTED and wanted.nonce == topic:
                wanted.nonce = b""
                if not wanted.chunks:
                    wanted.progress = Progress.LIVE
                return wanted
        return None
