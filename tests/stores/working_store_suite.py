"""Conformance suite of the port WorkingStore."""

import threading
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aico_memory.contracts.v1.working_pb2 import StoredMessage
from aico_memory.domain.working.buffer import BufferEntry
from aico_memory.domain.working.expiry import SweepBounds
from aico_memory.errors import NotFound
from aico_memory.stores.working import Counts, PendingUser, Sweeping, WorkingStore

EARLIEST = -(10**17)


def a_message(number: int, user: str = "ada", session: str = "s", said: int | None = None, received: int | None = None):
    return StoredMessage(
        event_id=number.to_bytes(16, "big"),
        user_id=user,
        session_id=session,
        role="user",
        content=f"said {number}",
        said_at_us=1000 + number if said is None else said,
        received_at_us=1000 + number if received is None else received,
        metadata_json='{"n": 1}',
        source_type="message",
        zone="Europe/Berlin",
    )


def put(store: WorkingStore, *messages: StoredMessage) -> list[bool]:
    with store.transaction() as transaction:
        return [transaction.add(message, int.from_bytes(message.event_id, "big")) for message in messages]


def acknowledge(store: WorkingStore, user: str, *numbers: int) -> int:
    with store.transaction() as transaction:
        return transaction.acknowledge(user, [number.to_bytes(16, "big") for number in numbers])


def sweep(store: WorkingStore, acknowledged_until: int, any_until: int = EARLIEST) -> Sweeping:
    with store.transaction() as transaction:
        return transaction.sweep(SweepBounds(acknowledged_until, any_until))


def numbers(messages: list[StoredMessage]) -> list[int]:
    return [int.from_bytes(message.event_id, "big") for message in messages]


