"""Per-user data keys: random, wrapped, one file each, so that forgetting a person is destroying one file."""

from __future__ import annotations

import hashlib
import os
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from aico_memory.errors import KeyDestroyed, WrongKey
from aico_memory.vault.permissions import create_exclusive, make_private_folder, shred
from aico_memory.vault.sealer import KEY_BYTES, AeadSealer, PlainSealer, Sealer

_SUFFIX = ".key"
_VERSION = b"\x01"
_CREATE_ATTEMPTS = 10


@dataclass(slots=True)
class _Cached:
    sealer: AeadSealer
    # The file's bytes: a key destroyed and made again has others, while inode and time may be the same.
    wrapped: bytes
    checked: float


_PLAIN = PlainSealer()


class UserKeys:
    """Data keys by user id; file names are keyed digests, so the folder names nobody.

    A sealer may be used for the batch at hand, not kept: after `destroy` in any
    process every other one stops using the key within `recheck_seconds`.
    """

    def __init__(
        self, folder: Path, wrapping_key: bytes, naming_key: bytes, *, capacity: int = 4096, recheck_seconds: float = 1.0
    ) -> None:
        self._folder = folder
        self._wrapping = AeadSealer(wrapping_key)
        self._naming_key = naming_key
        self._capacity = capacity
        self._recheck = recheck_seconds
        self._lock = Lock()
        self._cached: OrderedDict[str, _Cached] = OrderedDict()

    def sealer(self, user: str, create: bool = True) -> Sealer:
        """The sealer of a user; KeyDestroyed where there is no key and none is to be made."""
        now = time.monotonic()
        # One look without the lock: every sealed record passes here.
        entry = self._cached.get(user)
        if entry is not None and now - entry.checked < self._recheck:
            return entry.sealer
        path = self._path(user)
        if entry is not None and entry.wrapped == _wrapped(path):
            entry.checked = now
            with self._lock:
                if user in self._cached:
                    self._cached.move_to_end(user)
            return entry.sealer
        fresh = self._load_or_create(user, path, create)
        with self._lock:
            self._cached[user] = fresh
            self._cached.move_to_end(user)
            while len(self._cached) > self._capacity:
                self._cached.popitem(last=False)
        return fresh.sealer

    def exists(self, user: str) -> bool:
        """Whether a key stands for this user."""
        return self._path(user).exists()

    def destroy(self, user: str) -> bool:
        """Make everything sealed for this user unreadable for ever; False where there was no key."""
        self.forget_cached(user)
        destroyed = shred(self._path(user))
        self.forget_cached(user)
        return destroyed

    def forget_cached(self, user: str | None = None) -> None:
        """Drop one user's key from memory, or all."""
        with self._lock:
            if user is None:
                self._cached.clear()
            else:
                self._cached.pop(user, None)

    def _path(self, user: str) -> Path:
        name = hashlib.blake2b(user.encode(), digest_size=32, key=self._naming_key).hexdigest()
        return self._folder / (name + _SUFFIX)

    def _load_or_create(self, user: str, path: Path, create: bool) -> _Cached:
        context = b"user-key\0" + user.encode()
        for _ in range(_CREATE_ATTEMPTS):
            found = self._load(path, context)
            if found is not None:
                return found
            if not create:
                raise KeyDestroyed("No data key stands for this user")
            make_private_folder(self._folder)
            # Whoever was first has made the key; the next round reads that one.
            create_exclusive(path, _VERSION + self._wrapping.seal(os.urandom(KEY_BYTES), context))
        raise WrongKey(f"The key file {path} is made and destroyed again and again")

    def _load(self, path: Path, context: bytes) -> _Cached | None:
        checked = time.monotonic()
        content = _wrapped(path)
        if content is None:
            return None
        try:
            key = self._wrapping.open(content.removeprefix(_VERSION), context)
        except WrongKey as error:
            # Destroyed at this moment, so that its bytes were being overwritten, is no damage.
            if _wrapped(path) != content:
                return None
            raise WrongKey(f"The user key {path} does not open with this home's master key") from error
        return _Cached(AeadSealer(key), content, checked) if _wrapped(path) == content else None


class NoUserKeys:
    """The same face where encryption is off: nothing is sealed, so nothing can be destroyed."""

    def sealer(self, user: str, create: bool = True) -> Sealer:
        return _PLAIN

    def exists(self, user: str) -> bool:
        return False

    def destroy(self, user: str) -> bool:
        return False

    def forget_cached(self, user: str | None = None) -> None:
        return None


def _wrapped(path: Path) -> bytes | None:
    """What stands in a key's file; None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
