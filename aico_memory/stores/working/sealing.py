"""What is sealed with which key in the working store, and the cursor's neighbours: outgoing records."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from aico_memory.contracts.v1.working_pb2 import BufferItem, BufferPage, StoredMessage
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.domain.working.buffer import BufferEntry
from aico_memory.errors import KeyDestroyed, WrongKey
from aico_memory.vault.master import Vault

_LENGTH = struct.Struct(">I")
_HEADER = struct.Struct(">16sHH")


class Seals:
    """Seals people's words with their own keys and the rest with the store's; names users by digest."""

    def __init__(self, vault: Vault, store: str) -> None:
        self._users = vault.users
        self._own = vault.sealer(store)
        self.name = vault.namer(store)

    def seal_user(self, user: str) -> bytes:
        return self._own.seal(user.encode(), b"user")

    def open_user(self, sealed: bytes) -> str:
        return self._own.open(sealed, b"user").decode()

    def seal_message(self, message: StoredMessage, key: bytes) -> bytes:
        return self._users.sealer(message.user_id).seal(message.SerializeToString(deterministic=True), key)

    def open_messages(self, user: str, found: Sequence[tuple[bytes, bytes]]) -> list[StoredMessage]:
        """Messages by their (key, sealed value); without those sealed with a key that has been destroyed since."""
        if not found:
            return []
        try:
            unseal = self._users.sealer(user, create=False).open
        except KeyDestroyed:
            return []
        opened = []
        parse = StoredMessage.FromString
        for key, sealed in found:
            try:
                plain = unseal(sealed, key)
            except WrongKey:
                continue
            opened.append(parse(plain))
        return opened

    def seal_buffer(self, user: str, entries: tuple[BufferEntry, ...], key: bytes) -> bytes:
        page = BufferPage(
            items=[
                BufferItem(
                    id=entry.id,
                    content=entry.content,
                    importance=entry.importance,
                    access_count=entry.access_count,
                    last_access_us=entry.last_access_us,
                )
                for entry in entries
            ]
        )
        return self._users.sealer(user).seal(page.SerializeToString(), b"buffer" + key)

    def open_buffer(self, user: str, sealed: bytes, key: bytes) -> tuple[BufferEntry, ...]:
        plain = self._open(user, sealed, b"buffer" + key)
        page = BufferPage() if plain is None else BufferPage.FromString(plain)
        return tuple(
            BufferEntry(item.id, item.content, item.importance, item.access_count, item.last_access_us) for item in page.items
        )

    def seal_outgoing(self, record: OutgoingRecord) -> bytes:
        """Header by the store's key, envelope by the user's where one is named: a dead letter quotes what was said."""
        topic, user = record.topic.encode(), record.user.encode()
        header = self._own.seal(_HEADER.pack(record.event_id, len(topic), len(user)) + topic + user, b"outgoing")
        sealer = self._users.sealer(record.user) if record.user else self._own
        return _LENGTH.pack(len(header)) + header + sealer.seal(record.envelope, record.event_id)

    def open_outgoing(self, sealed: bytes) -> OutgoingRecord | None:
        """None where the user's key has been destroyed since."""
        at = _LENGTH.size + _LENGTH.unpack_from(sealed)[0]
        header = self._own.open(sealed[_LENGTH.size : at], b"outgoing")
        event_id, topic_length, user_length = _HEADER.unpack_from(header)
        topic_at = _HEADER.size
        user_at = topic_at + topic_length
        user = header[user_at : user_at + user_length].decode()
        envelope = self._open(user, sealed[at:], event_id) if user else self._own.open(sealed[at:], event_id)
        return None if envelope is None else OutgoingRecord(event_id, header[topic_at:user_at].decode(), user, envelope)

    def _open(self, user: str, sealed: bytes, context: bytes) -> bytes | None:
        try:
            return self._users.sealer(user, create=False).open(sealed, context)
        except (KeyDestroyed, WrongKey):
            return None
