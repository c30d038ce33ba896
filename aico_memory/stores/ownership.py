"""What every store on disk checks before it touches anything: one owner process, and the right key."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from aico_memory.errors import StoreLocked, WrongKey
from aico_memory.vault.permissions import FILE_MODE, create_exclusive
from aico_memory.vault.sealer import AeadSealer

_KNOWN = b"aico-memory/store"


class OwnerLock:
    """One process owns a store: an advisory lock that the system drops however the process ends."""

    def __init__(self, path: Path) -> None:
        """Take it; StoreLocked where another holds it. The file stays when the lock goes."""
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._handle, 32, 0).decode(errors="replace").strip()
            os.close(self._handle)
            raise StoreLocked(f"{path.parent} is in use by process {holder or 'unknown'}") from None
        except BaseException:
            os.close(self._handle)
            raise

    def sign(self) -> None:
        """Write our process id, so that another's refusal can name us."""
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Give the store free; twice does nothing."""
        with suppress(OSError):
            os.close(self._handle)
        self._handle = -1


def check_key(path: Path, key: bytes | None) -> bool:
    """Hold the key against the proof in this small file; False where there is no proof yet.

    WrongKey comes from here, before the store itself is opened: opening one, even
    with a wrong key, may replay its log and so change its files.
    """
    try:
        proof = path.read_bytes()
    except FileNotFoundError:
        return False
    if key is None:
        raise WrongKey(f"{path.parent} is encrypted and no key was given", "Set security.encryption to on.")
    try:
        known = AeadSealer(key).open(proof, _KNOWN)
    except WrongKey:
        raise WrongKey(f"The key does not open {path.parent}") from None
    if known != _KNOWN:
        raise WrongKey(f"The proof {path} is not one of this program")
    return True


def leave_proof(path: Path, key: bytes | None) -> None:
    """Write the proof that `check_key` looks for; nothing where encryption is off."""
    if key is not None:
        create_exclusive(path, AeadSealer(key).seal(_KNOWN, _KNOWN))
