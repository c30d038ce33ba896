"""One thread does what one can do; others come in where several ask at once."""

import threading

import pytest

from aico_memory.runtime.warm_threads import WarmThreads


@pytest.fixture
def pool():
    threads = WarmThreads(3, "t")
    yield threads
    threads.close()


def resting(pool: WarmThreads, count: int) -> None:
    """Wait until so many threads rest."""
    pause = threading.Event()
    for _ in range(10_000):
        if len(pool._resting) == count:
            return
        pause.wait(0.001)
    raise AssertionError("the threads never came to rest")


def test_one_after_the_other_is_done_by_one_thread(pool):
    names = []
    for number in range(20):
        assert pool.submit(lambda: names.append(threading.current_thread().name))
        resting(pool, 1)
        assert len(names) == number + 1
    assert set(names) == {"t_0"}


def test_as_many_as_are_allowed_work_at_once_and_the_rest_waits_its_turn(pool):
    together, go, done = threading.Barrier(4), threading.Event(), []

    def work(number):
        if number < 3:
            together.wait(20)
            go.wait(20)
        done.append(number)

    for number in range(6):
        pool.submit(lambda number=number: work(number))
    together.wait(20)
    assert done == []
    go.set()
    resting(pool, 3)
    assert sorted(done) == [0, 1, 2, 3, 4, 5]


def test_after_a_burst_one_thread_goes_on_alone(pool):
    barrier = threading.Barrier(3)
    for _ in range(3):
        pool.submit(lambda: barrier.wait(20))
    resting(pool, 3)
    names = []
    for number in range(5):
        pool.submit(lambda: names.append(threading.current_thread().name))
        resting(pool, 3)
        assert len(names) == number + 1
    assert len(set(names)) == 1


def test_close_waits_for_what_is_done_and_drops_what_waits():
    pool, begun, go, done = WarmThreads(1, "t"), threading.Event(), threading.Event(), []

    def work():
        begun.set()
        go.wait(20)
        done.append(1)

    pool.submit(work)
    begun.wait(20)
    pool.submit(lambda: done.append(2))
    closing = threading.Thread(target=pool.close)
    closing.start()
    while pool.submit(lambda: done.append(3)):
        threading.Event().wait(0.001)
    go.set()
    closing.join(20)
    assert 1 in done
    assert 2 not in done
    assert not pool.submit(lambda: None)
    pool.close()


def test_a_thread_outlives_what_its_work_raises(pool):
    names = []
    pool.submit(lambda: 1 / 0)
    resting(pool, 1)
    pool.submit(lambda: names.append(threading.current_thread().name))
    resting(pool, 1)
    assert names == ["t_0"]
