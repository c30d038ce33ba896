"""Relations: heuristics, duplicates, pruning, walks and hubs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.domain.graph.relations import (
    NEVER_PRUNED,
    PRUNE_PRIORITY,
    TYPES,
    Relation,
    Sketch,
    detect,
    due_for_pruning,
    relate,
    unknown_relations,
    word_overlap,
)
from aico_memory.domain.graph.traversal import hub, walk
from aico_memory.errors import InvalidMessage
from aico_memory.settings.memory_model import GraphSettings
from tests.support.memory_items import START, item

FIGURES = GraphSettings()


def name(number: int) -> bytes:
    return number.to_bytes(2, "big")


def sketch(number: int, words: str = "", entities: str = "", kind: str = "fact") -> Sketch:
    return Sketch(name(number), kind, frozenset(words.split()), frozenset(entities.split()))


def found(new: Sketch, old: Sketch) -> tuple[str, float] | None:
    relation = detect(new, old, START, FIGURES)
    return relation and (relation.type, relation.confidence)


def test_two_shared_entities_are_the_same_subject() -> None:
    assert found(sketch(1, "a", "x y"), sketch(2, "b", "x y z", "plan")) == ("same_entity", 0.7)


def test_shared_words_and_an_entity_elaborate() -> None:
    assert found(sketch(2, "a b c d", "x"), sketch(1, "a b e f", "x", "plan")) == ("elaborates", 0.5)


def test_shared_words_without_an_entity_are_only_related_and_only_within_a_kind() -> None:
    assert found(sketch(2, "a b c d"), sketch(1, "a b e f")) == ("related_to", 0.4)
    assert found(sketch(2, "a b c d"), sketch(1, "a b e f", kind="plan")) is None


def test_the_bounds_themselves_do_not_relate() -> None:
    # 3 of 10 words are 30 % exactly, 3 of 20 are 15 %.
    assert found(sketch(1, "a b c d e f", "x"), sketch(2, "a b c g h i j", "x")) == ("related_to", 0.4)
    long = " ".join(f"w{number}" for number in range(17))
    assert found(sketch(1, "a b c"), sketch(2, f"a b c {long}")) is None


def test_the_newer_elaborates_the_older() -> None:
    relation = detect(sketch(9, "a b", "x"), sketch(3, "a b", "x"), START, FIGURES)
    assert relation is not None
    assert (relation.subject, relation.object) == (name(9), name(3))


SKETCHES = st.builds(
    sketch, st.integers(0, 9), st.lists(st.sampled_from("abcdef")).map(" ".join),
    st.lists(st.sampled_from("xyz")).map(" ".join),
    st.sampled_from(["fact", "plan"]),
)  # fmt: skip


@given(SKETCHES, SKETCHES)
def test_detection_finds_the_same_from_both_sides(one: Sketch, other: Sketch) -> None:
    if one.memory_id == other.memory_id:
        return
    assert found(one, other) == found(other, one)
    assert 0 <= word_overlap(one.words, other.words) == word_overlap(other.words, one.words) <= 1


def test_what_is_said_of_both_sides_has_one_form() -> None:
    assert relate(name(2), "related_to", name(1), 0.4, START) == relate(name(1), "related_to", name(2), 0.4, START)
    assert relate(name(2), "causes", name(1), 0.4, START) != relate(name(1), "causes", name(2), 0.4, START)


def test_a_relation_to_itself_or_of_unknown_type_is_refused() -> None:
    with pytest.raises(InvalidMessage, match="itself"):
        relate(name(1), "causes", name(1), 1, START)
    with pytest.raises(InvalidMessage, match="likes"):
        relate(name(1), "likes", name(2), 1, START)


RELATIONS = st.builds(
    lambda subject, gap, kind, confidence, at: relate(name(subject), kind, name(subject + gap), confidence, at),
    st.integers(0, 12), st.integers(1, 5), st.sampled_from(sorted(TYPES)), st.floats(0, 1), st.integers(0, 50),
)  # fmt: skip


@given(st.lists(RELATIONS, max_size=40), st.lists(RELATIONS, max_size=10))
def test_a_duplicate_is_never_inserted_twice(new: list[Relation], known: list[Relation]) -> None:
    stored = {one.key for one in known}
    added = unknown_relations(new, stored)
    keys = [one.key for one in added]
    assert len(set(keys)) == len(keys)
    assert set(keys) == {one.key for one in new} - stored
    assert all(one.confidence == max(other.confidence for other in new if other.key == one.key) for one in added)
    assert unknown_relations(new, stored | set(keys)) == ()


@given(st.lists(RELATIONS, max_size=60, unique_by=lambda one: one.key))
@settings(max_examples=200)
def test_pruning_takes_the_least_and_spares_what_is_never_pruned(relations: list[Relation]) -> None:
    figures = GraphSettings(prune_from=20, prune_to=15)
    gone = set(due_for_pruning(relations, figures))
    kept = [one for one in relations if one.key not in gone]
    dropped = [one for one in relations if one.key in gone]
    if len(relations) < 20:
        assert not gone
        return
    spare = sum(one.type not in NEVER_PRUNED for one in relations)
    assert len(kept) == max(15, len(relations) - spare)
    assert not any(one.type in NEVER_PRUNED for one in dropped)
    ranks = [(PRUNE_PRIORITY[one.type], one.confidence) for one in kept if one.type not in NEVER_PRUNED]
    for one in dropped:
        assert all((PRUNE_PRIORITY[one.type], one.confidence) <= rank for rank in ranks)
    assert due_for_pruning(kept, figures) == () or len(kept) == len(relations) - spare


def test_a_thousand_relations_are_trimmed_to_nine_hundred() -> None:
    relations = [relate(name(number), "elaborates", name(number + 1), number / 1000, START) for number in range(1000)]
    gone = due_for_pruning(relations, FIGURES)
    assert list(gone) == [one.key for one in relations[:100]]
    assert due_for_pruning(relations[1:], FIGURES) == ()


def neighbourhood(relations: list[Relation]):
    return lambda here: [one for one in relations if here in (one.subject, one.object)]


CHAIN = [
    relate(name(1), "causes", name(2), 0.9, START), relate(name(2), "elaborates", name(3), 0.8, START),
    relate(name(4), "causes", name(3), 0.7, START), relate(name(1), "related_to", name(5), 0.95, START),
]  # fmt: skip


def reached(starts, hops, types=(), limit=1000):
    return [(int.from_bytes(one.memory_id, "big"), one.hops) for one in walk(starts, neighbourhood(CHAIN), hops, types, limit)]


def test_a_walk_goes_breadth_first_in_both_directions() -> None:
    assert reached([name(1)], 3) == [(5, 1), (2, 1), (3, 2), (4, 3)]
    assert reached([name(4)], 2) == [(3, 1), (2, 2)]
    assert reached([name(1)], 0) == []


def test_a_walk_keeps_to_the_types_and_the_limit() -> None:
    assert reached([name(1)], 5, {"causes", "elaborates"}) == [(2, 1), (3, 2), (4, 3)]
    assert reached([name(1)], 5, limit=2) == [(5, 1), (2, 1)]


@given(st.lists(RELATIONS, max_size=30), st.integers(0, 12), st.integers(0, 6))
def test_a_walk_finds_everything_in_reach_once_at_its_distance(relations, start: int, hops: int) -> None:
    nearest = {name(start): 0}
    for distance in range(1, hops + 1):
        for one in relations:
            for here, there in ((one.subject, one.object), (one.object, one.subject)):
                if nearest.get(here) == distance - 1:
                    nearest.setdefault(there, distance)
    found = walk([name(start)], neighbourhood(relations), hops)
    assert {one.memory_id: one.hops for one in found} == {key: far for key, far in nearest.items() if far}
    assert len({one.memory_id for one in found}) == len(found)


def test_a_hub_is_every_item_that_mentions_the_entity_or_its_alias() -> None:
    tea, cha = "entity://thing/tea", "entity://thing/cha"
    memories = [
        item(1, entities=(tea,)),
        item(2, at_us=START + 5, entities=(cha, "entity://x/y")),
        item(3, entities=("entity://x/y",)),
    ]
    assert [one.memory_id[-1] for one in hub({tea, cha}, memories)] == [2, 1]
    assert hub(set(), memories) == ()
