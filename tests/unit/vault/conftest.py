import pytest

from aico_memory.paths import Home
from aico_memory.settings.security import SecuritySettings
from aico_memory.vault.master import open_vault


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


@pytest.fixture
def quick():
    """Argon2id at its cheapest."""
    return SecuritySettings(argon2_time=1, argon2_memory_kib=64)


@pytest.fixture
def opened(home, quick):
    """Open the home's vault with a passphrase, a key file or neither."""

    def open_with(passphrase="", key_file=None, settings=quick):
        environment = {"AICO_MEMORY_PASSPHRASE": passphrase}
        if key_file is not None:
            environment["AICO_MEMORY_KEY_FILE"] = str(key_file)
        return open_vault(home, settings, environment)

    return open_with


@pytest.fixture
def everything(home):
    """Every file and folder of the home, with content and mode."""

    def look():
        return {
            path.relative_to(home.root): (path.stat().st_mode, path.read_bytes() if path.is_file() else None)
            for path in sorted(home.root.rglob("*"))
        }

    return look


@pytest.fixture
def key_file(tmp_path):
    path = tmp_path / "unlock.key"
    path.write_bytes(bytes(range(64)))
    path.chmod(0o600)
    return path
