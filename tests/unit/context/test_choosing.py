"""What stands beside what: eligibility, repetitions, boosts, diversity, caps, detail."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.context.boosting import Surroundings, boosted
from aico_memory.domain.context.diversity import WordLikeness, capped, diversified, eligible, gated, once_each
from aico_memory.domain.context.items import FULL, SHORT, ContextItem
from aico_memory.domain.context.matching import share_of_words, word_stems
from aico_memory.domain.retrieval.formatting import format_line
from aico_memory.settings.context import BoostSettings

BOOSTS = BoostSettings()
STATUSES = ("candidate", "shadow", "active", "superseded", "expired", "disabled", "invalid")
items = st.lists(
    st.builds(
        ContextItem,
        id=st.uuids().map(str),
        text=st.text(st.sampled_from("abc "), max_size=12),
        kind=st.sampled_from(["fact", "constraint", "record", "preference", "turn"]),
        tier=st.sampled_from(["semantic", "episodic", "dormant"]),
        layer=st.just("L1"),
        score=st.floats(0, 1),
        shares=st.just({}),
        said_at_us=st.just(0),
        detail=st.just(FULL),
        pinned=st.booleans(),
        answers=st.booleans(),
        confidence=st.floats(0, 1),
        status=st.sampled_from(STATUSES),
        entities=st.lists(st.sampled_from(["ana", "tom"]), unique=True).map(tuple),
        sub_tier=st.sampled_from(["personal", "vicarious", "schematic", ""]),
        valence=st.floats(-1, 1),
        utility=st.floats(0, 1),
        source_confidence=st.floats(0, 1),
        valid_until_us=st.integers(0, 20),
        evidence=st.lists(st.sampled_from([b"1", b"2"]), unique=True).map(tuple),
    ),
    max_size=15,
    unique_by=lambda item: item.id,
)


def item(id_: str, text: str = "one two three", kind: str = "fact", **more: Any) -> ContextItem:
    return ContextItem(id_, text, kind, str(more.pop("tier", "semantic")), "L1", **more)


@given(items, st.booleans())
def test_every_item_is_kept_or_dropped_by_a_rule_once(found: list[ContextItem], historical: bool) -> None:
    stages = (
        lambda left: eligible(left, least_confidence=0.5, historical=historical, now_us=10),
        lambda left: once_each(left, covered=0.7),
        lambda left: gated(left, full=0.7, short=0.4),
        lambda left: capped(left, 2),
    )
    for stage in stages:
        kept, dropped = stage(found)
        ids = [one.id for one in kept] + [id_ for id_, _ in dropped]
        assert sorted(ids) == sorted(one.id for one in found)


@given(items)
def test_what_was_never_believed_never_comes_and_what_is_over_only_on_demand(found: list[ContextItem]) -> None:
    now, _ = eligible(found, least_confidence=0.5, historical=False, now_us=10)
    assert all(one.answers or (one.status == "active" and not 0 < one.valid_until_us <= 10) for one in now)
    assert {one.status for one in now}.isdisjoint({"candidate", "shadow", "invalid"})
    then, _ = eligible(found, least_confidence=0.5, historical=True, now_us=10)
    assert {one.status for one in then}.isdisjoint({"candidate", "shadow", "invalid"})


def test_what_answers_is_asked_for_though_it_is_over_but_not_what_nobody_believes() -> None:
    lived = item("lived", status="superseded", valid_from_us=1, valid_until_us=4, answers=True)
    beside = item("beside", status="superseded", valid_from_us=1, valid_until_us=4)
    wrong = item("wrong", status="invalid", answers=True)
    kept, dropped = eligible([lived, beside, wrong], least_confidence=0.5, historical=False, now_us=10)
    assert ([one.id for one in kept], dropped) == (
        ["lived"], [("beside", "status: superseded"), ("wrong", "status: invalid")]
    )  # fmt: skip


def test_what_is_over_before_a_night_has_come_by_says_until_when_it_was() -> None:
    vegan = item("vegan", valid_from_us=1, valid_until_us=86_400_000_000)
    (told,), _ = eligible([vegan], least_confidence=0.5, historical=True, now_us=2 * 86_400_000_000)
    assert format_line(told).endswith("(until 1970-01-02) (confidence: 1.00)")
    assert eligible([vegan], least_confidence=0.5, historical=True, now_us=5)[0] == [vegan]


def test_what_begins_later_comes_only_where_what_is_ahead_is_asked_for() -> None:
    later = item("later", kind="profile", said_at_us=5, valid_from_us=11)
    told = {"plan": item("p", kind="plan", valid_from_us=11), "answer": item("a", valid_from_us=11, answers=True)}
    told |= {"now": item("n", valid_from_us=10), "clock ahead": item("c", said_at_us=11, valid_from_us=11)}
    told |= {"words": item("w", kind="record", valid_from_us=11)}
    told |= {"constraint": item("k", kind="constraint", pinned=True, valid_from_us=11)}
    found = [later, *told.values()]
    kept, dropped = eligible(found, least_confidence=0.5, historical=False, now_us=10, ahead=False)
    assert (kept, dropped) == (list(told.values()), [("later", "not_yet")])
    assert eligible(found, least_confidence=0.5, historical=False, now_us=10, ahead=True) == (found, [])


def test_what_was_corrected_held_at_no_time_and_is_in_no_history() -> None:
    once = item("once", status="superseded", valid_from_us=1, valid_until_us=4)
    never = item("never", status="superseded", valid_from_us=3, valid_until_us=3)
    kept, dropped = eligible([once, never], least_confidence=0.5, historical=True, now_us=10)
    assert ([one.id for one in kept], dropped) == (["once"], [("never", "never_true")])
    believed = never._replace(valid_until_us=0)
    assert eligible([believed], least_confidence=0.5, historical=True, now_us=10)[0] == [believed]


def test_the_score_of_what_behavior_selected_moves_no_match_and_is_moved_by_none() -> None:
    found = [item("best", score=0.1), item("near", score=0.05, session_id="s"), item("far", "four five six", score=0.01)]
    guidance = ContextItem("skill", "Answer in one sentence", "procedure", "procedural", "L2", score=0.9, hot=True)
    around = Surroundings(session_id="s", utility=0.3)
    alone, beside = boosted(found, around, BOOSTS), boosted([*found, guidance], around, BOOSTS)
    assert [one for one in beside if one.layer != "L2"] == alone
    assert guidance in beside
    chosen = diversified(beside, WordLikeness(), weight=0.5, most=4)
    assert [one.id for one in chosen] == ["skill", *(one.id for one in diversified(alone, WordLikeness(), weight=0.5, most=3))]


@given(items, st.floats(-1, 1), st.floats(0, 1))
def test_boosts_keep_scores_in_range_and_name_what_they_add(found: list[ContextItem], valence: float, utility: float) -> None:
    around = Surroundings(frozenset({"ana"}), "s", valence, utility, {("a", "b"): 1}, {})
    before = {one.id: one for one in found}
    after = boosted(found, around, BOOSTS)
    assert sorted(one.id for one in after) == sorted(before)
    assert [one.score for one in after] == sorted((one.score for one in after), reverse=True)
    for one in after:
        assert 0 <= one.score <= 1
        total = before[one.id].score + sum(one.shares.values())
        assert one.score == pytest.approx(min(1.0, max(0.0, total)))


@pytest.mark.parametrize(
    ("more", "around", "share"),
    [
        ({"entities": ("Ana",)}, Surroundings(entities=frozenset({"ana"})), {"entity": 0.08}),
        ({"session_id": "s"}, Surroundings(session_id="s"), {"same_episode": 0.12}),
        ({}, Surroundings(together={("x", "best"): 3}), {"co_activation": 0.04}),
        ({}, Surroundings(reached={"x": 1}), {"graph": 0.04}),
        ({}, Surroundings(in_mind=frozenset({"x"})), {"attention": 0.04}),
        ({"utility": 1.0}, Surroundings(utility=0.3), {"utility": 0.12}),
        ({"sub_tier": "personal"}, Surroundings(), {"sub_tier": 0.05}),
        ({"sub_tier": "vicarious"}, Surroundings(), {"sub_tier": -0.05}),
        ({"valence": 0.8}, Surroundings(valence=0.5), {"mood": 0.05}),
        ({"valence": -0.8}, Surroundings(valence=0.5), {}),
        ({"source_confidence": 0.2}, Surroundings(), {"source": -0.25}),
        ({"tier": "dormant"}, Surroundings(), {"dormant": -0.1}),
        ({"over_us": 1}, Surroundings(), {"over": -0.25}),
        ({"over_us": 1}, Surroundings(past=True), {}),
        # It held at the moment that is asked of, and was over by a later one.
        ({"over_us": 2}, Surroundings(at_us=1), {}),
        ({"over_us": 2}, Surroundings(at_us=2), {"over": -0.25}),
        ({"over_us": 1, "answers": True}, Surroundings(), {}),
        ({"kind": "constraint"}, Surroundings(kinds=frozenset({"constraint"})), {"kind": 0.24}),
        ({"kind": "fact"}, Surroundings(kinds=frozenset({"constraint"})), {}),
    ],
)
def test_each_boost_has_its_figure(more: dict[str, Any], around: Surroundings, share: dict[str, float]) -> None:
    (_, one) = boosted([item("best", score=0.8), item("x", score=0.5, **more)], around, BOOSTS)
    assert one.shares == pytest.approx(share)


def test_the_best_of_the_kinds_that_are_asked_for_are_never_too_little_of_a_match() -> None:
    allergies = [
        item(f"a{number}", f"allergic to {number}", kind="constraint", score=0.00001 * number) for number in range(1, 8)
    ]
    found = boosted([item("best", score=0.004), *allergies], Surroundings(kinds=frozenset({"constraint"})), BOOSTS)
    kept, dropped = gated(found, full=0.1, short=0.0005)
    assert [one.id for one in kept] == ["best", "a7", "a6", "a5", "a4", "a3"]
    assert dropped == [("a2", "score"), ("a1", "score")]
    # However little anything matches.
    weak = boosted([item("best", score=0.0001), allergies[0]], Surroundings(kinds=frozenset({"constraint"})), BOOSTS)
    assert [one.id for one in gated(weak, full=0.1, short=0.0005)[0]] == ["a1"]


def test_whoever_takes_part_is_no_entity_by_which_a_match_is_raised() -> None:
    asked = Surroundings(entities=frozenset({"entity://name/anna", "entity://place/rome"}))
    said = item("said", kind="record", speaker="Anna Smith", entities=("entity://place/rome",), score=0.5)
    told = item("told", kind="record", speaker="Tom", entities=("entity://name/anna",), score=0.5)
    shares = {one.id: dict(one.shares) for one in boosted([said, told], asked, BOOSTS)}
    assert shares == {"said": {"entity": pytest.approx(0.05)}, "told": {}}
    # Of somebody who does not speak there a name says much.
    (alone,) = boosted([told], asked, BOOSTS)
    assert dict(alone.shares) == {"entity": pytest.approx(0.05)}


def test_a_record_gives_way_to_the_item_that_says_the_same() -> None:
    record = item("r", "I moved to Lisbon in May", kind="record", evidence=(b"1",), score=0.9)
    said = item("i", "User moved to Lisbon in May", evidence=(b"1",), score=0.5)
    kept, dropped = once_each([record, said], covered=0.7, ignored=frozenset({"i", "user", "to", "in"}))
    assert [one.id for one in kept] == ["i"]
    assert dropped == [("r", "said_by_item")]


def test_a_record_that_says_more_stays_and_the_weaker_item_goes() -> None:
    text = "I moved to Lisbon in May because the flat in Porto was damp and my sister found me another one near the river"
    record = item("r", text, kind="record", evidence=(b"1",), score=0.9)
    said = item("i", "User moved to Lisbon in May", evidence=(b"1",), score=0.5)
    kept, dropped = once_each([record, said], covered=0.7, ignored=frozenset({"i", "user"}))
    assert ([one.id for one in kept], dropped) == (["r"], [("i", "said_by_record")])
    kept, _ = once_each([said._replace(answers=True), record], covered=0.7, ignored=frozenset({"i", "user"}))
    assert [one.id for one in kept] == ["i", "r"]


def test_a_record_gives_way_to_several_items_only_where_they_match_better() -> None:
    text, ignored = "I live in Graz with my wife Anna", frozenset({"i", "in", "with", "my", "user", "is", "s"})
    record = item("r", text, kind="record", evidence=(b"1",), score=0.5)
    first, second = (
        item(name, said, evidence=(b"1",)) for name, said in (("a", "User lives in Graz"), ("b", "User's wife is Anna"))
    )
    kept, dropped = once_each([first, second, record], covered=0.7, ignored=ignored)
    assert ([one.id for one in kept], dropped) == (["a", "b"], [("r", "said_by_item")])
    kept, _ = once_each([first, record, second], covered=0.7, ignored=ignored)
    assert "r" in [one.id for one in kept]


def test_an_item_of_another_message_repeats_nothing() -> None:
    record = item("r", "I moved to Lisbon", kind="record", evidence=(b"1",))
    said = item("i", "User moved to Lisbon", evidence=(b"2",))
    assert len(once_each([record, said], covered=0.7)[0]) == 2


def test_of_the_same_words_by_one_speaker_the_first_stays() -> None:
    said = [
        item(id_, text, "record", speaker=who)
        for id_, text, who in (("1", "I like tea", "A"), ("2", "i like  TEA!", "A"), ("3", "I like tea", "B"))
    ]
    kept, dropped = once_each(said, covered=0.7)
    assert ([one.id for one in kept], dropped) == (["1", "3"], [("2", "same_words")])


def test_a_value_that_held_twice_stands_there_for_both_times_and_what_two_scopes_hold_now_once() -> None:
    before = item("before", "User lives in Porto", status="superseded", valid_from_us=1, valid_until_us=5)
    again = item("again", "User lives in Porto", status="superseded", valid_from_us=7, valid_until_us=9)
    now = item("now", "User lives in Porto", valid_from_us=11)
    team = item("team", "User lives in Porto", valid_from_us=12)
    kept, dropped = once_each([before, now, again, team], covered=0.7)
    assert ([one.id for one in kept], dropped) == (["before", "now", "again"], [("team", "same_words")])


@given(items, st.floats(0, 1), st.integers(1, 20))
def test_diversity_loses_nothing_and_keeps_answers_first(found: list[ContextItem], weight: float, most: int) -> None:
    chosen = diversified(found, WordLikeness(), weight=weight, most=most)
    assert sorted(one.id for one in chosen) == sorted(one.id for one in found)
    first = [one.answers or one.anchored for one in chosen]
    assert first == sorted(first, reverse=True)


def test_what_is_like_something_chosen_comes_after_something_else() -> None:
    twins = [item("a", "red bicycle in the shed", score=0.9), item("b", "red bicycle in the shed today", score=0.88)]
    other = item("c", "green tea every morning", score=0.6)
    assert [one.id for one in diversified([*twins, other], WordLikeness(), weight=0.5, most=3)] == ["a", "c", "b"]
    assert [one.id for one in diversified([*twins, other], WordLikeness(), weight=1.0, most=3)] == ["a", "b", "c"]


def test_detail_follows_the_score_but_for_what_has_its_place_anyway() -> None:
    found = [
        item("full", score=0.8), item("short", score=0.5), item("weak", score=0.1), item("hot", hot=True),
        item("rule", kind="constraint", pinned=True), item("answer", answers=True, score=0.1),
        item("style", kind="style", score=0.1)._replace(layer="L2", hot=True),
    ]  # fmt: skip
    kept, dropped = gated(found, full=0.7, short=0.4)
    assert {one.id: one.detail for one in kept} == {
        "full": FULL, "short": SHORT, "hot": SHORT, "rule": FULL, "answer": FULL, "style": FULL,
    }  # fmt: skip
    assert dropped == [("weak", "score")]


def test_at_most_so_many_of_a_kind_and_raw_words_are_no_kind() -> None:
    found = [item(str(at), kind="fact") for at in range(4)] + [item(f"r{at}", kind="record") for at in range(4)]
    kept, dropped = capped(found, 2)
    assert [one.id for one in kept] == ["0", "1", "r0", "r1", "r2", "r3"]
    assert dropped == [("2", "kind_cap"), ("3", "kind_cap")]
    warm = [*found[:3], item("hot", kind="fact", hot=True)]
    assert [one.id for one in capped(warm, 2)[0]] == ["0", "1", "hot"], "its share bounds what is hot"


def test_scripts_without_spaces_match_by_pairs_of_characters() -> None:
    assert word_stems("我喜欢绿茶") == {"我喜", "喜欢", "欢绿", "绿茶"}
    assert word_stems("Python入門を読む") >= {"pyth", "入門"}
    assert word_stems("Gärten und Küche", frozenset({"und"})) == {"gärt", "küch"}
    assert share_of_words("绿茶", "早上我喝绿茶") == 1.0
    assert share_of_words("咖啡", "早上我喝绿茶") == 0.0
    record = item("r", "我每天早上都喝绿茶", kind="record", evidence=(b"1",), score=0.5)
    other = item("i", "我每天早上去上班", evidence=(b"1",), score=0.9)
    kept, _ = once_each([other, record], covered=0.7)
    assert [one.id for one in kept] == ["i", "r"], "the same beginning is not the same statement"
