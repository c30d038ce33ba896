"""Memories, their evidence and views for tests of the semantic stores, and a home with a store on disk."""

from functools import partial

from aico_memory.domain.memory import Evidence, Memory, Scope, View
from aico_memory.paths import Home
from aico_memory.settings.security import SecuritySettings
from aico_memory.stores.semantic.sql_store import SqlSemanticStore
from aico_memory.vault.master import open_vault

ADA, BEN, TEAM = Scope("user", "ada"), Scope("user", "ben"), Scope("group", "team")
SCOPES = (ADA, BEN, TEAM)
NOW = 1000


def memory_id(number):
    return number.to_bytes(16, "big")


def a_memory(number, text="I like tea", scope=ADA, **fields):
    fields = {
        "said_at_us": 100, "recorded_at_us": 100, "valid_from_us": 100, "created_at_us": 100, "updated_at_us": 100,
        "received_at_us": 101, "kind": "record", "session_id": "s1", "language": "en", **fields,
    }  # fmt: skip
    owner = fields.pop("owner", scope.id if scope.kind == "user" else "ada")
    return Memory(memory_id=memory_id(number), scope=scope, owner=owner, text=text, **fields)


def evidence_of(number, event=1, **fields):
    return Evidence(
        memory_id(number), memory_id(1000 + event), fields.pop("method", "rule"), fields.pop("at_us", 100), **fields
    )


def view(*scopes, **fields):
    return View(scopes=scopes or (ADA,), now_us=NOW, **fields)


class OnDisk:
    """A home with a vault, in which the store can be opened again."""

    def __init__(self, root):
        self.home = Home(root)
        self.home.ensure()
        self.vault = open_vault(self.home, SecuritySettings(), {})
        self.store = self.open()

    def open(self):
        key = self.vault.store_key("semantic")
        return SqlSemanticStore.open(self.home.store("semantic"), key, self.vault.users, partial(self.vault.digest, "semantic"))

    def reopen(self):
        self.store.close()
        self.store = self.open()
        return self.store


def add(store, memory, tokens=("tea",), evidence=(), sequence=1):
    with store.transaction() as transaction:
        return transaction.add(memory, evidence, tokens, sequence)
