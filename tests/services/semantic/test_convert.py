"""What a question may ask for: filters and scopes, from whatever client they come."""

from __future__ import annotations

import pytest

from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.domain.memory import Scope
from aico_memory.errors import InvalidMessage
from services.semantic.convert import view_of

SCOPES = (Scope("user", "ana"),)
NOW = 1_000_000


@pytest.mark.parametrize(
    ("filters", "named"),
    [
        (semantic_pb2.SearchFilters(kinds=["fact", "fakt"]), "fakt"),
        (semantic_pb2.SearchFilters(tiers=["asleep"]), "asleep"),
        (semantic_pb2.SearchFilters(statuses=["gone"]), "gone"),
    ],
)
def test_a_filter_that_lets_nothing_through_by_mistake_is_refused(filters: semantic_pb2.SearchFilters, named: str) -> None:
    with pytest.raises(InvalidMessage, match=f"names {named}; known are"):
        view_of(SCOPES, filters, NOW)


def test_a_span_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(InvalidMessage, match="since"):
        view_of(SCOPES, semantic_pb2.SearchFilters(since_us=10, until_us=9), NOW)
    assert view_of(SCOPES, semantic_pb2.SearchFilters(since_us=10), NOW).since_us == 10


def test_a_filter_by_tag_is_refused_for_memories_have_none() -> None:
    with pytest.raises(InvalidMessage, match="no tags"):
        view_of(SCOPES, semantic_pb2.SearchFilters(kinds=["fact"], tags=["work"]), NOW)


def test_filters_that_are_known_make_the_view() -> None:
    filters = semantic_pb2.SearchFilters(kinds=["fact", "record"], tiers=["dormant"], statuses=["active", "expired"])
    view = view_of(SCOPES, filters, NOW, 5, 6)
    assert (view.kinds, view.tiers, view.statuses) == (("fact", "record"), ("dormant",), ("active", "expired"))
    assert (view.scopes, view.now_us, view.as_of_us, view.known_as_of_us) == (SCOPES, NOW, 5, 6)
