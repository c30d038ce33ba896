"""What has a place in a context beside what, over twins of the tiers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.settings.root import Settings
from services.context.handlers import ContextHandlers, build
from tests.services.context.test_handlers import an_item
from tests.services.context.tiers import NOW, Tiers, context, ports
from tests.support.twin_link import TwinLink

_KEPT = (
    ("hammer", "oak"), ("pliers", "tin"), ("level", "wide"), ("saw", "back"), ("file", "left"), ("vice", "right"),
    ("plane", "small"),
)  # fmt: skip


@pytest.fixture
def weighing(link: TwinLink) -> Iterator[ContextHandlers]:
    """Where what does not match at all has no place of its own."""
    given = ports(link, deadline_ms=300)
    given.settings = Settings.model_validate({"context": {"deadline_ms": 300, "probe_ms": 30, "short_score": 0.0005}})
    built = build(given)
    yield built
    built.close()


def drawers(tiers: Tiers, count: int) -> list[semantic_pb2.MemoryRecord]:
    """As many things, each said in a message of which an item was made."""
    things = [f"{thing} is in the {place} drawer" for thing, place in _KEPT[:count]]
    said = [tiers.say(f"My {thing}") for thing in things]
    sources = [semantic_pb2.EvidenceSource(event_id=one.bytes) for one in said]
    return [an_item(at, f"User's {thing}", sources=[sources[at - 1]]) for at, thing in enumerate(things, 1)]


def test_what_is_one_too_many_of_its_kind_is_told_in_the_words_it_was_made_of(handlers: ContextHandlers, tiers: Tiers) -> None:
    tiers.items = drawers(tiers, 7)
    answer = context(handlers, "Which things of mine lie in drawers?", explain=True)
    assert sorted(item.kind for item in answer.items) == ["fact"] * 5 + ["record"] * 2
    assert len({tuple(item.evidence) for item in answer.items}) == 7, "each message is told once"
    assert sorted(one.rule for one in answer.dropped) == ["kind_cap"] * 2 + ["said_by_item"] * 5


def test_by_what_was_known_then_nothing_is_told_as_present_that_has_not_begun(handlers: ContextHandlers, tiers: Tiers) -> None:
    begins_us = round(NOW.timestamp() + 86_400) * 1_000_000
    said = [semantic_pb2.EvidenceSource(event_id=b"e" * 16, said_at_us=5)]
    tiers.items = [
        an_item(1, "User's boss is Carla", valid_from_us=begins_us, sources=said), an_item(2, "User's boss is Ann"),
    ]  # fmt: skip
    for moment in ({}, {"known_as_of_us": begins_us - 90_000_000_000}):
        answer = context(handlers, "Who is my boss?", explain=True, **moment)
        assert [item.text for item in answer.items] == ["User's boss is Ann"]
        assert [one.rule for one in answer.dropped] == ["not_yet"]
    for query, moment in (("Who will be my boss?", {"known_as_of_us": 9}), ("Who is my boss?", {"as_of_us": begins_us})):
        assert len(context(handlers, query, **moment).items) == 2


def test_what_is_hot_and_finds_no_room_takes_none_from_its_words(weighing: ContextHandlers, tiers: Tiers) -> None:
    tiers.hot = drawers(tiers, 3)
    answer = context(weighing, "Which things of mine lie in drawers?", max_tokens=120, explain=True)
    rules = [one.rule for one in answer.dropped]
    assert 0 < rules.count("hot_share") < 3
    assert len({tuple(item.evidence) for item in answer.items}) == 3


def test_what_held_at_the_moment_that_is_asked_of_is_not_put_behind_for_being_over_since(
    handlers: ContextHandlers, tiers: Tiers
) -> None:
    end = 1_700_000_000_000_000
    tiers.items = [an_item(1, "User lives in Porto", valid_until_us=end)]
    for moment, behind in (({"as_of_us": end - 1}, False), ({"known_as_of_us": end - 1}, False), ({"as_of_us": end + 1}, True)):
        (item,) = context(handlers, "Where is Porto?", explain=True, **moment).items
        assert ("over" in {share.feature for share in item.shares}) is behind
