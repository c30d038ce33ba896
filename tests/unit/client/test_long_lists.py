"""Lists that are longer than one answer: the client goes on by the cursor until it has what it was asked for."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest

from aico_memory.client import AsyncMemoryClient
from aico_memory.client.behavior_verbs import BehaviorVerbs
from aico_memory.client.validation import checked_user
from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.errors import InvalidMessage

KEPT = 2500


class Listing:
    """A session whose worker keeps KEPT selections and thumbs and answers a few less than it is asked for."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    user = staticmethod(checked_user)

    async def ask(self, message: Any, user: str, **_: Any) -> Any:
        kept = type(message)()
        kept.CopyFrom(message)
        self.asked.append(kept)
        if isinstance(message, behavioral_pb2.BehaviorFiguresRequest):
            hour = max(message.from_us, 1)
            hours = behavioral_pb2.BehaviorFigures(next_us=hour + 1 if hour < 3 else 0)
            hours.figures.add(hour_us=hour, what="positive")
            return hours
        if isinstance(message, behavioral_pb2.BehaviorMetricsRequest):
            wanted = min(message.limit or KEPT, KEPT - message.after)
            metrics = behavioral_pb2.BehaviorMetrics(left=max(wanted - 1000, 0))
            for number in range(message.after, message.after + min(wanted, 1000)):
                metrics.rows.add(skill_id=str(number))
            return metrics
        if isinstance(message, behavioral_pb2.SelectionListRequest):
            first = int(message.after) if message.after else 0
            until = min(KEPT, first + max(1, message.limit - 1))
            page = behavioral_pb2.SelectionList(next=str(until) if until < KEPT else "")
            for number in range(first + 1, until + 1):
                page.selections.add(request_id=str(number))
            return page
        first = uuid.UUID(bytes=message.after).int if message.after else 0
        until = min(KEPT, first + max(1, message.limit - 1))
        found = behavioral_pb2.FeedbackList(next=uuid.UUID(int=until).bytes if until < KEPT else b"")
        for number in range(first + 1, until + 1):
            found.feedback.add(event_id=uuid.UUID(int=number).bytes)
        return found


@pytest.fixture
def verbs() -> Any:
    made = BehaviorVerbs()
    made._session = Listing()  # type: ignore[assignment]
    return made


def test_a_list_is_read_page_by_page_to_its_limit_or_its_end(verbs: AsyncMemoryClient) -> None:
    chosen = asyncio.run(verbs.selection_list("ann", limit=2100))
    assert [int(one["request_id"]) for one in chosen] == list(range(1, 2101))
    assert max(one.limit for one in verbs._session.asked) == 1000  # type: ignore[attr-defined]
    assert len(asyncio.run(verbs.selection_list("ann", limit=1_000_000))) == KEPT
    thumbs = asyncio.run(verbs.feedback_list("ann", limit=1_000_000))
    assert [uuid.UUID(one["event_id"]).int for one in thumbs] == list(range(1, KEPT + 1))


def test_figures_and_metrics_are_read_to_their_end_or_their_limit(verbs: AsyncMemoryClient) -> None:
    assert len(asyncio.run(verbs.behavior_figures())) == 3
    found = asyncio.run(verbs.behavior_metrics("accuracy"))
    assert [int(row["skill_id"]) for row in found] == list(range(KEPT))
    assert len(asyncio.run(verbs.behavior_metrics("accuracy", limit=1500))) == 1500


def test_a_list_goes_on_behind_what_was_seen(verbs: AsyncMemoryClient) -> None:
    assert [one["request_id"] for one in asyncio.run(verbs.selection_list("ann", 2, after="2498"))] == ["2499", "2500"]
    (last,) = asyncio.run(verbs.feedback_list("ann", after=str(uuid.UUID(int=2499))))
    assert uuid.UUID(last["event_id"]).int == KEPT
    for limit in (0, 1_000_001, True):
        with pytest.raises(InvalidMessage):
            asyncio.run(verbs.selection_list("ann", limit))
