"""The budget is never exceeded, whatever counts."""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.context.items import FULL, SHORT, ContextItem
from aico_memory.domain.retrieval.budget import LEAST_TEXT, fit, shorten

COUNTERS: list[Callable[[str], int]] = [
    len,
    lambda text: len(text.split()),
    lambda text: len(text.encode()),
    lambda text: len(re.findall(r"\w+|\S", text)),
    # Not additive: joining lines makes more tokens than the lines have.
    lambda text: len(text.split()) + 7 * text.count("\n"),
]
items = st.lists(
    st.builds(
        ContextItem,
        id=st.uuids().map(str),
        text=st.text(max_size=300),
        kind=st.sampled_from(["fact", "constraint", "record"]),
        tier=st.just("semantic"),
        layer=st.just("L1"),
        score=st.floats(0, 1),
        pinned=st.booleans(),
        hot=st.booleans(),
        detail=st.sampled_from(["full", "short"]),
    ),
    max_size=25,
    unique_by=lambda item: item.id,
).map(lambda found: sorted(found, key=lambda item: -item.score))


def words(text: str) -> int:
    return len(text.split())


def item(id_: str, text: str = "one two three", **more: object) -> ContextItem:
    return ContextItem(id_, text, str(more.pop("kind", "fact")), "semantic", "L1", **more)  # type: ignore[arg-type]


def hot(id_: str, **more: object) -> ContextItem:
    """There for being hot, with four words of text beside its mark and its kind."""
    return item(id_, "one two three four", hot=True, detail=SHORT, **more)


@given(
    items, st.integers(0, 20), st.integers(0, 900), st.sampled_from(COUNTERS), st.floats(0.05, 1.0), st.floats(0, 1),
    st.integers(8, 80),
)  # fmt: skip
def test_neither_items_nor_tokens_are_ever_exceeded(
    given_: list[ContextItem],
    max_items: int,
    max_tokens: int,
    count: Callable[[str], int],
    share: float,
    hot: float,
    short: int,
) -> None:
    fitted = fit(
        given_, max_items=max_items, max_tokens=max_tokens, count=count, item_share=share, hot_share=hot, short_tokens=short
    )
    assert len(fitted.items) <= max_items
    assert count(fitted.text) <= max_tokens or fitted.text == ""
    assert fitted.tokens == (count(fitted.text) if fitted.text else 0)
    assert {one.id for one in fitted.items} | {id_ for id_, _ in fitted.dropped} == {one.id for one in given_}
    assert len(fitted.items) + len(fitted.dropped) == len(given_)
    order = [one.id for one in given_]
    places = [order.index(one.id) for one in fitted.items]
    assert places == sorted(places)


@given(items, st.integers(1, 15), st.integers(50, 900))
def test_what_is_cut_never_scores_above_what_stays_but_for_what_has_its_place(
    given_: list[ContextItem], max_items: int, max_tokens: int
) -> None:
    fitted = fit(given_, max_items=max_items, max_tokens=max_tokens, count=words)
    # What is hot and matches well has no place but by its score.
    held = {one.id for one in given_ if one.hot and one.detail == SHORT}
    anchors = held | {one.id for one in given_ if (one.pinned and one.kind == "constraint") or one.answers}
    kept = [one for one in fitted.items if one.id not in anchors]
    cut = {id_ for id_, rule in fitted.dropped if rule != "hot_share"}
    if kept:
        assert all(one.score <= kept[-1].score for one in given_ if one.id in cut and one.id not in anchors)
        assert not anchors & cut


def test_what_is_there_for_being_hot_shares_a_part_of_the_tokens() -> None:
    given_ = [item("match", score=0.5), *(hot(f"hot{at}") for at in range(4))]
    rule = item("rule", kind="constraint", pinned=True, hot=True)
    fitted = fit([*given_, rule], max_items=15, max_tokens=100, count=words, hot_share=0.15)
    assert [one.id for one in fitted.items] == ["match", "hot0", "hot1", "rule"]
    assert dict(fitted.dropped) == {"hot2": "hot_share", "hot3": "hot_share"}


def test_what_is_hot_and_matches_well_stands_for_its_match_and_leaves_the_share_to_others() -> None:
    text = " ".join(f"word{at}" for at in range(40))
    best = item("best", text, score=0.9, hot=True)
    fitted = fit([best, item("next", score=0.5), hot("warm")], max_items=15, max_tokens=100, count=words, hot_share=0.15)
    assert ([one.id for one in fitted.items], fitted.dropped) == (["best", "next", "warm"], ())
    assert fitted.items[0].tokens > 15


def test_what_is_hot_and_matches_a_little_competes_beyond_the_share_and_what_does_not_match_is_left_out() -> None:
    given_ = [hot("hot0"), hot("weak", score=0.05), item("other", score=0.04), hot("none", score=0.001)]
    fitted = fit(given_, max_items=15, max_tokens=100, count=words, hot_share=0.08, least_score=0.01)
    assert ([one.id for one in fitted.items], fitted.dropped) == (["hot0", "weak", "other"], (("none", "hot_share"),))


