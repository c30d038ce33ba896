"""What is published under a platform's id of a user is the user's."""

from __future__ import annotations

import pytest

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import semantic_pb2, sleep_pb2, working_pb2
from aico_memory.errors import InvalidMessage
from aico_memory.ids import new_id
from aico_memory.runtime.naming import named_user, under_one_name
from aico_memory.settings.identity import IdentitySettings

IDENTITY = IdentitySettings(aliases={"discord:7": "ana"})


def event(user: str, message: object) -> Event:
    return Event(new_id(1), "topic", user, message)


def test_header_and_message_name_the_user_and_what_was_published_stays_as_it_is() -> None:
    said = working_pb2.Message(user_id="discord:7", content="Hello")
    named = under_one_name(event("discord:7", said), IDENTITY)
    assert (named.user, named.message.user_id, named.message.content) == ("ana", "ana", "Hello")
    assert said.user_id == "discord:7"


def test_whoever_has_no_other_name_is_left_alone() -> None:
    for user in ("ana", "bo", ""):
        given = event(user, working_pb2.Message(user_id=user))
        assert under_one_name(given, IDENTITY) is given


def test_a_message_without_a_user_is_named_by_its_header() -> None:
    named = under_one_name(event("discord:7", semantic_pb2.SemanticQuery(text="x")), IDENTITY)
    assert (named.user, named.message.text) == ("ana", "x")


@pytest.mark.parametrize("given", [None, "discord:7", "ana"])
@pytest.mark.parametrize("claimed", ["discord:7", "ana"])
def test_header_and_message_are_published_under_one_name(given: str | None, claimed: str) -> None:
    said = working_pb2.Message(user_id=claimed)
    assert named_user(said, given, IDENTITY.user) == said.user_id == "ana"


def test_a_header_that_names_another_user_than_the_message_is_refused_before_it_is_published() -> None:
    with pytest.raises(InvalidMessage, match="'bo'"):
        named_user(working_pb2.Message(user_id="discord:7"), "bo", IDENTITY.user)


def test_a_message_for_everybody_names_nobody() -> None:
    assert named_user(sleep_pb2.RunsRequest(), None, IDENTITY.user) == ""
    assert named_user(sleep_pb2.RunsRequest(), "discord:7", IDENTITY.user) == "ana"
