"""The consumer state on SQL, and its twin."""

from importlib.resources import files

import pytest

from aico_memory.stores.sql import Database, MemoryConsumerState, SqlConsumerState
from tests.stores.consumer_state_suite import ConsumerStateSuite

KEY = bytes(range(32))


class Opened:
    """A database that can be closed and opened again."""

    def __init__(self, folder, key):
        self.path = folder / "store" / "state.db"
        self.key = key
        (folder / "migrations").mkdir()
        self.migrations = folder / "migrations"
        self.database = self.open()

    def open(self):
        return Database.open(self.path, self.key, self.migrations)

    def reopen(self):
        self.database.close()
        self.database = self.open()
        return SqlConsumerState(self.database)


class TestTheSqlState(ConsumerStateSuite):
    @pytest.fixture(params=[KEY, None], ids=["encrypted", "plain"])
    def opened(self, tmp_path, request):
        opened = Opened(tmp_path, request.param)
        yield opened
        opened.database.close()

    @pytest.fixture
    def state(self, opened):
        return SqlConsumerState(opened.database)

    @pytest.fixture
    def reopened(self, opened):
        return opened.reopen


class TestTheTwin(ConsumerStateSuite):
    @pytest.fixture
    def state(self):
        return MemoryConsumerState()


def test_every_database_gets_the_bus_tables_from_one_file():
    text = (files("aico_memory.stores.sql") / "migrations" / "000_bus.sql").read_text()
    assert all(table in text for table in ("bus_cursor", "bus_outbox", "bus_attempts"))
