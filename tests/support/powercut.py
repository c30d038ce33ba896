"""From a record of writes and syncs to the files as a power cut may leave them.

The model of a disk: what was written before the last completed sync of its file is
there; of what was written later any sector of 512 bytes may be there or not. A
rename is there for certain once its folder was synced.
"""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

HEAD = struct.Struct("<BBHQQ")
SECTOR = 512
WRITE, SYNC, RENAME, UNLINK, TRUNCATE, SYNC_FOLDER = 1, 2, 3, 4, 5, 6


@dataclass(frozen=True, slots=True)
class Operation:
    """One entry of the record."""

    kind: int
    synchronous: bool
    path: str
    offset: int
    data: bytes


@dataclass(slots=True)
class FileState:
    """What is certain of a file, and what was written since."""

    certain: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes]] = field(default_factory=list)

    def settle(self) -> None:
        for offset, data in self.pending:
            put(self.certain, offset, data)
        self.pending.clear()

    def after_cut(self, chance: random.Random) -> bytes:
        content = bytearray(self.certain)
        for offset, data in self.pending:
            fate = chance.random()
            if fate < 0.3:
                continue
            for at in range(0, len(data), SECTOR):
                # Whole, or torn: each sector has its own luck.
                if fate > 0.6 or chance.random() < 0.5:
                    put(content, offset + at, data[at : at + SECTOR])
        return bytes(content)


def put(content: bytearray, offset: int, data: bytes) -> None:
    """Write into a file's bytes, zeros filling a hole."""
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def build(folder: Path) -> Path | None:
    """Compile the recorder; None where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    library = folder / "powercut.so"
    source = Path(__file__).with_name("powercut.c")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl", "-lpthread"],
        check=True,
        capture_output=True,
    )
    return library


def read_record(path: Path) -> list[Operation]:
    """The operations in order."""
    content = path.read_bytes()
    at, found = 0, []
    while at < len(content):
        kind, synchronous, path_length, offset, size = HEAD.unpack_from(content, at)
        path_at = at + HEAD.size
        data_at = path_at + path_length
        # Only writes and renames carry data.
        end = data_at + (size if kind in (WRITE, RENAME) else 0)
        found.append(Operation(kind, bool(synchronous), content[path_at:data_at].decode(), offset, content[data_at:end]))
        at = end
    return found


def cut(operations: list[Operation], chance: random.Random) -> dict[str, bytes]:
    """The files after a power cut behind these operations: path -> content."""
    files: dict[str, FileState] = {}
    # Renames and removals whose folder was not synced yet.
    open_names: list[tuple[str, str]] = []
    for one in operations:
        if one.kind == WRITE:
            state = files.setdefault(one.path, FileState())
            if one.synchronous:
                put(state.certain, one.offset, one.data)
            else:
                state.pending.append((one.offset, one.data))
        elif one.kind == SYNC:
            files.setdefault(one.path, FileState()).settle()
        elif one.kind == TRUNCATE:
            del files.setdefault(one.path, FileState()).certain[one.offset :]
        elif one.kind == RENAME:
            open_names.append((one.path, one.data.decode()))
            files[one.data.decode()] = files.pop(one.path, FileState())
        elif one.kind == UNLINK:
            files.pop(one.path, None)
        elif one.kind == SYNC_FOLDER:
            open_names.clear()
    for before, after in reversed(open_names):
        if after in files and chance.random() < 0.5:
            files[before] = files.pop(after)
    return {path: state.after_cut(chance) for path, state in files.items()}
