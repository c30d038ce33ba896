"""Reports of use: several answers are told together, each as if it were alone."""

from __future__ import annotations

import pytest

from aico_memory.clock import FixedClock
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import context_pb2, semantic_pb2, working_pb2
from aico_memory.domain.context.items import ContextItem
from aico_memory.ids import new_id
from services.context import usage
from services.context.usage import UseReports
from tests.services.context.tiers import NOW, open_all
from tests.support.twin_link import TwinLink

ASKED_US = 1_760_000_000_000_000


def asked(user: str, number: int, **named: str) -> Event:
    request = context_pb2.ContextRequest(user_id=user, query="tea", **named)
    return Event(
        event_id=new_id(ASKED_US + number), topic=topic_of(request).name, user=user, message=request, occurred_us=ASKED_US
    )


def used(*ids: str, text: str = "tea", tier: str = "semantic") -> list[ContextItem]:
    return [ContextItem(id=one, text=text, kind="fact", tier=tier, layer="L1", score=0.5, shares={}) for one in ids]


def told(link: TwinLink, *answers: tuple[str, str, list[ContextItem]]) -> list[Event]:
    """Told together, when the process ends; the questions."""
    reports = UseReports(link, FixedClock(NOW), 100, 0.9, 60_000.0, lambda: None)  # type: ignore[arg-type]
    events = [asked(user, number) for number, (user, _, _) in enumerate(answers)]
    for event, (_, session, items) in zip(events, answers, strict=True):
        reports.note(event, session, items)
    reports.close()
    assert (reports.reported, reports.lost) == (len(answers), 0)
    return events


def test_every_answer_is_reported_once_under_its_own_id(link: TwinLink) -> None:
    events = told(link, ("ada", "s", used("a", "b")), ("ada", "s", used("b")), ("ben", "", used("c")))
    found = open_all(link.published, semantic_pb2.MemoriesUsed)
    assert [(one.user_id, list(one.memory_ids), one.request_id) for one in found] == [
        ("ada", ["a", "b"], str(events[0].event_id)), ("ada", ["b"], str(events[1].event_id)),
        ("ben", ["c"], str(events[2].event_id)),
    ]  # fmt: skip


def test_use_names_the_group_and_the_project_of_the_question(link: TwinLink) -> None:
    reports = UseReports(link, FixedClock(NOW), 100, 0.9, 60_000.0, lambda: None)  # type: ignore[arg-type]
    reports.note(asked("ada", 0, group_id="team", project_id="boat"), "s", used("a"))
    reports.close()
    (one,) = open_all(link.published, semantic_pb2.MemoriesUsed)
    assert (one.user_id, one.group_id, one.project_id) == ("ada", "team", "boat")


def test_what_a_conversation_has_in_mind_is_one_message_with_a_moment_an_answer(link: TwinLink) -> None:
    told(link, ("ada", "s", used("a", "b")), ("ada", "t", used("x")), ("ada", "s", used("b")), ("ben", "s", used("c")))
    found = open_all(link.sent, working_pb2.BufferTouched)
    assert [(one.user_id, one.session_id) for one in found] == [("ada", "s"), ("ada", "t"), ("ben", "s")]
    first = found[0]
    assert [item.id for item in first.items] == ["a", "b", "b"]
    moments = [item.last_access_us for item in first.items]
    assert moments[0] == moments[1] < moments[2] == first.at_us


def test_a_message_of_what_is_in_mind_stays_small(link: TwinLink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "_LETTERS", 10)
    told(link, *(("ada", "s", used(f"m{number}", text="seven l")) for number in range(3)))
    found = open_all(link.sent, working_pb2.BufferTouched)
    assert [[item.id for item in one.items] for one in found] == [["m0"], ["m1"], ["m2"]]


def test_working_memory_that_was_shown_is_in_mind_and_no_use_of_what_is_remembered(link: TwinLink) -> None:
    told(link, ("ada", "s", used("a", tier="working")))
    assert link.published == []
    (touched,) = open_all(link.sent, working_pb2.BufferTouched)
    assert [item.id for item in touched.items] == ["a"]
