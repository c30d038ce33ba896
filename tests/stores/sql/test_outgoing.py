"""What a store still has to publish is known in memory as it stands in the table, in the same order, whoever dies when."""

import threading

import pytest

from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.stores.sql import Database, SqlConsumerState
from aico_memory.stores.sql import outgoing as head


def record(number: int, size: int = 5) -> OutgoingRecord:
    return OutgoingRecord(number.to_bytes(16, "big"), "memory/working/stored/v1/", "ada", bytes(size))


@pytest.fixture
def database(tmp_path):
    (tmp_path / "migrations").mkdir()
    opened = Database.open(tmp_path / "store" / "state.db", None, tmp_path / "migrations")
    yield opened
    opened.close()


@pytest.fixture
def state(database):
    return SqlConsumerState(database)


def emit(state, *numbers, size=5):
    with state.transaction() as transaction:
        for number in numbers:
            transaction.emit(record(number, size))
    return transaction.emitted


def stored(database):
    with database.read() as connection:
        rows = connection.execute("SELECT event_id FROM bus_outbox ORDER BY position").fetchall()
    return [int.from_bytes(row[0], "big") for row in rows]


def waiting(state, limit=10_000):
    return [int.from_bytes(one.event_id, "big") for one in state.outgoing(limit)]


def test_a_transaction_tells_what_it_has_added_and_not_what_stood_there_already(state):
    assert emit(state, 1, 2) == [record(1), record(2)]
    assert emit(state, 2, 3, 3) == [record(3)]


def test_what_was_settled_is_outgoing_no_more_and_leaves_the_table_with_the_next_transaction(database, state):
    emit(state, 1, 2, 3)
    assert waiting(state) == [1, 2, 3]
    state.settle_outgoing([record(2).event_id])
    assert waiting(state) == [1, 3]
    assert stored(database) == [1, 2, 3]
    emit(state, 4)
    assert stored(database) == waiting(state) == [1, 3, 4]


def test_a_transaction_that_fails_leaves_what_was_settled_to_the_next(database, state):
    emit(state, 1, 2)
    state.settle_outgoing([record(1).event_id])
    with pytest.raises(ZeroDivisionError), state.transaction() as transaction:
        transaction.emit(record(3))
        raise ZeroDivisionError
    assert (stored(database), waiting(state)) == ([1, 2], [2])
    state.forget_settled()
    assert stored(database) == waiting(state) == [2]


def test_whoever_dies_before_the_next_transaction_publishes_again_under_the_same_id(database, state):
    emit(state, 1, 2)
    state.settle_outgoing([record(1).event_id])
    assert waiting(SqlConsumerState(database)) == [1, 2]


def test_a_clean_end_takes_what_was_settled_out_of_the_table(tmp_path):
    (tmp_path / "migrations").mkdir()
    path = tmp_path / "store" / "state.db"
    with Database.open(path, None, tmp_path / "migrations") as first:
        state = SqlConsumerState(first)
        emit(state, 1, 2)
        state.settle_outgoing([record(1).event_id])
    with Database.open(path, None, tmp_path / "migrations") as second:
        assert stored(second) == [2]


def test_what_is_emitted_again_after_it_was_settled_is_published_again(database, state):
    emit(state, 1)
    state.settle_outgoing([record(1).event_id])
    assert emit(state, 1) == [record(1)]
    assert waiting(state) == stored(database) == [1]


def test_many_settled_records_do_not_wait_for_a_transaction(database, state):
    numbers = range(600)
    emit(state, *numbers)
    state.settle_outgoing([record(number).event_id for number in numbers])
    assert stored(database) == waiting(state) == []


@pytest.mark.parametrize(("records", "size"), [(5, 10**6), (10**6, 25)])
def test_more_than_memory_keeps_is_read_from_the_table_in_order(state, monkeypatch, records, size):
    monkeypatch.setattr(head, "MOST_RECORDS", records)
    monkeypatch.setattr(head, "MOST_BYTES", size)
    assert waiting(state) == []
    for number in range(12):
        emit(state, number)
    seen = []
    while found := waiting(state, 4):
        seen += found
        emit(state, 100 + len(seen)) if len(seen) == 4 else None
        state.settle_outgoing([record(number).event_id for number in found])
    assert seen == [*range(12), 104]
    emit(state, 200)
    assert waiting(state) == [200]


def test_nothing_is_lost_or_doubled_while_others_emit(database, state):
    def busy(first: int) -> None:
        for number in range(first, first + 50):
            emit(state, number)

    threads = [threading.Thread(target=busy, args=(1000 * place,)) for place in range(1, 4)]
    for thread in threads:
        thread.start()
    seen: list[int] = []
    while any(thread.is_alive() for thread in threads) or waiting(state):
        found = waiting(state, 7)
        seen += found
        state.settle_outgoing([record(number).event_id for number in found])
    assert sorted(seen) == [1000 * place + number for place in range(1, 4) for number in range(50)]
    for place in range(1, 4):
        own = [number for number in seen if number // 1000 == place]
        assert own == sorted(own)
    state.forget_settled()
    assert stored(database) == []
