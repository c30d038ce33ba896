"""Over the worker's handlers: undo, the nightly batch, why, pressure, and equal stores for equal streams."""

import json
import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aico_memory.contracts.v1 import behavioral_pb2, sleep_pb2
from aico_memory.errors import AccessDenied, InvalidMessage, NotFound
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import START_US, Worker, own_skill

SKILLS = behavioral_pb2.SkillsRequest(user_id="ann")
LEARNED = ("behavioral.posterior", "behavioral.preference", "behavioral.taste", "behavioral.wish")


@pytest.fixture
def worker(tmp_path):
    made = Worker(MemoryBehavioralStore(), tmp_path)
    made.consent()
    return made


def learned(worker, user="ann"):
    lines = [json.loads(line) for line in worker.export(user)]
    kept = [line for line in lines if line["section"] in LEARNED]
    states = worker.ask(behavioral_pb2.SkillsRequest(user_id=user), user=user).skills
    return kept, [(one.skill_id, one.confidence, one.uses, one.positive, one.negative) for one in states]


def undo(worker, until_us=0, event_id=b"", user="ann"):
    return worker.publish(behavioral_pb2.UndoLearning(user_id=user, until_us=until_us, event_id=event_id), user=user)


thumbs = st.lists(
    st.tuples(
        st.sampled_from(["casual_chat", "reactive_only", "empathy_subtle"]),
        st.sampled_from([-1, 0, 1]),
        st.sampled_from(["", "too_verbose", "wrong_tone", "incorrect_info"]),
    ),
    max_size=12,
)


@given(thumbs, thumbs)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_undo_to_a_point_in_time_leaves_exactly_what_was_known_then(tmp_path, first, second):
    worker = Worker(MemoryBehavioralStore(), tmp_path)
    worker.consent()
    for number, (skill, reward, reason) in enumerate(first):
        worker.feedback(skill, reward, reason=reason, timestamp=START_US + number)
    before = learned(worker)
    for number, (skill, reward, reason) in enumerate(second):
        worker.feedback(skill, reward, reason=reason, timestamp=START_US + 1000 + number)
    result = undo(worker, START_US + 999)
    assert result.undone == len(second)
    assert result.left == sum(reward != 0 for _, reward, _ in first)
    kept, states = learned(worker)
    assert kept == before[0]
    assert states == before[1]
    assert undo(worker, START_US + 999).undone == 0


def test_undo_changes_the_next_choices_back(worker):
    baseline = worker.select(request_id="before").shares
    for number in range(6):
        answer = worker.select(request_id=f"r{number}")
        worker.feedback(answer.skill_id, -1, request_id=f"r{number}", reason="too_verbose", timestamp=START_US)
    shown = worker.ask(behavioral_pb2.PreferencesRequest(user_id="ann"))
    assert {one.dimension: one.slope for one in shown.taste}["verbosity"] < -0.02
    undo(worker, 0)
    shown = worker.ask(behavioral_pb2.PreferencesRequest(user_id="ann"))
    prior = {one.dimension: one.slope for one in shown.taste}
    fresh = Worker(MemoryBehavioralStore(), worker.handlers._ports.home.root)
    fresh.consent()
    assert prior == {one.dimension: one.slope for one in fresh.ask(behavioral_pb2.PreferencesRequest(user_id="ann")).taste}
    assert dict(fresh.select(request_id="before").shares) == dict(baseline)


def test_one_deleted_feedback_event_teaches_nothing_and_is_gone(worker):
    wrong = uuid.UUID(int=77)
    worker.feedback("casual_chat", 1, timestamp=START_US)
    before = learned(worker)
    worker.feedback("casual_chat", -1, event_id=wrong, timestamp=START_US + 1)
    result = undo(worker, event_id=wrong.bytes)
    assert (result.undone, result.left) == (1, 1)
    assert learned(worker) == before
    assert len(worker.ask(behavioral_pb2.FeedbackListRequest(user_id="ann")).feedback) == 1
    with pytest.raises(NotFound):
        undo(worker, event_id=wrong.bytes)
    with pytest.raises(InvalidMessage):
        undo(worker, event_id=b"short")


