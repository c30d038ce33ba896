"""The one stream format: journal export, recorder, replay and tests read and write it.

A file is a RecordingHeader and then RecordedFrames, each preceded by its length
as a varint. `.gz` and `.zst` in the file's name choose the compression.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

import zstandard
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError, Message

from aico_memory.contracts.registry import FILES
from aico_memory.contracts.v1 import recording_pb2
from aico_memory.contracts.wire import CONTRACTS
from aico_memory.errors import InvalidMessage, VersionMismatch
from aico_memory.ids import compose_uuid7

FORMAT = "aico-memory-recording/1"
TIME_BASE = "unix_us_utc"
# A frame carries one record; nothing legitimate is larger.
MAX_FRAME = 64 * 1024 * 1024
_MORE = 0x80
M = TypeVar("M", bound=Message)


def contracts_digest() -> str:
    """Digest of all contracts' descriptors, which names the exact version a stream was recorded with."""
    digest = hashlib.sha256()
    for file in FILES:
        description = FileDescriptorProto()
        file.CopyToProto(description)
        digest.update(description.SerializeToString(deterministic=True))
    return digest.hexdigest()[:16]


def new_header(name: str, clock_start_us: int, *, seed: int = 0, description: str = "") -> recording_pb2.RecordingHeader:
    """The header of a stream of today's contracts."""
    return recording_pb2.RecordingHeader(
        format=FORMAT,
        contracts=CONTRACTS,
        contracts_digest=contracts_digest(),
        time_base=TIME_BASE,
        clock_start_us=clock_start_us,
        seed=seed,
        name=name,
        description=description,
    )


class RecordingWriter:
    """Appends frames and numbers them."""

    def __init__(self, stream: BinaryIO, header: recording_pb2.RecordingHeader) -> None:
        self._stream = stream
        self.frames = 0
        _write(stream, header)

    def append(self, frame: recording_pb2.RecordedFrame) -> None:
        """Write one frame; its ordinal is set here."""
        self.frames += 1
        frame.ordinal = self.frames
        _write(self._stream, frame)


@contextmanager
def create_recording(path: Path, header: recording_pb2.RecordingHeader) -> Iterator[RecordingWriter]:
    """Write a file that only its owner reads, since it holds what people said; it takes its name only when it is whole."""
    temporary = path.with_name(f".{path.name}.part")
    temporary.unlink(missing_ok=True)
    with open(temporary, "xb", opener=_private) as file, _compressed(file, path) as stream:
        yield RecordingWriter(stream, header)
    temporary.replace(path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextmanager
def open_recording(
    path: Path,
) -> Iterator[tuple[recording_pb2.RecordingHeader, Iterator[recording_pb2.RecordedFrame]]]:
    """Header and frames of a file. VersionMismatch where other contracts wrote it, InvalidMessage where it is damaged."""
    with path.open("rb") as file, _decompressed(file, path) as stream:
        try:
            header = _read(stream, recording_pb2.RecordingHeader, path)
        except (InvalidMessage, EOFError, gzip.BadGzipFile, zstandard.ZstdError):
            header = None
        if header is None or header.format != FORMAT:
            raise InvalidMessage(
                f"{path} is no recording of the format {FORMAT}", "Give a file that `aico-memory record` has written."
            )
        if header.contracts != CONTRACTS:
            raise VersionMismatch(f"{path} was recorded with the contracts {header.contracts}, this is {CONTRACTS}")
        yield header, _frames(stream, path)


def _frames(stream: BinaryIO, path: Path) -> Iterator[recording_pb2.RecordedFrame]:
    while (frame := _read(stream, recording_pb2.RecordedFrame, path)) is not None:
        yield frame


def _write(stream: BinaryIO, message: Message) -> None:
    data = message.SerializeToString(deterministic=True)
    stream.write(_varint(len(data)) + data)


def _read(stream: BinaryIO, kind: type[M], path: Path) -> M | None:
    length = _read_varint(stream, path)
    if length is None:
        return None
    data = stream.read(length) if length <= MAX_FRAME else b""
    if len(data) != length:
        raise InvalidMessage(f"{path} ends inside a frame")
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise InvalidMessage(f"{path} holds a frame that cannot be parsed") from error


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= _MORE:
        out.append(number & 0x7F | _MORE)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_varint(stream: BinaryIO, path: Path) -> int | None:
    value = shift = 0
    while True:
        byte = stream.read(1)
        if not byte:
            if shift:
                raise InvalidMessage(f"{path} ends inside a length")
            return None
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < _MORE:
            return value
        shift += 7
        if shift > 35:
            raise InvalidMessage(f"{path} holds a length that is none")


@contextmanager
def _compressed(file: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    if path.suffix == ".gz":
        # Without name and time, so that the same stream gives the same file.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream:
            yield cast(BinaryIO, stream)
    elif path.suffix == ".zst":
        with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as writer:
            yield cast(BinaryIO, writer)
    else:
        yield file


@contextmanager
def _decompressed(file: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    if path.suffix == ".gz":
        with gzip.GzipFile(fileobj=file) as stream:
            yield cast(BinaryIO, stream)
    elif path.suffix == ".zst":
        with zstandard.ZstdDecompressor().stream_reader(file) as reader:
            yield cast(BinaryIO, io.BufferedReader(reader))
    else:
        yield file


def stream_event_id(stream: str, ordinal: int, at_us: int) -> uuid.UUID:
    """The id of the event that a frame stands for: the same in every building and replay of the stream."""
    digest = hashlib.sha256(f"{stream}/{ordinal}".encode()).digest()
    return compose_uuid7(at_us // 1000, digest)
