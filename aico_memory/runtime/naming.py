"""Users under one name: what is published under a platform's id of a user is the user's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from google.protobuf.message import Message

from aico_memory.contracts.envelope import Event
from aico_memory.errors import InvalidMessage
from aico_memory.settings.identity import IdentitySettings


def under_one_name(event: Event, identity: IdentitySettings) -> Event:
    """The event with the user id that its name stands for (`identity.aliases`), in the header and in the message alike.

    Clients of this library name the user id themselves; others may not know the aliases.
    """
    user = identity.user(event.user)
    if user == event.user:
        return event
    message = event.message
    if "user_id" in message.DESCRIPTOR.fields_by_name and message.user_id == event.user:
        message = type(message)()
        message.CopyFrom(event.message)
        message.user_id = user
    return replace(event, user=user, message=message)


def named_user(message: Message, given: str | None, canonical: Callable[[str], str]) -> str:
    """The user for the header of a message, whose own `user_id` is put under the same name: `given`, else whom the message
    names, "" for nobody.

    `canonical` tells the user id that a name stands for. InvalidMessage where header and message would name two users.
    """
    claimed = getattr(message, "user_id", "")
    named = claimed if given is None else given
    user = canonical(named) if named else ""
    if claimed:
        own = canonical(claimed)
        if user and own != user:
            raise InvalidMessage(f"The message names {own!r} as its user, and is to be published for {user!r}")
        setattr(message, "user_id", own)  # noqa: B010
    return user
