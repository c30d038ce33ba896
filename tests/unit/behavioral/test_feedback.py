"""Feedback at the worker: announced, counted once, to whom and what it teaches, what it may not say."""

import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.domain.behavioral.situation import bucket_of
from aico_memory.errors import InvalidFeedback, InvalidMessage, InvalidReward, SkillNotFound
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import Worker, confidence, of_type

FIRST = uuid.UUID("01890a5d-ac96-774b-bcce-b302099a8057")


def test_the_first_thumb_up_makes_fifty_nine(consenting):
    result = consenting.feedback("casual_chat")
    assert (result.status, result.skill_updated) == ("success", True)
    assert result.new_confidence == pytest.approx(0.59)


def test_feedback_is_announced_with_what_it_changed(consenting):
    selected = consenting.select(request_id="r1")
    message = behavioral_pb2.FeedbackEvent(
        user_id="ann", message_id="m7", skill_id=selected.skill_id, reward=-1, request_id="r1", reason="too_verbose"
    )
    event = consenting.event(message)
    emitted = consenting.apply(event)
    (processed,) = of_type(emitted, behavioral_pb2.FeedbackProcessed)
    (updated,) = of_type(emitted, behavioral_pb2.SkillUpdated)
    assert processed.feedback_event_id == event.event_id.bytes
    assert (processed.message_id, processed.skill_updated) == ("m7", True)
    assert (updated.old_confidence, updated.bucket) == (0.5, selected.bucket)
    assert updated.new_confidence == pytest.approx(0.41)


def test_the_same_feedback_event_twice_has_one_effect_and_the_same_answer(consenting):
    first = consenting.feedback("casual_chat", event_id=FIRST)
    before = consenting.export()
    assert consenting.feedback("casual_chat", event_id=FIRST) == first
    assert consenting.feedback("casual_chat", reward=-1, event_id=FIRST) == first
    assert consenting.export() == before
    assert consenting.ask(behavioral_pb2.FeedbackAnswerRequest(user_id="ann", event_id=FIRST.bytes)) == first


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["casual_chat", "reactive_only"]), st.sampled_from([-1, 0, 1]))))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_stream_with_repeated_events_teaches_the_same_as_without_them(tmp_path, stream):
    once, repeated = Worker(MemoryBehavioralStore(), tmp_path), Worker(MemoryBehavioralStore(), tmp_path)
    seen = {}
    for worker in (once, repeated):
        worker.consent()
    for number, skill, reward in stream:
        arguments = {"skill": skill, "reward": reward, "event_id": uuid.UUID(int=1000 + number)}
        first = number not in seen
        result = repeated.feedback(**arguments)
        if first:
            seen[number] = once.feedback(**arguments)
        assert result == seen[number]
    ask = behavioral_pb2.SkillsRequest(user_id="ann")
    assert once.ask(ask) == repeated.ask(ask)
    ask = behavioral_pb2.PreferencesRequest(user_id="ann")
    assert once.ask(ask) == repeated.ask(ask)
    assert once.handlers.status()["rows"] == repeated.handlers.status()["rows"]


def test_feedback_on_a_skill_never_selected_goes_to_the_bucket_of_an_unknown_situation(consenting):
    consenting.feedback("casual_chat")
    (bucket,) = consenting.ask(behavioral_pb2.PreferencesRequest(user_id="ann")).buckets
    assert bucket.bucket == bucket_of("", "", "")


def test_another_thumb_on_the_same_message_is_evidence_of_its_own(consenting):
    consenting.feedback("casual_chat", 1, message_id="m1")
    result = consenting.feedback("casual_chat", -1, message_id="m1")
    assert result.new_confidence == pytest.approx(0.59 + 0.3 * (0.2 - 0.59))


