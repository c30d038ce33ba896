"""Long work stands aside for questions, within a bound."""

from __future__ import annotations

import threading
from time import monotonic

from aico_memory.runtime.courtesy import Courtesy

WAIT = 60.0


def test_nobody_is_waited_for_where_nobody_asks() -> None:
    started = monotonic()
    Courtesy(60_000).give_way()
    assert monotonic() - started < WAIT


def test_work_waits_until_the_last_question_is_answered() -> None:
    courtesy = Courtesy(60_000)
    order: list[str] = []
    begun, worked = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        courtesy.give_way()
        order.append("work")
        worked.set()

    with courtesy.serving():
        with courtesy.serving():
            thread = threading.Thread(target=work)
            thread.start()
            assert begun.wait(WAIT)
        order.append("first answered")
        assert not worked.is_set()
        order.append("second answered")
    assert worked.wait(WAIT)
    thread.join(WAIT)
    assert order == ["first answered", "second answered", "work"]


def test_a_question_that_takes_long_is_waited_for_no_longer_than_the_bound() -> None:
    started = monotonic()
    courtesy = Courtesy(50)
    with courtesy.serving():
        courtesy.give_way()
    assert 0.05 <= monotonic() - started < WAIT


def test_a_bound_of_zero_never_waits() -> None:
    courtesy = Courtesy(0)
    with courtesy.serving():
        courtesy.give_way()


def test_a_question_that_fails_is_not_waited_for_any_more() -> None:
    courtesy = Courtesy(60_000)
    try:
        with courtesy.serving():
            raise ValueError
    except ValueError:
        pass
    started = monotonic()
    courtesy.give_way()
    assert monotonic() - started < WAIT


def test_a_question_that_waits_for_another_process_is_not_given_way_to_meanwhile() -> None:
    courtesy = Courtesy(60_000)
    worked = threading.Event()
    with courtesy.serving():
        with courtesy.waiting():
            courtesy.give_way()
        thread = threading.Thread(target=lambda: (courtesy.give_way(), worked.set()))
        thread.start()
        assert not worked.is_set()
    assert worked.wait(WAIT)
    thread.join(WAIT)


def test_who_answers_nothing_waits_without_being_counted() -> None:
    courtesy = Courtesy(60_000)
    begun, ended = threading.Event(), threading.Event()

    def answer() -> None:
        with courtesy.serving():
            begun.set()
            assert ended.wait(WAIT)

    thread = threading.Thread(target=answer)
    thread.start()
    assert begun.wait(WAIT)
    with courtesy.waiting():
        started = monotonic()
        # The other thread's question counts on.
        waiting = threading.Thread(target=courtesy.give_way)
        waiting.start()
        assert waiting.is_alive()
        ended.set()
        waiting.join(WAIT)
    thread.join(WAIT)
    assert monotonic() - started < WAIT
