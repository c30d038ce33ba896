"""The working process's handlers on the store's twin: from events to effects, answers and announcements."""

import json
import uuid
from dataclasses import replace
from types import SimpleNamespace

import pytest

from aico_memory.contracts.consumer_state import ConsumerState
from aico_memory.contracts.envelope import Event, make_record, open_record
from aico_memory.contracts.registry import topic_of, topics
from aico_memory.contracts.v1 import behavioral_pb2, sleep_pb2, working_pb2
from aico_memory.contracts.wire import StampedRecord
from aico_memory.domain.working.expiry import HOUR_US
from aico_memory.errors import NotFound
from aico_memory.ids import compose_uuid7, derive_id
from aico_memory.runtime.ports import Handlers
from aico_memory.settings.working import WorkingSettings
from aico_memory.stores.working import MemoryWorkingStore
from services.working.handlers import WorkingHandlers

NOON = 1_760_000_000_000_000
SECOND = 1_000_000


class Worker:
    """Handlers fed with events as the runtime does it; each event is one transaction."""

    def __init__(self, **settings) -> None:
        self.store = MemoryWorkingStore()
        self.handlers = WorkingHandlers(self.store, WorkingSettings(**settings))
        self.sequence = 0

    def event(self, message, user="ada", at=None, event_id=None, received=None) -> Event:
        """The event of a message that was published a second before it was received."""
        self.sequence += 1
        received = NOON + self.sequence * SECOND if received is None else received
        return Event(
            event_id=event_id or compose_uuid7(received // 1000, self.sequence.to_bytes(10, "big")),
            topic=topic_of(message).name,
            user=user,
            message=message,
            global_sequence=self.sequence,
            received_us=received,
            occurred_us=received - SECOND if at is None else at,
        )

    def apply(self, *events: Event) -> Event:
        for event in events:
            with self.store.transaction() as transaction:
                self.handlers.apply(transaction, event)
                transaction.set_cursor(1, event.global_sequence)
        return events[-1]

    def say(self, content: str, user="ada", session="s", received=None, **fields) -> Event:
        message = working_pb2.Message(user_id=user, session_id=session, role="user", content=content, **fields)
        return self.apply(self.event(message, user, received=received))

    def ask(self, message, user="ada"):
        return self.handlers.requests[topic_of(message).name](self.event(message, user), SimpleNamespace())

    def read(self, **asked):
        return self.ask(working_pb2.ReadMessages(user_id="ada", **asked))

    def announced(self, kind) -> list[Event]:
        """Events of this kind in the outbox, as a consumer would see them."""
        return [
            open_record(StampedRecord(record.topic, record.event_id, record.user, record.envelope, "working", 1, 1, NOON))
            for record in self.store.outgoing(10_000)
            if record.topic == topic_of(kind).name
        ]


@pytest.fixture
def worker():
    return Worker()


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
    consolidated = working_pb2.Consolidated(user_id="ada", event_ids=[first.event_id.bytes, third.event_id.bytes])
    for _ in range(2):
        worker.apply(worker.event(consolidated))
    left = worker.ask(working_pb2.ExperiencesRequest(user_id="ada"))
    assert [message.event_id for message in left.messages] == [second.event_id.bytes]
    assert [message.consolidated for message in worker.read().messages] == [True, False, True]
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


def swept(worker: Worker, hours: float, firing: str = "firing") -> None:
    worker.apply(worker.event(working_pb2.Sweep(firing_id=firing), user="", received=NOON + int(hours * HOUR_US)))


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


def touch(worker: Worker, *items: tuple[str, float], session="s", at=NOON) -> None:
    touched = [
        working_pb2.BufferItem(id=identifier, content=f"about {identifier}", importance=value) for identifier, value in items
    ]
    worker.ask(working_pb2.BufferTouched(user_id="ada", session_id=session, items=touched, at_us=at))


def in_mind(worker: Worker, session="s") -> dict[str, tuple[int, bool]]:
    page = worker.ask(working_pb2.ReadBuffer(user_id="ada", session_id=session))
    return {item.id: (item.access_count, item.promotion_candidate) for item in page.items}


def test_what_an_answer_used_comes_to_mind_and_seen_again_becomes_a_candidate(worker):
    touch(worker, ("tea", 0.3), ("rome", 0.7))
    assert in_mind(worker) == {"tea": (1, False), "rome": (1, True)}
    touch(worker, ("tea", 0.3), at=NOON + SECOND)
    assert in_mind(worker) == {"tea": (2, True), "rome": (1, True)}
    assert in_mind(worker, session="t") == {}


def test_a_session_holds_nine_items_until_it_ends(worker):
    touch(worker, *((f"m{number}", number / 20) for number in range(12)))
    assert set(in_mind(worker)) == {f"m{number}" for number in range(3, 12)}
    worker.apply(worker.event(working_pb2.SessionEnded(user_id="ada", session_id="s")))
    assert in_mind(worker) == {}


def test_touches_without_a_session_or_an_id_leave_nothing(worker):
    touch(worker, ("tea", 0.5), session="")
    touch(worker, ("", 0.5))
    assert worker.handlers.status()["buffers"] == 0


def test_long_contents_are_cut_before_they_are_kept_in_mind():
    worker = Worker(buffer_characters=5)
    touch(worker, ("tea", 0.5))
    page = worker.ask(working_pb2.ReadBuffer(user_id="ada", session_id="s"))
    assert page.items[0].content == "about"


def test_a_buffer_that_nobody_touches_for_a_day_is_cleared(worker):
    touch(worker, ("tea", 0.5))
    swept(worker, 23)
    assert in_mind(worker)
    swept(worker, 24)
    assert not in_mind(worker)


def pages(worker: Worker, user: str = "", limit: int = 2) -> list[str]:
    lines, after = [], ""
    while True:
        page = worker.handlers.export(user, after, limit)
        assert len(page.lines) <= limit
        lines += page.lines
        if not page.next:
            return lines
        after = page.next


def filled(shift: int = 0) -> Worker:
    """A worker after a little stream; `shift` is how much later the broker received it."""
    worker = Worker()
    for number, user in enumerate(["bob", "ada", "ada", "cem", "ada"]):
        message = working_pb2.Message(
            user_id=user, session_id="s", role="user", content=f"Çay {number}", said_at_us=NOON + number
        )
        identifier = compose_uuid7(5, hex(99 - number).encode() * 3)
        worker.apply(worker.event(message, user, event_id=identifier, received=NOON + number + shift))
    worker.apply(worker.event(working_pb2.Consolidated(user_id="ada", event_ids=[identifier.bytes])))
    touch(worker, ("tea", 0.5), at=NOON + shift)
    return worker


def test_the_export_is_sorted_and_the_same_whatever_its_pages():
    worker = filled()
    lines = pages(worker)
    assert lines == pages(worker, limit=100)
    parsed = [json.loads(line) for line in lines]
    assert [line["key"] for line in parsed] == sorted(line["key"] for line in parsed)
    assert {line["section"] for line in parsed} == {"working.message"} and len(parsed) == 5
    assert [list(line) == sorted(line) for line in parsed] == [True] * 5
    assert pages(worker, user="ada") == [line for line in lines if '"user_id":"ada"' in line]
    assert pages(worker, user="nobody") == []


def test_the_same_stream_received_at_another_time_exports_the_same_bytes():
    assert pages(filled()) == pages(filled(shift=3 * HOUR_US))


def test_the_export_names_what_it_leaves_out():
    page = filled().handlers.export("", "", 10)
    assert set(page.omitted) == {"working.message.received_at", "working.message.consolidated_at", "working.buffer"}
    assert "received_at" not in "".join(page.lines)


def test_what_is_announced_can_be_published(worker):
    worker.say("hello")
    swept(worker, 15 * 24)
    for record in worker.store.outgoing(100):
        event = open_record(StampedRecord(record.topic, record.event_id, record.user, record.envelope, "working", 1, 1, NOON))
        assert make_record(event.message, event_id=event.event_id, occurred_us=NOON, user=event.user).topic == record.topic
