"""Private files: made private, made at most once, replaced whole, and checked before they are trusted."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aico_memory.errors import InsecurePermissions

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_OTHERS = 0o077
_DOOMED = ".destroyed."


def require_private(path: Path) -> None:
    """InsecurePermissions where group or others may do anything with this file or folder."""
    mode = path.stat().st_mode
    if mode & _OTHERS:
        wanted = FOLDER_MODE if stat.S_ISDIR(mode) else FILE_MODE
        raise InsecurePermissions(
            f"{path} has mode {stat.S_IMODE(mode):04o}, so others than its owner may use it", f"Run: chmod {wanted:o} '{path}'"
        )


def require_private_tree(folder: Path) -> None:
    """The same for a folder and everything in it."""
    require_private(folder)
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                require_private_tree(Path(entry.path))
                continue
            # A file may vanish between the listing and the look: a key destroyed meanwhile.
            with suppress(FileNotFoundError):
                require_private(Path(entry.path))


def make_private_folder(folder: Path) -> None:
    """The folder, 0700 where it is made now; one that stands already is left as it is."""
    folder.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)


def create_exclusive(path: Path, content: bytes) -> bool:
    """Write a new private file, whole and on disk, or leave the one that stands; True where it is ours.

    Many processes may try at once: exactly one wins, and nobody ever sees half a file.
    """
    temporary = _write_beside(path, content)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    sync_folder(path.parent)
    return True


def replace_private(path: Path, content: bytes) -> None:
    """Put a private file in place of another, whole and on disk."""
    temporary = _write_beside(path, content)
    temporary.replace(path)
    sync_folder(path.parent)


def shred(path: Path) -> bool:
    """Take a small file's name away, overwrite its bytes, remove it; False where there is none.

    The name goes first and at once, so that no reader meets half-overwritten bytes under it.
    """
    doomed = path.with_name(f"{_DOOMED}{secrets.token_hex(8)}")
    try:
        path.rename(doomed)
    except FileNotFoundError:
        return False
    sync_folder(path.parent)
    _overwrite_and_remove(doomed)
    return True


def finish_shredding(folder: Path) -> None:
    """Complete what a kill in the middle of `shred` left behind."""
    for doomed in folder.glob(f"{_DOOMED}*"):
        with suppress(FileNotFoundError):
            _overwrite_and_remove(doomed)


def _overwrite_and_remove(path: Path) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(handle, os.urandom(max(1, os.fstat(handle).st_size)))
        os.fsync(handle)
    finally:
        os.close(handle)
    path.unlink(missing_ok=True)
    sync_folder(path.parent)


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Only one process at a time inside, for changes that read before they write.

    The lock is on the folder itself, so that taking it leaves no file behind.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_beside(path: Path, content: bytes) -> Path:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)
    return temporary
