"""One suite for the behavioral store and its in-memory twin."""

import uuid
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlcipher3 import dbapi2

from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.domain.behavioral.evidence import Cell, Wish
from aico_memory.domain.behavioral.learning import Knowledge, Posterior, Preference, SkillState
from aico_memory.domain.behavioral.records import Evolution, FeedbackRecord, SelectionRecord, Trajectory, UserSkill, UserState
from aico_memory.errors import WrongKey
from aico_memory.stores.behavioral.packing import pack_knowledge, pack_vector, unpack_knowledge, unpack_vector
from aico_memory.stores.behavioral.port import SECTIONS, pages
from aico_memory.stores.behavioral.sql_store import FILE, SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore

KEY = bytes(range(32))
TWICE = (ValueError, dbapi2.IntegrityError)
STATE = SkillState(0.59, 3, 2, 1, 5, 2, 1, 1, 1_700_000_000_000_000)
POSTERIOR = Posterior(3.0, 2.0)
OWN = UserSkill("ann", "own", 1, b"sealed", (0.5,) * 16, "accepted", 1, 2)
PREFERENCE = Preference(tuple(number / 16 for number in range(16)), 4)


def event(number: int) -> uuid.UUID:
    return uuid.UUID(int=number)


def selection(user="ann", request="r1", skill="short", **changes):
    plain = SelectionRecord(
        user, request, event(1), 10, 42, "question", "neutral", "morning", "applied", "hybrid-40-30-30", skill,
        True, 0.5, 0.8, 0.7, {"trigger": 0.4, "posterior": 0.1, "alignment": 0.2}, "because", "why?", "intent=caller",
    )  # fmt: skip
    return replace(plain, **changes)


def feedback(number=1, user="ann", **changes):
    plain = FeedbackRecord(
        user, event(number), "m1", "short", 1, 20, 42, "success", True, 0.59, "too_brief", b"sealed", "r1", True
    )
    return replace(plain, **changes)


def trajectory(user="ann", request="r1", **changes):
    return replace(Trajectory(user, request, "c1", 1, "short", False, 100, b"sealed"), **changes)


@pytest.fixture(params=["memory", "sql"])
def store(request, tmp_path):
    opened = MemoryBehavioralStore() if request.param == "memory" else SqlBehavioralStore.open(tmp_path, KEY)
    yield opened
    opened.close()


def write(store, *steps):
    with store.state.transaction() as transaction:
        rows = store.within(transaction)
        return [step(rows) for step in steps]


def read(store, question):
    with store.reading() as rows:
        return question(rows)


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


def fill(store):
    for user in ("ann", "bob"):
        write(
            store,
            lambda rows, user=user: rows.put_user(user, UserState(True, True, 1)),
            lambda rows, user=user: rows.put_skill_state(user, "short", STATE),
            lambda rows, user=user: rows.put_posterior(user, 42, "short", POSTERIOR, 1),
            lambda rows, user=user: rows.put_preference(user, 42, PREFERENCE, 1),
            lambda rows, user=user: rows.add_selection(selection(user=user)),
            lambda rows, user=user: rows.put_cell(user, Cell("question", "neutral", "morning", "short", 2.0, 1.0)),
            lambda rows, user=user: rows.put_wish(user, Wish("verbosity", 0.0, 1.0)),
            lambda rows, user=user: rows.put_user_skill(OWN if user == "ann" else replace(OWN, user="bob")),
            lambda rows, user=user: rows.add_trajectory(trajectory(user=user)),
            lambda rows, user=user: rows.add_evolution(Evolution(user, event(5), 0, "learned", "short", 30, 0.5, 0.59)),
        )
    write(store, lambda rows: rows.add_feedback(feedback(2)), lambda rows: rows.add_feedback(feedback(1, user="bob")))


def test_the_export_walks_all_sections_in_order_whatever_the_page(store):
    fill(store)
    whole = read(store, lambda rows: list(pages(rows, "", ("", ()), 100)))
    assert [row[:2] for row in whole] == sorted(row[:2] for row in whole)
    assert {row[0] for row in whole} == set(SECTIONS)
    assert len(whole) == 22
    for size in (1, 3, 7):
        walked, after = [], ("", ())
        while page := read(store, lambda rows, after=after, size=size: list(pages(rows, "", after, size))):
            walked += page
            after = page[-1][:2]
        assert walked == whole


def test_the_export_of_one_user_holds_nothing_of_another(store):
    fill(store)
    rows = read(store, lambda rows: list(pages(rows, "bob", ("", ()), 100)))
    assert len(rows) == 11
    assert {key[0] for _, key, _ in rows} == {"bob"}


def test_rows_are_counted_by_kind(store):
    fill(store)
    counts = read(store, lambda rows: rows.counts())
    assert (counts["users"], counts["feedback"], counts["user_skills"]) == (2, 2, 2)


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


def test_the_store_stands_after_it_was_closed_and_opens_with_its_key_only(tmp_path):
    store = SqlBehavioralStore.open(tmp_path, KEY)
    fill(store)
    before = read(store, lambda rows: list(pages(rows, "", ("", ()), 100)))
    store.close()
    with pytest.raises(WrongKey):
        SqlBehavioralStore.open(tmp_path, bytes(32))
    again = SqlBehavioralStore.open(tmp_path, KEY)
    assert read(again, lambda rows: list(pages(rows, "", ("", ()), 100))) == before
    again.close()
    assert b"hybrid-40-30-30" not in (tmp_path / FILE).read_bytes()