def test_another_users_feedback_cannot_be_deleted(worker):
    worker.consent("bob")
    worker.feedback("casual_chat", user="bob", event_id=uuid.UUID(int=5))
    with pytest.raises(NotFound):
        undo(worker, event_id=uuid.UUID(int=5).bytes)


def test_the_feedback_list_is_newest_first_with_text_and_what_was_taken_back(worker):
    worker.feedback("casual_chat", 1, free_text="lovely", timestamp=START_US)
    worker.feedback("reactive_only", -1, reason="too_brief", timestamp=START_US + 5)
    undo(worker, START_US + 1)
    newest, oldest = worker.ask(behavioral_pb2.FeedbackListRequest(user_id="ann")).feedback
    assert (newest.skill_id, newest.reason, newest.undone) == ("reactive_only", "too_brief", True)
    assert (oldest.free_text, oldest.reward, oldest.undone) == ("lovely", 1, False)


def test_the_nightly_batch_learns_a_common_prior_once_and_the_next_person_starts_from_it(tmp_path):
    worker = Worker(MemoryBehavioralStore(), tmp_path)
    for number in range(8):
        user = f"user{number}"
        worker.consent(user)
        for turn in range(12):
            answer = worker.select(user=user, request_id=f"{user}-{turn}")
            good = answer.skill_id == "reactive_only"
            worker.feedback(answer.skill_id, 1 if good else -1, user=user, request_id=f"{user}-{turn}")
    worker.consent("late")
    before = worker.select(user="late", request_id="first")
    report = worker.publish(behavioral_pb2.LearnNow(), user="")
    assert report.outcome in {"learned", "refused"}
    assert (report.people, report.thumbs) == (8, 96)
    assert report.outcome == "learned", report
    assert report.prior.startswith("learned-")
    after = worker.select(user="late", request_id="second")
    assert after.skill_id == "reactive_only"
    assert after.shares != before.shares
    again = worker.publish(behavioral_pb2.LearnNow(), user="")
    assert (again.outcome, again.prior) == ("nothing_new", report.prior)
    shown = worker.ask(behavioral_pb2.PoliciesRequest(), user="")
    assert [(one.version, one.status, one.users) for one in shown.priors] == [(report.prior, "active", 6)]
    assert {one.name: one.in_use for one in shown.policies} == {"hierarchical-thompson": True, "hybrid-40-30-30": False}


def test_few_people_and_no_news_leave_the_shipped_prior(worker):
    assert worker.publish(behavioral_pb2.LearnNow(), user="").outcome == "nothing_new"
    for _ in range(6):
        worker.feedback("casual_chat", 1)
    report = worker.publish(behavioral_pb2.LearnNow(), user="")
    assert (report.outcome, report.people, report.prior) == ("too_few_people", 1, "shipped-1")


def test_a_common_prior_needs_enough_thumbs(tmp_path):
    worker = Worker(MemoryBehavioralStore(), tmp_path)
    for number in range(7):
        worker.consent(f"user{number}")
        worker.feedback("casual_chat", 1, user=f"user{number}")
    report = worker.publish(behavioral_pb2.LearnNow(), user="")
    assert (report.outcome, report.people, report.thumbs) == ("too_few_thumbs", 7, 7)
    assert (report.prior, report.detail) == ("shipped-1", "7 thumbs of 7 people; 10 are needed")
    for number in range(3):
        worker.feedback("casual_chat", 1, user=f"user{number}")
    assert worker.publish(behavioral_pb2.LearnNow(), user="").outcome in {"learned", "refused"}


