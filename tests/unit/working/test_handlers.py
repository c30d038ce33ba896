"""The working process's handlers on the store's twin: from events to effects, answers and announcements."""

import uuid
from dataclasses import replace

import pytest

from aico_memory.contracts.consumer_state import ConsumerState
from aico_memory.contracts.envelope import make_record, open_record
from aico_memory.contracts.registry import topics
from aico_memory.contracts.v1 import behavioral_pb2, sleep_pb2, working_pb2
from aico_memory.contracts.wire import StampedRecord
from aico_memory.errors import NotFound
from aico_memory.ids import derive_id
from aico_memory.runtime.ports import Handlers
from tests.unit.working.worker import NOON, Worker, swept


def test_the_handlers_have_the_shape_that_the_runtime_expects(worker):
    handlers: Handlers = worker.handlers
    state: ConsumerState = handlers.state
    assert handlers.name == "working" and state.cursor() == (0, 0)
    assert all(topics()[name].durable for name in handlers.topics)
    assert not any(topics()[name].durable for name in handlers.requests)


def test_a_message_is_held_with_all_that_was_said_about_it(worker):
    event = worker.say(
        "Merhaba",
        group_id="g",
        project_id="p",
        name="Ada",
        said_at_us=NOON - 5,
        metadata_json='{"a": 1}',
        zone="Europe/Istanbul",
    )
    (held,) = worker.read().messages
    assert held == working_pb2.StoredMessage(
        event_id=event.event_id.bytes, user_id="ada", session_id="s", group_id="g", project_id="p", role="user", name="Ada",
        content="Merhaba", said_at_us=NOON - 5, received_at_us=event.received_us, metadata_json='{"a": 1}',
        source_type="message", zone="Europe/Istanbul", sequence=event.global_sequence,
    )  # fmt: skip


def test_a_message_without_a_time_was_said_when_it_was_published(worker):
    event = worker.say("now")
    assert worker.read().messages[0].said_at_us == event.occurred_us != event.received_us


def test_a_new_message_is_announced_once(worker):
    event = worker.say("hello")
    worker.apply(replace(event, global_sequence=99))
    (stored,) = worker.announced(working_pb2.Stored)
    assert stored.event_id == derive_id(event.event_id, "stored") and stored.causation_id == event.event_id
    assert (stored.user, list(stored.message.event_ids)) == ("ada", [event.event_id.bytes])
    assert len(worker.read().messages) == 1


def test_a_system_message_and_a_tool_result_are_told_apart(worker):
    worker.apply(worker.event(working_pb2.Message(user_id="ada", role="system", content="Be brief.")))
    worker.apply(worker.event(working_pb2.ToolResult(user_id="ada", session_id="s", tool="weather", content="rain")))
    system, tool = worker.read().messages
    assert (system.source_type, system.role) == ("system", "system")
    assert (tool.source_type, tool.role, tool.name, tool.content) == ("tool_result", "tool", "weather", "rain")


def test_a_turn_is_held_as_its_two_sides_under_derived_ids(worker):
    turn = working_pb2.Turn(user_id="ada", session_id="s", interaction_id="i", input="Tea?", response="Gladly.")
    event = worker.apply(worker.event(turn))
    sides = worker.read().messages
    assert [(side.role, side.content) for side in sides] == [("user", "Tea?"), ("assistant", "Gladly.")]
    ids = [derive_id(event.event_id, "turn", ordinal).bytes for ordinal in (0, 1)]
    assert [side.event_id for side in sides] == ids == list(worker.announced(working_pb2.Stored)[0].message.event_ids)


def test_turns_and_results_of_tools_keep_group_project_and_zone(worker):
    named = {"group_id": "choir", "project_id": "tour"}
    worker.apply(worker.event(working_pb2.Turn(user_id="ada", interaction_id="i", input="Tea?", zone="Europe/Lisbon", **named)))
    worker.apply(worker.event(working_pb2.ToolResult(user_id="ada", tool="weather", content="rain", **named)))
    turn, result = worker.read().messages
    assert {(side.group_id, side.project_id) for side in (turn, result)} == {("choir", "tour")}
    assert turn.zone == "Europe/Lisbon"


def test_an_empty_side_of_a_turn_makes_nothing(worker):
    event = worker.apply(worker.event(working_pb2.Turn(user_id="ada", interaction_id="i", response="Hello!")))
    (side,) = worker.read().messages
    assert side.event_id == derive_id(event.event_id, "turn", 1).bytes
    worker.apply(worker.event(working_pb2.Turn(user_id="ada", interaction_id="i")))
    assert len(worker.announced(working_pb2.Stored)) == 1


def test_a_read_gives_the_newest_last_within_its_limit(worker):
    for number in range(5):
        worker.say(f"m{number}", session="s" if number % 2 else "t")
    assert [message.content for message in worker.read(limit=3).messages] == ["m2", "m3", "m4"]
    assert [message.content for message in worker.read(session_id="s").messages] == ["m1", "m3"]
    first = worker.read(limit=3).messages[0]
    assert [message.content for message in worker.read(before_event_id=first.event_id).messages] == ["m0", "m1"]


def test_a_read_without_limit_gets_the_default_and_no_more_than_the_most():
    worker = Worker(read_default=2, read_limit=3)
    for number in range(5):
        worker.say(f"m{number}")
    assert len(worker.read().messages) == 2
    assert len(worker.read(limit=100).messages) == 3


