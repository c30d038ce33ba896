"""What a client publishes while the bus is away: kept on disk, sealed, and published in order under the same ids.

One file a client, locked while the client lives. What a client that died left
behind is taken over by the next one of the same identity. A record may be sent
twice (the bus knows its id), never lost once `append` has returned: what the bus
has no room for is given again, and what it never takes is set aside.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import BinaryIO

from aico_memory.bus.link import Acknowledgement
from aico_memory.contracts.wire import LENGTH, OutgoingRecord, pack_publish, unpack_publish
from aico_memory.errors import PASSING, AicoMemoryError, BusUnavailable, StorageFull, WrongKey
from aico_memory.log import get_logger
from aico_memory.vault.permissions import make_private_folder
from aico_memory.vault.sealer import Sealer

_log = get_logger(__name__)
_AT_ONCE = 512
_AGAIN_SECONDS = 1.0
SET_ASIDE = ".refused"
Publish = Callable[[Sequence[OutgoingRecord]], Sequence[Future[Acknowledgement]]]


class Spool:
    """The files of one identity; the first one is written to, the others are left over."""

    def __init__(
        self, folder: Path, identity: str, sealer: Sealer, most_bytes: int, again_seconds: float = _AGAIN_SECONDS
    ) -> None:
        make_private_folder(folder)
        self._folder = folder
        self._identity = identity
        self._sealer = sealer
        self._most_bytes = most_bytes
        self._writing = threading.Lock()
        self._emptying = threading.Lock()
        self._again_seconds = again_seconds
        self._closing = threading.Event()
        self._files = list(self._take_over())
        # Up to which offset the bus has taken a file, or never will.
        self._done = dict.fromkeys(self._files, 0)

    @property
    def pending(self) -> bool:
        """Whether anything waits to be published."""
        return any(os.fstat(file.fileno()).st_size for file in self._files)

    def append(self, records: Sequence[OutgoingRecord]) -> None:
        """Keep these records; they are on disk when this returns. Raises StorageFull."""
        sealed = [self._sealer.seal(pack_publish([record], 0, False)) for record in records]
        data = b"".join(LENGTH.pack(len(one)) + one for one in sealed)
        with self._writing:
            file = self._files[0]
            if os.fstat(file.fileno()).st_size + len(data) > self._most_bytes:
                raise StorageFull(
                    f"The spool {file.name} is full ({self._most_bytes} bytes)",
                    "Start the bus, or raise link.spool_bytes in config/memory.yaml.",
                )
            file.seek(0, os.SEEK_END)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def empty(self, publish: Publish, acknowledged: Callable[[str, Acknowledgement], None], seconds: float) -> None:
        """Publish all that waits, the left-over files first; what is left after an error waits for the next time.

        What a bus that is there cannot take now (its disk is full) is given again until it is taken, the bus is away or
        the spool is closed.
        """
        if not self._emptying.acquire(blocking=False):
            return
        try:
            while not self._emptied(publish, acknowledged, seconds) and not self._closing.wait(self._again_seconds):
                pass
        finally:
            self._emptying.release()

    def close(self) -> None:
        """Unlock; files that are empty are removed."""
        self._closing.set()
        with self._emptying, self._writing:
            for file in self._files:
                if not os.fstat(file.fileno()).st_size:
                    Path(file.name).unlink(missing_ok=True)
                file.close()
            self._files.clear()

    def _emptied(self, publish: Publish, acknowledged: Callable[[str, Acknowledgement], None], seconds: float) -> bool:
        """Go over all files once; False where the bus may take more in a moment."""
        taken = True
        for file in reversed(self._files):
            try:
                with contextlib.suppress(BusUnavailable, TimeoutError):
                    self._empty_one(file, publish, acknowledged, seconds)
            except PASSING as error:
                _log.warning("the spool waits for the bus", file=file.name, reason=str(error))
                taken = False
        return taken

    def _empty_one(
        self, file: BinaryIO, publish: Publish, acknowledged: Callable[[str, Acknowledgement], None], seconds: float
    ) -> None:
        while True:
            at = self._done[file]
            end, records = self._read(file, at)
            if not records:
                with self._writing:
                    # Something may have been appended since.
                    if self._read(file, end)[1]:
                        continue
                    file.truncate(0)
                    os.fsync(file.fileno())
                    self._done[file] = 0
                return
            refused: list[tuple[OutgoingRecord, AicoMemoryError]] = []
            for record, future in zip(records, publish(records), strict=True):
                try:
                    acknowledged(record.topic, future.result(seconds))
                except PASSING:
                    raise
                except AicoMemoryError as error:
                    refused.append((record, error))
            for record, why in refused:
                self._set_aside(record, why)
            self._done[file] = end

    def _set_aside(self, record: OutgoingRecord, error: AicoMemoryError) -> None:
        """The bus does not take this record and never will: keep it apart, sealed, for a person to look at."""
        sealed = self._sealer.seal(pack_publish([record], 0, False))
        path = self._folder / f"{self._identity}{SET_ASIDE}"
        with path.open("ab") as refused:
            path.chmod(0o600)
            refused.write(LENGTH.pack(len(sealed)) + sealed)
            refused.flush()
            os.fsync(refused.fileno())
        _log.error("a spooled record was refused and set aside", topic=record.topic, path=str(path), reason=str(error))

    def _read(self, file: BinaryIO, at: int) -> tuple[int, list[OutgoingRecord]]:
        """Records from this offset on, at most so many at once, and the offset behind them."""
        records: list[OutgoingRecord] = []
        descriptor = file.fileno()
        while len(records) < _AT_ONCE:
            head = os.pread(descriptor, LENGTH.size, at)
            if len(head) < LENGTH.size:
                break
            (length,) = LENGTH.unpack(head)
            sealed = os.pread(descriptor, length, at + LENGTH.size)
            if len(sealed) < length:
                break  # torn by a crash before append() had returned
            try:
                ((event_id, topic, user, envelope),) = unpack_publish(self._sealer.open(sealed))[2]
            except WrongKey:
                raise WrongKey(f"The spool {file.name} does not open with this home's key") from None
            records.append(OutgoingRecord(event_id, topic.decode(), user.decode(), envelope))
            at += LENGTH.size + length
        return at, records

    def _cut_torn_tail(self, file: BinaryIO) -> None:
        """Remove what a crash left of an append that had not returned: nothing may be written behind it."""
        descriptor, at, last = file.fileno(), 0, -1
        while len(head := os.pread(descriptor, LENGTH.size, at)) == LENGTH.size:
            following = at + LENGTH.size + LENGTH.unpack(head)[0]
            if following > os.fstat(descriptor).st_size:
                break
            at, last = following, at
        if last > 0 and self._opens(descriptor, 0) and not self._opens(descriptor, last):
            at = last
        if at < os.fstat(descriptor).st_size:
            file.truncate(at)

    def _opens(self, descriptor: int, at: int) -> bool:
        (length,) = LENGTH.unpack(os.pread(descriptor, LENGTH.size, at))
        try:
            self._sealer.open(os.pread(descriptor, length, at + LENGTH.size))
        except WrongKey:
            return False
        return True

    def _take_over(self) -> Iterator[BinaryIO]:
        """A file to write to, then those that others of this identity have left."""
        mine: BinaryIO | None = None
        left: list[BinaryIO] = []
        for number in range(1000):
            path = self._folder / f"{self._identity}.{number}.spool"
            if mine is not None and not path.exists():
                continue
            file = path.open("a+b")
            path.chmod(0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                continue
            self._cut_torn_tail(file)
            if mine is None:
                mine = file
            else:
                left.append(file)
        if mine is None:
            raise StorageFull(f"All spools of {self._identity} in {self._folder} are in use", "Close some of its clients.")
        yield mine
        yield from left
