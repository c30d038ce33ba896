"""A client with a spool loses nothing while the bus is away."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from aico_memory import MemoryClient
from aico_memory.bus.link import Acknowledgement
from aico_memory.client.spool import Spool
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import (
    AccessDenied,
    AicoMemoryError,
    BusUnavailable,
    DeadlineExceeded,
    RateLimited,
    StorageFull,
    WrongKey,
)
from aico_memory.paths import Home
from aico_memory.settings.bus import BusSettings
from aico_memory.vault.sealer import AeadSealer

TOPIC = "memory/working/message/v1/"
PATIENCE = 60.0


def said(text: str) -> dict[str, str]:
    return {"role": "user", "content": text, "id": str(uuid.uuid4())}


@contextmanager
def impatient() -> Iterator[None]:
    """Who connects here waits a second at most for a bus that is away."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "request"):
            patch.setenv(f"AICO_MEMORY_SET__link__{name}_seconds", "1")
        yield


def settled(client: MemoryClient) -> None:
    """Wait until the spool is empty."""
    deadline = time.monotonic() + PATIENCE
    while client._client._session.spooled:
        with pytest.raises(DeadlineExceeded):
            client.flush(0.05)
        assert time.monotonic() < deadline


def test_what_is_added_while_the_bus_is_away_is_published_in_order_under_its_ids(home: Home, broker, connect) -> None:
    messages = [said(f"n{number}") for number in range(30)]
    with MemoryClient.connect(home.root, spool=True) as client:
        client.add(messages[:10], "u")
        broker.stop()
        for message in messages[10:]:
            assert client.add([message], "u") == [message["id"]]
        broker.start()
        settled(client)
        last = client.add([said("last")], "u")
        assert client._client._session.published[TOPIC] == 31
    assert [str(record.id) for record in connect("operator").read(TOPIC)] == [message["id"] for message in messages] + last
    assert list((home.root / "spool").iterdir()) == []


def test_connecting_needs_no_bus_and_another_client_publishes_what_was_left(home: Home, make_broker, connect) -> None:
    message = said("a secret nobody else has")
    with impatient(), MemoryClient.connect(home.root, spool=True) as client:
        assert not client.connected
        client.add([message], "u")
        with pytest.raises(BusUnavailable):
            client.messages("u")
    (file,) = (home.root / "spool").iterdir()
    assert b"secret" not in file.read_bytes()
    assert file.stat().st_mode & 0o077 == 0
    make_broker()
    with MemoryClient.connect(home.root, spool=True) as client:
        settled(client)
    assert [str(record.id) for record in connect("operator").read(TOPIC)] == [message["id"]]


def test_two_clients_do_not_share_a_file(home: Home) -> None:
    connect = partial(MemoryClient.connect, home.root, spool=True)
    with impatient(), connect() as first, connect() as second:
        first.add([said("one")], "u")
        second.add([said("two")], "u")
        assert len(list((home.root / "spool").iterdir())) == 2


def records(count: int) -> list[OutgoingRecord]:
    return [OutgoingRecord(uuid.uuid4().bytes, TOPIC, "u", b"x" * 100) for _ in range(count)]


def contents(spool: Spool) -> list[OutgoingRecord]:
    found: list[OutgoingRecord] = []
    for file in spool._files:
        found += spool._read(file, 0)[1]
    return found


@pytest.mark.parametrize("cut", [1, 3, 20, 150])
def test_a_torn_tail_is_cut_and_what_stood_before_it_stays(tmp_path: Path, cut: int) -> None:
    sealer = AeadSealer(b"k" * 32)
    spool = Spool(tmp_path, "default", sealer, 1_000_000)
    kept = records(3)
    spool.append(kept)
    spool.close()
    path = tmp_path / "default.0.spool"
    path.write_bytes(path.read_bytes()[:-cut])
    again = Spool(tmp_path, "default", sealer, 1_000_000)
    more = records(1)
    again.append(more)
    assert contents(again) == kept[:2] + more
    again.close()


def test_a_tail_that_was_garbled_by_a_power_cut_is_cut_too(tmp_path: Path) -> None:
    sealer = AeadSealer(b"k" * 32)
    spool = Spool(tmp_path, "default", sealer, 1_000_000)
    kept = records(2)
    spool.append(kept)
    spool.close()
    path = tmp_path / "default.0.spool"
    path.write_bytes(path.read_bytes()[:-50] + bytes(50))
    again = Spool(tmp_path, "default", sealer, 1_000_000)
    assert contents(again) == kept[:1]
    again.close()