def test_a_reason_moves_the_preference_of_its_bucket_once_in_the_nightly_batch(worker):
    worker.feedback("detailed_explanation", -1, reason="too_verbose")
    (at_once,) = worker.ask(behavioral_pb2.PreferencesRequest(user_id="ann")).buckets
    assert at_once.style["verbosity"] == pytest.approx(0.5 - 0.1 * (0.9 - 0.5))
    assert worker.publish(behavioral_pb2.LearnNow(), user="").signals == 1
    (moved,) = worker.ask(behavioral_pb2.PreferencesRequest(user_id="ann")).buckets
    assert moved.style["verbosity"] == pytest.approx(at_once.style["verbosity"] - 0.05)
    assert moved.style["creativity"] == at_once.style["creativity"]
    assert worker.publish(behavioral_pb2.LearnNow(), user="").signals == 0
    assert worker.ask(behavioral_pb2.PreferencesRequest(user_id="ann")).buckets[0] == moved


def test_the_scheduled_batch_reports_its_end(worker):
    emitted = worker.apply(worker.event(behavioral_pb2.Learn(firing_id="f1"), user=""))
    (finished,) = [message for _, message in emitted if isinstance(message, sleep_pb2.JobFinished)]
    assert (finished.firing_id, finished.outcome) == ("f1", "done")
    assert finished.at_us == 0, "over when it is heard, and not when it was asked for"


def test_why_a_skill_was_chosen_is_told_by_the_request_alone(worker):
    answer = worker.select(request_id="why-1")
    asked = worker.ask(behavioral_pb2.ExplainSelectionRequest(request_id="why-1"), user="")
    assert asked.explanation == answer.explanation
    assert dict(asked.shares) == dict(answer.shares)
    assert sum(asked.shares.values()) == pytest.approx(asked.score)
    assert 0 < asked.propensity <= 1
    worker.consent("bob")
    worker.select(request_id="why-1", user="bob")
    with pytest.raises(InvalidMessage, match="Several users"):
        worker.ask(behavioral_pb2.ExplainSelectionRequest(request_id="why-1"), user="")
    assert worker.ask(behavioral_pb2.ExplainSelectionRequest(request_id="why-1", user_id="bob"), user="bob").user_id == "bob"
    with pytest.raises(AccessDenied):
        worker.ask(behavioral_pb2.ExplainSelectionRequest(request_id="why-1", user_id="bob"), user="ann")
    with pytest.raises(NotFound):
        worker.ask(behavioral_pb2.ExplainSelectionRequest(request_id="never"), user="")


def selections(worker, user="ann", **fields):
    return worker.ask(behavioral_pb2.SelectionListRequest(user_id=user, **fields), user=user).selections


def test_whoever_kept_no_request_id_finds_it_among_the_selections(worker):
    worker.select("Is it late?", request_id="first", timestamp=START_US)
    second = worker.select("word " * 100, request_id="second", time_of_day="night", timestamp=START_US + 5)
    worker.feedback(second.skill_id, -1, request_id="second")
    newest, oldest = selections(worker)
    assert (newest.request_id, newest.at_us, newest.reward, newest.bucket) == ("second", START_US + 5, -1, second.bucket)
    assert (newest.skill_id, newest.skill_name, newest.time_of_day) == (second.skill_id, second.skill_name, "night")
    assert newest.message_text == ("word " * 40)[:199] + "…"
    assert (oldest.request_id, oldest.outcome, oldest.message_text) == ("first", "applied", "Is it late?")
    assert not oldest.HasField("reward")
    why = worker.ask(behavioral_pb2.ExplainSelectionRequest(request_id=oldest.request_id, user_id="ann"))
    assert why.score == oldest.score
    assert [one.request_id for one in selections(worker, limit=1)] == ["second"]
    assert selections(worker, "bob") == []