def test_what_is_shown_in_short_has_few_tokens() -> None:
    long = item("long", " ".join(f"word{at}" for at in range(100)), detail="short")
    fitted = fit([long], max_items=5, max_tokens=500, count=words, short_tokens=30)
    assert LEAST_TEXT <= fitted.text.count("word") <= 30
    assert "confidence" not in fitted.text


def test_a_pinned_constraint_is_cut_last() -> None:
    given_ = [item("best", score=0.9), item("rule", kind="constraint", pinned=True, score=0.1)]
    assert [one.id for one in fit(given_, max_items=1, max_tokens=100, count=words).items] == ["rule"]


def test_a_share_of_the_places_is_held_for_what_is_hot() -> None:
    given_ = [item(str(at), score=0.9) for at in range(20)] + [hot(f"hot{at}") for at in range(6)]
    given_.append(item("rule", kind="constraint", pinned=True))
    fitted = fit(given_, max_items=12, max_tokens=1000, count=words, hot_share=0.25)
    assert [one.id for one in fitted.items] == [*map(str, range(8)), "hot0", "hot1", "hot2", "rule"]
    few = fit(given_, max_items=12, max_tokens=20, count=words, hot_share=0.5)
    assert [one.id for one in few.items] == ["hot0", "rule"], "the pinned constraint is cut last, what is hot before it"


def test_what_is_hot_takes_no_place_of_what_answers_and_none_beyond_its_tokens() -> None:
    given_ = [item("answer", answers=True), hot("hot"), hot("other")]
    assert [one.id for one in fit(given_, max_items=1, max_tokens=1000, count=words).items] == ["answer"]
    fitted = fit(given_, max_items=5, max_tokens=32, count=words, hot_share=0.25)
    assert ([one.id for one in fitted.items], fitted.dropped) == (["answer", "hot"], (("other", "hot_share"),))


def test_what_was_cut_is_named_with_its_rule() -> None:
    fitted = fit([item(str(at)) for at in range(9)], max_items=5, max_tokens=30, count=words)
    assert len(fitted.items) == 3
    assert dict(fitted.dropped) == {**dict.fromkeys("5678", "max_items"), **dict.fromkeys("34", "max_tokens")}


def test_a_text_longer_than_its_share_is_shortened_and_leaves_room_for_others() -> None:
    long = item("long", " ".join(f"word{at}" for at in range(500)))
    fitted = fit([long, item("short")], max_items=5, max_tokens=60, count=words, item_share=0.5)
    assert [one.id for one in fitted.items] == ["long", "short"]
    assert "…" in fitted.text
    assert fitted.items[0].text == long.text


@given(st.text(max_size=200), st.integers(0, 50))
def test_a_shortened_text_fits_or_is_the_ellipsis_alone(text: str, limit: int) -> None:
    short = shorten(text, limit, len)
    assert len(short) <= max(limit, 1)
    assert short == text or text.startswith(short[:-1])


def test_a_shortened_item_still_says_something() -> None:
    text = " ".join(f"word{number}" for number in range(200))
    long = ContextItem(id="a", text=text, kind="record", tier="episodic", layer="L1", score=1.0)
    fitted = fit([long], max_items=5, max_tokens=40, count=words)
    assert fitted.text.count("word") == LEAST_TEXT
    assert fitted.tokens <= 40


def test_of_an_endless_text_only_so_much_is_counted_as_could_have_a_place() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text.split())

    endless = ContextItem("a", "word " * 1_000_000, "record", "episodic", "L1")
    fitted = fit([endless], max_items=5, max_tokens=100, count=count)
    assert 0 < fitted.tokens <= 100
    assert max(counted) < 5_000


def test_how_to_answer_takes_none_of_the_share_of_what_is_hot_and_is_not_shown_in_short() -> None:
    style = ContextItem("style", "one two three four five six", "style", "procedural", "L2", hot=True, detail=FULL)
    given_ = [item("a"), item("b"), hot("warm"), style]
    fitted = fit(given_, max_items=3, max_tokens=60, count=words, hot_share=0.05, short_tokens=8)
    assert ([one.id for one in fitted.items], fitted.dropped) == (["a", "b", "style"], (("warm", "hot_share"),))
    assert "four five six" in fitted.text


def test_what_answers_takes_none_of_the_share_of_what_is_hot() -> None:
    given_ = [hot("answer", answers=True), hot("warm"), item("other")]
    fitted = fit(given_, max_items=9, max_tokens=40, count=words, hot_share=0.25)
    assert [one.id for one in fitted.items] == ["answer", "warm", "other"]
    assert "answer" in {one.id for one in fit(given_, max_items=9, max_tokens=40, count=words, hot_share=0.01).items}