def test_a_reward_of_zero_is_kept_and_changes_nothing(consenting):
    consenting.select(request_id="r1")
    states = consenting.ask(behavioral_pb2.SkillsRequest(user_id="ann"))
    result = consenting.feedback("casual_chat", 0)
    assert (result.status, result.skill_updated, result.new_confidence) == ("unchanged", False, 0.5)
    assert consenting.ask(behavioral_pb2.SkillsRequest(user_id="ann")) == states
    assert not consenting.ask(behavioral_pb2.PreferencesRequest(user_id="ann")).buckets


def test_choices_follow_what_feedback_teaches(consenting):
    chosen = []
    for number in range(120):
        answer = consenting.select(request_id=f"r{number}")
        chosen.append(answer.skill_id)
        reward = 1 if answer.skill_id == "detailed_explanation" else -1
        consenting.feedback(answer.skill_id, reward, request_id=answer.request_id)
    assert chosen[-40:].count("detailed_explanation") > 35
    assert chosen[:10].count("detailed_explanation") < 10
    assert confidence(consenting, "detailed_explanation") > 0.7
    assert confidence(consenting, "concise_response") < 0.5


def test_feedback_teaches_the_user_who_gave_it_and_nobody_else(consenting):
    consenting.consent("bob")
    consenting.feedback("casual_chat")
    assert confidence(consenting, "casual_chat", "bob") == 0.5


def test_feedback_goes_to_the_bucket_of_the_selection_it_names(consenting):
    morning = consenting.select(request_id="r1", time_of_day="morning")
    evening = consenting.select(request_id="r2", time_of_day="evening")
    assert morning.bucket != evening.bucket
    consenting.feedback(morning.skill_id, request_id="r1")
    (bucket,) = consenting.ask(behavioral_pb2.PreferencesRequest(user_id="ann")).buckets
    assert (bucket.bucket, bucket.updates) == (morning.bucket, 1)
    assert not consenting.ask(behavioral_pb2.PreferencesRequest(user_id="ann", bucket=evening.bucket)).buckets


def test_feedback_without_a_request_goes_to_the_latest_selection_of_its_skill(consenting):
    selected = consenting.select(intent="casual", time_of_day="evening")
    consenting.feedback(selected.skill_id)
    (bucket,) = consenting.ask(behavioral_pb2.PreferencesRequest(user_id="ann")).buckets
    assert bucket.bucket == selected.bucket


def test_a_request_that_is_not_there_any_more_lends_a_thumb_its_situation_and_no_use(consenting):
    """Of a selection that was deleted nothing but the situation of the skill's latest use is known."""
    consenting.select(request_id="gone")
    standing = consenting.select(request_id="standing", time_of_day="evening")
    consenting.feedback("", -1, request_id="standing")
    consenting.publish(behavioral_pb2.DeleteSelections(user_id="ann", request_id="gone"))
    consenting.feedback(standing.skill_id, 1, request_id="gone")
    with consenting.store.reading() as rows:
        (_, thumb), use = rows.feedback_of("ann"), rows.trajectory("ann", "standing")
    assert (thumb.request_id, thumb.is_exploration, thumb.bucket) == ("gone", False, standing.bucket)
    assert (thumb.intent, thumb.time_of_day) == ("question", "evening")
    assert use.reward == -1


def test_feedback_may_name_the_request_instead_of_the_skill(consenting):
    selected = consenting.select(request_id="r1")
    assert consenting.feedback("", request_id="r1").skill_updated
    assert confidence(consenting, selected.skill_id) == pytest.approx(0.59)
    with pytest.raises(SkillNotFound):
        consenting.feedback("", request_id="never_asked")
    with pytest.raises(InvalidMessage, match="which skill"):
        consenting.feedback("")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"skill": "nothing_such"}, SkillNotFound),
        ({"skill": "casual_chat", "reward": 2}, InvalidReward),
        ({"skill": "casual_chat", "reason": "boring"}, InvalidFeedback),
    ],
)
def test_feedback_that_cannot_be_is_refused_by_type_and_changes_nothing(consenting, fields, error):
    before = consenting.export()
    with pytest.raises(error):
        consenting.feedback(**fields)
    assert consenting.export() == before
