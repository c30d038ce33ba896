"""Waiting for others: what comes, what does not, and what comes as an error."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from aico_memory.errors import AccessDenied, DeadlineExceeded
from aico_memory.runtime.waiting import answered, until


def test_an_answer_that_is_there_is_given() -> None:
    future: Future[int] = Future()
    future.set_result(3)
    assert answered(future, 0, "The question") == 3


def test_an_answer_that_does_not_come_is_a_passed_deadline_that_names_the_question() -> None:
    with pytest.raises(DeadlineExceeded, match="The question has not been answered within 0 s"):
        answered(Future(), 0, "The question")


def test_a_refusal_stays_the_error_it_is() -> None:
    future: Future[int] = Future()
    future.set_exception(AccessDenied("no"))
    with pytest.raises(AccessDenied):
        answered(future, 0, "The question")


def test_a_condition_is_looked_at_once_even_where_there_is_no_time() -> None:
    assert until(lambda: 0, 0, "It is not there") == 0


def test_a_condition_that_never_holds_is_a_passed_deadline_with_its_reason() -> None:
    with pytest.raises(DeadlineExceeded, match="It is not there within 0 s"):
        until(lambda: None, 0, "It is not there")


def test_work_that_goes_on_is_waited_for_and_work_that_stands_is_not() -> None:
    looks = 0

    def condition() -> int | None:
        nonlocal looks
        looks += 1
        return looks if looks == 5 else None

    # Without any time at all only what moves at every look keeps the wait going.
    assert until(condition, 0, "It is not there", step=0, progress=lambda: looks) == 5
    with pytest.raises(DeadlineExceeded):
        until(lambda: None, 0, "It is not there", step=0, progress=lambda: "as before")


def test_work_that_never_ends_is_given_up_however_it_gets_on() -> None:
    looks = iter(range(10_000_000))
    with pytest.raises(DeadlineExceeded):
        until(lambda: None, 0, "It is not there", step=0, progress=lambda: next(looks), most=0.05)
