import pytest

from aico_memory.paths import Home
from aico_memory.settings.security import SecuritySettings
from aico_memory.stores.working import LmdbWorkingStore
from aico_memory.vault.master import open_vault

MAP = 1 << 20


class Opened:
    """A working store on disk that can be closed and opened again."""

    def __init__(self, home: Home, encryption: str) -> None:
        self.home = home
        self.folder = home.store("working")
        self.settings = SecuritySettings(encryption=encryption)
        self.vault = open_vault(home, self.settings, {})
        self.store = self.open()

    def open(self) -> LmdbWorkingStore:
        return LmdbWorkingStore.open(self.folder, self.vault, MAP)

    def reopen(self) -> LmdbWorkingStore:
        self.store.close()
        self.store = self.open()
        return self.store

    def files(self):
        return {path.name: (path.read_bytes(), path.stat().st_mode) for path in self.folder.iterdir()}


@pytest.fixture
def opened(tmp_path):
    opened = Opened(Home(tmp_path), "on")
    yield opened
    opened.store.close()


@pytest.fixture
def opened_plain(tmp_path):
    opened = Opened(Home(tmp_path), "off")
    yield opened
    opened.store.close()
