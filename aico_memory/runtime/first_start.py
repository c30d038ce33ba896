"""What a home needs before its first process starts: folders, a vault that opens, keys and identities."""

from __future__ import annotations

from collections.abc import Mapping

from aico_memory.paths import Home
from aico_memory.runtime.deployment import WORKERS
from aico_memory.settings.root import Settings
from aico_memory.vault.curve_keys import ensure_identity, init_curve
from aico_memory.vault.master import open_vault

# Name and role of the identities that every deployment has beside its workers'.
CLIENT = ("default", "client")
OPERATOR = ("operator", "operator")


def check_key(home: Home, settings: Settings, environment: Mapping[str, str]) -> None:
    """WrongKey where this home does not open; called before a lock, a log or anything else in it is touched."""
    if home.keys.exists() and any(home.keys.iterdir()):
        open_vault(home, settings.security, environment)


def prepare_home(home: Home, settings: Settings, environment: Mapping[str, str]) -> str:
    """Make what is missing and open the vault once, so that a wrong key fails here; returns where the key came from."""
    home.ensure()
    vault = open_vault(home, settings.security, environment)
    init_curve(home)
    for name, role in (CLIENT, OPERATOR, *((worker, worker) for worker in WORKERS)):
        ensure_identity(home, name, role)
    return vault.source
