"""Conformance suite of the port ConsumerState: every store that keeps a cursor passes it.

Subclass it and give the fixture `state`; where the store is on disk, give `reopened`
too, a function that closes the state and opens it again.
"""

import threading
from collections.abc import Callable

import pytest

from aico_memory.contracts.consumer_state import ConsumerState
from aico_memory.contracts.wire import OutgoingRecord


def a_record(number: int, envelope: bytes = b"words") -> OutgoingRecord:
    return OutgoingRecord(number.to_bytes(16, "big"), "memory/working/stored/v1/", "ada", envelope)


class ConsumerStateSuite:
    @pytest.fixture
    def state(self) -> ConsumerState:
        raise NotImplementedError

    @pytest.fixture
    def reopened(self, state: ConsumerState) -> Callable[[], ConsumerState]:
        """Default for what lives in memory: there is nothing to open again."""
        return lambda: state

    def test_an_empty_store_has_no_cursor(self, state):
        assert state.cursor() == (0, 0)
        assert state.outgoing(10) == []

    def test_the_cursor_stands_after_the_commit(self, state, reopened):
        with state.transaction() as transaction:
            transaction.set_cursor(2**64 - 1, 41)
        with state.transaction() as transaction:
            transaction.set_cursor(2**64 - 1, 42)
        assert reopened().cursor() == (2**64 - 1, 42)

    def test_an_exception_takes_cursor_and_outgoing_back(self, state, reopened):
        with state.transaction() as transaction:
            transaction.set_cursor(7, 1)
        with pytest.raises(ZeroDivisionError), state.transaction() as transaction:
            transaction.set_cursor(7, 2)
            transaction.emit(a_record(1))
            raise ZeroDivisionError
        after = reopened()
        assert after.cursor() == (7, 1)
        assert after.outgoing(10) == []

    def test_outgoing_records_come_whole_and_in_order(self, state, reopened):
        with state.transaction() as transaction:
            for number in (3, 1, 2):
                transaction.emit(a_record(number, b"\0envelope" * number))
        nameless = OutgoingRecord((4).to_bytes(16, "big"), "memory/scheduler/finished/v1/", "", b"no user")
        with state.transaction() as transaction:
            transaction.emit(nameless)
        expected = [a_record(number, b"\0envelope" * number) for number in (3, 1, 2)]
        assert reopened().outgoing(10) == [*expected, nameless]

    def test_a_limit_gives_the_oldest(self, state):
        with state.transaction() as transaction:
            for number in range(5):
                transaction.emit(a_record(number))
        assert state.outgoing(2) == [a_record(0), a_record(1)]

    def test_the_same_event_id_twice_is_one_entry(self, state):
        with state.transaction() as transaction:
            transaction.emit(a_record(1, b"first"))
            transaction.emit(a_record(1, b"second"))
        with state.transaction() as transaction:
            transaction.emit(a_record(1, b"third"))
        assert state.outgoing(10) == [a_record(1, b"first")]

    def test_settled_records_are_forgotten_and_others_stay(self, state, reopened):
        with state.transaction() as transaction:
            for number in range(4):
                transaction.emit(a_record(number))
        state.settle_outgoing([a_record(1).event_id, a_record(3).event_id, b"unknown-unknown-"])
        state.settle_outgoing([])
        assert reopened().outgoing(10) == [a_record(0), a_record(2)]

    def test_new_records_follow_old_ones_after_settling(self, state):
        with state.transaction() as transaction:
            transaction.emit(a_record(1))
            transaction.emit(a_record(2))
        state.settle_outgoing([a_record(2).event_id])
        with state.transaction() as transaction:
            transaction.emit(a_record(3))
        assert state.outgoing(10) == [a_record(1), a_record(3)]

    def test_attempts_count_up_until_they_are_forgotten(self, state, reopened):
        event = bytes(16)
        assert [state.note_attempt(event), state.note_attempt(event)] == [1, 2]
        after = reopened()
        assert after.note_attempt(event) == 3
        assert after.note_attempt(b"other-other-othe") == 1
        after.forget_attempts(event)
        after.forget_attempts(event)
        assert after.note_attempt(event) == 1

    def test_a_transaction_inside_a_transaction_is_refused(self, state):
        with state.transaction() as transaction:
            transaction.set_cursor(1, 1)
            with pytest.raises(RuntimeError), state.transaction():
                pass
        assert state.cursor() == (1, 1)

    def test_transactions_of_several_threads_exclude_each_other(self, state):
        start = threading.Barrier(4)

        def count_up() -> None:
            start.wait()
            for _ in range(25):
                with state.transaction() as transaction:
                    transaction.set_cursor(1, state.cursor()[1] + 1)

        threads = [threading.Thread(target=count_up) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert state.cursor() == (1, 100)
