"""Cache, order of work, and counting tokens."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.errors import ClosedConnection, ModelUnavailable, RateLimited
from aico_memory.models.cache import EmbeddingCache
from aico_memory.models.embedder import Vectors
from aico_memory.models.embedding_queue import EmbeddingQueue
from aico_memory.models.token_counter import ESTIMATE, estimate_tokens, token_counter
from aico_memory.models.twin import HashedEmbedder

ROW = np.ones(3, dtype=np.float32)
WAIT = 10.0


def test_the_least_recently_used_vector_goes_first() -> None:
    cache = EmbeddingCache(2, 60)
    cache.keep("a", ROW, 0)
    cache.keep("b", ROW, 0)
    assert cache.find(["a"], 1)[0] is not None
    cache.keep("c", ROW, 1)
    assert [row is not None for row in cache.find(["a", "b", "c"], 1)] == [True, False, True]


def test_a_vector_is_forgotten_after_its_time() -> None:
    cache = EmbeddingCache(2, 60)
    cache.keep("a", ROW, 100)
    assert cache.find(["a"], 159.9)[0] is not None
    assert cache.find(["a"], 160.0)[0] is None
    assert (cache.hits, cache.misses, len(cache)) == (1, 1, 0)


def test_a_cache_of_no_entries_keeps_nothing() -> None:
    cache = EmbeddingCache(0, 60)
    cache.keep("a", ROW, 0)
    assert cache.find(["a"], 0) == [None]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 50)), max_size=60), st.integers(1, 4))
def test_a_cache_never_exceeds_its_size_nor_gives_another_text_s_vector(uses: list[tuple[str, int]], size: int) -> None:
    cache, now = EmbeddingCache(size, 30), 0
    for text, step in uses:
        now += step
        (row,) = cache.find([text], now)
        assert row is None or row[0] == ord(text)
        cache.keep(text, np.full(1, ord(text), dtype=np.float32), now)
        assert len(cache) <= size


class Gate(HashedEmbedder):
    """Embeds when it is let, and notes in which order."""

    def __init__(self) -> None:
        super().__init__(8)
        self.let = threading.Semaphore(0)
        self.entered = threading.Semaphore(0)
        self.order: list[tuple[str, ...]] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.order.append(tuple(texts))
        self.entered.release()
        assert self.let.acquire(timeout=WAIT)
        if "boom" in texts:
            raise RuntimeError("no")
        return super().embed(texts)


def test_a_person_who_waits_goes_before_bulk_work_that_came_first() -> None:
    gate = Gate()
    queue = EmbeddingQueue(gate, slice_texts=2)
    bulk = queue.submit([f"bulk {at}" for at in range(6)], interactive=False)
    assert gate.entered.acquire(timeout=WAIT)
    question = queue.submit(["question"], interactive=True)
    for _ in range(4):
        gate.let.release()
    np.testing.assert_allclose(question.result(WAIT), HashedEmbedder(8).embed(["question"]))
    np.testing.assert_allclose(bulk.result(WAIT), HashedEmbedder(8).embed([f"bulk {at}" for at in range(6)]))
    assert gate.order[:2] == [("bulk 0", "bulk 1"), ("question",)]
    assert queue.waiting == 0
    queue.close()


@pytest.mark.parametrize(("together", "batches"), [(False, [("x",), ("y",)]), (True, [("x", "y")])])
def test_questions_that_wait_are_answered_singly_or_together(together: bool, batches: list[tuple[str, ...]]) -> None:
    gate = Gate()
    queue = EmbeddingQueue(gate, together=together)
    first = queue.submit(["first"], interactive=True)
    assert gate.entered.acquire(timeout=WAIT)
    questions = [queue.submit([text], interactive=True) for text in "xy"]
    for _ in range(3):
        gate.let.release()
    for text, question in zip("xy", questions, strict=True):
        np.testing.assert_allclose(question.result(WAIT), HashedEmbedder(8).embed([text]))
    assert first.done()
    assert gate.order[1:] == batches
    queue.close()


def test_a_failure_belongs_to_those_who_asked_and_the_others_are_served() -> None:
    gate = Gate()
    queue = EmbeddingQueue(gate, slice_texts=4)
    failing = queue.submit(["boom"], interactive=False)
    good = queue.submit(["fine"], interactive=False)
    gate.let.release()
    gate.let.release()
    with pytest.raises(ModelUnavailable):
        failing.result(WAIT)
    assert good.result(WAIT).shape == (1, 8)
    queue.close()


def test_too_much_bulk_work_is_refused_and_a_person_is_not() -> None:
    gate = Gate()
    queue = EmbeddingQueue(gate, slice_texts=4, waiting_texts=3)
    first = queue.submit(["a", "b", "c"], interactive=False)
    with pytest.raises(RateLimited):
        queue.submit(["d"], interactive=False).result(WAIT)
    question = queue.submit(["e"], interactive=True)
    gate.let.release()
    gate.let.release()
    assert first.result(WAIT).shape == question.result(WAIT).repeat(3, axis=0).shape
    queue.close()


def test_a_closed_queue_refuses_what_waits_and_what_comes() -> None:
    gate = Gate()
    queue = EmbeddingQueue(gate, slice_texts=1)
    waiting = queue.submit(["a", "b"], interactive=False)
    assert gate.entered.acquire(timeout=WAIT)
    closer = threading.Thread(target=queue.close)
    closer.start()
    gate.let.release()
    closer.join(WAIT)
    for refused in (waiting, queue.submit(["c"], interactive=True)):
        assert isinstance(refused, Future)
        with pytest.raises(ClosedConnection):
            refused.result(WAIT)


def test_tokens_are_counted_by_the_model_s_tokenizer_without_its_padding_and_truncation() -> None:
    counter = token_counter("example-org/not-there")
    assert counter.name == "sentence-transformers/all-MiniLM-L6-v2"
    assert counter.count("hello world") == 2
    assert counter.count("hello " * 500) == 500
    assert counter.count("") == 0


def test_a_tokenizer_that_cannot_be_read_leaves_the_estimate_and_says_so(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path)) / "model"
    folder.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (folder / name).write_text("not json")
    counter = token_counter(str(folder))
    assert counter.name == ESTIMATE
    assert counter.count("我对花生过敏") == 6


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_the_estimate_is_never_below_a_quarter_of_the_letters(text: str) -> None:
    letters = sum(letter.isalpha() for letter in text)
    assert estimate_tokens(text) * 4 >= letters
