"""CURVE key pairs on disk and the list of who is let in (`keys/authorized.json`, public keys only)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import zmq

from aico_memory.errors import InvalidMessage, NotAuthorised, NotFound, StoreCorrupt
from aico_memory.paths import Home
from aico_memory.vault.permissions import (
    create_exclusive,
    folder_lock,
    make_private_folder,
    replace_private,
    require_private,
)

SERVER = "server"
WHO_MEND = "`aico-memory keys list` shows who is."
AUTHORIZED_FILE = "authorized.json"
# Goes into reply topics and file names.
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_Z85_KEY = re.compile(r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}")
Scopes = Literal["all"] | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IdentityKeys:
    """A CURVE key pair, Z85 bytes as pyzmq takes them."""

    name: str
    public: bytes
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class AuthorizedIdentity:
    """One entry of the list; a revoked one stays in it, so that the refusal can be explained."""

    name: str
    public: str
    role: str
    scopes: Scopes
    added_at: str
    revoked_at: str | None = None


def init_curve(home: Home) -> IdentityKeys:
    """The server's key pair and an empty list, made where they are missing; safe for several processes at once."""
    for folder in (home.keys, home.curve):
        make_private_folder(folder)
    path = home.curve / f"{SERVER}.json"
    if not path.exists():
        create_exclusive(path, _pair_bytes(_new_pair(SERVER)))
    if not authorized_path(home).exists():
        create_exclusive(authorized_path(home), _list_bytes([]))
    return server_keys(home)


def server_keys(home: Home) -> IdentityKeys:
    """The server's key pair; NotFound before `init_curve`."""
    return _read_pair(home, SERVER)


def load_identity(home: Home, name: str) -> IdentityKeys:
    """The key pair of an identity; NotAuthorised where this home has none of that name."""
    try:
        return _read_pair(home, _checked_name(name))
    except NotFound:
        raise NotAuthorised(
            f"This home holds no key of an identity {name!r}", f"Make it: aico-memory keys add {name} --role ROLE"
        ) from None


def add_identity(
    home: Home, name: str, role: str, scopes: Scopes | list[str] = "all", now: datetime | None = None
) -> IdentityKeys:
    """Make a key pair and let it in; InvalidMessage where the name is taken by one that is not revoked."""
    _checked_name(name)
    bound: Scopes = "all" if scopes == "all" else tuple(scopes)
    init_curve(home)
    with folder_lock(home.keys):
        listed = list_identities(home)
        if any(entry.name == name and entry.revoked_at is None for entry in listed):
            raise InvalidMessage(f"An identity {name!r} exists already", f"Use it, or: aico-memory keys rotate {name}")
        pair = _new_pair(name)
        replace_private(home.curve / f"{name}.json", _pair_bytes(pair))
        entry = AuthorizedIdentity(name, pair.public.decode(), role, bound, _stamp(now))
        _write_list(home, [*listed, entry])
    return pair


def ensure_identity(home: Home, name: str, role: str, scopes: Scopes | list[str] = "all") -> IdentityKeys:
    """The identity's keys, made where the name was never listed; a revoked one is not brought back."""
    if not any(entry.name == name for entry in list_identities(home)):
        try:
            return add_identity(home, name, role, scopes)
        except InvalidMessage:
            # Another process was first.
            pass
    return load_identity(home, name)


def list_identities(home: Home) -> list[AuthorizedIdentity]:
    """Everybody who is or was let in, in the order of adding."""
    path = authorized_path(home)
    try:
        content = json.loads(path.read_bytes())
        return [_entry(item) for item in content["identities"]]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError) as error:
        raise StoreCorrupt(f"{path} cannot be read as a list of identities", "Restore it from a backup.") from error


def revoke_identity(home: Home, name: str, now: datetime | None = None) -> None:
    """Let this identity in no more; NotFound where none of that name is let in."""
    with folder_lock(home.keys):
        listed = list_identities(home)
        _write_list(home, _revoked(listed, lambda entry: entry.name == name, name, now))