def test_an_answer_is_cut_at_its_bytes_and_says_so():
    worker = Worker(page_bytes=1024)
    for number in range(4):
        worker.say(f"{number}" * 400)
    page = worker.read()
    assert page.cut and [message.content[0] for message in page.messages] == ["2", "3"]
    pending = worker.ask(working_pb2.ExperiencesRequest(user_id="ada"))
    assert pending.cut and [message.content[0] for message in pending.messages] == ["0", "1"]
    worker.say("x" * 5000)
    assert [message.content[0] for message in worker.read().messages] == ["x"]
    assert not worker.read(limit=1).cut


def test_another_users_messages_are_not_read(worker):
    secret = worker.say("mine", user="bob")
    assert list(worker.read().messages) == []
    with pytest.raises(NotFound):
        worker.read(before_event_id=secret.event_id.bytes)


def test_pending_experiences_shrink_as_they_are_consolidated(worker):
    first, second, third = (worker.say(text) for text in "abc")
    worker.say("other", user="bob")
    pending = worker.ask(working_pb2.PendingUsersRequest(), user="")
    oldest = pending.users[0]
    assert (oldest.user_id, oldest.pending, oldest.oldest_us) == ("ada", 3, first.received_us)
    consolidated = working_pb2.Consolidated(
        user_id="ada", event_ids=[first.event_id.bytes, third.event_id.bytes],
        led_to=[working_pb2.LedTo(event_id=third.event_id.bytes, memory_ids=["m-1", "m-2"])],
    )  # fmt: skip
    for _ in range(2):
        worker.apply(worker.event(consolidated))
    left = worker.ask(working_pb2.ExperiencesRequest(user_id="ada"))
    assert [message.event_id for message in left.messages] == [second.event_id.bytes]
    assert [message.consolidated for message in worker.read().messages] == [True, False, True]
    assert [list(message.memory_ids) for message in worker.read().messages] == [[], [], ["m-1", "m-2"]]
    assert worker.handlers.status()["pending"] == 2


def test_experiences_stop_before_the_time_that_is_asked_for(worker):
    first, second = worker.say("a"), worker.say("b")
    asked = working_pb2.ExperiencesRequest(user_id="ada", until_us=second.received_us)
    assert [message.event_id for message in worker.ask(asked).messages] == [first.event_id.bytes]


def test_feedback_marks_the_message_it_names(worker):
    first, second = worker.say("a"), worker.say("b")
    for named in (str(first.event_id), "not-an-id", str(uuid.uuid4())):
        worker.apply(worker.event(behavioral_pb2.FeedbackEvent(user_id="ada", message_id=named, skill_id="k", reward=1)))
    stranger = behavioral_pb2.FeedbackEvent(user_id="bob", message_id=str(second.event_id), skill_id="k")
    worker.apply(worker.event(stranger, user="bob"))
    assert [message.has_feedback for message in worker.read().messages] == [True, False]


def test_nothing_expires_before_consolidation_has_acknowledged_it(worker):
    message = worker.say("a", received=NOON)
    swept(worker, 13 * 24)
    assert len(worker.read().messages) == 1
    worker.apply(worker.event(working_pb2.Consolidated(user_id="ada", event_ids=[message.event_id.bytes])))
    swept(worker, 13 * 24 + 1)
    assert len(worker.read().messages) == 0
    assert worker.announced(working_pb2.ExpiredUnreplayed) == []
    assert worker.handlers.status()["expired"] == 1 and worker.handlers.status()["alarms"] == []


def test_what_is_acknowledged_stays_a_day_from_its_receipt_whatever_time_it_claims(worker):
    message = worker.say("long ago", received=NOON, said_at_us=1)
    worker.apply(worker.event(working_pb2.Consolidated(user_id="ada", event_ids=[message.event_id.bytes])))
    swept(worker, 23.9)
    assert len(worker.read().messages) == 1
    swept(worker, 24)
    assert len(worker.read().messages) == 0


def test_at_the_hard_cap_what_goes_unreplayed_is_counted_named_and_alarmed(worker):
    lost = [worker.say(text, received=NOON) for text in "ab"]
    other = worker.say("c", user="bob", received=NOON)
    swept(worker, 14 * 24)
    reports = {report.user: list(report.message.event_ids) for report in worker.announced(working_pb2.ExpiredUnreplayed)}
    assert reports == {"ada": [event.event_id.bytes for event in lost], "bob": [other.event_id.bytes]}
    status = worker.handlers.status()
    assert (status["expired_unreplayed"], status["messages"], len(status["alarms"])) == (3, 0, 1)


def test_a_long_report_is_cut_into_several(worker):
    for number in range(1001):
        worker.say(str(number), received=NOON)
    swept(worker, 15 * 24)
    reports = worker.announced(working_pb2.ExpiredUnreplayed)
    assert [len(report.message.event_ids) for report in reports] == [1000, 1]
    assert len({report.event_id for report in reports}) == 2


def test_a_sweep_tells_the_scheduler_that_it_is_done(worker):
    swept(worker, 1, firing="working_sweep@noon")
    swept(worker, 2, firing="")
    (finished,) = worker.announced(sleep_pb2.JobFinished)
    assert (finished.message.firing_id, finished.message.outcome) == ("working_sweep@noon", "done")
    assert finished.message.at_us == 0, "over when it is heard, and not when it was asked for"


def test_what_is_announced_can_be_published(worker):
    worker.say("hello")
    swept(worker, 15 * 24)
    for record in worker.store.outgoing(100):
        event = open_record(StampedRecord(record.topic, record.event_id, record.user, record.envelope, "working", 1, 1, NOON))
        assert make_record(event.message, event_id=event.event_id, occurred_us=NOON, user=event.user).topic == record.topic
