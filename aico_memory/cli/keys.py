"""Identities and the master key."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.markup import escape

from aico_memory.cli.app import command, group
from aico_memory.cli.face import Face, face_of
from aico_memory.errors import InvalidMessage
from aico_memory.runtime.deployment import WORKERS
from aico_memory.runtime.first_start import CLIENT, OPERATOR
from aico_memory.vault.curve_keys import Scopes, add_identity, list_identities, revoke_identity, rotate_identity

ring = group("keys", "Who may connect to the bus, and what locks the data.", "Keys")
# Without these a deployment does not start, or cannot be asked how it is.
OWN = frozenset({OPERATOR[0], *WORKERS})
ROLE_HELP = "Role of config/access.yaml, e.g. client, publisher, observer, operator."


@command(ring, "init", "keys init")
def init(context: typer.Context) -> None:
    """Make what a home needs before its first start: master key, server keys, identities. Changes nothing that is there."""
    import os

    from aico_memory.runtime.first_start import prepare_home
    from aico_memory.settings.load import load_settings

    face = face_of(context)
    source = prepare_home(face.home, load_settings(face.home), os.environ)
    listed = list_identities(face.home)
    let_in = sorted({entry.name for entry in listed if entry.revoked_at is None})
    missing = sorted({entry.name for entry in listed} - set(let_in))
    report = {"home": str(face.home.root), "key": source, "identities": let_in, "revoked": missing}
    face.show(report, lambda data: _print_ring(face, data))


@command(ring, "add", "keys add notes-app --role client", "keys add anas-phone --role client --user ana")
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="a-z, 0-9, _ and -.")],
    role: Annotated[str, typer.Option(help=ROLE_HELP)] = "client",
    user: Annotated[list[str] | None, typer.Option("--user", "-u", help="Only this user's data; may be repeated.")] = None,
) -> None:
    """Make a key pair and let it in; a running broker takes it up by itself."""
    face = face_of(context)
    _check_role(face, role)
    scopes: Scopes = tuple(user) if user else "all"
    keys = add_identity(face.home, name, role, scopes)
    report = {"name": name, "role": role, "scopes": scopes, "public": keys.public.decode(),
              "file": str(face.home.curve / f"{name}.json")}  # fmt: skip
    face.show(report, lambda data: face.out.print(escape(f"{name} ({role}): {data['file']}")))


@command(ring, "list", "keys list --json")
def list_keys(context: typer.Context) -> None:
    """Everybody who is or was let in."""
    face = face_of(context)
    found: list[dict[str, Any]] = [asdict(entry) for entry in list_identities(face.home)]
    columns = ("name", "role", "scopes", "added_at", "revoked_at", "public")
    face.show(found, lambda data: face.table(columns, [[entry[key] for key in columns] for entry in data]))


@command(ring, "revoke", "keys revoke anas-phone")
def revoke(
    context: typer.Context,
    name: str,
    force: Annotated[bool, typer.Option("--force", help="Also one that a deployment or its clients work with.")] = False,
) -> None:
    """Let an identity in no more; its live connections are closed too."""
    face = face_of(context)
    if name in (*OWN, CLIENT[0]) and not force:
        needed = "The deployment itself works with the identity {}, and would not get ready without it"
        used = "Every client and command line that names no other connects as {}"
        raise InvalidMessage(
            (needed if name in OWN else used).format(name),
            f"To give it a new key: aico-memory keys rotate {name}. To revoke it all the same: --force.",
        )
    revoke_identity(face.home, name)
    face.show({"name": name, "revoked": True}, lambda _: face.say(f"{name} is revoked."))


@command(ring, "rotate", "keys rotate notes-app")
def rotate(context: typer.Context, name: str) -> None:
    """Give an identity a new key pair with the same role; the old one is revoked."""
    face = face_of(context)
    keys = rotate_identity(face.home, name)
    face.show({"name": name, "public": keys.public.decode()}, lambda _: face.say(f"{name} has a new key."))


@command(
    ring,
    "rotate-master",
    "keys rotate-master --new-passphrase-env NEW_PASSPHRASE",
    "keys rotate-master --new-key-file /secure/aico.key",
)
def rotate_master_key(
    context: typer.Context,
    new_passphrase_env: Annotated[str, typer.Option(help="Environment variable that holds the new passphrase.")] = "",
    new_key_file: Annotated[str, typer.Option(help="File with the new key.")] = "",
    to_development: Annotated[bool, typer.Option("--to-development", help="Go back to a development key in the home.")] = False,
) -> None:
    """Lock the home with another passphrase or key file; no data is rewritten. The present one must be given as for `up`."""
    from aico_memory.cli.master_key import rotate_by_environment

    face = face_of(context)
    source = rotate_by_environment(face.home, new_passphrase_env, new_key_file, to_development)
    face.show({"key": source}, lambda data: face.say(f"The home is locked by: {data['key']}."))


def _print_ring(face: Face, report: dict[str, Any]) -> None:
    face.out.print(escape(f"{report['home']}: key {report['key']}, {len(report['identities'])} identities"))
    for name in report["revoked"]:
        role = name if name in OWN else "ROLE"
        face.out.print(escape(f"{name} is revoked and stays so; to let it in again: aico-memory keys add {name} --role {role}"))


def _check_role(face: Face, role: str) -> None:
    """InvalidMessage for a role that the broker does not know: it would let nobody in with it."""
    from aico_memory.bus.access import load_access
    from aico_memory.paths import config_file

    path = config_file(face.home, "access.yaml")
    roles = load_access(path).roles
    if role not in roles:
        raise InvalidMessage(f"There is no role {role!r} in {path}", f"Roles are: {', '.join(sorted(roles))}.")
