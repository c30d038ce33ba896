"""Locking a home with another secret."""

from __future__ import annotations

import os
from pathlib import Path

from aico_memory.errors import InvalidMessage
from aico_memory.paths import Home
from aico_memory.settings.load import load_settings
from aico_memory.vault.master import rotate_master
from aico_memory.vault.unlocking import UnlockSecret


def rotate_by_environment(home: Home, passphrase_variable: str, key_file: str, to_development: bool) -> str:
    """Rotate to the one new secret that is named; the present one comes from the environment as for `up`."""
    if sum(map(bool, (passphrase_variable, key_file, to_development))) != 1:
        raise InvalidMessage(
            "Name one new secret", "Give --new-passphrase-env VARIABLE, --new-key-file FILE or --to-development."
        )
    if passphrase_variable:
        passphrase = os.environ.get(passphrase_variable, "")
        if not passphrase:
            raise InvalidMessage(f"The variable {passphrase_variable} is empty", "Put the new passphrase into it.")
        new = UnlockSecret.of_passphrase(passphrase)
    else:
        new = UnlockSecret.of_key_file(Path(key_file).expanduser()) if key_file else UnlockSecret()
    settings = load_settings(home).security
    return rotate_master(home, UnlockSecret.from_environment(os.environ, settings), new, settings)
