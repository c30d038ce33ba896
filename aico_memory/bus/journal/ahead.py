"""The log ahead of the segments: a small drain is durable after one write and one sync.

A transaction of LMDB writes several pages and syncs twice, whatever its size.
Where little arrives at a time, the sealed groups of a drain are therefore
appended here first and go into the segment later, many at once; a large drain
goes into the segment directly, together with all that waits. The file is
zero-filled and keeps its size, so that a sync need not write its metadata.

An entry begins on a page of its own: no later write touches a page that holds
acknowledged records. It carries a checksum, the first global sequence of its
records and that of the oldest entry since the log was last emptied (its base),
so that neither a torn entry nor one of an earlier filling is taken for the next.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from aico_memory.bus.journal.segment import sync_folder, zero_fill

PAGE = 4096
# Magic, checksum of what follows; length of the groups, base, first global sequence.
_MARK = struct.Struct("<4sI")
_HEAD = struct.Struct("<IQQ")
_LENGTH = struct.Struct("<I")
_MAGIC = b"AHD1"
_ENTRY_BYTES = _MARK.size + _HEAD.size
# Not everywhere is there a sync that leaves out times and sizes.
sync_data = getattr(os, "fdatasync", os.fsync)


class AheadLog:
    """One file, used by one thread. After `recover` it is empty until `append`."""

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        self._size = size
        self._descriptor = self._open()
        self._at = 0
        self._base = 0

    @property
    def used(self) -> int:
        """Bytes of what waits in it, rounded up to pages."""
        return self._at

    def has_room(self, groups: Sequence[bytes]) -> bool:
        """Whether these groups fit behind what waits."""
        return self._at + _ENTRY_BYTES + sum(len(one) + _LENGTH.size for one in groups) <= self._size

    def append(self, groups: Sequence[bytes], first_global: int) -> None:
        """Make these groups durable; OSError where that fails, and then nothing was appended."""
        payload = b"".join([part for one in groups for part in (_LENGTH.pack(len(one)), one)])
        base = self._base or first_global
        head = _HEAD.pack(len(payload), base, first_global)
        checksum = zlib.crc32(payload, zlib.crc32(head))
        entry = b"".join((_MARK.pack(_MAGIC, checksum), head, payload))
        written = 0
        while written < len(entry):
            written += os.pwrite(self._descriptor, entry[written:], self._at + written)
        sync_data(self._descriptor)
        self._base = base
        self._at += -(-len(entry) // PAGE) * PAGE

    def reset(self) -> None:
        """All that waited stands in a segment: begin anew. What is in the file is recognised as old by its base."""
        self._at = self._base = 0

    def recover(self) -> Iterator[tuple[int, list[bytes]]]:
        """First global sequence and groups of every entry that was completed, in order."""
        at = base = 0
        while (entry := self._read(at)) is not None:
            groups, entry_base, first_global, length = entry
            if base and entry_base != base:
                return
            base = entry_base
            yield first_global, groups
            at += -(-(_ENTRY_BYTES + length) // PAGE) * PAGE

    def resize(self) -> None:
        """Give the file the size that is configured; only while nothing waits in it."""
        if os.fstat(self._descriptor).st_size != self._size:
            os.close(self._descriptor)
            self._path.unlink()
            self._descriptor = self._open()

    def close(self) -> None:
        os.close(self._descriptor)

    def _open(self) -> int:
        if not self._path.exists():
            temporary = self._path.with_suffix(".making")
            temporary.unlink(missing_ok=True)
            os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            zero_fill(temporary, self._size)
            temporary.rename(self._path)
            sync_folder(self._path.parent)
        return os.open(self._path, os.O_RDWR)

    def _read(self, at: int) -> tuple[list[bytes], int, int, int] | None:
        """The entry at a place of the file; None where none was completed there."""
        mark = os.pread(self._descriptor, _ENTRY_BYTES, at)
        if len(mark) < _ENTRY_BYTES:
            return None
        magic, checksum = _MARK.unpack_from(mark)
        length, base, first_global = _HEAD.unpack_from(mark, _MARK.size)
        if magic != _MAGIC:
            return None
        payload = os.pread(self._descriptor, length, at + _ENTRY_BYTES)
        if len(payload) != length or zlib.crc32(payload, zlib.crc32(mark[_MARK.size :])) != checksum:
            return None
        groups, offset = [], 0
        while offset < length:
            (size,) = _LENGTH.unpack_from(payload, offset)
            offset += _LENGTH.size
            groups.append(payload[offset : offset + size])
            offset += size
        return groups, base, first_global, length
