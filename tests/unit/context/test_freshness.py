"""Versions of scopes: whatever changes is seen, whatever is forgotten counts as changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.context.freshness import ScopeVersions

scopes = st.sampled_from(["user:a", "user:b", "group:g"])
moves = st.lists(st.tuples(st.lists(scopes, max_size=2), st.integers(0, 50)), max_size=30)


@given(moves, moves, st.integers(1, 4), scopes)
def test_a_version_moves_with_every_change_and_every_loss(
    before: list[tuple[list[str], int]], after: list[tuple[list[str], int]], most: int, mine: str
) -> None:
    versions = ScopeVersions(most)
    for named, sequence in before:
        versions.moved(named, sequence)
    stood = versions.of([mine])
    for named, sequence in after:
        versions.moved(named, sequence) if named else versions.moved_everywhere(sequence)
    changed = any(mine in named or not named for named, _ in after)
    assert not changed or versions.of([mine]) != stood
    awaited = [sequence for named, sequence in (*before, *after) if mine in named]
    awaited += [sequence for named, sequence in after if not named]
    assert versions.awaited([mine]) >= max(awaited, default=0)


def test_other_scopes_stay_as_they_are() -> None:
    versions = ScopeVersions(10)
    versions.moved(["user:a"], 5)
    stood = versions.of(["user:a"])
    versions.moved(["user:b"], 9)
    assert versions.of(["user:a"]) == stood
    assert versions.awaited(["user:a"]) == 5
