"""One LMDB environment with full sync, whose map grows when it fills."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb

from aico_memory.errors import StorageFull, StoreCorrupt
from aico_memory.vault.permissions import FILE_MODE

# py-lmdb gives every thread that reads its own slot.
MAX_READERS = 256
# Grow while at least this share of the map is still free, so that no batch meets its end.
GROW_AT = 0.5
_PATIENCE_SECONDS = 5.0


class Environment:
    """Short read transactions in any thread, one write transaction at a time.

    A map may only grow while this process has no transaction open, so readers
    pass a gate that growing closes for a moment.
    """

    def __init__(self, folder: Path, names: tuple[str, ...], map_bytes: int) -> None:
        """Open or make it; StoreCorrupt where the files are none of LMDB's."""
        self._folder = folder
        try:
            self._env = lmdb.open(
                str(folder),
                map_size=map_bytes,
                max_dbs=len(names),
                max_readers=MAX_READERS,
                mode=FILE_MODE,
                readahead=False,
                meminit=False,
            )
            # A killed process leaves its reader slots behind, which would keep old pages from being used again.
            self._env.reader_check()
            self._tables = {name: self._env.open_db(name.encode()) for name in names}
        except (lmdb.InvalidError, lmdb.CorruptedError, lmdb.VersionMismatchError, lmdb.PageNotFoundError) as error:
            raise StoreCorrupt(f"{folder} cannot be opened: {error}") from error
        self._writing = threading.Lock()
        self._writing_thread = 0
        self._gate = threading.Condition()
        self._readers = 0
        self._shut = False
        self._closed = False

    def table(self, name: str) -> Any:
        """The handle of a table."""
        return self._tables[name]

    @property
    def map_bytes(self) -> int:
        return int(self._env.info()["map_size"])

    @contextmanager
    def read(self) -> Iterator[Any]:
        """A snapshot; take what is needed and leave, a long one makes the file grow."""
        with self._gate:
            self._gate.wait_for(lambda: not self._shut)
            if self._closed:
                raise RuntimeError(f"{self._folder} is closed")
            self._readers += 1
        try:
            with self._env.begin() as transaction:
                yield transaction
        finally:
            with self._gate:
                self._readers -= 1
                if not self._readers:
                    self._gate.notify_all()

    @contextmanager
    def write(self) -> Iterator[Any]:
        """Committed and synced on a clean exit, dropped on any exception.

        StorageFull where the batch did not fit into the map; the map has grown by
        then, so that the next attempt fits.
        """
        if self._writing_thread == threading.get_ident():
            raise RuntimeError("A write transaction inside a write transaction of the same thread")
        with self._writing:
            if self._closed:
                raise RuntimeError(f"{self._folder} is closed")
            self._writing_thread = threading.get_ident()
            try:
                self._grow_in_time()
                with self._env.begin(write=True) as transaction:
                    yield transaction
            except lmdb.MapFullError as error:
                self._grow()
                raise StorageFull(
                    f"A batch did not fit into {self._folder}", "It has room now; the batch is tried again."
                ) from error
            except lmdb.Error as error:
                if "No space left" in str(error):
                    raise StorageFull(f"There is no room to write {self._folder}") from error
                raise
            finally:
                self._writing_thread = 0

    def close(self) -> None:
        """Wait for what is under way, then close; twice does nothing."""
        with self._writing, self._gate:
            if self._closed:
                return
            self._closed = True
            self._gate.wait_for(lambda: not self._readers, _PATIENCE_SECONDS)
            self._env.close()

    def _grow_in_time(self) -> None:
        info = self._env.info()
        used = (info["last_pgno"] + 1) * self._env.stat()["psize"]
        if used > info["map_size"] * GROW_AT:
            self._grow()

    def _grow(self) -> None:
        with self._gate:
            self._shut = True
            try:
                # Moving the map under a reader's feet would crash the process.
                if not self._gate.wait_for(lambda: not self._readers, _PATIENCE_SECONDS):
                    raise StorageFull(f"The map of {self._folder} cannot grow while somebody reads", "Try again.")
                self._env.set_mapsize(self._env.info()["map_size"] * 2)
            finally:
                self._shut = False
                self._gate.notify_all()
