"""Over the worker's handlers: a feedback event that is changed teaches what it would have taught from the start."""

import json
import uuid

import pytest

from aico_memory.contracts.v1 import behavioral_pb2, bus_pb2, temporal_pb2
from aico_memory.errors import InvalidMessage, InvalidReward, NotFound
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import START_US, Worker, of_type

LEARNED = ("behavioral.posterior", "behavioral.preference", "behavioral.skill", "behavioral.taste", "behavioral.wish")
FIRST, SECOND = uuid.UUID(int=71), uuid.UUID(int=72)


@pytest.fixture(params=["twin", "sql"])
def worker(request, tmp_path):
    store = MemoryBehavioralStore() if request.param == "twin" else SqlBehavioralStore.open(tmp_path / "b", None)
    made = Worker(store, tmp_path)
    made.consent()
    yield made
    made.handlers.close()


def edit(worker, event_id=FIRST, user="ann", **fields):
    return worker.publish(behavioral_pb2.EditFeedback(user_id=user, event_id=event_id.bytes, **fields), user=user)


def learned(worker, user="ann"):
    lines = [json.loads(line) for line in worker.export(user)]
    return [line for line in lines if line["section"] in LEARNED]


def listed(worker):
    return worker.ask(behavioral_pb2.FeedbackListRequest(user_id="ann")).feedback


def test_a_changed_thumb_teaches_what_it_would_have_taught_from_the_start(worker, tmp_path):
    other = Worker(MemoryBehavioralStore(), tmp_path)
    other.consent()
    for one, reward, reason in ((worker, 1, ""), (other, -1, "too_verbose")):
        one.feedback("casual_chat", reward, event_id=FIRST, reason=reason, timestamp=START_US)
        one.feedback("casual_chat", 1, event_id=SECOND, timestamp=START_US + 1)
    result = edit(worker, reward=-1, reason="too_verbose")
    assert learned(worker) == learned(other)
    assert (result.status, result.skill_updated) == ("success", True)
    newest, oldest = listed(worker)
    assert (newest.reward, oldest.reward, oldest.reason) == (1, -1, "too_verbose")
    told = worker.ask(behavioral_pb2.FeedbackAnswerRequest(user_id="ann", event_id=FIRST.bytes))
    assert told.new_confidence == pytest.approx(result.new_confidence)


def test_what_is_not_named_stays_and_an_empty_text_takes_it_away(worker):
    worker.feedback("casual_chat", -1, event_id=FIRST, reason="too_brief", free_text="Say more")
    before = learned(worker)
    edit(worker)
    (entry,) = listed(worker)
    assert (entry.reward, entry.reason, entry.free_text) == (-1, "too_brief", "Say more")
    assert learned(worker) == before
    edit(worker, free_text="")
    assert listed(worker)[0].free_text == ""
    edit(worker, free_text="Far too short")
    assert listed(worker)[0].free_text == "Far too short"
    assert edit(worker, reward=0).status == "unchanged"
    assert not [line for line in learned(worker) if line["section"] == "behavioral.taste"]


def test_a_changed_reason_moves_the_preference_anew_in_the_next_night(worker):
    worker.feedback("casual_chat", -1, event_id=FIRST, reason="too_verbose")
    worker.publish(behavioral_pb2.LearnNow(), user="")
    edit(worker, reason="too_brief")
    worker.publish(behavioral_pb2.LearnNow(), user="")
    (bucket,) = worker.ask(behavioral_pb2.PreferencesRequest(user_id="ann")).buckets
    other = Worker(MemoryBehavioralStore(), worker.handlers._ports.home.root)
    other.consent()
    other.feedback("casual_chat", -1, event_id=FIRST, reason="too_brief")
    other.publish(behavioral_pb2.LearnNow(), user="")
    (wanted,) = other.ask(behavioral_pb2.PreferencesRequest(user_id="ann")).buckets
    assert list(bucket.dimensions) == pytest.approx(list(wanted.dimensions))


