"""What was read is at hand until something is written."""

import pytest

from aico_memory.stores.sql import Database
from aico_memory.stores.sql.latest import Latest


class Counted:
    """The number of facts; how often it was looked up."""

    def __init__(self, database: Database) -> None:
        self.looks = 0
        self.latest = Latest(database, self._read)

    def _read(self, connection) -> int:
        self.looks += 1
        return int(connection.execute("SELECT count(*) FROM facts").fetchone()[0])


def add(database: Database, text: str = "x") -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO facts (text) VALUES (?)", (text,))


def test_it_is_read_once_a_transaction(place):
    with place.open() as database:
        counted = Counted(database)
        assert [counted.latest() for _ in range(3)] == [0, 0, 0]
        assert counted.looks == 1
        add(database)
        assert [counted.latest() for _ in range(3)] == [1, 1, 1]
        assert counted.looks == 2


def test_what_is_taken_back_changes_nothing(place):
    with place.open() as database:
        counted = Counted(database)
        with pytest.raises(RuntimeError, match="on purpose"), database.write() as connection:
            connection.execute("INSERT INTO facts (text) VALUES ('x')")
            assert counted.latest() == 0
            raise RuntimeError("on purpose")
        assert counted.latest() == 0


def test_inside_a_snapshot_it_is_that_of_the_snapshot(place):
    with place.open() as database:
        counted = Counted(database)
        add(database)
        with database.read() as connection:
            assert connection.execute("SELECT count(*) FROM facts").fetchone()[0] == 1
            add(database)
            assert counted.latest() == 1
        # What an older snapshot showed is not kept.
        assert counted.latest() == 2
