"""Identities made for one test, and refusals that come at once."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest
from google.protobuf.message import Message

from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import working_pb2
from aico_memory.contracts.wire import OutgoingRecord
from aico_memory.errors import AicoMemoryError
from aico_memory.ids import new_id

# An error at once, and not the end of a wait: less than the 30 s for which a request waits in tests.
AT_ONCE = 20.0


def refused_at_once(kind: type[AicoMemoryError], action: Callable[[], Any]) -> AicoMemoryError:
    """The error of an action, which must come at once and say what to do."""
    before = monotonic()
    with pytest.raises(kind) as caught:
        action()
    assert monotonic() - before < AT_ONCE
    assert type(caught.value) is kind
    assert caught.value.mend
    return caught.value


def record(message: Message, user: str, **more: Any) -> OutgoingRecord:
    return make_record(message, event_id=new_id(), occurred_us=1, user=user, **more)


def a_message(user: str, content: str) -> working_pb2.Message:
    return working_pb2.Message(user_id=user, role="user", content=content)
