"""How records get into the indexes and stay there: without the model, over restarts, for another model, mended."""

from __future__ import annotations

import threading
import time

import pytest

from aico_memory.contracts.v1 import semantic_pb2, sleep_pb2
from aico_memory.errors import ModelMismatch
from aico_memory.models.twin import HashedEmbedder
from services.semantic import indexer
from tests.services.semantic.worker import Worker


def test_words_are_found_while_the_model_is_away_and_vectors_follow_when_it_is_back(worker):
    worker.model_away = True
    worker.say("My bicycle has a flat tyre")
    assert worker.found("bicycle")["text"] == ["My bicycle has a flat tyre"]
    assert worker.found("bicycle")["vector"] == []
    assert worker.handlers.settled(worker.sequence) == 0
    worker.model_away = False
    worker.settle()
    assert worker.found("bicycle")["vector"] == ["My bicycle has a flat tyre"]


def test_a_text_that_the_model_refuses_holds_nothing_up(worker):
    worker.model_away = True
    for text in ("first", "unfit", "last"):
        worker.say(text)
    worker.model_away = False
    worker.settle()
    assert set(worker.found("first")["vector"]) == {"first", "last"}
    assert worker.found("unfit")["text"] == ["unfit"]
    assert worker.handlers.status()["not_embedded"] == 1


def test_what_was_not_indexed_before_a_restart_is_indexed_after_it(worker):
    worker.model_away = True
    worker.say("My bicycle has a flat tyre")
    worker.handlers.close()
    worker.model_away = False
    worker.handlers = worker.start()
    worker.settle()
    assert worker.found("bicycle")["vector"] == ["My bicycle has a flat tyre"]


def test_another_model_is_refused_by_name_and_words_are_found_all_the_same(worker):
    worker.say("My bicycle has a flat tyre")
    worker.settle()
    before = worker.handlers.status()["fingerprint"]
    worker.model = HashedEmbedder(dimension=64)
    worker.restart()
    worker.say("The soup needs more salt")
    worker.settle()
    with pytest.raises(ModelMismatch, match=r"reindex --rebuild"):
        worker.search("bicycle", retrievers=["vector"])
    answer = worker.search("bicycle")
    assert list(answer.degraded) == ["vector: model_mismatch"]
    assert [one.retriever for one in answer.lists] == ["text"]
    assert worker.found("soup")["text"] == ["The soup needs more salt"]
    status = worker.handlers.status()
    assert (status["fingerprint"], status["model_mismatch"]) == (before, True)


def test_a_rebuild_embeds_everything_with_the_new_model_and_switches(worker):
    texts = ["My bicycle has a flat tyre", "The soup needs more salt", "Berlin is cold"]
    for text in texts:
        worker.say(text)
    worker.settle()
    worker.model = HashedEmbedder(dimension=64)
    worker.restart()
    worker.tell(semantic_pb2.Reindex(firing_id="f1", rebuild=True))
    worker.wait_for(lambda: bool(worker.emitted(("finished", sleep_pb2.JobFinished))))
    (finished,) = worker.emitted(("finished", sleep_pb2.JobFinished))
    assert (finished.firing_id, finished.outcome, finished.detail) == ("f1", "done", "rebuilt")
    assert worker.handlers.status()["fingerprint"] == worker.model.fingerprint
    found = worker.found("bicycle")
    assert found["text"] == texts[:1]
    assert found["vector"][0] == texts[0]
    assert len(found["vector"]) == 3
    assert "maintenance" not in worker.handlers.status()


def test_a_rebuild_goes_on_after_a_restart_in_the_middle(tmp_path):
    worker = Worker(tmp_path / "home", {"embed_batch": 1})
    for number in range(6):
        worker.say(f"note {number}")
    worker.settle()
    worker.model = HashedEmbedder(dimension=64)
    worker.model_away = True
    worker.restart()
    worker.tell(semantic_pb2.Reindex(firing_id="f1", rebuild=True))
    worker.handlers.close()
    worker.model_away = False
    worker.handlers = worker.start()
    worker.wait_for(lambda: bool(worker.emitted(("finished", sleep_pb2.JobFinished))))
    assert len(worker.found("note")["vector"]) == 6
    worker.handlers.close()


def test_the_hourly_check_mends_an_index_that_lost_vectors(worker):
    worker.say("My bicycle has a flat tyre")
    worker.settle()
    assert len(worker.found("bicycle")["vector"]) == 1
    with worker.handlers.state.database.write() as connection:
        connection.execute("DELETE FROM vector")
    worker.tell(semantic_pb2.Reindex(firing_id="f2"))
    worker.wait_for(lambda: bool(worker.emitted(("finished", sleep_pb2.JobFinished))))
    (finished,) = worker.emitted(("finished", sleep_pb2.JobFinished))
    # The message's and that of the fact it states.
    assert finished.detail == "checked; 2 missing vectors made, 0 differences mended"
    assert worker.found("bicycle")["vector"] == ["My bicycle has a flat tyre"]
    worker.restart()
    worker.wait_for(lambda: len(worker.found("bicycle")["vector"]) == 1)


@pytest.mark.parametrize("index", ["exact", "chroma"])
def test_either_index_answers_through_the_worker(tmp_path, index):
    worker = Worker(tmp_path / "home", {"index": index})
    worker.say("My bicycle has a flat tyre")
    worker.say("other things", user="ben")
    worker.settle()
    assert worker.found("bicycle")["vector"] == ["My bicycle has a flat tyre"]
    worker.restart()
    worker.wait_for(lambda: worker.found("bicycle").get("vector") == ["My bicycle has a flat tyre"])
    worker.handlers.close()


def test_after_a_start_the_words_of_the_newest_memories_are_read_before_anybody_asks(worker):
    worker.say("My bicycle has a flat tyre")
    worker.say("other things", user="ben")
    worker.settle()
    worker.restart()
    deadline = time.monotonic() + 20
    while worker.handlers.status()["text_index"]["scopes"] < 2 and time.monotonic() < deadline:
        threading.Event().wait(0.002)
    loads = worker.handlers.status()["text_index"]["loads"]
    assert loads == 2
    assert worker.found("bicycle", retrievers=["fused"])
    assert worker.handlers.status()["text_index"]["loads"] == loads


def test_after_much_work_memory_is_put_in_order(worker, monkeypatch):
    ordered = threading.Event()
    monkeypatch.setattr(indexer, "_MUCH", 2)
    monkeypatch.setattr(indexer, "settle_memory", ordered.set)
    for text in ("first", "second"):
        worker.say(text)
    worker.settle()
    assert ordered.wait(60)
