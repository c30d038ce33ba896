"""Questions and parts merged into one ranking: by the best score, or by ranks with the same scores."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.context.merging import K, best_scores, by_ranks, gains

ranked = st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1)).map(
    lambda found: sorted(found.items(), key=lambda pair: -pair[1])
)


def test_by_ranks_what_several_find_goes_before_what_one_is_sure_of() -> None:
    whole = [("sure", 0.9), ("often", 0.3), ("late", 0.1)]
    part = [("other", 0.5), ("often", 0.4)]
    assert best_scores([whole, part]) == {"sure": 0.9, "often": 0.4, "late": 0.1, "other": 0.5}
    merged = by_ranks([whole, part])
    # 2/62 > 1/61 = 1/61 > 1/63; of equals the surer.
    assert list(merged) == ["often", "sure", "other", "late"]
    assert list(merged.values()) == [0.9, 0.5, 0.4, 0.1]
    assert gains(best_scores([whole, part]), merged)["often"] == pytest.approx(0.5)
    assert K == 60


@given(st.lists(ranked, max_size=4))
def test_scores_are_the_same_and_only_change_places(lists: list[list[tuple[str, float]]]) -> None:
    assert sorted(best_scores(lists).values()) == sorted(by_ranks(lists).values())
    assert set(best_scores(lists)) == set(by_ranks(lists))


@given(ranked)
def test_one_list_stays_as_it_is(only: list[tuple[str, float]]) -> None:
    assert list(by_ranks([only]).values()) == [score for _, score in only]
    assert gains(best_scores([only]), by_ranks([only])) == dict.fromkeys(dict(only), 0.0)
