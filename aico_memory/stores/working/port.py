"""Port of working memory's store: what the worker asks of a disk, and of the twin without one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from aico_memory.contracts.consumer_state import ConsumerState, ConsumerTransaction
from aico_memory.contracts.v1.working_pb2 import StoredMessage
from aico_memory.domain.working.buffer import BufferEntry
from aico_memory.domain.working.expiry import SweepBounds

BufferRule = Callable[[tuple[BufferEntry, ...]], tuple[BufferEntry, ...]]


class PendingUser(NamedTuple):
    """A user with experiences that no run has acknowledged; the oldest by receipt, Unix microseconds."""

    user: str
    pending: int
    oldest_us: int


@dataclass(frozen=True, slots=True)
class Sweeping:
    """What one sweep removed."""

    expired: int = 0
    # Event ids by user, oldest receipt first: what nobody has replayed.
    unreplayed: Mapping[str, Sequence[bytes]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Counts:
    """State of a store; the last three run since the store was made, `unreadable` since it was opened."""

    messages: int
    pending: int
    users: int
    buffers: int
    expired: int
    expired_unreplayed: int
    unreadable: int = 0


class WorkingTransaction(ConsumerTransaction, Protocol):
    """Effects of one batch of events, with cursor and outgoing records, or nothing."""

    def add(self, message: StoredMessage, order: int) -> bool:
        """Hold a message as pending; False, and nothing happens, where its event id is held already.

        `order` tells apart what was said or received in one microsecond.
        """

    def acknowledge(self, user: str, event_ids: Sequence[bytes], led_to: Mapping[bytes, Sequence[str]] | None = None) -> int:
        """These are consolidated; returns how many of them were pending for this user.

        `led_to`: ids of memories by event id, kept with those that were pending.
        """

    def mark_feedback(self, user: str, event_id: bytes, sequence: int) -> bool:
        """Somebody has judged this message, at that place on the bus; False where this user has none of the id.

        The first place is kept.
        """

    def sweep(self, bounds: SweepBounds) -> Sweeping:
        """Remove what is past its time."""

    def clear_buffer(self, user: str, session: str) -> None:
        """The session has ended."""

    def drop_idle_buffers(self, touched_until_us: int) -> int:
        """Clear the buffers last touched at or before this time; returns how many."""


class WorkingStore(ConsumerState, Protocol):
    """Reads are consistent snapshots; any thread may call anything."""

    def transaction(self) -> AbstractContextManager[WorkingTransaction]: ...

    def read(self, user: str, session: str = "", limit: int = 100, before: bytes = b"") -> list[StoredMessage]:
        """The newest messages by the time they were said, newest last; session "" means all of the user.

        Only those before the message `before` where it is given; NotFound where it is not held.
        """

    def experiences(self, user: str, limit: int, until_us: int = 0, after: bytes = b"") -> list[StoredMessage]:
        """Pending experiences, oldest receipt first, received before `until_us` (0: no bound).

        Only those after the experience `after` where it is given; NotFound where it is not held.
        """

    def pending_users(self, limit: int, after: str = "") -> list[PendingUser]:
        """Users with pending experiences in the order of their ids, after the one given."""

    def users(self, after: str = "") -> list[str]:
        """Users of whom anything is held, in the order of their ids."""

    def buffer(self, user: str, session: str) -> tuple[BufferEntry, ...]:
        """What a session holds in mind."""

    def update_buffer(self, user: str, session: str, rule: BufferRule, touched_us: int) -> tuple[BufferEntry, ...]:
        """Put in its place what `rule` makes of it, in a transaction of its own; returns that."""

    def counts(self) -> Counts: ...

    def close(self) -> None: ...
