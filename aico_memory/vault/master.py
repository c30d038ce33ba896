"""The vault: a random root key, wrapped by a passphrase, a key file or a development key; all other keys hang on it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from aico_memory.errors import ConfigurationInvalid, WrongKey
from aico_memory.paths import Home
from aico_memory.settings.security import SecuritySettings
from aico_memory.vault.permissions import (
    create_exclusive,
    finish_shredding,
    folder_lock,
    make_private_folder,
    replace_private,
    require_private_tree,
    shred,
)
from aico_memory.vault.sealer import KEY_BYTES, AeadSealer, PlainSealer, Sealer
from aico_memory.vault.unlocking import Source, UnlockSecret, read_master, unwrap_root, wrap_root
from aico_memory.vault.user_keys import NoUserKeys, UserKeys

MASTER_FILE = "master.json"
DEVELOPMENT_FILE = "development.key"


class Vault:
    """All keys of one home, in memory; sub-keys derive from the root key, user keys are wrapped by it."""

    def __init__(self, home: Home, root_key: bytes | None, source: Source, settings: SecuritySettings) -> None:
        self.source: Source = source
        self._root = root_key
        self.users: UserKeys | NoUserKeys = NoUserKeys()
        if root_key is not None:
            self.users = UserKeys(
                home.user_keys,
                derive_key(root_key, "user-keys"),
                derive_key(root_key, "user-key-names"),
                capacity=settings.user_key_cache,
                recheck_seconds=settings.user_key_recheck_seconds,
            )

    @property
    def encrypted(self) -> bool:
        """Whether anything is sealed at all."""
        return self._root is not None

    def store_key(self, store: str) -> bytes | None:
        """The 32-byte key of a store; None where encryption is off."""
        return None if self._root is None else derive_key(self._root, f"store/{store}")

    def sealer(self, store: str) -> Sealer:
        """The sealer of a store's own values, which belong to no user."""
        key = self.store_key(store)
        return PlainSealer() if key is None else AeadSealer(derive_key(key, "values"))

    def namer(self, store: str) -> Callable[[str], bytes]:
        """A function to 16 bytes that stand for a text in a store's keys; keyed, so that nobody can try out names."""
        key = self.store_key(store)
        naming = b"" if key is None else derive_key(key, "names")
        return lambda text: hashlib.blake2b(text.encode(), digest_size=16, key=naming).digest()

    def digest(self, store: str, text: str) -> bytes:
        """The same for a single text."""
        return self.namer(store)(text)


def open_vault(home: Home, settings: SecuritySettings, environment: Mapping[str, str] = os.environ) -> Vault:
    """Open the home's vault, or make it on first use.

    Raises WrongKey where what is given does not open it (nothing is touched),
    InsecurePermissions where key files are open to others, ConfigurationInvalid
    where the home was made with encryption the other way.
    """
    if home.keys.exists():
        require_private_tree(home.keys)
    if settings.encryption == "off":
        return _open_plain(home, settings)
    secret = UnlockSecret.from_environment(environment, settings)
    path = home.keys / MASTER_FILE
    if not path.exists():
        _make_master(home, secret, settings)
    master = read_master(path)
    if master.source == "off":
        raise ConfigurationInvalid(
            "This home was made with encryption off", "Set security.encryption to off, or choose a fresh home."
        )
    if master.source == "development":
        secret = _development_secret(home, secret)
    root = unwrap_root(master, secret)
    home.ensure()
    finish_shredding(home.user_keys)
    return Vault(home, root, master.source, settings)


def rotate_master(home: Home, old: UnlockSecret, new: UnlockSecret, settings: SecuritySettings) -> Source:
    """Wrap the same root key by another secret; no data is touched. Returns the new source.

    An empty `new` goes back to a development key. Running processes keep the root key they have.
    """
    require_private_tree(home.keys)
    path = home.keys / MASTER_FILE
    with folder_lock(home.keys):
        master = read_master(path)
        if master.source == "off":
            raise ConfigurationInvalid("This home was made with encryption off; there is no master key to rotate")
        root = unwrap_root(master, _development_secret(home, old) if master.source == "development" else old)
        if new.empty:
            create_exclusive(home.keys / DEVELOPMENT_FILE, os.urandom(KEY_BYTES))
            secret = _development_secret(home, new)
        else:
            secret = new
        replace_private(path, wrap_root(root, secret, secret.source, settings))
        if secret.source != "development":
            shred(home.keys / DEVELOPMENT_FILE)
    return secret.source


def derive_key(key: bytes, purpose: str) -> bytes:
    """A 32-byte sub-key by HKDF-SHA256; different purposes give independent keys."""
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=b"aico-memory/1/" + purpose.encode()).derive(key)


def _open_plain(home: Home, settings: SecuritySettings) -> Vault:
    path = home.keys / MASTER_FILE
    if not path.exists():
        _refuse_orphans(home)
        home.ensure()
        create_exclusive(path, wrap_root(b"", UnlockSecret(), "off", settings))
    if read_master(path).source != "off":
        raise ConfigurationInvalid(
            "This home was made with encryption on", "Set security.encryption to on, or choose a fresh home."
        )
    home.ensure()
    return Vault(home, None, "off", settings)


def _make_master(home: Home, secret: UnlockSecret, settings: SecuritySettings) -> None:
    _refuse_orphans(home)
    source = secret.source
    if not secret.empty:
        secret.check_usable()
    home.ensure()
    make_private_folder(home.keys)
    if secret.empty:
        create_exclusive(home.keys / DEVELOPMENT_FILE, os.urandom(KEY_BYTES))
        secret = _development_secret(home, secret)
    # Of several processes that start at once one makes it; all read what stands afterwards.
    create_exclusive(home.keys / MASTER_FILE, wrap_root(os.urandom(KEY_BYTES), secret, source, settings))


def _refuse_orphans(home: Home) -> None:
    """A home with user keys but no master key has lost it: a new one would lock everything out for good."""
    if home.user_keys.exists() and any(home.user_keys.glob("*.key")):
        raise WrongKey(
            f"{home.keys / MASTER_FILE} is missing although this home holds wrapped user keys", "Restore it from a backup."
        )


def _development_secret(home: Home, given: UnlockSecret) -> UnlockSecret:
    path = home.keys / DEVELOPMENT_FILE
    if not given.empty:
        raise WrongKey(
            f"This home is unlocked by its development key, not by a {given.source.replace('_', ' ')}",
            "Open it without AICO_MEMORY_PASSPHRASE and key file, or change it with `aico-memory keys rotate-master`.",
        )
    if not path.exists():
        raise WrongKey(f"The development key {path} is missing", f"Restore {path} from a backup.")
    return UnlockSecret(key_file=path, source="development")
