"""Migrations: forward only, each whole, with a sealed copy before."""

import pytest
from sqlcipher3 import dbapi2

from aico_memory.errors import StoreCorrupt, VersionMismatch
from aico_memory.stores.sql import Database


def tables(database: Database) -> set[str]:
    with database.read() as connection:
        return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def test_new_migrations_run_once_in_order(place):
    with place.open() as database:
        assert "more" not in tables(database)
    place.migration("003_fill.sql", "INSERT INTO more (text) VALUES ('a;b'); INSERT INTO more (text) VALUES ('c');")
    place.migration("002_more.sql", "CREATE TABLE more (text TEXT) STRICT; -- not; a; statement\n")
    for _ in range(2):
        with place.open() as database, database.read() as connection:
            assert connection.execute("SELECT text FROM more").fetchall() == [("a;b",), ("c",)]


def test_a_trigger_with_semicolons_is_one_statement(place):
    place.migration("002_trigger.sql", """
        CREATE TRIGGER shout AFTER INSERT ON facts BEGIN
            UPDATE facts SET text = upper(text) WHERE id = new.id;
            UPDATE facts SET text = text || ';' WHERE id = new.id;
        END;
    """)  # fmt: skip
    with place.open() as database:
        with database.write() as connection:
            connection.execute("INSERT INTO facts (text) VALUES ('hush')")
        with database.read() as connection:
            assert connection.execute("SELECT text FROM facts").fetchone() == ("HUSH;",)


def test_a_migration_that_fails_leaves_the_database_as_it_was(place):
    with place.open() as database, database.write() as connection:
        connection.execute("INSERT INTO facts (text) VALUES ('kept')")
    place.migration("002_bad.sql", "CREATE TABLE half (id INTEGER); DELETE FROM facts; CREATE TABLE facts (id INTEGER);")
    with pytest.raises(dbapi2.OperationalError):
        place.open()
    (place.migrations / "002_bad.sql").unlink()
    with place.open() as database:
        assert "half" not in tables(database)
        with database.read() as connection:
            assert connection.execute("SELECT text FROM facts").fetchall() == [("kept",)]


def test_a_copy_is_made_before_and_opens_with_the_key_as_it_was(place):
    with place.open() as database, database.write() as connection:
        connection.execute("INSERT INTO facts (text) VALUES ('before')")
    place.migration("002_drop.sql", "DROP TABLE facts;")
    with place.open() as database:
        assert "facts" not in tables(database)
    copy = place.folder / "facts.db.before-migration"
    copied = dbapi2.connect(str(copy))
    copied.execute(f"PRAGMA key = \"x'{place.key.hex()}'\"")
    assert copied.execute("SELECT text FROM facts").fetchall() == [("before",)]
    copied.close()


def test_no_copy_is_made_where_nothing_is_to_be_done(place):
    place.open().close()
    place.open().close()
    assert not list(place.folder.glob("*.before-migration"))


def test_an_edited_old_migration_is_an_error(place):
    place.open().close()
    place.migration("001_facts.sql", "CREATE TABLE facts (id INTEGER PRIMARY KEY, text TEXT) STRICT;")
    with pytest.raises(StoreCorrupt, match="001_facts"):
        place.open()


def test_a_database_of_a_newer_version_is_refused(place):
    place.migration("002_newer.sql", "CREATE TABLE newer (id INTEGER) STRICT;")
    place.open().close()
    (place.migrations / "002_newer.sql").unlink()
    with pytest.raises(VersionMismatch):
        place.open()


@pytest.mark.parametrize("name", ["1_short.sql", "002-dash.sql", "001_again.sql"])
def test_a_badly_named_migration_is_an_error(place, name):
    place.migration(name, "SELECT 1;")
    with pytest.raises(ValueError, match=name):
        place.open()
