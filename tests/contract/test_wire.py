"""Frames: golden bytes, and every malformed frame is refused rather than half taken."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.contracts import wire
from aico_memory.contracts.wire import OutgoingRecord, StampedRecord
from aico_memory.errors import InvalidMessage

names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
outgoing = st.builds(OutgoingRecord, st.binary(min_size=16, max_size=16), names, names, st.binary(max_size=200))
stamped = st.builds(
    StampedRecord, st.just("memory/a/b/v1/"), st.binary(min_size=16, max_size=16), names, st.binary(max_size=200), names,
    st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(-(2**63), 2**63 - 1),
)  # fmt: skip


def test_a_publish_frame_has_its_golden_bytes() -> None:
    frame = wire.pack_publish([OutgoingRecord(bytes(range(16)), "memory/a/b/v1/", "ü", b"xyz")], 7, False)
    assert frame.hex() == (
        "03" "00" "0100" "0700000000000000"
        "000102030405060708090a0b0c0d0e0f" "0e" "0200" "03000000"
        "6d656d6f72792f612f622f76312f" "c3bc" "78797a"
    )  # fmt: skip


def test_an_acknowledgement_has_its_golden_bytes() -> None:
    frame = wire.pack_ack(5, [(9, 2)])
    assert frame.hex() == "0405000000000000000100000009000000000000000200000000000000"


def test_a_batch_has_its_golden_bytes() -> None:
    frame = wire.pack_batch("memory/a/b/v1/", 3, [StampedRecord("memory/a/b/v1/", b"\1" * 16, "u", b"e", "s", 9, 2, 77)])
    assert frame.hex() == (
        "6d656d6f72792f612f622f76312f" "00" "01" "0300000000000000" "01000000"
        "0900000000000000" "0200000000000000" "4d00000000000000" "01010101010101010101010101010101" "01" "0100" "01000000"
        "73" "75" "65"
    )  # fmt: skip


@given(st.lists(outgoing, min_size=1, max_size=20), st.integers(0, 2**64 - 1), st.booleans())
def test_publish_frames_survive_the_way(records: list[OutgoingRecord], first: int, ephemeral: bool) -> None:
    back = wire.unpack_publish(wire.pack_publish(records, first, ephemeral))
    assert back[:2] == (first, ephemeral)
    assert [OutgoingRecord(i, t.decode(), u.decode(), e) for i, t, u, e in back[2]] == records


@given(st.lists(stamped, max_size=20), st.integers(0, 2**64 - 1))
def test_batches_survive_the_way(records: list[StampedRecord], epoch: int) -> None:
    assert wire.unpack_batch(wire.pack_batch("memory/a/b/v1/", epoch, records)) == ("memory/a/b/v1/", epoch, records)


@given(st.integers(0, 2**64 - 1), st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)), max_size=50))
def test_acknowledgements_survive_the_way(first: int, sequences: list[tuple[int, int]]) -> None:
    assert wire.unpack_ack(wire.pack_ack(first, sequences)) == (first, sequences)


@given(st.binary(max_size=50), st.lists(st.binary(max_size=50), max_size=5))
def test_ranges_survive_the_way(head: bytes, batches: list[bytes]) -> None:
    assert wire.unpack_range(wire.pack_range(head, batches)) == (head, batches)


@given(st.lists(outgoing, min_size=1, max_size=4), st.data())
def test_a_cut_publish_frame_is_refused_whole(records: list[OutgoingRecord], data: st.DataObject) -> None:
    frame = wire.pack_publish(records, 1, False)
    cut = data.draw(st.integers(0, len(frame) - 1))
    with pytest.raises(InvalidMessage):
        wire.unpack_publish(frame[:cut])
    with pytest.raises(InvalidMessage):
        wire.unpack_publish(frame + b"\0")


@given(st.binary(max_size=300))
def test_random_bytes_raise_only_typed_errors(noise: bytes) -> None:
    for unpack in (wire.unpack_publish, wire.unpack_batch, wire.unpack_ack, wire.unpack_range):
        with contextlib.suppress(InvalidMessage):
            unpack(noise)


def test_a_frame_that_claims_more_records_than_allowed_is_refused() -> None:
    frame = wire.PUBLISH_HEAD.pack(wire.Kind.PUBLISH, 0, wire.MAX_RECORDS_PER_PUBLISH + 1, 1)
    with pytest.raises(InvalidMessage, match="claims"):
        wire.unpack_publish(frame)