def rotate_identity(home: Home, name: str, now: datetime | None = None) -> IdentityKeys:
    """A new key pair with the role and scopes of the old one, which is revoked.

    At every moment of it the file on disk holds a pair that is let in.
    """
    with folder_lock(home.keys):
        listed = list_identities(home)
        current = [entry for entry in listed if entry.name == name and entry.revoked_at is None]
        if not current:
            raise NotFound(f"No identity {name!r} is let in", WHO_MEND)
        pair = _new_pair(name)
        fresh = replace(current[-1], public=pair.public.decode(), added_at=_stamp(now))
        _write_list(home, [*listed, fresh])
        replace_private(home.curve / f"{name}.json", _pair_bytes(pair))
        old = {entry.public for entry in current}
        _write_list(home, _revoked([*listed, fresh], lambda entry: entry.public in old, name, now))
    return pair


def authorized_path(home: Home) -> Path:
    """The list that the broker reads anew when it changes."""
    return home.keys / AUTHORIZED_FILE


def _revoked(
    listed: list[AuthorizedIdentity], chosen: Callable[[AuthorizedIdentity], bool], name: str, now: datetime | None
) -> list[AuthorizedIdentity]:
    if not any(chosen(entry) and entry.revoked_at is None for entry in listed):
        raise NotFound(f"No identity {name!r} is let in", WHO_MEND)
    stamp = _stamp(now)
    return [replace(entry, revoked_at=stamp) if chosen(entry) and entry.revoked_at is None else entry for entry in listed]


def _new_pair(name: str) -> IdentityKeys:
    public, secret = zmq.curve_keypair()
    return IdentityKeys(name, public, secret)


def _read_pair(home: Home, name: str) -> IdentityKeys:
    path = home.curve / f"{name}.json"
    if not path.exists():
        raise NotFound(f"There is no key file {path}", "Make the keys: aico-memory keys init")
    require_private(home.curve)
    require_private(path)
    try:
        content = json.loads(path.read_bytes())
        public, secret = content["public"], content["secret"]
        if not _Z85_KEY.fullmatch(public) or not _Z85_KEY.fullmatch(secret):
            raise StoreCorrupt(f"{path} holds no CURVE key pair")
    except (ValueError, KeyError, TypeError) as error:
        raise StoreCorrupt(f"{path} cannot be read as a key pair", f"Make a new one: aico-memory keys rotate {name}") from error
    return IdentityKeys(name, public.encode(), secret.encode())


def _pair_bytes(pair: IdentityKeys) -> bytes:
    content = {"name": pair.name, "public": pair.public.decode(), "secret": pair.secret.decode()}
    return json.dumps(content, indent=1).encode() + b"\n"


def _list_bytes(listed: list[AuthorizedIdentity]) -> bytes:
    return json.dumps({"identities": [asdict(entry) for entry in listed]}, indent=1).encode() + b"\n"


def _write_list(home: Home, listed: list[AuthorizedIdentity]) -> None:
    replace_private(authorized_path(home), _list_bytes(listed))


def _entry(item: dict[str, object]) -> AuthorizedIdentity:
    scopes = item["scopes"]
    revoked = item["revoked_at"]
    return AuthorizedIdentity(
        name=str(item["name"]),
        public=str(item["public"]),
        role=str(item["role"]),
        scopes="all" if scopes == "all" else tuple(str(user) for user in scopes),  # type: ignore[attr-defined]
        added_at=str(item["added_at"]),
        revoked_at=None if revoked is None else str(revoked),
    )


def _checked_name(name: str) -> str:
    if not NAME.fullmatch(name) or name == SERVER:
        raise InvalidMessage(f"{name!r} is no name for an identity", "Use a-z, 0-9, _ and -, at most 64 characters.")
    return name


def _stamp(now: datetime | None) -> str:
    return (datetime.now(UTC) if now is None else now).isoformat()
