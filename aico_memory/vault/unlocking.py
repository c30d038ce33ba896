"""What unlocks the root key, and the wrapped root key in its file (`keys/master.json`)."""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self, cast

from argon2.low_level import Type, hash_secret_raw
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from aico_memory.errors import ConfigurationInvalid, StoreCorrupt, WrongKey
from aico_memory.settings.security import SecuritySettings
from aico_memory.vault.permissions import require_private
from aico_memory.vault.sealer import KEY_BYTES, AeadSealer

PASSPHRASE_VARIABLE = "AICO_MEMORY_PASSPHRASE"
KEY_FILE_VARIABLE = "AICO_MEMORY_KEY_FILE"
FORMAT = 1
SALT_BYTES = 16
# A shorter key file could be searched through.
MINIMUM_KEY_FILE_BYTES = 32
Source = Literal["passphrase", "key_file", "development", "off"]
_SOURCES = ("passphrase", "key_file", "development", "off")
# A changed file must not make us allocate without bound: 4 GiB.
_MAXIMUM_ARGON2_KIB = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class UnlockSecret:
    """A passphrase, or the path of a key file, or nothing."""

    passphrase: str = field(default="", repr=False)
    key_file: Path | None = None
    source: Source = "development"

    @classmethod
    def of_passphrase(cls, passphrase: str) -> Self:
        return cls(passphrase=passphrase, source="passphrase")

    @classmethod
    def of_key_file(cls, path: Path) -> Self:
        return cls(key_file=path, source="key_file")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], settings: SecuritySettings) -> Self:
        """AICO_MEMORY_PASSPHRASE, else AICO_MEMORY_KEY_FILE, else the configured key file, else nothing."""
        passphrase = environment.get(PASSPHRASE_VARIABLE, "")
        if passphrase:
            return cls.of_passphrase(passphrase)
        given = environment.get(KEY_FILE_VARIABLE, "") or settings.key_file
        return cls.of_key_file(Path(given).expanduser()) if given else cls()

    @property
    def empty(self) -> bool:
        return not self.passphrase and self.key_file is None

    def check_usable(self) -> None:
        """Raise now what reading the key file would raise later."""
        if self.key_file is not None:
            self._file_bytes()

    def wrapping_key(self, parameters: Mapping[str, object]) -> bytes:
        """The key that wraps the root key, by the parameters that stand beside it."""
        salt = base64.b64decode(str(parameters["salt"]), validate=True)
        if self.key_file is not None:
            return HKDF(SHA256(), KEY_BYTES, salt=salt, info=b"aico-memory/1/master").derive(self._file_bytes())
        time_cost, memory_kib, lanes = (int(str(parameters[name])) for name in ("time", "memory_kib", "parallelism"))
        if memory_kib > _MAXIMUM_ARGON2_KIB:
            raise StoreCorrupt(f"master.json asks for {memory_kib} KiB of memory")
        return hash_secret_raw(self.passphrase.encode(), salt, time_cost, memory_kib, lanes, KEY_BYTES, Type.ID)

    def _file_bytes(self) -> bytes:
        path = cast(Path, self.key_file)
        try:
            require_private(path)
            content = path.read_bytes()
        except OSError as error:
            raise WrongKey(f"The key file {path} cannot be read: {error.strerror}") from error
        if len(content) < MINIMUM_KEY_FILE_BYTES:
            raise ConfigurationInvalid(
                f"The key file {path} has {len(content)} bytes; at least {MINIMUM_KEY_FILE_BYTES} are needed",
                f"Make one: head -c 32 /dev/urandom > '{path}' && chmod 600 '{path}'",
            )
        return content


@dataclass(frozen=True, slots=True)
class WrappedRoot:
    """The content of master.json."""

    source: Source
    parameters: Mapping[str, object]
    wrapped: bytes


def wrap_root(root_key: bytes, secret: UnlockSecret, source: Source, settings: SecuritySettings) -> bytes:
    """The bytes of a new master.json; with source `off` it only records that nothing is sealed."""
    content: dict[str, object] = {"format": FORMAT, "source": source}
    if source != "off":
        parameters: dict[str, object] = {"salt": base64.b64encode(os.urandom(SALT_BYTES)).decode()}
        if source == "passphrase":
            parameters |= {
                "name": "argon2id",
                "time": settings.argon2_time,
                "memory_kib": settings.argon2_memory_kib,
                "parallelism": settings.argon2_parallelism,
            }
        else:
            parameters["name"] = "hkdf-sha256"
        sealed = AeadSealer(secret.wrapping_key(parameters)).seal(root_key, _context(source))
        content |= {"kdf": parameters, "wrapped": base64.b64encode(sealed).decode()}
    return json.dumps(content, indent=1, sort_keys=True).encode() + b"\n"


def read_master(path: Path) -> WrappedRoot:
    """Parse master.json; StoreCorrupt where it is none."""
    try:
        content = json.loads(path.read_bytes())
        if content["format"] != FORMAT or content["source"] not in _SOURCES:
            raise StoreCorrupt(f"{path} is of format {content['format']!r}; this version reads {FORMAT}")
        wrapped = base64.b64decode(content.get("wrapped", ""), validate=True)
        return WrappedRoot(content["source"], content.get("kdf", {}), wrapped)
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise StoreCorrupt(f"{path} cannot be read as a wrapped master key", "Restore it from a backup.") from error


def unwrap_root(master: WrappedRoot, secret: UnlockSecret) -> bytes:
    """The root key; WrongKey where the secret is another."""
    if secret.source != master.source:
        wanted = {"passphrase": PASSPHRASE_VARIABLE, "key_file": KEY_FILE_VARIABLE}.get(master.source, "")
        given = "nothing" if secret.empty else f"a {secret.source.replace('_', ' ')}"
        raise WrongKey(
            f"This home is unlocked by a {master.source.replace('_', ' ')}; {given} was given",
            f"Set {wanted} to the one with which this home was made.",
        )
    try:
        key = secret.wrapping_key(master.parameters)
    except (KeyError, ValueError) as error:
        raise StoreCorrupt("keys/master.json names no usable key derivation", "Restore it from a backup.") from error
    try:
        return AeadSealer(key).open(master.wrapped, _context(master.source))
    except WrongKey:
        raise WrongKey(f"The {master.source.replace('_', ' ')} does not open this home") from None


def _context(source: Source) -> bytes:
    return b"aico-memory/master/1/" + source.encode()
