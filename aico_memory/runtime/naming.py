"""Users under one name: what is published under a platform's id of a user is the user's."""

from __future__ import annotations

from dataclasses import replace

from aico_memory.contracts.envelope import Event
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
