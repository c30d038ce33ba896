"""The stream format on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.contracts.recording import create_recording, new_header, open_recording, stream_event_id
from aico_memory.contracts.v1 import recording_pb2
from aico_memory.errors import InvalidMessage, VersionMismatch


def frames(count: int) -> list[recording_pb2.RecordedFrame]:
    return [
        recording_pb2.RecordedFrame(
            at_us=number,
            sender="default",
            record=recording_pb2.RecordedRecord(
                event_id=bytes(16), topic="memory/working/message/v1/", envelope=b"x" * number * 50
            ),
        )
        for number in range(count)
    ]


def write(path: Path, count: int = 5) -> None:
    with create_recording(path, new_header("test", 7, seed=3, description="for a test")) as writer:
        for frame in frames(count):
            writer.append(frame)


@pytest.mark.parametrize("suffix", [".stream", ".stream.gz", ".stream.zst"])
def test_what_was_written_is_read_back_in_order(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    write(path, 50)
    with open_recording(path) as (header, read):
        assert (header.name, header.clock_start_us, header.seed) == ("test", 7, 3)
        found = list(read)
    assert [frame.ordinal for frame in found] == list(range(1, 51))
    assert [len(frame.record.envelope) for frame in found] == [number * 50 for number in range(50)]


@pytest.mark.parametrize("suffix", [".stream", ".stream.gz", ".stream.zst"])
def test_the_same_stream_gives_the_same_file(tmp_path: Path, suffix: str) -> None:
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    write(first)
    write(second)
    assert first.read_bytes() == second.read_bytes()


def test_a_file_that_was_not_finished_never_takes_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.stream"
    with pytest.raises(RuntimeError), create_recording(path, new_header("test", 0)) as writer:
        writer.append(recording_pb2.RecordedFrame(raw=b"x"))
        raise RuntimeError("power cut")
    assert not path.exists()


@given(cut=st.integers(min_value=1, max_value=200))
def test_a_cut_file_is_named_as_such_and_gives_no_half_frame(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("cut") / "a.stream"
    write(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with open_recording(path) as (_, read):
        found = []
        try:
            found.extend(read)
        except InvalidMessage as error:
            assert "ends inside" in error.detail
        else:
            # The cut fell between two frames.
            assert len(found) < 5
    assert all(frame.record.event_id == bytes(16) for frame in found)


def test_another_format_or_another_contract_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.stream"
    path.write_bytes(b"\x05hello")
    with pytest.raises(InvalidMessage), open_recording(path):
        pass
    header = new_header("test", 0)
    header.contracts = "aico.memory.v9"
    with create_recording(path, header):
        pass
    with pytest.raises(VersionMismatch, match=r"aico\.memory\.v9"), open_recording(path):
        pass


def test_the_event_of_a_step_has_the_same_id_in_every_building_and_another_one_elsewhere() -> None:
    known = stream_event_id("a", 1, 1_700_000_000_000_000)
    assert known == stream_event_id("a", 1, 1_700_000_000_000_000)
    assert known.version == 7
    assert len({known, stream_event_id("a", 2, 1_700_000_000_000_000), stream_event_id("b", 1, 1_700_000_000_000_000)}) == 3