def test_what_cannot_be_changed_is_refused_and_changes_nothing(worker):
    worker.feedback("casual_chat", 1, event_id=FIRST)
    worker.consent("bob")
    before = learned(worker)
    with pytest.raises(NotFound):
        edit(worker, SECOND, reward=-1)
    with pytest.raises(NotFound):
        edit(worker, user="bob", reward=-1)
    with pytest.raises(InvalidReward):
        edit(worker, reward=7)
    with pytest.raises(InvalidMessage):
        edit(worker, reason="because")
    with pytest.raises(InvalidMessage):
        worker.publish(behavioral_pb2.EditFeedback(user_id="ann", event_id=b"short"))
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann"))
    with pytest.raises(InvalidMessage):
        edit(worker, reward=-1)
    worker.publish(behavioral_pb2.ConsentChanged(user_id="bob", behavioral=False), user="bob")
    assert before != learned(worker)


def test_the_thumb_on_the_trajectory_follows(worker):
    chosen = worker.select(request_id="r1")
    worker.feedback(chosen.skill_id, 1, event_id=FIRST, request_id="r1")
    edit(worker, reward=-1)
    (kept,) = [json.loads(line) for line in worker.export("ann") if '"behavioral.trajectory"' in line]
    assert kept["reward"] == -1


def test_undo_gives_an_own_skill_the_style_back_that_it_was_made_with(worker):
    made = worker.publish(
        behavioral_pb2.PutSkill(user_id="ann", name="Rhymes", template="Answer in rhyme.", intents=["question"])
    )
    worker.feedback("concise_response", 1, timestamp=START_US)
    for number in range(6):
        worker.feedback(made.skill_id, 1, event_id=uuid.UUID(int=100 + number), timestamp=START_US + 1 + number)

    def style():
        skills = worker.ask(behavioral_pb2.SkillsRequest(user_id="ann")).skills
        return next(one.style["verbosity"] for one in skills if one.skill_id == made.skill_id)

    after_six = style()
    worker.feedback(made.skill_id, 1, timestamp=START_US + 50)
    assert style() < after_six < 0.5
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=START_US + 49))
    assert style() == pytest.approx(after_six)
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann"))
    assert style() == 0.5


def test_the_users_own_export_holds_everything_of_theirs_and_nothing_of_others(worker):
    worker.consent("bob")
    for number in range(5):
        worker.select(request_id=f"r{number}")
        worker.feedback("", 1, request_id=f"r{number}", free_text="lovely")
    worker.select(user="bob", request_id="b")
    lines, after = [], ""
    while True:
        page = worker.ask(behavioral_pb2.BehaviorExportRequest(user_id="ann", after=after, limit=4))
        lines += page.lines
        after = page.next
        if not after:
            break
    assert lines == worker.export("ann")
    assert {json.loads(line)["section"] for line in lines} >= {
        "behavioral.selection",
        "behavioral.feedback",
        "behavioral.consent",
    }
    assert not any('"bob"' in line for line in lines)


def uses(worker):
    return {one.request_id: one for one in worker.ask(behavioral_pb2.SelectionListRequest(user_id="ann")).selections}


def confidences(worker, skill):
    request = temporal_pb2.BehaviorTrendRequest(user_id="ann", skill_id=skill)
    return [point.value for point in worker.ask(request).points]


def test_a_thumb_that_was_deleted_or_undone_leaves_the_use_it_was_given_on(worker):
    chosen = worker.select(request_id="r1")
    worker.feedback(chosen.skill_id, 1, event_id=FIRST, request_id="r1", timestamp=START_US)
    worker.feedback(chosen.skill_id, -1, event_id=SECOND, request_id="r1", timestamp=START_US + 1)
    assert uses(worker)["r1"].reward == -1
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", event_id=SECOND.bytes))
    assert uses(worker)["r1"].reward == 1
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=0))
    assert not uses(worker)["r1"].HasField("reward")
    (kept,) = [json.loads(line) for line in worker.export("ann") if '"behavioral.trajectory"' in line]
    assert kept["reward"] is None


