"""What only the store on disk has: keys, secrecy, a growing map, kills."""

import os
import random
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.domain.working.buffer import BufferEntry
from aico_memory.errors import StorageFull, StoreCorrupt, StoreLocked, WrongKey
from aico_memory.paths import Home
from aico_memory.settings.security import SecuritySettings
from aico_memory.stores.working import LmdbWorkingStore
from aico_memory.vault.master import open_vault
from tests.stores.working_store_suite import a_message, acknowledge, numbers, put, sweep

SECRET = "the orchard behind the mill"
WRITER = Path(__file__).with_name("acknowledging_writer.py")


def fill(store: LmdbWorkingStore) -> None:
    """Every kind of value, each with the secret in it, and some of them changed and removed again."""
    for number in range(60):
        message = a_message(number, user=f"user of {SECRET}", session=f"session of {SECRET}")
        message.content = message.name = message.metadata_json = f"{SECRET} {number}"
        put(store, message)
    acknowledge(store, f"user of {SECRET}", *range(40))
    sweep(store, 1020)
    entry = BufferEntry(SECRET, SECRET, 0.5, 1, 1)
    store.update_buffer(f"user of {SECRET}", f"session of {SECRET}", lambda held: (entry,), 1)
    with store.transaction() as transaction:
        for number in range(3):
            transaction.emit(OutgoingRecord(bytes([number]) * 16, "memory/bus/dead_letter/v1/", SECRET, SECRET.encode()))
    store.settle_outgoing([bytes(16)])


def test_no_file_holds_a_word_or_a_name_in_the_clear(opened):
    fill(opened.store)
    while_open = opened.files()
    opened.reopen()
    for files in (while_open, opened.files()):
        for name, (content, _) in files.items():
            assert b"orchard" not in content, name
    for path in opened.home.root.rglob("*"):
        assert "orchard" not in str(path)
        assert path.is_dir() or b"orchard" not in path.read_bytes(), path


def test_without_encryption_the_search_would_find_it(opened_plain):
    fill(opened_plain.store)
    assert b"orchard" in opened_plain.files()["data.mdb"][0]


def test_values_cannot_be_moved_to_another_place(opened):
    put(opened.store, a_message(1), a_message(2))
    with opened.store._environment.write() as raw:
        table = opened.store._environment.table("messages")
        (one, first), (other, second) = list(raw.cursor(db=table))
        raw.put(one, second, db=table)
        raw.put(other, first, db=table)
    assert opened.store.read("ada") == []
    assert opened.store.counts().unreadable == 2


def test_another_key_is_refused_and_touches_nothing(opened, tmp_path):
    put(opened.store, a_message(1))
    opened.store.close()
    before = opened.files()
    stranger = open_vault(Home(tmp_path / "elsewhere"), SecuritySettings(), {})
    plain = open_vault(Home(tmp_path / "plain"), SecuritySettings(encryption="off"), {})
    for vault in (stranger, plain):
        with pytest.raises(WrongKey):
            LmdbWorkingStore.open(opened.folder, vault, 1 << 20)
        assert opened.files() == before
    assert numbers(opened.reopen().read("ada")) == [1]


def test_a_key_is_refused_where_the_store_was_made_without(opened_plain, tmp_path):
    opened_plain.store.close()
    before = opened_plain.files()
    sealed = open_vault(Home(tmp_path / "elsewhere"), SecuritySettings(), {})
    with pytest.raises(WrongKey, match="encryption off"):
        LmdbWorkingStore.open(opened_plain.folder, sealed, 1 << 20)
    assert opened_plain.files() == before


def test_a_second_owner_is_refused(opened):
    with pytest.raises(StoreLocked, match=str(os.getpid())):
        opened.open()


def test_files_are_private(opened):
    put(opened.store, a_message(1))
    modes = {name: stat.S_IMODE(mode) for name, (_, mode) in opened.files().items()}
    assert set(modes.values()) == {0o600}, modes
    assert stat.S_IMODE(opened.folder.stat().st_mode) == 0o700


def test_what_is_no_store_is_called_damaged(opened):
    opened.store.close()
    (opened.folder / "data.mdb").write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreCorrupt):
        opened.reopen()
    (opened.folder / "data.mdb").unlink()
    opened.store = opened.open()


def test_the_map_grows_as_the_store_does(opened):
    first = opened.store._environment.map_bytes
    for start in range(0, 3000, 100):
        put(opened.store, *(a_message(number) for number in range(start, start + 100)))
    assert opened.store._environment.map_bytes > first
    assert len(opened.reopen().read("ada", limit=5000)) == 3000


def test_a_batch_that_does_not_fit_is_refused_whole_and_fits_when_tried_again(opened):
    batch = [a_message(number) for number in range(8000)]
    refusals = 0
    while True:
        try:
            put(opened.store, *batch)
            break
        except StorageFull:
            refusals += 1
            assert opened.store.counts().messages == 0
    assert 0 < refusals < 10
    assert opened.store.counts().messages == 8000


def test_readers_go_on_while_the_map_grows(opened):
    stop = threading.Event()
    failures, reads = [], []

    def read() -> None:
        while not stop.is_set():
            try:
                reads.append(len(opened.store.read("ada", "s", 20)))
            except Exception as error:
                failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for start in range(0, 2000, 50):
        put(opened.store, *(a_message(number) for number in range(start, start + 50)))
    stop.set()
    for reader in readers:
        reader.join()
    assert not failures
    assert opened.store._environment.map_bytes > 1 << 20 and max(reads) == 20


def test_what_was_sealed_with_a_destroyed_key_is_gone_and_the_user_may_begin_anew(opened):
    put(opened.store, a_message(1), a_message(2, user="bob"))
    with opened.store.transaction() as transaction:
        transaction.emit(OutgoingRecord(bytes(16), "memory/bus/dead_letter/v1/", "ada", b"words"))
        transaction.emit(OutgoingRecord(bytes([1]) * 16, "memory/bus/dead_letter/v1/", "bob", b"words"))
    opened.vault.users.destroy("ada")
    assert opened.store.read("ada") == opened.store.experiences("ada", 10) == []
    assert [record.user for record in opened.store.outgoing(10)] == ["bob"]
    put(opened.store, a_message(3))
    assert numbers(opened.store.read("ada")) == [3]
    assert acknowledge(opened.store, "ada", 1, 3) == 2
    assert numbers(opened.store.read("bob")) == [2]


def test_a_closed_store_says_so(opened):
    opened.store.close()
    opened.store.close()
    with pytest.raises(RuntimeError, match="closed"):
        opened.store.read("ada")
    with pytest.raises(RuntimeError, match="closed"), opened.store.transaction():
        pass


@pytest.mark.faults
def test_after_a_kill_everything_reported_is_there_and_nothing_half(opened):
    opened.store.close()
    rng = random.Random(11)
    for _ in range(6):
        arguments = [sys.executable, str(WRITER), str(opened.home.root), "ada"]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
            for _ in range(rng.randrange(1, 120)):
                reported = int(writer.stdout.readline())
            writer.kill()
            rest = writer.stdout.read().splitlines()
        reported = int(rest[-1]) if rest else reported
        store = opened.reopen()
        cursor = store.cursor()[1]
        held = store.read("ada", "s", 10**6)
        assert reported <= cursor <= reported + 1
        assert numbers(held) == list(range(1, cursor + 1))
        assert [message.consolidated for message in held] == [number <= cursor // 2 for number in range(1, cursor + 1)]
        assert numbers(store.experiences("ada", 10**6)) == list(range(cursor // 2 + 1, cursor + 1))
        assert len(store.outgoing(10**6)) == cursor
        store.close()
