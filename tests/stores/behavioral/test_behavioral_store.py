"""One suite for the behavioral store and its in-memory twin: what is put, what is told of it, and transactions."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.domain.behavioral.learning import Knowledge, Posterior, Preference, SkillState
from aico_memory.domain.behavioral.records import Evolution, UserState
from aico_memory.stores.behavioral.packing import pack_knowledge, pack_vector, unpack_knowledge, unpack_vector
from tests.stores.behavioral.rows import (
    POSTERIOR,
    PREFERENCE,
    STATE,
    TWICE,
    event,
    feedback,
    read,
    selection,
    trajectory,
    write,
)


def test_an_unknown_user_has_the_starting_values(store):
    assert read(store, lambda rows: rows.user("ann")) == UserState(False, True, 0)
    assert read(store, lambda rows: rows.skill_state("ann", "short")) == SkillState()
    assert read(store, lambda rows: rows.skill_states("ann")) == {}
    assert read(store, lambda rows: rows.posteriors("ann", 3)) == {}
    assert read(store, lambda rows: rows.preference("ann", 3)) == Preference()
    assert read(store, lambda rows: rows.selection("ann", "r1")) is None
    assert read(store, lambda rows: rows.feedback(event(1))) is None


def test_what_is_put_comes_back_and_the_later_put_stands(store):
    write(
        store,
        lambda rows: rows.put_user("ann", UserState(False, True, 1)),
        lambda rows: rows.put_user("ann", UserState(True, False, 2)),
        lambda rows: rows.put_skill_state("ann", "short", SkillState()),
        lambda rows: rows.put_skill_state("ann", "short", STATE),
        lambda rows: rows.put_posterior("ann", 42, "short", Posterior(), 1),
        lambda rows: rows.put_posterior("ann", 42, "short", POSTERIOR, 2),
        lambda rows: rows.put_preference("ann", 42, Preference(), 1),
        lambda rows: rows.put_preference("ann", 42, PREFERENCE, 2),
    )
    assert read(store, lambda rows: rows.user("ann")) == UserState(True, False, 2)
    assert read(store, lambda rows: rows.skill_states("ann")) == {"short": STATE}
    assert read(store, lambda rows: rows.skill_state("ann", "short")) == STATE
    assert read(store, lambda rows: rows.posteriors("ann", 42)) == {"short": POSTERIOR}
    assert read(store, lambda rows: rows.preference("ann", 42)) == PREFERENCE
    assert read(store, lambda rows: rows.preferences("ann")) == {42: PREFERENCE}


def test_a_bucket_without_a_preference_has_the_one_that_is_stated_for_all(store):
    def stated(rows):
        return rows.preference("ann", 3), rows.preference("bob", 3), rows.preferences("ann"), rows.stated_style("ann")

    style = Preference(PREFERENCE.dimensions)
    write(
        store,
        lambda rows: rows.put_stated_style("ann", Preference()),
        lambda rows: rows.put_stated_style("ann", style),
        lambda rows: rows.put_preference("ann", 42, Preference(), 1),
    )
    assert read(store, stated) == (style, Preference(), {42: Preference()}, style)
    assert read(store, lambda rows: rows.preference("ann", 42)) == Preference()
    write(store, lambda rows: rows.forget_learned("ann"))
    assert read(store, stated) == (Preference(), Preference(), {}, Preference())


def test_users_and_buckets_are_kept_apart(store):
    write(
        store,
        lambda rows: rows.put_skill_state("ann", "short", STATE),
        lambda rows: rows.put_posterior("ann", 42, "short", POSTERIOR, 1),
        lambda rows: rows.put_preference("ann", 42, PREFERENCE, 1),
        lambda rows: rows.add_selection(selection()),
    )
    assert read(store, lambda rows: rows.skill_states("bob")) == {}
    assert read(store, lambda rows: rows.posteriors("bob", 42)) == {}
    assert read(store, lambda rows: rows.posteriors("ann", 41)) == {}
    assert read(store, lambda rows: rows.preference("ann", 41)) == Preference()
    assert read(store, lambda rows: rows.selection("bob", "r1")) is None
    assert read(store, lambda rows: rows.latest_selection("bob", "short")) is None


def test_the_newest_selections_come_first_by_user_and_skill(store):
    def ids(user, skill="", limit=10):
        return [one.request_id for one in read(store, lambda rows: rows.selections_of(user, skill, limit))]

    told = [("ann", "r3", "short"), ("ann", "r1", "long"), ("bob", "r2", "short"), ("ann", "r2", "short")]
    write(store, *[lambda rows, one=one: rows.add_selection(selection(*one)) for one in told])
    assert ids("ann") == ["r2", "r1", "r3"]
    assert (ids("ann", limit=1), ids("ann", "short"), ids("ann", "none"), ids("cleo")) == (["r2"], ["r2", "r3"], [], [])


def test_lists_go_on_behind_what_was_listed_last_whatever_its_time(store):
    told = [("ann", "r3"), ("bob", "r9"), ("ann", "r1"), ("ann", "r2", "long"), ("ann", "r4")]
    write(store, *[lambda rows, one=one, place=place: rows.add_selection(selection(*one, at_us=9 - place))
                   for place, one in enumerate(told)])  # fmt: skip
    write(store, *[lambda rows, one=one: rows.add_feedback(one) for one in (
        feedback(3), feedback(1, user="bob"), feedback(2, status="no_consent"), feedback(4, at_us=1), feedback(5)
    )])  # fmt: skip

    def ids(after, user="ann", skill="", limit=9):
        return [one.request_id for one in read(store, lambda rows: rows.selections_of(user, skill, limit, after))]

    def thumbs(after, user="ann", limit=9):
        behind = None if after is None else event(after)
        return [one.event_id.int for one in read(store, lambda rows: rows.newest_feedback(user, limit, behind))]

    assert (ids("", limit=2), ids("r2", limit=2), ids("r3"), ids("r4", skill="short")) == (
        ["r4", "r2"],
        ["r1", "r3"],
        [],
        ["r1", "r3"],
    )
    assert (ids("r9"), ids("gone"), ids("r9", user="bob")) == ([], [], [])
    assert (thumbs(None, limit=2), thumbs(4), thumbs(3), thumbs(2)) == ([5, 4], [3], [], [3])
    assert (thumbs(1), thumbs(77), thumbs(None, user="bob")) == ([], [], [1])


def test_a_transaction_sees_its_own_writes(store):
    seen = write(store, lambda rows: rows.put_skill_state("ann", "short", STATE), lambda rows: rows.skill_state("ann", "short"))
    assert seen[1] == STATE


def test_a_reader_does_not_see_what_is_not_committed(store):
    with store.state.transaction() as transaction:
        store.within(transaction).put_skill_state("ann", "short", STATE)
        assert read(store, lambda rows: rows.skill_states("ann")) == {}
    assert read(store, lambda rows: rows.skill_states("ann")) == {"short": STATE}


def test_an_exception_leaves_rows_cursor_and_outbox_as_they_were(store):
    write(store, lambda rows: rows.put_user("ann", UserState(True, True, 1)))
    with pytest.raises(ZeroDivisionError), store.state.transaction() as transaction:
        rows = store.within(transaction)
        rows.put_user("ann", UserState(True, True, 2))
        rows.add_feedback(feedback())
        transaction.set_cursor(7, 9)
        transaction.emit(OutgoingRecord(bytes(16), "memory/behavioral/skill_updated/v1/", "ann", b"x"))
        raise ZeroDivisionError
    assert read(store, lambda rows: rows.user("ann")).feedback_count == 1
    assert read(store, lambda rows: rows.feedback(event(1))) is None
    assert store.state.cursor() == (0, 0)
    assert store.state.outgoing(9) == []


def test_a_selection_comes_back_whole_and_the_one_applied_last_is_the_latest(store):
    write(
        store,
        lambda rows: rows.add_selection(selection(request="r2", at_us=99)),
        lambda rows: rows.add_selection(selection(request="r1", at_us=10)),
        lambda rows: rows.add_selection(selection(request="r3", skill="long")),
    )
    assert read(store, lambda rows: rows.selection("ann", "r2")) == selection(request="r2", at_us=99)
    assert read(store, lambda rows: rows.latest_selection("ann", "short")).request_id == "r1"


def test_a_request_id_has_one_selection_a_user(store):
    write(store, lambda rows: rows.add_selection(selection()), lambda rows: rows.add_selection(selection(user="bob")))
    with pytest.raises(TWICE):
        write(store, lambda rows: rows.add_selection(selection(skill="long")))
    assert read(store, lambda rows: rows.selection("ann", "r1")).skill_id == "short"


def test_feedback_comes_back_in_the_order_it_was_applied(store):
    write(store, *(lambda rows, number=number: rows.add_feedback(feedback(number)) for number in (3, 1, 2)))
    write(store, lambda rows: rows.add_feedback(feedback(9, user="bob")))
    assert [one.event_id.int for one in read(store, lambda rows: rows.feedback_of("ann"))] == [3, 1, 2]
    assert read(store, lambda rows: rows.feedback(event(3))) == feedback(3)


def test_a_feedback_event_cannot_be_added_twice(store):
    write(store, lambda rows: rows.add_feedback(feedback()))
    with pytest.raises(TWICE):
        write(store, lambda rows: rows.add_feedback(feedback(reward=-1)))
    assert [one.reward for one in read(store, lambda rows: rows.feedback_of("ann"))] == [1]


def test_feedback_without_text_has_none(store):
    write(store, lambda rows: rows.add_feedback(feedback(sealed_text=None)))
    assert read(store, lambda rows: rows.feedback(event(1))).sealed_text is None


def test_a_text_waits_to_be_sorted_while_its_user_consents_and_it_is_not_taken_back(store):
    with store.state.transaction() as transaction:
        rows = store.within(transaction)
        rows.put_user("ann", UserState(behavioral=True))
        rows.add_feedback(feedback(1))
        rows.add_feedback(feedback(2, sealed_text=None))
        rows.add_feedback(feedback(3, user="bob"))
        rows.add_feedback(feedback(4, at_us=90, skill_updated=False, reward=0))
        rows.add_feedback(feedback(5, at_us=95, skill_updated=False, reward=0, sealed_text=None))
        assert [one.event_id for one in rows.unclassified(9)] == [event(1), event(4)]
        assert rows.count_unclassified() == 2
        assert [one.event_id for one in rows.unclassified(1)] == [event(1)]
        assert rows.take_back("ann", 50, 100) == 2
        assert [one.event_id for one in rows.unclassified(9)] == [event(1)]
        rows.classified(event(1), {"too_brief": 0.75, "none": 0.25}, 123, "spelling", 0.37)
        assert rows.unclassified(9) == []
        assert rows.count_unclassified() == 0
    with store.reading() as rows:
        found = rows.feedback(event(1))
        assert (found.categories, found.classified_us, found.classified_by) == (
            {"too_brief": 0.75, "none": 0.25},
            123,
            "spelling",
        )
        assert rows.feedback(event(3)).categories is None


def test_turns_are_counted_by_conversation(store):
    assert read(store, lambda rows: rows.next_turn("ann", "c1")) == 1
    write(
        store,
        lambda rows: rows.add_trajectory(trajectory()),
        lambda rows: rows.add_trajectory(trajectory(request="r2", conversation_id="c2")),
        lambda rows: rows.add_trajectory(trajectory(user="bob")),
    )
    assert read(store, lambda rows: rows.next_turn("ann", "c1")) == 2


def test_a_trajectory_without_reward_is_archived_and_in_the_end_deleted(store):
    write(
        store,
        lambda rows: rows.add_trajectory(trajectory(request="old", at_us=100)),
        lambda rows: rows.add_trajectory(trajectory(request="judged", at_us=100)),
        lambda rows: rows.add_trajectory(trajectory(request="young", at_us=200)),
        lambda rows: rows.reward_trajectory("ann", "judged", -1),
    )
    assert write(store, lambda rows: rows.archive_trajectories(200, 1000)) == [1]
    assert write(store, lambda rows: rows.archive_trajectories(200, 1001)) == [0]
    assert read(store, lambda rows: rows.trajectory("ann", "old")).archived_us == 1000
    assert write(store, lambda rows: rows.delete_archived(1000)) == [0]
    assert write(store, lambda rows: rows.delete_archived(1001)) == [1]
    assert read(store, lambda rows: rows.trajectory("ann", "old")) is None
    assert read(store, lambda rows: rows.trajectory("ann", "judged")).reward == -1
    assert read(store, lambda rows: rows.trajectory("ann", "young")) == trajectory(request="young", at_us=200)


def test_the_answer_of_a_trajectory_is_kept_replaced_and_deleted_and_is_that_of_its_user(store):
    write(store, lambda rows: rows.add_trajectory(trajectory()), lambda rows: rows.add_trajectory(trajectory(user="bob")))
    assert write(store, lambda rows: rows.put_response("ann", "r1", b"one")) == [True]
    assert write(store, lambda rows: rows.put_response("ann", "r1", b"two")) == [True]
    assert write(store, lambda rows: rows.put_response("ann", "r2", b"two")) == [False]
    assert read(store, lambda rows: rows.trajectory("ann", "r1")) == trajectory(sealed_response=b"two")
    assert read(store, lambda rows: rows.trajectory("bob", "r1")).sealed_response == trajectory().sealed_response
    write(store, lambda rows: rows.put_response("ann", "r1", None))
    assert read(store, lambda rows: rows.trajectory("ann", "r1")).sealed_response is None


def test_a_late_thumb_brings_an_archived_trajectory_back(store):
    write(store, lambda rows: rows.add_trajectory(trajectory()), lambda rows: rows.archive_trajectories(200, 1000))
    write(store, lambda rows: rows.reward_trajectory("ann", "r1", 1))
    assert read(store, lambda rows: rows.trajectory("ann", "r1")) == trajectory(reward=1)


def test_evolution_keeps_its_cause_and_exactly_what_stood_before(store):
    before = Knowledge(STATE, POSTERIOR, Preference(tuple(1 / (3 + n) for n in range(16)), 2))
    learned = Evolution("ann", event(5), 0, "learned", "short", 30, 0.5, 0.59, 42, before)
    consent = Evolution("ann", event(4), 0, "consent", "behavioral", 20, 0.0, 1.0)
    write(store, lambda rows: rows.add_evolution(learned), lambda rows: rows.add_evolution(consent))
    assert read(store, lambda rows: rows.evolution_of("ann")) == [consent, learned]
    assert read(store, lambda rows: rows.evolution_of("bob")) == []


vectors = st.lists(st.floats(0, 1), min_size=16, max_size=16).map(tuple)


@given(vectors)
def test_a_vector_is_kept_exactly(vector):
    assert unpack_vector(pack_vector(vector)) == vector


@given(
    vectors, st.floats(0.2, 0.9), st.lists(st.integers(0, 2**40), min_size=8, max_size=8), st.floats(1, 1e6), st.floats(1, 1e6)
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_prior_knowledge_is_kept_exactly(vector, confidence, counters, alpha, beta):
    known = Knowledge(SkillState(confidence, *counters), Posterior(alpha, beta), Preference(vector, 3))
    assert unpack_knowledge(pack_knowledge(known)) == known


def test_whoever_had_a_skill_selected_within_a_time_is_active(store):
    write(
        store,
        lambda rows: rows.add_selection(selection(at_us=10)),
        lambda rows: rows.add_selection(selection(request="r2", at_us=20)),
        lambda rows: rows.add_selection(selection(user="bob", at_us=20)),
    )
    assert read(store, lambda rows: rows.active_users(10, 20)) == {"ann"}
    assert read(store, lambda rows: rows.active_users(20, 30)) == {"ann", "bob"}
    assert read(store, lambda rows: rows.active_users(30, 40)) == frozenset()


def test_feedback_behind_a_position_is_what_taught_since(store):
    write(
        store,
        lambda rows: rows.add_feedback(feedback(1)),
        lambda rows: rows.add_feedback(feedback(2, reward=0, skill_updated=False)),
        lambda rows: rows.add_feedback(feedback(3, user="bob", reward=-1)),
    )
    assert [one.event_id.int for one in read(store, lambda rows: rows.feedback_since(0))] == [1, 3]
    assert [one.event_id.int for one in read(store, lambda rows: rows.feedback_since(1))] == [3]
    write(store, lambda rows: rows.take_back("bob", 0, 99))
    assert read(store, lambda rows: rows.feedback_since(1)) == []


def test_a_changed_feedback_event_stays_in_its_place(store):
    write(store, lambda rows: [rows.add_feedback(feedback(number)) for number in (1, 2)])
    changed = replace(feedback(1), reward=-1, reason="too_brief", sealed_text=None, signalled_us=None)
    write(store, lambda rows: rows.change_feedback(changed))
    assert read(store, lambda rows: rows.feedback_of("ann")) == [changed, feedback(2)]


def test_no_turn_of_a_conversation_that_still_stands_is_given_twice(store):
    for number in (1, 2, 3):
        write(
            store,
            lambda rows, number=number: rows.add_selection(selection(request=f"r{number}")),
            lambda rows, number=number: rows.add_trajectory(trajectory(request=f"r{number}", turn=number)),
        )
    write(store, lambda rows: rows.delete_selections("ann", "r1", 0))
    assert read(store, lambda rows: rows.next_turn("ann", "c1")) == 4


def test_the_position_of_the_last_batch_is_kept(store):
    assert read(store, lambda rows: rows.batch_position()) == 0
    write(store, lambda rows: rows.put_batch_position(3), lambda rows: rows.put_batch_position(7))
    assert read(store, lambda rows: rows.batch_position()) == 7