def test_an_older_thumb_that_is_changed_does_not_speak_over_the_last_one(worker):
    chosen = worker.select(request_id="r1")
    worker.feedback(chosen.skill_id, 1, event_id=FIRST, request_id="r1")
    worker.feedback(chosen.skill_id, 1, event_id=SECOND, request_id="r1")
    edit(worker, FIRST, reward=-1)
    assert uses(worker)["r1"].reward == 1


def test_the_course_of_confidence_is_that_of_the_thumbs_that_count(worker, tmp_path):
    other = Worker(MemoryBehavioralStore(), tmp_path)
    other.consent()
    for place, reward in enumerate((1, -1, 1)):
        event_id, at_us = uuid.UUID(int=90 + place), START_US + place
        worker.feedback("casual_chat", reward, event_id=event_id, timestamp=at_us)
        if place != 1:
            other.feedback("casual_chat", reward, event_id=event_id, timestamp=at_us)
    assert len(confidences(worker, "casual_chat")) == 3
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", event_id=uuid.UUID(int=91).bytes))
    assert confidences(worker, "casual_chat") == confidences(other, "casual_chat")
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=START_US))
    assert len(confidences(worker, "casual_chat")) == 1


def test_a_reason_given_before_learning_was_put_off_counts_when_it_is_on_again(worker):
    worker.feedback("casual_chat", -1, event_id=FIRST, reason="too_verbose")
    (before,) = worker.ask(behavioral_pb2.PreferencesRequest(user_id="ann")).buckets
    worker.consent(on=False)
    assert worker.publish(behavioral_pb2.LearnNow(), user="").signals == 0
    worker.consent()
    assert worker.publish(behavioral_pb2.LearnNow(), user="").signals == 1
    (after,) = worker.ask(behavioral_pb2.PreferencesRequest(user_id="ann")).buckets
    assert after.style["verbosity"] < before.style["verbosity"]
    assert worker.publish(behavioral_pb2.LearnNow(), user="").signals == 0


def test_what_changes_nothing_for_want_of_consent_is_not_told_as_done(worker):
    worker.feedback("casual_chat", 1, event_id=FIRST)
    worker.consent(on=False)
    commands = (
        behavioral_pb2.EditFeedback(user_id="ann", event_id=FIRST.bytes, reward=-1),
        behavioral_pb2.PutPreference(user_id="ann", style={"verbosity": 0.1}),
    )
    for command in commands:
        emitted = worker.apply(worker.event(command))
        assert not of_type(emitted, bus_pb2.AuditEvent)
    worker.consent()
    for command in commands:
        assert len(of_type(worker.apply(worker.event(command)), bus_pb2.AuditEvent)) == 1


def test_without_consent_reason_and_text_can_be_taken_away_and_nothing_else_changes(worker):
    worker.feedback("casual_chat", -1, event_id=FIRST, reason="too_verbose", free_text="Far too long")
    worker.publish(behavioral_pb2.LearnNow(), user="")
    before = learned(worker)
    worker.consent(on=False)
    for fields in ({}, {"reward": 1}, {"reason": "too_brief"}, {"free_text": "Why?"}, {"reward": 0, "free_text": ""}):
        assert edit(worker, **fields).status == "no_consent"
    audited = worker.event(behavioral_pb2.EditFeedback(user_id="ann", event_id=FIRST.bytes, free_text=""))
    assert len(of_type(worker.apply(audited), bus_pb2.AuditEvent)) == 1
    (entry,) = listed(worker)
    assert (entry.reward, entry.reason, entry.free_text) == (-1, "too_verbose", "")
    assert learned(worker) == before
    assert edit(worker, reason="", reward=-1).status == "success"
    assert listed(worker)[0].reason == ""
    assert not [line for line in learned(worker) if line["section"] == "behavioral.wish"]
