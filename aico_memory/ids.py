"""Identifiers: UUIDv7 (RFC 9562) for new things, derived ones for what workers make.

A worker's ids derive from the event that caused them, so that the same stream
replayed gives the same ids.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from collections.abc import Callable

_VERSION_7 = 0x7 << 76
_VARIANT = 0x2 << 62
_RANDOM_A = 0xFFF << 64
_RANDOM_B = (1 << 62) - 1


def compose_uuid7(milliseconds: int, randomness: bytes) -> uuid.UUID:
    """UUIDv7 of a Unix time in ms and at least 10 bytes of randomness."""
    noise = int.from_bytes(randomness[:10], "big")
    value = (milliseconds & ((1 << 48) - 1)) << 80
    value |= _VERSION_7 | _VARIANT | (noise & _RANDOM_A) | (noise & _RANDOM_B)
    return uuid.UUID(int=value)


def new_id(now_us: int | None = None, entropy: Callable[[int], bytes] = os.urandom) -> uuid.UUID:
    """A fresh UUIDv7; `now_us` in Unix microseconds, the machine's time by default."""
    milliseconds = time.time_ns() // 1_000_000 if now_us is None else now_us // 1000
    return compose_uuid7(milliseconds, entropy(10))


def derive_id(cause: uuid.UUID, purpose: str, ordinal: int = 0) -> uuid.UUID:
    """The UUIDv7 of the `ordinal`-th thing of this purpose that the event `cause` led to.

    The time bits are those of the cause where it is a UUIDv7, else zero.
    """
    digest = hashlib.sha256(cause.bytes + purpose.encode() + b"\0" + ordinal.to_bytes(8, "big")).digest()
    return compose_uuid7(uuid7_ms(cause) or 0, digest)


def uuid7_ms(identifier: uuid.UUID) -> int | None:
    """Unix milliseconds inside a UUIDv7; None for any other version."""
    return identifier.int >> 80 if identifier.version == 7 else None


def stable_hash64(text: str) -> int:
    """64-bit digest of a text that is the same in every process and on every machine (BLAKE2b)."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
