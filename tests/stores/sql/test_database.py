"""The encrypted database: keys, owners, transactions, damage."""

import os
import stat
import threading

import pytest
from sqlcipher3 import dbapi2

from aico_memory.errors import StorageFull, StoreCorrupt, StoreLocked, WrongKey
from aico_memory.stores.sql import Database

SECRET = "the orchard behind the mill"


def write_fact(database: Database, text: str) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO facts (text) VALUES (?)", (text,))


def facts(database: Database) -> list[str]:
    with database.read() as connection:
        return [row[0] for row in connection.execute("SELECT text FROM facts ORDER BY id")]


def test_what_was_committed_is_there_after_opening_again(place):
    with place.open() as database:
        write_fact(database, SECRET)
    with place.open() as database:
        assert facts(database) == [SECRET]


def test_no_file_of_the_folder_holds_a_word_in_the_clear(place):
    with place.open() as database:
        for number in range(200):
            write_fact(database, f"{SECRET} {number}")
        with database.write() as connection:
            connection.execute("DELETE FROM facts WHERE id % 2 = 0")
        while_open = place.files()
    place.migration("002_more.sql", "CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT;")
    place.open().close()
    after = place.files()
    assert "facts.db-wal" in while_open and "facts.db.before-migration" in after
    for name, (content, _) in {**while_open, **after}.items():
        assert SECRET.encode() not in content, name
        assert b"facts (" not in content, name


def test_without_encryption_the_search_would_find_it(place):
    with place.open(key=None) as database:
        write_fact(database, SECRET)
        assert any(SECRET.encode() in content for content, _ in place.files().values())


@pytest.mark.parametrize("given", [b"x" * 32, None], ids=["another key", "no key"])
def test_a_wrong_key_is_refused_and_touches_nothing(place, given):
    with place.open() as database:
        write_fact(database, SECRET)
    before = place.files()
    with pytest.raises(WrongKey) as caught:
        place.open(key=given)
    assert caught.value.mend
    assert place.files() == before


def test_a_wrong_key_touches_nothing_even_where_a_kill_left_a_log(place):
    database = place.open()
    write_fact(database, SECRET)
    left = place.files()
    database.close()
    for name, (content, _) in left.items():
        if not name.endswith("-shm"):
            (place.folder / name).write_bytes(content)
    before = place.files()
    assert before["facts.db-wal"][0]
    with pytest.raises(WrongKey):
        place.open(key=b"x" * 32)
    assert place.files() == before
    with place.open() as database:
        assert facts(database) == [SECRET]


def test_a_key_is_refused_where_the_database_was_made_without(place):
    place.open(key=None).close()
    before = place.files()
    with pytest.raises(WrongKey, match="encryption off"):
        place.open()
    assert place.files() == before


def test_a_wrong_key_is_known_without_the_proof_too(place):
    place.open().close()
    (place.folder / "facts.db.proof").unlink()
    with pytest.raises(WrongKey):
        place.open(key=b"x" * 32)
    place.open().close()
    assert (place.folder / "facts.db.proof").exists()


def test_a_second_owner_is_refused_until_the_first_has_closed(place):
    with place.open(), pytest.raises(StoreLocked, match=str(os.getpid())):
        place.open()
    place.open().close()


def test_files_are_private(place):
    with place.open() as database:
        write_fact(database, SECRET)
        modes = {name: stat.S_IMODE(mode) for name, (_, mode) in place.files().items()}
    assert set(modes.values()) == {0o600}, modes
    assert stat.S_IMODE(place.folder.stat().st_mode) == 0o700


def test_an_exception_rolls_back(place):
    with place.open() as database:
        with pytest.raises(KeyError), database.write() as connection:
            connection.execute("INSERT INTO facts (text) VALUES ('half')")
            raise KeyError
        assert facts(database) == []
        write_fact(database, "whole")
        assert facts(database) == ["whole"]


def test_a_broken_rule_of_the_schema_reaches_the_caller_as_it_is(place):
    with place.open() as database, pytest.raises(dbapi2.IntegrityError), database.write() as connection:
        connection.execute("INSERT INTO facts (text) VALUES (NULL)")


def test_a_write_inside_a_write_is_refused_and_the_outer_one_goes_on(place):
    with place.open() as database:
        with database.write() as connection:
            connection.execute("INSERT INTO facts (text) VALUES ('outer')")
            with pytest.raises(RuntimeError), database.write():
                pass
        assert facts(database) == ["outer"]


def test_a_read_sees_one_snapshot_however_often_it_looks(place):
    with place.open() as database:
        write_fact(database, "before")
        with database.read() as connection:
            first = connection.execute("SELECT count(*) FROM facts").fetchone()
            writer = threading.Thread(target=write_fact, args=(database, "meanwhile"))
            writer.start()
            writer.join()
            with database.read() as nested:
                assert nested.execute("SELECT count(*) FROM facts").fetchone() == first == (1,)
        assert facts(database) == ["before", "meanwhile"]


def test_a_reader_cannot_write(place):
    with place.open() as database, pytest.raises(dbapi2.OperationalError), database.read() as connection:
        connection.execute("INSERT INTO facts (text) VALUES ('by the back door')")


def test_readers_in_other_threads_go_on_while_a_write_is_open(place):
    with place.open() as database:
        write_fact(database, "settled")
        seen = []
        with database.write() as connection:
            connection.execute("INSERT INTO facts (text) VALUES ('not yet')")
            readers = [threading.Thread(target=lambda: seen.append(facts(database))) for _ in range(3)]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
        assert seen == [["settled"]] * 3


def test_the_connections_are_set_up_for_safety(place):
    with place.open() as database:
        for opened in (database.read, database.write):
            with opened() as connection:
                found = {
                    name: connection.execute(f"PRAGMA {name}").fetchone()[0]
                    for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "temp_store")
                }
            assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1, "temp_store": 2}


def test_a_changed_byte_is_found_at_the_next_start(place):
    with place.open() as database:
        for number in range(500):
            write_fact(database, f"{SECRET} {number}")
    content = bytearray(place.path.read_bytes())
    content[len(content) // 2] ^= 1
    place.path.write_bytes(content)
    with pytest.raises(StoreCorrupt):
        place.open()


def test_a_damaged_first_page_is_damage_and_not_a_wrong_key(place):
    with place.open() as database:
        write_fact(database, SECRET)
    content = bytearray(place.path.read_bytes())
    content[100] ^= 1
    place.path.write_bytes(content)
    with pytest.raises(StoreCorrupt):
        place.open()


def test_a_full_disk_refuses_the_write_whole_and_goes_on_when_there_is_room(place):
    with place.open() as database:
        write_fact(database, "before")
        with database.write() as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages + 1}").fetchall()
        with pytest.raises(StorageFull, match=r"facts\.db"), database.write() as connection:
            connection.execute("INSERT INTO facts (text) VALUES ('small')")
            connection.execute("INSERT INTO facts (text) VALUES (?)", ("large" * 10_000,))
        assert facts(database) == ["before"]
        with database.write() as connection:
            connection.execute("PRAGMA max_page_count = 1000000").fetchall()
        write_fact(database, "after")
        assert facts(database) == ["before", "after"]


def test_a_closed_database_says_so(place):
    database = place.open()
    database.close()
    database.close()
    with pytest.raises(RuntimeError, match="closed"), database.read():
        pass