def test_the_selections_of_one_skill_and_those_without_consent_are_listed_too(worker):
    own = own_skill(worker, intents=["rhyming"])
    worker.select(request_id="mine", intent="rhyming")
    worker.consent(on=False)
    worker.select(request_id="off")
    worker.select(request_id="none", intent="unheard of")
    assert [one.skill_name for one in selections(worker, skill_id=own.skill_id)] == ["Rhymes"]
    none, off, _ = selections(worker)
    assert (off.outcome, off.message_text, off.HasField("reward")) == ("no_consent", "", False)
    assert (none.outcome, none.skill_id) == ("no_applicable_skill", "")


def test_selections_and_thumbs_are_counted_by_the_hour_without_naming_anybody(worker):
    for number in range(10):
        answer = worker.select(request_id=f"r{number}", timestamp=START_US + number)
        worker.feedback(answer.skill_id, 1, request_id=f"r{number}", timestamp=START_US + number)
    figures = worker.ask(behavioral_pb2.BehaviorFiguresRequest(), user="").figures
    assert sum(one.count for one in figures if one.what in {"selected", "explored"}) == 10
    assert sum(one.count for one in figures if one.what == "positive") == 10
    assert {one.hour_us for one in figures} == {START_US - START_US % 3_600_000_000}
    assert not worker.ask(behavioral_pb2.BehaviorFiguresRequest(until_us=START_US - 3_600_000_001), user="").figures


def run_stream(worker, turns=40):
    worker.consent()
    made = own_skill(worker, intents=["question"])
    seen = []
    for number in range(turns):
        answer = worker.select(request_id=f"r{number}", time_of_day="morning" if number % 3 else "night")
        seen.append((answer.skill_id, dict(answer.shares), answer.propensity))
        good = number % 4 == 0 or answer.skill_id == made.skill_id
        reason = "" if good else "too_verbose"
        worker.feedback(answer.skill_id, 1 if good else -1, request_id=f"r{number}", reason=reason)
        if number == turns // 2:
            undo(worker, START_US + 30 * 1_000_000)
    return seen


def test_the_same_stream_gives_equal_choices_and_exports_on_twin_and_database_even_over_a_restart(tmp_path):
    twin = Worker(MemoryBehavioralStore(), tmp_path / "twin")
    expected = run_stream(twin)
    real = Worker(SqlBehavioralStore.open(tmp_path, bytes(32)), tmp_path / "real")
    assert run_stream(real) == expected
    assert real.export() == twin.export()
    before = real.select(request_id="after")
    real.handlers.close()
    again = Worker(SqlBehavioralStore.open(tmp_path, bytes(32)), tmp_path / "real")
    assert again.select(request_id="after").shares == before.shares
    assert again.select(request_id="fresh").shares == twin_after(twin)
    again.handlers.close()


def twin_after(twin):
    twin.select(request_id="after")
    return twin.select(request_id="fresh").shares


def test_feedback_given_without_consent_is_not_listed(worker):
    worker.consent(on=False)
    assert worker.feedback("casual_chat", 1).status == "no_consent"
    worker.consent()
    worker.feedback("casual_chat", 1)
    (listed,) = worker.ask(behavioral_pb2.FeedbackListRequest(user_id="ann")).feedback
    assert (listed.message_id, listed.reward) == ("m1", 1)


def test_a_bucket_that_there_is_not_is_refused(worker):
    with pytest.raises(InvalidMessage, match="no bucket 100"):
        worker.ask(behavioral_pb2.PreferencesRequest(user_id="ann", bucket=100))


def test_without_consent_nothing_of_the_new_kind_is_learned(tmp_path):
    worker = Worker(MemoryBehavioralStore(), tmp_path)
    for number in range(5):
        worker.select(request_id=f"r{number}")
        worker.feedback("concise_response", -1, reason="too_verbose", request_id=f"r{number}")
    counts = worker.handlers.status()["rows"]
    assert (counts["taste_cells"], counts["wishes"], counts["preferences"]) == (0, 0, 0)
