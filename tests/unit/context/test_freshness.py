"""Versions of scopes: whatever changes is seen, whatever is forgotten counts as changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.context.freshness import Applied, ScopeVersions

scopes = st.sampled_from(["user:a", "user:b", "group:g"])
moves = st.lists(st.tuples(st.lists(scopes, max_size=2), st.integers(0, 50)), max_size=30)


@given(moves, moves, st.integers(1, 4), scopes)
def test_a_version_moves_with_every_change_and_every_loss(
    before: list[tuple[list[str], int]], after: list[tuple[list[str], int]], most: int, mine: str
) -> None:
    versions = ScopeVersions(most)
    for named, sequence in before:
        versions.moved(named, Applied(sequence, sequence // 2))
    stood = versions.of([mine])
    for named, sequence in after:
        known = Applied(sequence, sequence // 2)
        versions.moved(named, known) if named else versions.moved_everywhere(known)
    changed = any(mine in named or not named for named, _ in after)
    assert not changed or versions.of([mine]) != stood
    awaited = [sequence for named, sequence in (*before, *after) if mine in named]
    awaited += [sequence for named, sequence in after if not named]
    furthest = max(awaited, default=0)
    assert versions.awaited([mine]).reaches(Applied(furthest, furthest // 2))


def test_other_scopes_stay_as_they_are() -> None:
    versions = ScopeVersions(10)
    versions.moved(["user:a"], Applied(5, 4))
    stood = versions.of(["user:a"])
    versions.moved(["user:b"], Applied(9, 9))
    assert versions.of(["user:a"]) == stood
    assert versions.awaited(["user:a"]) == Applied(5, 4)


def test_both_tiers_must_have_come_as_far_each_for_itself() -> None:
    assert Applied(9, 4).reaches(Applied(9, 4))
    assert not Applied(9, 3).reaches(Applied(8, 4))
    assert Applied(9, 3).further(Applied(8, 4)) == Applied(9, 4)