def test_a_spool_of_another_key_is_said_and_not_touched(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "default", AeadSealer(b"k" * 32), 1_000_000)
    spool.append(records(3))
    spool.close()
    before = (tmp_path / "default.0.spool").read_bytes()
    other = Spool(tmp_path, "default", AeadSealer(b"o" * 32), 1_000_000)
    with pytest.raises(WrongKey, match="spool"):
        other.empty(lambda records: [], lambda topic, acknowledgement: None, 1)
    other.close()
    assert (tmp_path / "default.0.spool").read_bytes() == before


def test_a_full_spool_refuses_and_keeps_what_it_has(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "default", AeadSealer(b"k" * 32), 1000)
    kept = records(3)
    spool.append(kept)
    with pytest.raises(StorageFull, match="spool"):
        spool.append(records(5))
    assert contents(spool) == kept
    spool.close()


def test_a_record_the_bus_refuses_is_set_aside_and_the_rest_goes_on(home: Home, broker, connect, capsys) -> None:
    with MemoryClient.connect(home.root, spool=True) as client:
        broker.stop()
        client.publish("memory/working/sweep/v1/", {"firing_id": "not mine to say"})
        message = said("after it")
        client.add([message], "u")
        broker.start()
        settled(client)
    assert [str(record.id) for record in connect("operator").read(TOPIC)] == [message["id"]]
    assert [path.name for path in (home.root / "spool").iterdir()] == ["default.refused"]


class FullBus:
    """Answers each of its first rounds with an error, and takes everything from then on."""

    def __init__(self, *errors: AicoMemoryError) -> None:
        self.errors = list(errors)
        self.taken: list[OutgoingRecord] = []

    def publish(self, records: Sequence[OutgoingRecord]) -> list[Future[Acknowledgement]]:
        told: list[Future[Acknowledgement]] = [Future() for _ in records]
        error = self.errors.pop(0) if self.errors else None
        for record, future in zip(records, told, strict=True):
            if record.topic != TOPIC:
                future.set_exception(AccessDenied("not on this topic"))
            elif error is not None:
                future.set_exception(error)
            else:
                self.taken.append(record)
                future.set_result(Acknowledgement(record.event_id, len(self.taken), len(self.taken)))
        return told


def test_what_a_full_bus_cannot_take_is_given_again_until_it_is_taken(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "default", AeadSealer(b"k" * 32), 1_000_000, again_seconds=0.001)
    kept = records(3)
    refused = OutgoingRecord(uuid.uuid4().bytes, "memory/working/sweep/v1/", "u", b"x")
    spool.append([refused, *kept])
    bus = FullBus(StorageFull("full"), RateLimited("too fast"), DeadlineExceeded("the window is full"))
    spool.empty(bus.publish, lambda topic, acknowledgement: None, PATIENCE)
    assert bus.taken == kept
    assert not spool.pending
    spool.close()
    (aside,) = tmp_path.iterdir()
    # Once, however often the rest was given again.
    assert aside.stat().st_size < 2 * len(refused.envelope) + 200


def test_a_bus_that_is_away_ends_the_emptying_and_what_waits_stays(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "default", AeadSealer(b"k" * 32), 1_000_000)
    kept = records(3)
    spool.append(kept)
    spool.empty(FullBus(BusUnavailable("gone")).publish, lambda topic, acknowledgement: None, PATIENCE)
    assert contents(spool) == kept
    spool.close()


def test_a_bus_that_comes_back_with_a_full_disk_takes_what_was_kept_once_there_is_room(
    home: Home, make_broker, connect
) -> None:
    message = said("kept")
    with MemoryClient.connect(home.root, spool=True) as client:
        client.add([message], "u")
        full = make_broker(BusSettings(segment_first_bytes=1 << 20, min_free_bytes=1 << 60))
        deadline, operator = time.monotonic() + PATIENCE, connect("operator")
        while not operator.control("statistics")["refused"].get("storage_full"):
            assert time.monotonic() < deadline
        assert client._client._session.spooled
        full.stop()
        make_broker()
        settled(client)
    assert [str(record.id) for record in connect("operator").read(TOPIC)] == [message["id"]]
    assert list((home.root / "spool").iterdir()) == []
