"""The working store on LMDB and its twin under the same suites."""

from itertools import count

import pytest

from aico_memory.paths import Home
from aico_memory.settings.security import SecuritySettings
from aico_memory.stores.working import LmdbWorkingStore, MemoryWorkingStore
from aico_memory.vault.master import open_vault
from tests.stores.consumer_state_suite import ConsumerStateSuite
from tests.stores.working_store_suite import WorkingStoreSuite, alike


class _OnDisk:
    @pytest.fixture
    def store(self, opened):
        return opened.store

    @pytest.fixture
    def state(self, opened):
        return opened.store

    @pytest.fixture
    def reopened(self, opened):
        return opened.reopen


class _InMemory:
    @pytest.fixture
    def store(self):
        return MemoryWorkingStore()

    @pytest.fixture
    def state(self):
        return MemoryWorkingStore()


class TestTheStoreOnDisk(_OnDisk, WorkingStoreSuite):
    pass


class TestTheCursorOnDisk(_OnDisk, ConsumerStateSuite):
    pass


class TestTheTwin(_InMemory, WorkingStoreSuite):
    pass


class TestTheCursorOfTheTwin(_InMemory, ConsumerStateSuite):
    pass


class TestTheStoreWithoutEncryption(WorkingStoreSuite):
    @pytest.fixture
    def store(self, opened_plain):
        return opened_plain.store

    @pytest.fixture
    def reopened(self, opened_plain):
        return opened_plain.reopen


def test_any_script_leaves_store_and_twin_alike(tmp_path):
    vault = open_vault(Home(tmp_path), SecuritySettings(), {})
    folders = count()
    alike(lambda: LmdbWorkingStore.open(tmp_path / f"store-{next(folders)}", vault, 1 << 20), MemoryWorkingStore)
