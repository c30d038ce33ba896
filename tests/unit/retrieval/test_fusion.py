"""Reciprocal rank fusion with named shares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.retrieval.fusion import Ranking, fuse

ids = st.lists(st.sampled_from([f"m{at}" for at in range(12)]), unique=True, max_size=12)
rankings = st.lists(
    st.builds(Ranking, st.sampled_from(["text", "vector", "working", "graph"]), ids, st.just(0.0) | st.floats(0.001, 5)),
    max_size=4,
    unique_by=lambda ranking: ranking.name,
)


def test_the_scores_are_those_of_the_formula() -> None:
    first, second, third = fuse([Ranking("text", ["a", "b"]), Ranking("vector", ["b", "c"])], k=60)
    assert (first.id, second.id, third.id) == ("b", "a", "c")
    raw_b, raw_a = 1 / 62 + 1 / 61, 1 / 61
    assert first.score == pytest.approx(raw_b * 61 / 2)
    assert second.score == pytest.approx(raw_a * 61 / 2)
    assert first.shares.keys() == {"text", "vector"}


def test_the_top_of_every_list_scores_one() -> None:
    assert fuse([Ranking("text", ["a"], 0.3), Ranking("vector", ["a"], 2.0)])[0].score == pytest.approx(1.0)


def test_a_list_without_weight_brings_nothing_in() -> None:
    assert [one.id for one in fuse([Ranking("text", ["a"]), Ranking("vector", ["b"], 0.0)])] == ["a"]
    assert fuse([Ranking("vector", ["b"], 0.0)]) == []
    assert fuse([]) == []


def test_equal_scores_keep_the_order_of_the_lists() -> None:
    assert [one.id for one in fuse([Ranking("text", ["z"]), Ranking("vector", ["a"])])] == ["z", "a"]


@given(rankings)
def test_shares_add_up_to_the_score_and_scores_lie_between_zero_and_one(given_: list[Ranking]) -> None:
    fused = fuse(given_)
    assert [one.score for one in fused] == sorted((one.score for one in fused), reverse=True)
    for one in fused:
        assert sum(one.shares.values()) == pytest.approx(one.score)
        assert 0 < one.score <= 1 + 1e-9


@given(rankings)
def test_every_id_of_a_list_with_weight_comes_out_once(given_: list[Ranking]) -> None:
    expected = {id_ for ranking in given_ if ranking.weight > 0 for id_ in ranking.ids}
    fused = [one.id for one in fuse(given_)]
    assert len(fused) == len(set(fused))
    assert set(fused) == expected


@given(ids.filter(lambda found: len(found) > 1), rankings)
def test_a_better_rank_in_one_list_never_lowers_a_score(ranked: list[str], others: list[Ranking]) -> None:
    others = [ranking for ranking in others if ranking.name != "text"]
    last = ranked[-1]
    before = {one.id: one.score for one in fuse([Ranking("text", ranked), *others])}
    after = {one.id: one.score for one in fuse([Ranking("text", [last, *ranked[:-1]]), *others])}
    assert after[last] >= before[last] - 1e-12
