"""What of the semantic store is on disk: everything after opening it again, no readable word, nothing without its keys."""

import numpy as np
import pytest

from aico_memory.domain.memory import Evolution
from aico_memory.errors import WrongKey
from aico_memory.stores.semantic.port import KeptVector
from aico_memory.stores.semantic.sql_queue import SqlIndexQueue
from aico_memory.stores.semantic.sql_store import SqlSemanticStore
from tests.stores.semantic.memories import ADA, BEN, a_memory, add, evidence_of, memory_id, view


def test_everything_is_there_after_the_store_was_opened_again(on_disk):
    add(on_disk.store, a_memory(1), evidence=(evidence_of(1, name="Ada"),))
    queue = SqlIndexQueue(on_disk.store)
    queue.keep("m", [KeptVector(queue.pending(1)[0].key, 1, np.array([1, 0], np.float32))])
    store = on_disk.reopen()
    queue = SqlIndexQueue(store)
    assert store.get([memory_id(1)], [ADA]) == [a_memory(1)]
    assert store.evidence([memory_id(1)])[memory_id(1)][0].name == "Ada"
    assert (queue.fingerprint(), queue.pending_count(), queue.vectors("m").size()) == ("m", 1, 1)
    assert len(store.search_text(["tea"], view(), 5)) == 1


def test_no_word_stands_readable_in_the_files(on_disk, tmp_path):
    secret = "zanzibarwort"
    memory = a_memory(1, f"my {secret}", session_id=secret, entities=(f"entity://name/{secret}",), fact_key=secret)
    add(on_disk.store, memory, [secret], (evidence_of(1, name=secret, metadata_json=secret),))
    with on_disk.store.transaction() as transaction:
        transaction.add_evolution(Evolution(memory_id(1), "text", secret, secret, 1, memory_id(2), secret))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if secret.encode() in path.read_bytes()]


def test_a_destroyed_user_key_takes_the_text_with_it_and_nothing_else(on_disk):
    store, queue = on_disk.store, SqlIndexQueue(on_disk.store)
    add(store, a_memory(1), evidence=(evidence_of(1, name="Ada"),))
    add(store, a_memory(2, scope=BEN))
    key = queue.pending(1)[0].key
    assert on_disk.vault.users.destroy("ada")
    assert store.get([memory_id(1)], [ADA]) == [] == store.page(view(), b"", 9)
    assert store.evidence([memory_id(1)])[memory_id(1)] == []
    assert [(one.key, one.text) for one in queue.unembedded([key], "m")] == [(key, None)]
    assert [memory.memory_id for memory in store.page(view(BEN), b"", 9)] == [memory_id(2)]
    # A key made anew does not bring the old text back.
    add(store, a_memory(3, "new words"))
    assert [memory.text for memory in store.page(view(), b"", 9)] == ["new words"]


def test_a_wrong_key_opens_nothing_and_touches_nothing(on_disk):
    on_disk.store.close()
    folder = on_disk.home.store("semantic")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(WrongKey):
        SqlSemanticStore.open(folder, bytes(32), on_disk.vault.users, lambda text: b"")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
