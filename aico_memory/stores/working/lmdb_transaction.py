"""The write side of the LMDB working store: every change of one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from aico_memory.contracts.v1.working_pb2 import StoredMessage
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.domain.working.expiry import SweepBounds
from aico_memory.stores.working.environment import Environment
from aico_memory.stores.working.layout import CURSOR, NEWEST, NO_SESSION, NUMBER, USER_HEAD, Place, time_key, time_of
from aico_memory.stores.working.port import Sweeping
from aico_memory.stores.working.sealing import Seals

EXPIRED = b"expired"
EXPIRED_UNREPLAYED = b"expired_unreplayed"


class LmdbTransaction:
    """The port `WorkingTransaction` on one LMDB write transaction."""

    def __init__(self, raw: Any, environment: Environment, seals: Seals) -> None:
        self._raw = raw
        self._table = environment.table
        self._seals = seals
        self.emitted: list[OutgoingRecord] = []

    def set_cursor(self, epoch: int, global_sequence: int) -> None:
        self._put("meta", b"cursor", CURSOR.pack(epoch, global_sequence))

    def emit(self, record: OutgoingRecord) -> None:
        if self._get("queued", record.event_id) is not None:
            return
        position = NUMBER.pack(self._count(b"position", 1))
        self._put("queued", record.event_id, position)
        self._put("outgoing", position, self._seals.seal_outgoing(record))
        self.emitted.append(record)

    def settle(self, event_ids: Sequence[bytes]) -> None:
        """Forget outgoing records."""
        for event_id in event_ids:
            position = self._raw.pop(event_id, db=self._table("queued"))
            if position is not None:
                self._delete("outgoing", position)

    def attempt(self, event_id: bytes) -> int:
        """Count an attempt."""
        count = self._number("attempts", event_id) + 1
        self._put("attempts", event_id, NUMBER.pack(count))
        return count

    def forget_attempts(self, event_id: bytes) -> None:
        self._delete("attempts", event_id)

    def add(self, message: StoredMessage, order: int) -> bool:
        if self._get("by_event", message.event_id) is not None:
            return False
        name = self._seals.name
        place = Place(
            name(message.user_id),
            name(message.session_id) if message.session_id else NO_SESSION,
            time_key(message.said_at_us),
            time_key(message.received_at_us),
            NUMBER.pack(order),
        )
        key = place.message_key
        self._put("by_event", message.event_id, place.pack())
        self._put_new("messages", key, self._seals.seal_message(message, key))
        if message.session_id:
            self._put_new("sessions", place.session_key, b"")
        self._put_new("pending", place.pending_key, message.event_id)
        self._put_new("waiting", place.queue_key, message.event_id)
        self._change_user(place.user, 1, 1, message.user_id)
        return True

    def acknowledge(self, user: str, event_ids: Sequence[bytes], led_to: Mapping[bytes, Sequence[str]] | None = None) -> int:
        led = led_to or {}

        def consolidate(message: StoredMessage) -> None:
            message.consolidated = True
            message.memory_ids[:] = led.get(message.event_id, ())

        moved = 0
        for event_id in event_ids:
            place = self._place_of(user, event_id)
            if place is None or not self._delete("pending", place.pending_key):
                continue
            self._delete("waiting", place.queue_key)
            self._put("done", place.queue_key, event_id)
            self._rewrite(user, place, consolidate)
            self._change_user(place.user, 0, -1)
            moved += 1
        return moved

    def mark_feedback(self, user: str, event_id: bytes, sequence: int) -> bool:
        def mark(message: StoredMessage) -> None:
            if not message.has_feedback:
                message.has_feedback, message.feedback_sequence = True, sequence

        place = self._place_of(user, event_id)
        return place is not None and self._rewrite(user, place, mark)

    def sweep(self, bounds: SweepBounds) -> Sweeping:
        acknowledged = list(self._due("done", bounds.acknowledged_until_us))
        unreplayed = list(self._due("waiting", bounds.any_until_us))
        by_user: dict[str, list[bytes]] = {}
        for event_id in unreplayed:
            place = Place.unpack(self._get("by_event", event_id))
            by_user.setdefault(self._user_id(place.user), []).append(event_id)
        for event_id in (*acknowledged, *unreplayed):
            self._remove(event_id)
        self._count(EXPIRED, len(acknowledged) + len(unreplayed))
        self._count(EXPIRED_UNREPLAYED, len(unreplayed))
        return Sweeping(len(acknowledged) + len(unreplayed), by_user)

    def clear_buffer(self, user: str, session: str) -> None:
        self._delete("buffers", self._seals.name(user) + self._seals.name(session))

    def drop_idle_buffers(self, touched_until_us: int) -> int:
        with self._raw.cursor(db=self._table("buffers")) as cursor:
            idle = [bytes(key) for key, value in cursor if time_of(value[:8]) <= touched_until_us]
        for key in idle:
            self._delete("buffers", key)
        return len(idle)

    def _due(self, table: str, until_us: int) -> Iterator[bytes]:
        """Event ids received up to this time, oldest first."""
        end = time_key(until_us) + NEWEST
        with self._raw.cursor(db=self._table(table)) as cursor:
            for key, event_id in cursor:
                if key > end:
                    return
                yield bytes(event_id)

    def _remove(self, event_id: bytes) -> None:
        place = Place.unpack(self._get("by_event", event_id))
        self._delete("by_event", event_id)
        self._delete("messages", place.message_key)
        self._delete("sessions", place.session_key)
        self._delete("done", place.queue_key)
        self._delete("waiting", place.queue_key)
        pending = self._delete("pending", place.pending_key)
        self._change_user(place.user, -1, -1 if pending else 0)

    def _place_of(self, user: str, event_id: bytes) -> Place | None:
        packed = self._get("by_event", event_id) if len(event_id) == 16 else None
        if packed is None:
            return None
        place = Place.unpack(packed)
        return place if place.user == self._seals.name(user) else None

    def _rewrite(self, user: str, place: Place, change: Callable[[StoredMessage], None]) -> bool:
        key = place.message_key
        opened = self._seals.open_messages(user, [(key, self._get("messages", key))])
        if not opened:
            return False
        message = opened[0]
        change(message)
        self._put("messages", key, self._seals.seal_message(message, key))
        return True

    def _change_user(self, digest: bytes, messages: int, pending: int, user: str = "") -> None:
        known = self._get("users", digest)
        if known is None:
            held, waiting, sealed = 0, 0, self._seals.seal_user(user)
        else:
            held, waiting = USER_HEAD.unpack_from(known)
            sealed = known[USER_HEAD.size :]
        if held + messages:
            self._put("users", digest, USER_HEAD.pack(held + messages, waiting + pending) + sealed)
        else:
            self._delete("users", digest)

    def _user_id(self, digest: bytes) -> str:
        return self._seals.open_user(self._get("users", digest)[USER_HEAD.size :])

    def _count(self, name: bytes, by: int) -> int:
        count = self._number("meta", name) + by
        if by:
            self._put("meta", name, NUMBER.pack(count))
        return count

    def _number(self, table: str, key: bytes) -> int:
        packed = self._get(table, key)
        return 0 if packed is None else int(NUMBER.unpack(packed)[0])

    def _get(self, table: str, key: bytes) -> Any:
        return self._raw.get(key, db=self._table(table))

    def _put(self, table: str, key: bytes, value: bytes) -> None:
        self._raw.put(key, value, db=self._table(table))

    def _put_new(self, table: str, key: bytes, value: bytes) -> None:
        if not self._raw.put(key, value, db=self._table(table), overwrite=False):
            raise RuntimeError(f"Two messages claim one place in {table}: the order given is not unique")

    def _delete(self, table: str, key: bytes) -> bool:
        return bool(self._raw.delete(key, db=self._table(table)))