class WorkingStoreSuite:
    """Subclass it with the fixture `store`, and `reopened` where the store is on disk."""

    @pytest.fixture
    def store(self) -> WorkingStore:
        raise NotImplementedError

    @pytest.fixture
    def reopened(self, store: WorkingStore) -> Callable[[], WorkingStore]:
        return lambda: store

    def test_an_empty_store_holds_nothing(self, store):
        assert store.read("ada") == store.experiences("ada", 10) == store.pending_users(10) == store.users() == []
        assert store.buffer("ada", "s") == ()
        assert store.counts() == Counts(0, 0, 0, 0, 0, 0)

    def test_a_message_comes_back_as_it_was_stored(self, store, reopened):
        message = a_message(1)
        assert put(store, message) == [True]
        assert reopened().read("ada") == [message]

    def test_the_newest_by_the_time_they_were_said_come_last(self, store):
        put(store, a_message(1, said=300), a_message(2, said=100), a_message(3, said=200), a_message(4, said=-5))
        assert numbers(store.read("ada")) == [4, 2, 3, 1]
        assert numbers(store.read("ada", limit=2)) == [3, 1]
        assert store.read("ada", limit=0) == []

    def test_what_was_said_in_one_microsecond_keeps_its_order(self, store):
        put(store, *(a_message(number, said=7, received=7) for number in (1, 2, 3)))
        assert (
            numbers(store.read("ada")) == numbers(store.read("ada", "s")) == numbers(store.experiences("ada", 9)) == [1, 2, 3]
        )

    def test_sessions_and_users_are_kept_apart(self, store):
        put(store, a_message(1, session="s"), a_message(2, session="t"), a_message(3, session=""), a_message(4, user="adabob"))
        assert numbers(store.read("ada")) == [1, 2, 3]
        assert numbers(store.read("ada", "s")) == [1]
        assert numbers(store.read("ada", "t")) == [2]
        assert store.read("ada", "u") == store.read("bob", "s") == []
        assert store.users() == ["ada", "adabob"]
        assert store.users("ada") == ["adabob"]

    def test_going_back_page_by_page_meets_everything_once(self, store):
        put(store, *(a_message(number, session="s" if number % 3 else "t", said=number // 2) for number in range(1, 30)))
        for session in ("", "s"):
            pages, before = [], b""
            while page := store.read("ada", session, 4, before):
                pages = numbers(page) + pages
                before = page[0].event_id
            assert pages == numbers(store.read("ada", session, 100))

    def test_going_on_from_an_unknown_or_foreign_message_is_not_found(self, store):
        put(store, a_message(1), a_message(2, user="bob"))
        for unknown in (a_message(9).event_id, a_message(2).event_id, b"short"):
            with pytest.raises(NotFound):
                store.read("ada", before=unknown)
            with pytest.raises(NotFound):
                store.experiences("ada", 10, after=unknown)

    def test_an_event_id_that_is_held_has_no_second_effect(self, store, reopened):
        put(store, a_message(1))
        acknowledge(store, "ada", 1)
        assert put(store, a_message(1, said=5), a_message(1, user="bob")) == [False, False]
        after = reopened()
        assert [(message.said_at_us, message.consolidated) for message in after.read("ada")] == [(1001, True)]
        assert after.counts() == Counts(messages=1, pending=0, users=1, buffers=0, expired=0, expired_unreplayed=0)

    def test_pending_experiences_come_oldest_receipt_first(self, store):
        put(
            store,
            a_message(1, said=9, received=30),
            a_message(2, received=10),
            a_message(3, received=20),
            a_message(4, user="bob"),
        )
        assert numbers(store.experiences("ada", 10)) == [2, 3, 1]
        assert numbers(store.experiences("ada", 2)) == [2, 3]
        assert numbers(store.experiences("ada", 10, until_us=30)) == [2, 3]
        assert numbers(store.experiences("ada", 10, after=a_message(2).event_id)) == [3, 1]
        assert numbers(store.experiences("ada", 1, until_us=30, after=a_message(2).event_id)) == [3]

    def test_acknowledged_experiences_are_pending_no_more_and_stay_readable(self, store, reopened):
        put(store, a_message(1), a_message(2), a_message(3, user="bob"))
        assert acknowledge(store, "ada", 1, 1, 3, 9) == 1
        after = reopened()
        assert numbers(after.experiences("ada", 10)) == [2]
        assert [(message.consolidated) for message in after.read("ada")] == [True, False]
        assert numbers(after.experiences("bob", 10)) == [3]
        assert numbers(after.experiences("ada", 10, after=a_message(1).event_id)) == [2]

    def test_an_acknowledged_experience_keeps_what_it_led_to_as_it_was_told_first(self, store, reopened):
        put(store, a_message(1), a_message(2), a_message(3, user="bob"))
        first, second, foreign = (a_message(number).event_id for number in (1, 2, 3))
        for told in (["m-1", "m-2"], ["m-3"]):
            with store.transaction() as transaction:
                transaction.acknowledge("ada", [first, second, foreign], {first: told, foreign: told})
        after = reopened()
        assert [(message.consolidated, list(message.memory_ids)) for message in after.read("ada")] == [
            (True, ["m-1", "m-2"]), (True, []),
        ]  # fmt: skip
        assert [list(message.memory_ids) for message in after.read("bob")] == [[]]

    def test_pending_users_come_by_id_with_count_and_oldest_receipt(self, store):
        put(
            store,
            a_message(1, user="zoe", received=50),
            a_message(2, user="ada", received=70),
            a_message(3, user="ada", received=60),
        )
        put(store, a_message(4, user="bob"))
        acknowledge(store, "bob", 4)
        assert store.pending_users(10) == [PendingUser("ada", 2, 60), PendingUser("zoe", 1, 50)]
        assert store.pending_users(1) == [PendingUser("ada", 2, 60)]
        assert store.pending_users(10, after="ada") == [PendingUser("zoe", 1, 50)]

    def test_feedback_is_marked_on_the_users_own_message_only(self, store):
        put(store, a_message(1), a_message(2))
        with store.transaction() as transaction:
            marked = [
                transaction.mark_feedback(user, a_message(number).event_id, sequence)
                for user, number, sequence in (("ada", 1, 70), ("ada", 1, 71), ("bob", 2, 72), ("ada", 9, 73))
            ]
        assert marked == [True, True, False, False]
        assert [(message.has_feedback, message.feedback_sequence) for message in store.read("ada")] == [(True, 70), (False, 0)]

    def test_a_sweep_removes_what_is_acknowledged_and_past_its_time(self, store, reopened):
        put(store, a_message(1, received=10), a_message(2, received=20), a_message(3, received=21), a_message(4, received=5))
        acknowledge(store, "ada", 1, 2, 3)
        assert sweep(store, 20) == Sweeping(2, {})
        after = reopened()
        assert numbers(after.read("ada")) == numbers(after.read("ada", "s")) == [3, 4]
        assert numbers(after.experiences("ada", 10)) == [4]
        assert after.counts() == Counts(messages=2, pending=1, users=1, buffers=0, expired=2, expired_unreplayed=0)
        assert sweep(after, 20) == Sweeping(0, {})

    def test_a_sweep_names_what_nobody_has_replayed(self, store):
        put(
            store,
            a_message(1, received=30),
            a_message(2, received=10),
            a_message(3, user="bob", received=20),
            a_message(4, received=31),
        )
        assert sweep(store, 100, any_until=30) == Sweeping(3, {"ada": [a_message(2).event_id, a_message(1).event_id],
                                                               "bob": [a_message(3).event_id]})  # fmt: skip
        assert store.users() == ["ada"]
        assert store.counts() == Counts(messages=1, pending=1, users=1, buffers=0, expired=3, expired_unreplayed=3)

    def test_what_has_expired_may_come_again(self, store):
        put(store, a_message(1, received=10))
        sweep(store, 10, 10)
        assert put(store, a_message(1, received=10)) == [True]

    def test_effects_and_cursor_stand_or_fall_together(self, store, reopened):
        put(store, a_message(1))
        with pytest.raises(ZeroDivisionError), store.transaction() as transaction:
            transaction.add(a_message(2), 2)
            transaction.acknowledge("ada", [a_message(1).event_id])
            transaction.sweep(SweepBounds(10**6, 10**6))
            transaction.set_cursor(1, 5)
            raise ZeroDivisionError
        after = reopened()
        assert numbers(after.experiences("ada", 10)) == [1]
        assert after.cursor() == (0, 0)

    def test_a_buffer_is_what_the_rule_made_of_it(self, store, reopened):
        entries = (BufferEntry("m1", "tea", 0.7, 2, 55), BufferEntry("m2", "coffee", 0.1, 1, 44))
        assert store.update_buffer("ada", "s", lambda held: (*held, *entries), 60) == entries
        after = reopened()
        assert after.buffer("ada", "s") == entries
        assert after.buffer("ada", "t") == after.buffer("bob", "s") == ()
        assert after.update_buffer("ada", "s", lambda held: held[1:], 61) == entries[1:]
        assert after.counts().buffers == 1

    def test_a_buffer_is_cleared_at_the_sessions_end_or_when_nothing_is_left(self, store):
        entry = BufferEntry("m1", "tea", 0.7, 2, 55)
        for session in ("s", "t"):
            store.update_buffer("ada", session, lambda held: (entry,), 60)
        with store.transaction() as transaction:
            transaction.clear_buffer("ada", "s")
            transaction.clear_buffer("ada", "unknown")
        assert (store.buffer("ada", "s"), store.buffer("ada", "t")) == ((), (entry,))
        store.update_buffer("ada", "t", lambda held: (), 61)
        assert store.counts().buffers == 0

    def test_buffers_that_nobody_touched_for_long_are_dropped(self, store):
        entry = BufferEntry("m1", "tea", 0.7, 2, 55)
        for session, touched in (("s", 10), ("t", 20), ("u", 21)):
            store.update_buffer("ada", session, lambda held: (entry,), touched)
        with store.transaction() as transaction:
            assert transaction.drop_idle_buffers(20) == 2
        assert store.buffer("ada", "u") == (entry,)
        assert store.counts().buffers == 1

    def test_updates_of_one_buffer_at_once_lose_nothing(self, store):
        start = threading.Barrier(4)

        def add(name: str) -> None:
            start.wait()
            for number in range(10):
                entry = BufferEntry(f"{name}{number}", "", 0.5, 1, 1)
                store.update_buffer("ada", "s", lambda held, entry=entry: (*held, entry), 1)

        threads = [threading.Thread(target=add, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({entry.id for entry in store.buffer("ada", "s")}) == 40


_users = st.sampled_from(["ada", "bob", ""])
_moments = st.integers(-50, 50)
_steps = st.one_of(
    st.tuples(st.just("add"), st.integers(1, 25), _users, st.sampled_from(["", "s", "t"]), _moments, _moments),
    st.tuples(st.just("acknowledge"), _users, st.lists(st.integers(1, 25), max_size=4)),
    st.tuples(st.just("feedback"), _users, st.integers(1, 25)),
    st.tuples(st.just("sweep"), _moments, _moments),
    st.tuples(st.just("fail"), st.integers(1, 25), _users),
)


def perform(store: WorkingStore, step: tuple) -> object:
    """One step of a script; what it returned."""
    match step:
        case ("add", number, user, session, said, received):
            return put(store, a_message(number, user, session, said, received))
        case ("acknowledge", user, chosen):
            return acknowledge(store, user, *chosen)
        case ("feedback", user, number):
            with store.transaction() as transaction:
                return transaction.mark_feedback(user, number.to_bytes(16, "big"), number)
        case ("sweep", one, other):
            return sweep(store, max(one, other), min(one, other))
        case ("fail", number, user):
            with pytest.raises(ZeroDivisionError), store.transaction() as transaction:
                transaction.add(a_message(number, user), number)
                raise ZeroDivisionError
    return None


def observed(store: WorkingStore) -> object:
    """Everything that can be read."""
    users = ("ada", "bob", "")
    return (
        [store.read(user, session, 100) for user in users for session in ("", "s", "t")],
        [store.experiences(user, 100, until) for user in users for until in (0, 10)],
        store.pending_users(10),
        store.users(),
        store.counts(),
    )


def alike(make: Callable[[], WorkingStore], twin: Callable[[], WorkingStore], examples: int = 40) -> None:
    """Any script leaves a store and its twin in the same state."""

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(script=st.lists(_steps, max_size=25))
    def both(script):
        one, other = make(), twin()
        try:
            for step in script:
                assert perform(one, step) == perform(other, step)
            assert observed(one) == observed(other)
        finally:
            one.close()
            other.close()

    both()
