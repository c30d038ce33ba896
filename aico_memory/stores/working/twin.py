"""The in-memory twin of the working store: same port, same suite, nothing on disk, nothing sealed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from aico_memory.contracts.v1.working_pb2 import StoredMessage
from aico_memory.domain.working.buffer import BufferEntry
from aico_memory.domain.working.expiry import SweepBounds
from aico_memory.errors import NotFound
from aico_memory.stores.sql.twin import MemoryConsumerState, MemoryTransaction
from aico_memory.stores.working.port import BufferRule, Counts, PendingUser, Sweeping


@dataclass(slots=True)
class _Content:
    """Everything held; a transaction changes a copy, and the commit puts it in place."""

    messages: dict[bytes, tuple[int, StoredMessage]] = field(default_factory=dict)
    buffers: dict[tuple[str, str], tuple[int, tuple[BufferEntry, ...]]] = field(default_factory=dict)
    expired: int = 0
    expired_unreplayed: int = 0

    def copy(self) -> _Content:
        return replace(self, messages=dict(self.messages), buffers=dict(self.buffers))


class MemoryWorkingTransaction(MemoryTransaction):
    """The port `WorkingTransaction` on a copy."""

    __slots__ = ("content",)

    def __init__(self, content: _Content) -> None:
        super().__init__()
        self.content = content

    def add(self, message: StoredMessage, order: int) -> bool:
        if message.event_id in self.content.messages:
            return False
        self.content.messages[message.event_id] = (order, _copied(message))
        return True

    def acknowledge(self, user: str, event_ids: Sequence[bytes], led_to: Mapping[bytes, Sequence[str]] | None = None) -> int:
        marked = [event_id for event_id in event_ids if self._mark(user, event_id, "consolidated")]
        for event_id in marked:
            self.content.messages[event_id][1].memory_ids[:] = (led_to or {}).get(event_id, ())
        return len(marked)

    def mark_feedback(self, user: str, event_id: bytes, sequence: int) -> bool:
        held = self.content.messages.get(event_id)
        if self._mark(user, event_id, "has_feedback"):
            self.content.messages[event_id][1].feedback_sequence = sequence
        return held is not None and held[1].user_id == user

    def sweep(self, bounds: SweepBounds) -> Sweeping:
        held = sorted(self.content.messages.values(), key=lambda one: (one[1].received_at_us, one[0]))
        done = [
            message for _, message in held if message.consolidated and message.received_at_us <= bounds.acknowledged_until_us
        ]
        lost = [message for _, message in held if not message.consolidated and message.received_at_us <= bounds.any_until_us]
        unreplayed: dict[str, list[bytes]] = {}
        for message in lost:
            unreplayed.setdefault(message.user_id, []).append(message.event_id)
        for message in (*done, *lost):
            del self.content.messages[message.event_id]
        self.content.expired += len(done) + len(lost)
        self.content.expired_unreplayed += len(lost)
        return Sweeping(len(done) + len(lost), unreplayed)

    def clear_buffer(self, user: str, session: str) -> None:
        self.content.buffers.pop((user, session), None)

    def drop_idle_buffers(self, touched_until_us: int) -> int:
        idle = [key for key, (touched, _) in self.content.buffers.items() if touched <= touched_until_us]
        for key in idle:
            del self.content.buffers[key]
        return len(idle)

    def _mark(self, user: str, event_id: bytes, flag: str) -> bool:
        order, message = self.content.messages.get(event_id, (0, None))
        if message is None or message.user_id != user or getattr(message, flag):
            return False
        changed = _copied(message)
        setattr(changed, flag, True)
        self.content.messages[event_id] = (order, changed)
        return True


class MemoryWorkingStore(MemoryConsumerState):
    """The port `WorkingStore` in plain Python."""

    def __init__(self) -> None:
        super().__init__()
        self._content = _Content()

    @contextmanager
    def transaction(self) -> Iterator[MemoryWorkingTransaction]:
        with self._exclusive():
            transaction = MemoryWorkingTransaction(self._content.copy())
            yield transaction
            self._commit(transaction)
            self._content = transaction.content

    def read(self, user: str, session: str = "", limit: int = 100, before: bytes = b"") -> list[StoredMessage]:
        held = self._of(user, lambda order, message: (message.said_at_us, order))
        if before:
            held = held[: self._index(held, before)]
        chosen = [message for message in held if not session or message.session_id == session]
        return [_copied(message) for message in chosen[max(0, len(chosen) - limit) :]]

    def experiences(self, user: str, limit: int, until_us: int = 0, after: bytes = b"") -> list[StoredMessage]:
        held = self._of(user, lambda order, message: (message.received_at_us, order))
        if after:
            held = held[self._index(held, after) + 1 :]
        chosen = [one for one in held if not one.consolidated and (not until_us or one.received_at_us < until_us)]
        return [_copied(message) for message in chosen[:limit]]

    def pending_users(self, limit: int, after: str = "") -> list[PendingUser]:
        found = []
        for user in self.users(after):
            received = [one.received_at_us for one in self.experiences(user, len(self._content.messages))]
            if received:
                found.append(PendingUser(user, len(received), min(received)))
        return found[:limit]

    def users(self, after: str = "") -> list[str]:
        return sorted({message.user_id for _, message in self._content.messages.values() if message.user_id > after})

    def buffer(self, user: str, session: str) -> tuple[BufferEntry, ...]:
        return self._content.buffers.get((user, session), (0, ()))[1]

    def update_buffer(self, user: str, session: str, rule: BufferRule, touched_us: int) -> tuple[BufferEntry, ...]:
        with self.transaction() as transaction:
            entries = rule(self.buffer(user, session))
            if entries:
                transaction.content.buffers[user, session] = (touched_us, entries)
            else:
                transaction.clear_buffer(user, session)
        return entries

    def counts(self) -> Counts:
        content = self._content
        messages = [message for _, message in content.messages.values()]
        return Counts(
            messages=len(messages),
            pending=sum(not message.consolidated for message in messages),
            users=len({message.user_id for message in messages}),
            buffers=len(content.buffers),
            expired=content.expired,
            expired_unreplayed=content.expired_unreplayed,
        )

    def close(self) -> None:
        """Nothing to let go of."""

    def _of(self, user: str, place: Callable[[int, StoredMessage], tuple[int, int]]) -> list[StoredMessage]:
        held = [one for one in self._content.messages.values() if one[1].user_id == user]
        return [message for _, message in sorted(held, key=lambda one: place(*one))]

    def _index(self, held: list[StoredMessage], event_id: bytes) -> int:
        for index, message in enumerate(held):
            if message.event_id == event_id:
                return index
        raise NotFound("Working memory does not hold the message to go on from", "Read from the end again.")


def _copied(message: StoredMessage) -> StoredMessage:
    copy = StoredMessage()
    copy.CopyFrom(message)
    return copy
