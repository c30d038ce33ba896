import os

import pytest

from aico_memory.stores.sql import Database


class Place:
    """A folder with a database and its migrations."""

    def __init__(self, root):
        self.folder = root / "store"
        self.path = self.folder / "facts.db"
        self.migrations = root / "migrations"
        self.migrations.mkdir()
        self.key = os.urandom(32)
        self.migration("001_facts.sql", "CREATE TABLE facts (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;")

    def migration(self, name, text):
        (self.migrations / name).write_text(text)

    def open(self, key=b""):
        return Database.open(self.path, self.key if key == b"" else key, self.migrations)

    def files(self):
        return {path.name: (path.read_bytes(), path.stat().st_mode) for path in self.folder.iterdir()}


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)
