"""A list of messages is checked whole before anything of it is published."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.client.memory_verbs import MemoryVerbs
from aico_memory.client.validation import (
    MAX_FREE_TEXT,
    checked_count,
    checked_filters,
    checked_flag,
    checked_id,
    checked_messages,
    checked_names,
    checked_or_configured,
    checked_reward,
    checked_seconds,
    checked_span,
    checked_user,
    checked_zone,
    json_object,
    judging,
    moment_us,
    optional_text,
)
from aico_memory.domain.memory import KINDS, STATUSES, TIERS
from aico_memory.errors import InvalidFeedback, InvalidMessage, InvalidReward, NaiveTime, from_code


def check(*messages: Any) -> Any:
    return checked_messages(list(messages), "u", "s", "g", "p")


def test_a_full_message_keeps_all_it_says() -> None:
    identifier = uuid.uuid4()
    ((given, message),) = check(
        {
            "role": "user",
            "content": "Grüße",
            "id": str(identifier).upper(),
            "name": "Ana",
            "timestamp": "2026-05-03T10:00:00.25+02:00",
            "metadata": {"b": [1, None], "ü": "ß"},
        }
    )
    assert given == identifier
    assert (message.user_id, message.session_id, message.group_id, message.project_id) == ("u", "s", "g", "p")
    assert (message.role, message.content, message.name) == ("user", "Grüße", "Ana")
    assert message.said_at_us == int(datetime(2026, 5, 3, 8, 0, 0, 250_000, tzinfo=UTC).timestamp() * 1_000_000)
    assert json.loads(message.metadata_json) == {"b": [1, None], "ü": "ß"}


def test_a_short_message_leaves_the_rest_empty() -> None:
    ((given, message),) = check({"role": "assistant", "content": "x"})
    assert given is None
    assert message.said_at_us == 0
    assert message.metadata_json == message.name == ""


def test_the_moment_that_is_zero_is_a_moment_and_no_none() -> None:
    epoch = "1970-01-01T00:00:00Z"
    ((_, message),) = check({"role": "user", "content": "x", "timestamp": epoch})
    filters = checked_filters({"until": epoch})
    assert message.said_at_us == filters.until_us == moment_us("1970-01-01T02:00:00+02:00", "as_of") == 1
    assert [moment_us(epoch[:-1] + part, "as_of") for part in (".000001Z", ".000002Z")] == [1, 2]
    assert moment_us("1969-12-31T23:59:59.999999Z", "as_of") == -1
    assert moment_us(None, "as_of") == 0


def test_a_single_mapping_is_a_list_of_one() -> None:
    assert len(checked_messages({"role": "user", "content": "x"}, "u", "", "", "")) == 1


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ({"role": "robot", "content": "x"}, "messages[1].role"),
        ({"content": "x"}, "messages[1].role"),
        ({"role": ["user"], "content": "x"}, "messages[1].role"),
        ({"role": "user"}, "messages[1].content"),
        ({"role": "user", "content": ""}, "messages[1].content is empty"),
        ({"role": "user", "content": b"x"}, "messages[1].content"),
        ({"role": "user", "content": "\ud800"}, "messages[1].content"),
        ({"role": "user", "content": "x", "id": "17"}, "messages[1].id"),
        ({"role": "user", "content": "x", "id": 17}, "messages[1].id"),
        ({"role": "user", "content": "x", "name": 3}, "messages[1].name"),
        ({"role": "user", "content": "x", "name": "n" * 257}, "messages[1].name"),
        ({"role": "user", "content": "x", "timestamp": "yesterday"}, "no ISO 8601 time"),
        ({"role": "user", "content": "x", "timestamp": 1_700_000_000}, "messages[1].timestamp"),
        ({"role": "user", "content": "x", "metadata": "text"}, "messages[1].metadata"),
        ({"role": "user", "content": "x", "metadata": {"a": {1, 2}}}, "messages[1].metadata"),
        ({"role": "user", "content": "x", "metadata": {"a": float("nan")}}, "messages[1].metadata"),
        ({"role": "user", "content": "x", "metadata": {1: 2}}, "messages[1].metadata"),
        ({"role": "user", "content": "x", "metadata": {"a": "\udc00"}}, "messages[1].metadata"),
        ({"role": "user", "content": "x", "said": "now"}, "unknown keys said"),
        ("hello", "messages[1] must be a mapping"),
    ],
)
def test_the_first_fault_is_named_with_its_place(message: Any, named: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        check({"role": "user", "content": "good"}, message)
    assert named in caught.value.detail


@pytest.mark.parametrize("messages", ["hello", 3, None, {1, 2}, b"x"])
def test_what_is_no_list_of_messages_is_refused(messages: Any) -> None:
    with pytest.raises(InvalidMessage, match="messages must be a list"):
        checked_messages(messages, "u", "", "", "")


@pytest.mark.parametrize("moment", ["2026-01-31T18:00:00", datetime(2026, 1, 31)])
def test_a_time_without_zone_is_a_typed_error(moment: Any) -> None:
    with pytest.raises(NaiveTime, match=r"messages\[0\].timestamp"):
        check({"role": "user", "content": "x", "timestamp": moment})


@pytest.mark.parametrize(
    "moment",
    ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", datetime(9999, 12, 31, 23, 59, tzinfo=timezone.utc)],  # noqa: UP017
)
def test_a_time_outside_of_the_calendar_is_named_by_its_place(moment: Any) -> None:
    with pytest.raises(InvalidMessage, match=r"messages\[0\].timestamp .*calendar") as refused:
        check({"role": "user", "content": "x", "timestamp": moment})
    assert "9999" in refused.value.mend or "from" in refused.value.mend


def test_a_span_ends_after_it_begins_and_may_be_open() -> None:
    early, late = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
    assert checked_span(None, early)[0] == checked_span(late, None)[1] == 0
    for span in ((late, early), (early, early)):
        with pytest.raises(InvalidMessage, match="since"):
            checked_span(*span)


def test_none_means_now() -> None:
    assert moment_us(None, "as_of") == 0


@given(st.datetimes(timezones=st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))))
def test_a_time_is_the_same_as_text_and_as_datetime(moment: datetime) -> None:
    try:
        expected = moment_us(moment, "t")
    except InvalidMessage:
        return  # at the ends of the calendar a zone may lead out of it
    assert moment_us(moment.isoformat(), "t") == expected


@pytest.mark.parametrize("user", ["", None, 7, "x" * 257, "\ud800"])
def test_a_user_id_that_is_none_is_refused(user: Any) -> None:
    with pytest.raises(InvalidMessage, match="user_id"):
        checked_user(user)


def test_a_user_id_may_have_256_characters() -> None:
    assert checked_user("ü" * 256) == "ü" * 256


def test_filters_take_a_text_or_a_list() -> None:
    filters = checked_filters(
        {
            "kind": "fact",
            "tier": ["semantic", "episodic"],
            "status": ("active",),
            "session_id": "s",
            "since": "2026-01-01T00:00:00Z",
        }
    )
    assert list(filters.kinds) == ["fact"]
    assert sorted(filters.tiers) == ["episodic", "semantic"]
    assert list(filters.statuses) == ["active"]
    assert filters.session_id == "s"
    assert filters.since_us == 1_767_225_600_000_000
    assert filters.until_us == 0


@pytest.mark.parametrize(
    ("filters", "named"),
    [
        ({"kinds": "fact"}, "Unknown filters kinds"),
        ({"kind": 3}, "filters.kind"),
        ({"kind": [3]}, "filters.kind"),
        ({"tier": ""}, "filters.tier"),
        ({"since": "2026"}, "filters.since"),
        ("fact", "filters must be a mapping"),
        ({"kind": ["fact", "nonsense"]}, "filters.kind is 'nonsense'; allowed are record, profile, "),
        ({"kind": "outcome"}, "filters.kind is 'outcome'"),
        ({"tier": "nonsense"}, "filters.tier is 'nonsense'; allowed are episodic, semantic, dormant"),
        ({"status": "nonsense"}, "filters.status is 'nonsense'; allowed are candidate, shadow, active, "),
    ],
)
def test_a_wrong_filter_is_named(filters: Any, named: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        checked_filters(filters)
    assert named in caught.value.detail


@pytest.mark.parametrize("reward", [2, -2, 0.5, "1", True, None])
def test_a_reward_is_minus_one_zero_or_one(reward: Any) -> None:
    with pytest.raises(InvalidReward):
        checked_reward(reward)


@pytest.mark.parametrize("reward", [-1, 0, 1])
def test_the_three_rewards_pass(reward: int) -> None:
    assert checked_reward(reward) == reward


@pytest.mark.parametrize("count", [0, -1, 11, True, 1.0, "3", None])
def test_a_count_out_of_range_is_refused(count: Any) -> None:
    with pytest.raises(InvalidMessage, match="top_k"):
        checked_count(count, "top_k", 10)


def test_an_id_may_be_given_as_uuid() -> None:
    identifier = uuid.uuid4()
    assert checked_id(identifier, "id") == checked_id(identifier.hex, "id") == identifier


def test_no_metadata_is_no_text() -> None:
    assert json_object(None, "m") == json_object({}, "m") == ""


@pytest.mark.parametrize(
    ("timestamp", "zone"),
    [
        ("2026-05-03T10:00:00+02:00", "Etc/GMT-2"),
        ("2026-05-03T10:00:00-08:00", "Etc/GMT+8"),
        ("2026-05-03T10:00:00Z", ""),
        ("2026-05-03T10:00:00+05:30", "Asia/Kolkata"),
        ("2026-05-03T10:00:00+05:45", "Asia/Kathmandu"),
        ("2026-05-03T10:00:00+09:30", "Australia/Darwin"),
        ("2026-01-03T10:00:00+10:30", "Australia/Adelaide"),
        ("2026-01-03T10:00:00-03:30", "America/St_Johns"),
        ("2026-05-03T10:00:00-02:30", "America/St_Johns"),
        ("2026-05-03T10:00:00-09:30", "Pacific/Marquesas"),
        ("2026-05-03T10:00:00+05:17", ""),
        ("0001-01-01T00:00:00+05:30", ""),
        ("yesterday", ""),
        (datetime(2026, 5, 3, tzinfo=ZoneInfo("Europe/Lisbon")), "Europe/Lisbon"),
        (datetime(2026, 5, 3, tzinfo=timezone(timedelta(hours=14))), "Etc/GMT-14"),
        (datetime(2026, 5, 3, tzinfo=timezone(timedelta(hours=-14))), ""),
        (None, ""),
    ],
)
def test_the_zone_of_a_message_is_that_of_its_timestamp_where_none_is_given(timestamp: object, zone: str) -> None:
    assert checked_zone(None, "zone", timestamp) == zone
    assert checked_zone("Asia/Tokyo", "zone", timestamp) == "Asia/Tokyo"
    if zone:
        moment = datetime.fromisoformat(timestamp) if isinstance(timestamp, str) else timestamp
        assert isinstance(moment, datetime)
        assert moment.astimezone(ZoneInfo(zone)).utcoffset() == moment.utcoffset()


def test_a_zone_that_does_not_exist_is_refused() -> None:
    for wrong in ("Mars/Olympus", "../etc/passwd", "", 3):
        with pytest.raises(InvalidMessage, match="zone"):
            checked_zone(wrong, "zone")


@pytest.mark.parametrize("value", [-1, "5", None, True, float("nan"), float("inf")])
def test_what_is_no_number_of_seconds_is_refused(value: Any) -> None:
    with pytest.raises(InvalidMessage, match="timeout_seconds"):
        checked_seconds(value, "timeout_seconds")


def test_seconds_may_be_none_at_all_and_part_of_one() -> None:
    assert [checked_seconds(value, "t") for value in (0, 2, 0.5)] == [0.0, 2.0, 0.5]


def test_a_flag_is_true_or_false_and_nothing_that_looks_like_it() -> None:
    assert checked_flag(True, "explain")
    for value in (1, "yes", None):
        with pytest.raises(InvalidMessage, match="explain"):
            checked_flag(value, "explain")


def test_one_name_is_a_list_of_one_and_not_of_its_letters() -> None:
    assert checked_names("replay", "phases") == ["replay"]
    assert checked_names(("b", "a"), "phases") == ["b", "a"]
    assert checked_names(None, "phases") == []
    for value in (5, [5], [""]):
        with pytest.raises(InvalidMessage, match="phases"):
            checked_names(value, "phases")


def test_outcomes_are_a_kind_where_they_are_told_and_have_states_of_their_own() -> None:
    filters = checked_filters({"kind": "outcome", "status": "rejected"}, outcomes=True)
    assert (list(filters.kinds), list(filters.statuses)) == (["outcome"], ["rejected"])
    with pytest.raises(InvalidMessage, match="nonsense"):
        checked_filters({"kind": ["outcome", "nonsense"]}, outcomes=True)


def test_outcomes_have_tags_and_memories_have_none() -> None:
    assert list(checked_filters({"kind": "outcome", "tag": ("b", "a")}, outcomes=True).tags) == ["a", "b"]
    with pytest.raises(InvalidMessage, match="Memories have no tags"):
        checked_filters({"tag": "a"}, outcomes=True)
    with pytest.raises(InvalidMessage, match="Unknown filters tag"):
        checked_filters({"kind": "fact", "tag": "a"})


def test_the_kinds_tiers_and_states_that_there_are_are_told_where_they_are_asked_for() -> None:
    told = MemoryVerbs.search.__doc__ or ""
    assert [name for name in (*KINDS, *TIERS, *STATUSES) if name not in told] == []


def test_what_is_wrong_with_a_feedback_is_a_validation_error_and_a_wrong_reward_an_invalid_one() -> None:
    with pytest.raises(InvalidFeedback, match="301 characters") as refusal, judging():
        optional_text("x" * 301, "free_text", MAX_FREE_TEXT)
    assert refusal.value.code == "validation_error"
    with pytest.raises(InvalidReward), judging():
        checked_reward(2)
    assert isinstance(from_code("validation_error", "no such reason"), InvalidFeedback)


def test_a_count_that_is_not_given_is_left_to_the_configuration() -> None:
    assert checked_or_configured(None, "top_k", 10) == 0
    assert checked_or_configured(7, "top_k", 10) == 7
    for wrong in (0, 11, True, "7"):
        with pytest.raises(InvalidMessage, match="top_k"):
            checked_or_configured(wrong, "top_k", 10)
