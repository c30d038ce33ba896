"""Cache, order of work, and counting tokens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait

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
from aico_memory.models.weights import TOKENIZER_FILE, choose_weights

ROW = np.ones(3, dtype=np.float32)
WAIT = 60.0


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


def test_a_short_question_passes_a_long_one_which_still_gets_its_turn() -> None:
    gate = Gate()
    queue = EmbeddingQueue(gate, slice_texts=2)
    long = queue.submit([f"long {at}" for at in range(6)], interactive=True)
    assert gate.entered.acquire(timeout=WAIT)
    short = [queue.submit([f"short {at}"], interactive=True) for at in range(6)]
    for _ in range(9):
        gate.let.release()
    for at, question in enumerate(short):
        np.testing.assert_allclose(question.result(WAIT), HashedEmbedder(8).embed([f"short {at}"]))
    np.testing.assert_allclose(long.result(WAIT), HashedEmbedder(8).embed([f"long {at}" for at in range(6)]))
    assert gate.order == [
        ("long 0", "long 1"), ("short 0",), ("short 1",), ("short 2",), ("short 3",), ("long 2", "long 3"),
        ("short 4",), ("short 5",), ("long 4", "long 5"),
    ]  # fmt: skip
    assert queue.waiting == 0
    queue.close()


def test_a_long_question_that_fails_in_its_middle_leaves_the_queue() -> None:
    gate = Gate()
    queue = EmbeddingQueue(gate, slice_texts=2)
    failing = queue.submit(["fine", "fine too", "boom", "last", "never"], interactive=True)
    for _ in range(3):
        gate.let.release()
    with pytest.raises(ModelUnavailable):
        failing.result(WAIT)
    assert queue.submit(["next"], interactive=False).result(WAIT).shape == (1, 8)
    assert gate.order == [("fine", "fine too"), ("boom", "last"), ("next",)]
    assert queue.waiting == 0
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


def test_parts_of_one_question_are_embedded_beside_each_other_and_bulk_work_is_not() -> None:
    gate = Gate()
    queue = EmbeddingQueue(gate, slice_texts=2, threads=2)
    question = queue.submit(["a", "b", "c"], interactive=True)
    for _ in range(2):
        assert gate.entered.acquire(timeout=WAIT)
    assert sorted(gate.order) == [("a", "b"), ("c",)]
    for _ in range(2):
        gate.let.release()
    np.testing.assert_allclose(question.result(WAIT), HashedEmbedder(8).embed(["a", "b", "c"]))
    bulk = [queue.submit([f"bulk {at}" for at in range(2)], interactive=False) for _ in range(2)]
    assert gate.entered.acquire(timeout=WAIT)
    # One of the threads stays free for who asks next.
    late = queue.submit(["late"], interactive=True)
    assert gate.entered.acquire(timeout=WAIT)
    assert gate.order[2:] == [("bulk 0", "bulk 1"), ("late",)]
    for _ in range(3):
        gate.let.release()
    assert [one.result(WAIT).shape for one in (late, *bulk)] == [(1, 8), (2, 8), (2, 8)]
    # Both threads are done with what they had.
    queue.close()
    assert queue.waiting == 0


def test_a_question_goes_to_one_thread_and_its_parts_together_to_the_other() -> None:
    gate = Gate()
    queue = EmbeddingQueue(gate, slice_texts=2, threads=2)
    texts = ["Where do I live and what do I do?", "Where do I live?", "What do I do?"]
    question = queue.submit(texts, interactive=True)
    for _ in range(2):
        assert gate.entered.acquire(timeout=WAIT)
    assert sorted(gate.order, key=len) == [tuple(texts[:1]), tuple(texts[1:])]
    for _ in range(2):
        gate.let.release()
    np.testing.assert_allclose(question.result(WAIT), HashedEmbedder(8).embed(texts))
    queue.close()


def test_a_question_fails_once_though_both_of_its_parts_do() -> None:
    gate = Gate()
    queue = EmbeddingQueue(gate, slice_texts=1, threads=2)
    failing = queue.submit(["boom", "boom", "never"], interactive=True)
    for _ in range(2):
        assert gate.entered.acquire(timeout=WAIT)
    for _ in range(2):
        gate.let.release()
    with pytest.raises(ModelUnavailable):
        failing.result(WAIT)
    good = queue.submit(["fine"], interactive=True)
    for _ in range(2):
        gate.let.release()
    assert good.result(WAIT).shape == (1, 8)
    # Both threads are done with what they had.
    queue.close()
    assert queue.waiting == 0


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


class Threads(HashedEmbedder):
    """Notes in which thread it embeds; "bad" is no text for it."""

    def __init__(self) -> None:
        super().__init__(8)
        self.names: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.names.append(threading.current_thread().name)
        if "bad" in texts:
            raise ValueError("not this one")
        return super().embed(texts)


def test_one_text_of_somebody_who_waits_is_embedded_where_it_is_asked() -> None:
    embedder = Threads()
    queue = EmbeddingQueue(embedder)
    here = threading.current_thread().name
    assert np.array_equal(queue.embed(["a"], interactive=True), HashedEmbedder(8).embed(["a"]))
    assert embedder.names == [here]
    queue.embed(["a", "b"], interactive=True)
    queue.embed(["c"], interactive=False)
    assert here not in embedder.names[1:]
    with pytest.raises(ModelUnavailable, match="ValueError"):
        queue.embed(["bad"], interactive=True)
    # Whoever comes next is served.
    assert queue.embed(["a"], interactive=True).shape == (1, 8)
    queue.close()
    with pytest.raises(ClosedConnection):
        queue.embed(["a"], interactive=True)


def test_beside_another_question_one_text_waits_its_turn() -> None:
    gate = Gate()
    queue = EmbeddingQueue(gate)
    first = threading.Thread(target=lambda: queue.embed(["first"], interactive=True))
    first.start()
    assert gate.entered.acquire(timeout=WAIT)
    found: list[Vectors] = []
    second = threading.Thread(target=lambda: found.append(queue.embed(["second"], interactive=True)))
    second.start()
    # In the queue's own thread, though the first is still under way.
    assert gate.entered.acquire(timeout=WAIT)
    assert gate.order == [("first",), ("second",)]
    gate.let.release(2)
    first.join(WAIT)
    second.join(WAIT)
    assert len(found) == 1
    queue.close()


def test_a_closed_queue_refuses_what_waits_and_what_comes() -> None:
    gate = Gate()
    queue = EmbeddingQueue(gate, slice_texts=1)
    waiting = queue.submit(["a", "b"], interactive=False)
    assert gate.entered.acquire(timeout=WAIT)
    closer = threading.Thread(target=queue.close)
    closer.start()
    late = [queue.submit(["c"], interactive=True)]
    # Only what comes after the closing has begun is refused at once, and only then may the slice under way end.
    while not wait(late[-1:], 0.01).done:
        late.append(queue.submit(["c"], interactive=True))
    gate.let.release()
    closer.join(WAIT)
    for refused in (waiting, *late):
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


@pytest.fixture(scope="module")
def counters() -> tuple[Callable[[str], int], Callable[[str], int]]:
    """The counter, and the tokenizer that sees the whole text."""
    from tokenizers import Tokenizer

    whole = Tokenizer.from_file(str(choose_weights("example-org/not-there").folder / TOKENIZER_FILE))
    whole.no_truncation()
    whole.no_padding()
    return token_counter("example-org/not-there").count, lambda text: len(whole.encode(text, add_special_tokens=False).ids)


@given(st.lists(st.text(alphabet=st.sampled_from("aZé ́ßğ中.,#'-[]1\t\u00a0"), max_size=12), max_size=5))
def test_tokens_of_lines_add_up_to_those_of_the_whole_text(
    counters: tuple[Callable[[str], int], Callable[[str], int]], lines: list[str]
) -> None:
    counted, encoded = counters
    text = "\n".join(lines)
    assert counted(text) == encoded(text)
