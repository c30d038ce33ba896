"""The registry, the envelope, and that generated code and released descriptors still fit."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from aico_memory.contracts import envelope, registry
from aico_memory.contracts.compat import current_descriptors, incompatibilities
from aico_memory.contracts.v1 import behavioral_pb2, context_pb2, envelope_pb2, options_pb2, semantic_pb2, working_pb2
from aico_memory.contracts.wire import StampedRecord, reply_topic
from aico_memory.errors import InvalidFeedback, InvalidMessage, NotFound, UnknownTopic
from aico_memory.ids import new_id
from aico_memory.runtime.poison import answers_of_failure

ROOT = Path(__file__).resolve().parent.parent.parent
ID = uuid.UUID("01920000-0000-7000-8000-000000000001")


def delivered(message: object, **changes: object) -> StampedRecord:
    record = envelope.make_record(message, event_id=ID, occurred_us=5, user="ada")  # type: ignore[arg-type]
    fields = {"topic": record.topic, "event_id": record.event_id, "user": record.user, "envelope": record.envelope}
    return StampedRecord(
        **{**fields, "sender": "default", "global_sequence": 1, "topic_sequence": 1, "received_us": 9, **changes}
    )  # type: ignore[arg-type]


def a_message(**fields: object) -> working_pb2.Message:
    return working_pb2.Message(**{"user_id": "ada", "role": "user", "content": "Grüße", **fields})  # type: ignore[arg-type]


def test_generated_code_is_what_the_contracts_say() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/gen_proto.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_released_contracts_are_kept() -> None:
    released = FileDescriptorSet.FromString((ROOT / "proto/released.binpb").read_bytes())
    assert incompatibilities(released, current_descriptors()) == []


def test_a_renumbered_field_a_lost_message_and_a_moved_topic_are_found() -> None:
    old, new = current_descriptors(), current_descriptors()
    file = next(each for each in new.file if each.name.endswith("working.proto"))
    message = next(each for each in file.message_type if each.name == "Message")
    message.field[0].number = 99
    message.options.Extensions[options_pb2.topic].name = "memory/working/said/v1/"
    del file.message_type[[each.name for each in file.message_type].index("Turn")]
    found = " · ".join(incompatibilities(old, new))
    assert "Message.user_id (1) is gone" in found
    assert "changed its topic" in found
    assert "Turn is gone" in found


def test_every_topic_has_one_message_a_delivery_and_an_owner() -> None:
    processes = {"broker", "working", "semantic", "behavioral", "consolidation", "context", "model", "scheduler", "all"}
    for name, topic in registry.topics().items():
        assert name.endswith("/"), "ZeroMQ matches prefixes: v1 would also match v10"
        assert topic.owner in processes
        declared = topic.message.DESCRIPTOR.GetOptions().Extensions[options_pb2.topic]
        assert declared.delivery != options_pb2.DELIVERY_UNSPECIFIED
        assert declared.origin != options_pb2.ORIGIN_UNSPECIFIED
        assert registry.topic_of(topic.message) is topic


def test_no_topic_is_a_prefix_of_another() -> None:
    names = list(registry.topics())
    assert [(a, b) for a in names for b in names if a != b and b.startswith(a)] == []


def test_an_unknown_topic_is_a_typed_error() -> None:
    with pytest.raises(UnknownTopic, match="memory/none"):
        registry.topic_named("memory/none/such/v1/")
    assert registry.topic_named("memory/working/message/v1").name == "memory/working/message/v1/"


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        (behavioral_pb2.FeedbackEvent, "user_id message_id skill_id reward reason free_text timestamp"),
        (behavioral_pb2.SkillSelectionRequest, "user_id conversation_id message_text context_tags timestamp"),
        (
            behavioral_pb2.SkillSelectionResponse,
            "request_id skill_id skill_name procedure_template confidence_score preference_alignment "
            "is_exploration selection_time_ms",
        ),
        (behavioral_pb2.SkillApplicationEvent, "user_id message_id skill_id skill_name confidence_score timestamp"),
    ],
)
def test_the_behavioral_messages_keep_their_older_fields(message: type, fields: str) -> None:
    assert set(fields.split()) <= set(message.DESCRIPTOR.fields_by_name)


def test_an_event_survives_the_way() -> None:
    event = envelope.open_record(delivered(a_message()))
    assert (event.event_id, event.user, event.occurred_us, event.received_us) == (ID, "ada", 5, 9)
    assert event.message == a_message()


def test_header_and_envelope_must_agree() -> None:
    with pytest.raises(InvalidMessage, match="another event or topic"):
        envelope.open_record(delivered(a_message(), event_id=new_id().bytes))
    with pytest.raises(InvalidMessage, match="another user"):
        envelope.open_record(delivered(a_message(), user="eve"))


def test_an_envelope_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidMessage):
        envelope.open_record(delivered(a_message(), envelope=b"\xff\xff\xff"))


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"content": ""}, "Message.content is required"),
        ({"role": ""}, "Message.role"),
        ({"session_id": "s" * 257}, "257 characters"),
    ],
)
def test_a_broken_rule_names_its_field(fields: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidMessage, match=named):
        envelope.check_fields(a_message(**fields))


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (context_pb2.ContextRequest(user_id="ada", query="q", valence=1.5), "valence is 1.5; allowed is -1 to 1"),
        (context_pb2.ContextRequest(user_id="ada", query="q", valence=math.nan), "valence is nan; allowed is -1 to 1"),
        (context_pb2.ContextRequest(user_id="ada", query="q", group_id="g" * 257), "group_id has 257 characters"),
        (context_pb2.SearchRequest(user_id="ada", query="q", project_id="p" * 257), "project_id has 257 characters"),
        (a_message(role="boss"), "Message.role is 'boss'; allowed are user, assistant, system, tool"),
        (a_message(role="User"), "Message.role is 'User'"),
        (a_message(zone="Mars/X"), "Message.zone 'Mars/X' is no IANA zone"),
        (a_message(zone="../../etc/passwd"), "is no IANA zone"),
        (working_pb2.Turn(user_id="ada", interaction_id="i", zone="Mars/X"), "Turn.zone 'Mars/X' is no IANA zone"),
        (context_pb2.ContextRequest(user_id="ada", query="q", zone="Mars/X"), "ContextRequest.zone 'Mars/X' is no IANA zone"),
    ],
)
def test_a_value_that_is_none_of_those_allowed_is_refused_where_it_is_made_and_where_it_arrives(
    message: working_pb2.Message | working_pb2.Turn | context_pb2.ContextRequest, named: str
) -> None:
    with pytest.raises(InvalidMessage, match=re.escape(named)):
        envelope.make_record(message, event_id=ID, occurred_us=5, user="ada")
    topic = registry.topic_of(message).name
    content = envelope_pb2.Envelope(event_id=ID.bytes, topic=topic, schema_version=1, payload=message.SerializeToString())
    with pytest.raises(InvalidMessage, match=re.escape(named)):
        envelope.open_record(StampedRecord(topic, ID.bytes, "ada", content.SerializeToString(), "default", 1, 1, 9))


@pytest.mark.parametrize("fields", [{"role": "tool"}, {"zone": "Europe/Lisbon"}, {"zone": ""}, {"zone": "Etc/GMT-2"}])
def test_a_text_that_is_allowed_arrives(fields: dict[str, str]) -> None:
    message = a_message(**fields)
    assert envelope.open_record(delivered(message)).message == message


def test_a_value_out_of_range_breaks_its_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    ranged = options_pb2.FieldRules(ranged=True, min=-1, max=1)
    monkeypatch.setattr(envelope, "_rules", lambda contract: [(contract.fields_by_name["reward"], ranged)])
    with pytest.raises(InvalidMessage, match="reward is 2"):
        envelope.check_fields(behavioral_pb2.FeedbackEvent(user_id="a", message_id="m", skill_id="s", reward=2))


@pytest.mark.parametrize(
    ("fields", "named"),
    [({"free_text": "x" * 301}, "free_text has 301 characters"), ({"message_id": ""}, "message_id is required")],
)
def test_a_judgement_that_cannot_be_is_a_validation_error_whichever_way_it_comes(fields: dict[str, str], named: str) -> None:
    message = behavioral_pb2.FeedbackEvent(**{"user_id": "ada", "message_id": "m", "skill_id": "s", **fields})
    topic = registry.topic_of(message).name
    answers = reply_topic("default", bytes(16))
    content = envelope_pb2.Envelope(
        event_id=ID.bytes, topic=topic, schema_version=1, payload=message.SerializeToString(), reply_to=answers
    )
    record = StampedRecord(topic, ID.bytes, "ada", content.SerializeToString(), "default", 1, 1, 9)
    with pytest.raises(InvalidFeedback, match=named) as refused:
        envelope.open_record(record)
    (answer,) = answers_of_failure(record, refused.value)
    assert (answer.topic, refused.value.code) == (answers, "validation_error")
    reply = envelope_pb2.Reply.FromString(envelope_pb2.Envelope.FromString(answer.envelope).payload)
    assert reply.code == "validation_error"


@pytest.mark.parametrize("said_at_us", [-(2**63), 2**63 - 1, 253_402_300_800_000_000])
def test_a_time_that_no_calendar_shows_is_refused(said_at_us: int) -> None:
    with pytest.raises(InvalidMessage, match="said_at_us is outside of the calendar"):
        envelope.check_fields(a_message(said_at_us=said_at_us))


@pytest.mark.parametrize("text", ["{", "[1]", "7", '{"a": NaN}', '{"a": "\\ud800"}', "[" * 100_000, '{"a": 1} x'])
def test_metadata_is_a_json_object_or_nothing(text: str) -> None:
    with pytest.raises(InvalidMessage, match="metadata_json"):
        envelope.check_fields(a_message(metadata_json=text))
    envelope.check_fields(a_message(metadata_json='{"a": "\\u00e4"}'))


def test_answers_go_to_the_senders_own_topic_only() -> None:
    theirs, ours = reply_topic("operator", bytes(16)), reply_topic("default", bytes(16))
    assert envelope.answerable(ours, "default") == ours
    assert envelope.answerable(theirs, "default") == ""
    assert envelope.answerable(ours, "") == ""


def test_a_record_that_needs_a_user_names_one() -> None:
    with pytest.raises(InvalidMessage, match="must name its user"):
        envelope.make_record(a_message(), event_id=ID, occurred_us=1)


def test_a_reply_carries_a_result_or_a_typed_error() -> None:
    page = semantic_pb2.MemoryPage(next="x")
    assert envelope.open_reply(envelope.make_reply(page)) == page
    with pytest.raises(NotFound, match="no such memory"):
        envelope.open_reply(envelope.make_reply(NotFound("no such memory")))


def test_a_reply_goes_to_the_topic_of_its_requester() -> None:
    topic = reply_topic("default", b"\1" * 16)
    record = envelope.make_record(envelope.make_reply(context_pb2.RecallResult()), event_id=ID, occurred_us=1, topic=topic)
    back = envelope.open_record(StampedRecord(topic, ID.bytes, "", record.envelope, "context", 0, 0, 1))
    assert envelope.open_reply(back.message) == context_pb2.RecallResult()
