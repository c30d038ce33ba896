"""Schema migrations: numbered SQL files, forward only, each in a transaction, recorded with their digest."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

from sqlcipher3 import dbapi2

from aico_memory.errors import StoreCorrupt, VersionMismatch
from aico_memory.stores.sql.dialect import Connection
from aico_memory.vault.permissions import FILE_MODE, sync_folder

FILE_NAME = re.compile(r"(\d{3})_[a-z0-9_]+\.sql")
BACKUP_SUFFIX = ".before-migration"

_CREATE_LEDGER = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    source     TEXT    NOT NULL,
    number     INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    digest     TEXT    NOT NULL,
    applied_at TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (source, number)
) STRICT
"""
_RECORD = "INSERT INTO schema_migrations (source, number, name, digest) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Migration:
    """One file: its source keeps the numbers of different folders apart."""

    source: str
    number: int
    name: str
    text: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def read_migrations(source: str, folder: Traversable) -> list[Migration]:
    """The migrations of a folder in order; ValueError where a number is used twice or a name fits no pattern."""
    found: dict[int, Migration] = {}
    for entry in folder.iterdir():
        if not entry.name.endswith(".sql"):
            continue
        match = FILE_NAME.fullmatch(entry.name)
        if match is None or int(match[1]) in found:
            raise ValueError(f"{entry.name}: migrations are named NNN_what.sql, each number once")
        found[int(match[1])] = Migration(source, int(match[1]), entry.name, entry.read_text(encoding="utf-8"))
    return [found[number] for number in sorted(found)]


def migrate(connection: Connection, path: Path, migrations: Sequence[Migration]) -> list[str]:
    """Bring the schema to the newest version; returns the names of what ran.

    An existing database is copied first, as it stands on disk: sealed. Raises
    StoreCorrupt where a migration that ran was edited since, VersionMismatch where
    the database is newer than this program.
    """
    known = _ledger(connection)
    pending = _pending(path, migrations, known)
    if pending and known:
        _back_up(connection, path)
    for migration in pending:
        _run(connection, migration)
    return [migration.name for migration in pending]


def _ledger(connection: Connection) -> dict[tuple[str, int], str]:
    connection.execute(_CREATE_LEDGER)
    return {(source, number): digest for source, number, digest in connection.execute(
        "SELECT source, number, digest FROM schema_migrations")}  # fmt: skip


def _pending(path: Path, migrations: Sequence[Migration], known: dict[tuple[str, int], str]) -> list[Migration]:
    offered = {(migration.source, migration.number): migration for migration in migrations}
    for place, digest in known.items():
        if place not in offered:
            raise VersionMismatch(
                f"{path} has the migration {place[0]}/{place[1]:03} that this version does not know",
                "Install the version of aico-memory that last wrote it, or a newer one.",
            )
        if offered[place].digest != digest:
            raise StoreCorrupt(
                f"The migration {offered[place].name} was changed after it ran on {path}",
                "Restore the file as it was and write a new migration for the change.",
            )
    return [migration for place, migration in offered.items() if place not in known]


def _back_up(connection: Connection, path: Path) -> None:
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    target = path.with_name(path.name + BACKUP_SUFFIX)
    partial = target.with_name(target.name + ".partial")
    shutil.copyfile(path, partial)
    partial.chmod(FILE_MODE)
    with partial.open("rb+") as copied:
        os.fsync(copied.fileno())
    partial.replace(target)
    sync_folder(target.parent)


def _run(connection: Connection, migration: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _statements(migration.text):
            connection.execute(statement)
        connection.execute(_RECORD, (migration.source, migration.number, migration.name, migration.digest))
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _statements(text: str) -> Iterator[str]:
    """Single statements: the library's script call would commit in between."""
    gathered = ""
    for piece in text.split(";"):
        gathered += piece
        if dbapi2.complete_statement(gathered + ";"):
            yield gathered + ";"
            gathered = ""
        else:
            gathered += ";"
