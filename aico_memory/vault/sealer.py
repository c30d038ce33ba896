"""Sealing values: AES-256-GCM with a random nonce in front, or nothing where encryption is off."""

from __future__ import annotations

import os
from collections import deque
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from aico_memory.errors import WrongKey

KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16
# One call of os.urandom for so many nonces: a call a nonce would cost as much as the sealing itself.
_NONCES_A_DRAW = 512


class Sealer(Protocol):
    """Seals and opens values with one key; safe from many threads."""

    def seal(self, plaintext: bytes, context: bytes = b"") -> bytes:
        """The value, unreadable and unforgeable; it opens only with the same context."""

    def open(self, sealed: bytes, context: bytes = b"") -> bytes:
        """The value as it was; WrongKey where key or context is another, or a byte has changed."""


class AeadSealer:
    """AES-256-GCM: 12 bytes of nonce, then the ciphertext, then 16 bytes of tag.

    Nonces are random; a key stays below 2^32 values, far above what one user or store writes.
    """

    __slots__ = ("_aead",)

    def __init__(self, key: bytes) -> None:
        self._aead = AESGCM(key)

    def seal(self, plaintext: bytes, context: bytes = b"") -> bytes:
        try:
            nonce = _nonces.popleft()
        except IndexError:
            nonce = _draw()
        return nonce + self._aead.encrypt(nonce, plaintext, context)

    def open(self, sealed: bytes, context: bytes = b"") -> bytes:
        if len(sealed) < NONCE_BYTES + TAG_BYTES:
            raise WrongKey(f"A sealed value of {len(sealed)} bytes is no sealed value")
        try:
            return self._aead.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], context)
        except InvalidTag:
            raise WrongKey("A sealed value does not open with this key, or was changed") from None


class PlainSealer:
    """The same face where encryption is off."""

    __slots__ = ()

    def seal(self, plaintext: bytes, context: bytes = b"") -> bytes:
        return plaintext

    def open(self, sealed: bytes, context: bytes = b"") -> bytes:
        return sealed


_nonces: deque[bytes] = deque()


def _draw() -> bytes:
    drawn = os.urandom(NONCE_BYTES * _NONCES_A_DRAW)
    _nonces.extend(drawn[at : at + NONCE_BYTES] for at in range(NONCE_BYTES, len(drawn), NONCE_BYTES))
    return drawn[:NONCE_BYTES]


# A forked child must not use the nonces that its parent is going to use.
os.register_at_fork(after_in_child=_nonces.clear)
