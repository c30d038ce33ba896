"""What is particular to Chroma: loaded only where needed, silent, without text, on disk only on purpose."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from aico_memory.stores.index.auto import AutoVectorIndex
from aico_memory.stores.index.chroma import ChromaVectorIndex
from aico_memory.stores.index.exact import ExactVectorIndex
from tests.stores.index.test_vector_index import ADA, Truth, entry, keys, view

QUESTION = np.array([0, 1, 0], dtype=np.float32)


def filled(count=8):
    truth = Truth()
    truth.put(*(entry(key, [1, key, 0]) for key in range(1, count + 1)))
    return truth


def test_a_worker_that_needs_no_chroma_does_not_load_it():
    code = "import sys, services.semantic.handlers, aico_memory.stores.index.exact\nraise SystemExit('chromadb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path.cwd()).returncode == 0


def test_the_collection_holds_numbers_only_and_phones_nobody():
    index = ChromaVectorIndex(filled().source, "model|3|abc", load_batch=3)
    index.build()
    stored = index._collection.get(include=["metadatas", "documents"])
    assert stored["documents"] == [None] * 8
    assert all(isinstance(value, int) for fields in stored["metadatas"] for value in fields.values())
    assert index._client.get_settings().anonymized_telemetry is False
    index.close()


def test_in_memory_it_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    index = ChromaVectorIndex(filled().source, "model|3|abc", load_batch=3)
    index.build()
    assert list(tmp_path.rglob("*")) == []
    index.close()


def test_a_folder_keeps_the_collection_over_a_restart_and_a_changed_truth_is_noticed(tmp_path):
    truth = filled()
    first = ChromaVectorIndex(truth.source, "model|3|abc", 3, str(tmp_path))
    assert first.verify() != []
    first.close()
    second = ChromaVectorIndex(truth.source, "model|3|abc", 3, str(tmp_path))
    assert second.verify() == []
    assert keys(second.search(QUESTION, view(), 1)) == [8]
    truth.put(entry(99, [0, 1, 0]))
    assert second.verify() != []
    assert keys(second.search(QUESTION, view(), 1)) == [99]
    other_model = ChromaVectorIndex(truth.source, "other|3|def", 3, str(tmp_path))
    assert other_model.status()["vectors"] == 0
    other_model.drop()
    second.drop()


def test_indexes_of_one_process_do_not_share_vectors():
    one, other = (ChromaVectorIndex(filled(count).source, "model|3|abc", 3) for count in (4, 6))
    one.build()
    other.build()
    assert (one.status()["vectors"], other.status()["vectors"]) == (4, 6)
    one.close()
    other.close()


class Held:
    """A large index whose building is held up."""

    def __init__(self, source, gate):
        self.inner = ChromaVectorIndex(source, "model|3|abc", 3)
        self.gate = gate

    def build(self):
        assert self.gate.wait(60)
        self.inner.build()

    def __getattr__(self, name):
        return getattr(self.inner, name)


def test_the_exact_index_answers_until_the_large_one_is_built():
    import threading

    truth = filled()
    gate = threading.Event()
    exact = ExactVectorIndex(truth.source, 1 << 20, 3)
    index = AutoVectorIndex(truth.source, exact, lambda: Held(truth.source, gate), limit=5)
    assert keys(index.search(QUESTION, view(), 1)) == [8]
    index.upsert(truth.put(entry(50, [0, 1, 0])))
    assert keys(index.search(QUESTION, view(), 1)) == [50]
    gate.set()
    assert index.wait_built(20)
    exact.search = None  # from here on only the large one may answer
    assert keys(index.search(QUESTION, view(), 1)) == [50]
    assert index.verify() == []
    index.close()


def test_a_small_scope_never_opens_the_large_index():
    truth = filled()
    index = AutoVectorIndex(truth.source, ExactVectorIndex(truth.source, 1 << 20, 3), lambda: 1 / 0, limit=8)
    assert keys(index.search(QUESTION, view(), 1)) == [8]
    assert "large" not in index.status()
    index.close()


def test_a_large_index_that_cannot_be_opened_is_named_and_not_missed():
    truth = filled()
    index = AutoVectorIndex(truth.source, ExactVectorIndex(truth.source, 1 << 20, 3), lambda: 1 / 0, limit=1)
    assert keys(index.search(QUESTION, view(), 1)) == [8]
    index.wait_built(10)
    assert index.status()["large_failed"] == "ZeroDivisionError"
    assert keys(index.search(QUESTION, view(), 1)) == [8]
    index.close()


def test_removal_names_the_scope_too():
    truth = filled()
    index = ChromaVectorIndex(truth.source, "model|3|abc", 3)
    index.build()
    index.remove(ADA._replace(id="ben"), [8])
    assert keys(index.search(QUESTION, view(), 1)) == [8]
    index.close()
