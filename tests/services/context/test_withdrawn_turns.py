"""What a person deleted or edited stands in no answer, also while long-term memory is away."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from aico_memory.clock import FixedClock
from aico_memory.contracts.v1 import context_pb2, semantic_pb2
from services.context.handlers import ContextHandlers, build
from tests.services.context.test_kept_contexts import changed
from tests.services.context.tiers import NOW, USER, Tiers, ask, context, memory_id, ports
from tests.support.twin_link import TwinLink

SAID = "My bank PIN is 1234"


@pytest.fixture
def given(link: TwinLink) -> Any:
    return ports(link, deadline_ms=300)


@pytest.fixture
def handlers(given: Any) -> Iterator[ContextHandlers]:
    built = build(given)
    yield built
    built.close()


def stop(link: TwinLink) -> None:
    for kind in (context_pb2.CandidatesRequest, semantic_pb2.SemanticQuery, semantic_pb2.GetMemory):
        link.answers[kind] = None


def told(handlers: ContextHandlers) -> tuple[list[str], list[str]]:
    """Texts of a context, and of messages of a search over all layers, without long-term memory."""
    answer = context(handlers, "Which PIN is mine?", session_id="s")
    assert list(answer.degraded) == ["semantic"]
    unified = ask(handlers, context_pb2.UnifiedRequest(user_id=USER, query="PIN", layers=["L0"]))
    assert list(unified.degraded) == ["semantic"]
    return [item.text for item in answer.items], [hit.text for hit in unified.hits]


def test_what_long_term_memory_said_of_deleted_records_holds_after_it_is_gone(
    handlers: ContextHandlers, tiers: Tiers, link: TwinLink, given: Any
) -> None:
    tiers.deleted = [tiers.say(SAID, turn=True, recorded=False)]
    assert not context(handlers, "What is my PIN?", session_id="s").items
    clock: FixedClock = given.clock
    clock.set(NOW + timedelta(hours=1))
    stop(link)
    assert told(handlers) == ([], [])


@pytest.mark.parametrize(
    "decision",
    [
        semantic_pb2.Changed(action="invalidated", act="delete"),
        semantic_pb2.Changed(action="updated", act="edit"),
        semantic_pb2.InvalidateMemory(user_id=USER),
        semantic_pb2.UpdateMemory(user_id=USER, text="My bank PIN is secret"),
    ],
)
def test_what_was_heard_of_since_is_told_no_more(
    handlers: ContextHandlers, tiers: Tiers, link: TwinLink, decision: Any
) -> None:
    gone, other = (memory_id(tiers.say(text, turn=True, recorded=False)) for text in (SAID, "My PIN pad is broken"))
    context(handlers, "What is my PIN?", session_id="s")
    stop(link)
    assert [len(texts) for texts in told(handlers)] == [2, 2]
    if isinstance(decision, semantic_pb2.Changed):
        decision.memory_ids.append(gone)
    else:
        decision.memory_id = gone
    _, hear = link.hearing[0]
    hear(changed(type(decision), USER, 4, decision, 1))
    assert told(handlers) == (["My PIN pad is broken"], ["My PIN pad is broken"])
    hear(changed(semantic_pb2.Changed, USER, 5, semantic_pb2.Changed(action="reinforced", act="use", memory_ids=[other]), 2))
    assert told(handlers) == (["My PIN pad is broken"], ["My PIN pad is broken"])


def test_what_an_edited_record_says_is_told_where_it_was_known(
    handlers: ContextHandlers, tiers: Tiers, link: TwinLink, given: Any
) -> None:
    said = tiers.say(SAID, turn=True, recorded=False)
    tiers.edited = {said: "My bank PIN is secret"}
    tiers.settled = 4
    _, hear = link.hearing[0]
    edit = semantic_pb2.UpdateMemory(user_id=USER, memory_id=memory_id(said), text="My bank PIN is secret")
    hear(changed(semantic_pb2.UpdateMemory, USER, 3, edit, 1))
    context(handlers, "What is my PIN?", session_id="s")
    given.clock.set(NOW + timedelta(hours=1))
    stop(link)
    assert told(handlers) == (["My bank PIN is secret"], ["My bank PIN is secret"])
