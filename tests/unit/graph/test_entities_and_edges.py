"""Entity resolution, merges that can be undone, and the graph as of a date."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aico_memory.domain.graph.edges import Edge, changes, ended, neighbours, never_true, paths, state_at
from aico_memory.domain.graph.entities import Entity, Identities, Merge, merge, named, undone
from aico_memory.domain.graph.resolution import Resolution, Similar, resolve
from aico_memory.domain.memory import OPEN, Scope
from aico_memory.domain.temporal.versions import Belief
from aico_memory.errors import InvalidMessage
from aico_memory.settings.memory_model import GraphSettings

ALICE, BOB = Scope("user", "alice"), Scope("user", "bob")
FIGURES = GraphSettings()
NOBODY = Identities((), 0)


def entity(number: int, name: str, type_: str = "person", scope: Scope = ALICE, aliases: tuple[str, ...] = ()) -> Entity:
    return Entity(bytes([number]), scope, name, type_, number, aliases)


def edge(number: int, subject: int, predicate: str, other: int | str, since: int = 0, single: bool = False) -> Edge:
    literal, target = (other, None) if isinstance(other, str) else ("", bytes([other]))
    return Edge(
        bytes([number]), ALICE, bytes([subject]), predicate, target, literal, single, 0.9, b"m", (Belief(since, since, OPEN),)
    )


PEOPLE = [
    entity(1, "Robert Smith", aliases=("Bob", "Rob")), entity(2, "bob!", scope=BOB), entity(3, "BOB", "org"),
    entity(4, "Paris", "place"), entity(5, "Paris", "person"), entity(6, "Zoë", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "type_", "expected"), [
    ("Bob", "person", (1, "alias")), ("bob", "person", (1, "name")), ("BOB", "org", (3, "alias")),
    ("b.o.b", "person", (None, "new")),
    ("  ROBERT   smith", "", (1, "name")), ("Paris", "person", (5, "alias")), ("Paris", "place", (4, "alias")),
    ("Paris", "org", (None, "new")), ("Paris", "", (4, "alias")), ("zoë", "person", (6, "name")),
    ("!!!", "person", (None, "new")),
])  # fmt: skip
def test_a_name_means_by_alias_then_by_normalised_name(name: str, type_: str, expected) -> None:
    found = resolve(name, type_, ALICE, PEOPLE, (), FIGURES)
    assert (found.entity_id and found.entity_id[0], found.how) == expected


def test_a_similar_name_means_only_from_the_threshold_on_and_with_equal_type() -> None:
    near = [Similar(bytes([1]), 0.86), Similar(bytes([5]), 0.88), Similar(bytes([3]), 0.99), Similar(bytes([2]), 0.99)]
    assert resolve("Bobby", "person", ALICE, PEOPLE, near, FIGURES) == Resolution(bytes([5]), "similar", 0.88)
    assert resolve("Bobby", "person", ALICE, PEOPLE, [Similar(bytes([1]), 0.849)], FIGURES).how == "new"
    assert resolve("Bobby", "", ALICE, PEOPLE, near, FIGURES).how == "new"


@given(st.sampled_from(["Bob", "bob", "Paris", "nobody"]), st.sampled_from(["person", "org", "place", ""]))
def test_a_name_never_means_an_entity_of_another_scope(name: str, type_: str) -> None:
    every = [Similar(one.entity_id, 1.0) for one in PEOPLE]
    assert resolve(name, type_, BOB, PEOPLE, every, FIGURES).entity_id in {None, bytes([2])}


def test_a_name_is_added_once() -> None:
    assert named(entity(1, "Bob"), "BOB ").aliases == ()
    assert named(named(entity(1, "Bob"), "Robert"), "robert").aliases == ("Robert",)


def test_entities_of_other_scopes_or_types_do_not_merge() -> None:
    with pytest.raises(InvalidMessage, match="share no entity"):
        merge(PEOPLE[0], PEOPLE[1], (), b"m", 1, "similar", 0.9)
    with pytest.raises(InvalidMessage, match="place"):
        merge(PEOPLE[3], PEOPLE[4], (), b"m", 1, "similar", 0.9)


@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14),
    st.lists(st.integers(0, 13), max_size=5),
    st.integers(0, 30),
)
@settings(max_examples=200)
def test_merges_stay_a_forest_and_undoing_all_restores_everything(pairs, undo, known: int) -> None:
    people = [entity(number, f"p{number}") for number in range(8)]
    merges: list[Merge] = []
    for moment, (kept, absorbed) in enumerate(pairs, start=1):
        made = merge(people[kept], people[absorbed], merges, bytes([moment]), moment, "name", 1.0)
        together = Identities(merges, moment)
        assert (made is None) == (together.canonical(bytes([kept])) == together.canonical(bytes([absorbed])))
        if made is not None:
            merges.append(made)
            now = Identities(merges, moment)
            assert now.canonical(bytes([kept])) == now.canonical(bytes([absorbed]))
            assert {bytes([kept]), bytes([absorbed])} <= now.same(bytes([absorbed]))
    some = [undone(one, 20) if place in undo else one for place, one in enumerate(merges)]
    before = Identities(some, min(known, 19))
    assert all(before.canonical(one.entity_id) == Identities(merges, min(known, 19)).canonical(one.entity_id) for one in people)
    every = Identities([undone(one, 20) for one in some], 20)
    assert all(every.canonical(one.entity_id) == one.entity_id for one in people)
    standing = [one for place, one in enumerate(merges) if place not in undo]
    after = Identities(some, 25)
    for one in standing:
        assert after.canonical(one.kept) == after.canonical(one.absorbed)


def test_those_that_are_one_with_either_count_with_their_types() -> None:
    known = {one.entity_id: one for one in (entity(1, "Kim"), entity(2, "Bob", ""), entity(3, "Oslo", "place"))}
    kim, bob, oslo = known.values()
    made = merge(kim, bob, (), b"m", 1, "manual", 1.0, known)
    assert made is not None
    with pytest.raises(InvalidMessage, match="place"):
        merge(bob, oslo, [made], b"n", 2, "manual", 1.0, known)
    assert merge(bob, oslo, [undone(made, 2)], b"n", 2, "manual", 1.0, known) == Merge(
        b"n", bob.entity_id, oslo.entity_id, 2, "manual"
    )


def test_merges_that_contradict_each_other_lead_to_one_entity() -> None:
    there, back = Merge(b"1", b"a", b"b", 1, "manual"), Merge(b"2", b"b", b"a", 2, "manual")
    assert Identities([back, there], 3).same(b"b") == {b"a", b"b"}
    assert Identities([back, there], 3).canonical(b"b") == b"a"


def test_undoing_twice_keeps_the_first_time() -> None:
    made = merge(PEOPLE[0], PEOPLE[4], (), b"m", 1, "similar", 0.9)
    assert made is not None
    assert undone(undone(made, 5), 9).undone_at_us == 5


def test_a_single_valued_edge_gives_way_and_comes_back_in_time() -> None:
    rome, oslo = edge(1, 1, "lives_in", "Rome", 0, True), edge(2, 1, "lives_in", "Oslo", 10, True)
    held = [[one.literal for one in state_at([rome, oslo], NOBODY, t, 50).edges] for t in (5, 10, 50)]
    assert held == [["Rome"], ["Oslo"], ["Oslo"]]
    assert [one.literal for one in state_at([rome, oslo], NOBODY, 50, 9).edges] == ["Rome"]


def test_an_end_and_a_retraction_of_an_edge_differ_in_the_past() -> None:
    tea = edge(1, 1, "likes", "tea")
    left, denied = ended(tea, 10, 20, b"e"), never_true(tea, 20, b"e")
    assert (left.recorded_at_us, left.valid_from_us, left.valid_until_us) == (0, 0, 10)
    seen = {(name, t, known): len(state_at([one], NOBODY, t, known).edges)
            for name, one in (("ended", left), ("denied", denied)) for t, known in ((5, 30), (15, 30), (15, 19))}  # fmt: skip
    assert seen == {
        ("ended", 5, 30): 1, ("ended", 15, 30): 0, ("ended", 15, 19): 1,
        ("denied", 5, 30): 0, ("denied", 15, 30): 0, ("denied", 15, 19): 1,
    }  # fmt: skip


def test_an_edge_that_ended_before_it_began_was_never_true() -> None:
    never = ended(edge(1, 1, "likes", "tea", 10), 3, 20, b"e")
    assert (never.valid_from_us, never.valid_until_us) == (10, 10)
    assert state_at([never], NOBODY, 10, 20).edges == ()


def test_several_values_of_a_predicate_stand_together() -> None:
    both = [edge(1, 1, "likes", "tea"), edge(2, 1, "likes", "coffee")]
    assert len(state_at(both, NOBODY, 1, 1).edges) == 2


def test_neighbours_follow_merges_and_their_undoing() -> None:
    made = Merge(b"m", bytes([1]), bytes([9]), 5, "similar", 0.9, undone_at_us=20)
    edges = [edge(1, 1, "knows", 2), edge(2, 9, "knows", 3), edge(3, 4, "knows", 9), edge(4, 1, "is", "tall")]
    for known, expected in ((4, [2, None]), (10, [2, None, 3, 4]), (25, [2, None])):
        state = state_at(edges, Identities([made], known), known, known)
        found = [other and other[0] for _, other in neighbours(state, bytes([1]))]
        assert sorted(map(str, found)) == sorted(map(str, expected))
    assert {other for _, other in neighbours(state_at(edges, Identities([made], 10), 10, 10), bytes([9]))} == {
        bytes([2]), bytes([3]), bytes([4]), None,
    }  # fmt: skip


def test_a_value_of_a_merged_entity_replaces_the_one_before() -> None:
    made = Merge(b"m", bytes([1]), bytes([9]), 5, "similar", 0.9)
    edges = [edge(1, 1, "lives_in", "Rome", 0, True), edge(2, 9, "lives_in", "Oslo", 3, True)]
    assert len(state_at(edges, Identities([made], 4), 4, 4).edges) == 2
    assert [one.literal for one in state_at(edges, Identities([made], 6), 6, 6).edges] == ["Oslo"]


def ways(edges, start, goal, hops, limit=100):
    state = state_at(edges, NOBODY, 50, 50)
    return [[one.edge_id[0] for one in way] for way in paths(state, bytes([start]), bytes([goal]), hops, limit)]


def test_paths_come_shortest_first_and_pass_nobody_twice() -> None:
    edges = [
        edge(1, 1, "knows", 2),
        edge(2, 2, "knows", 3),
        edge(3, 1, "knows", 3),
        edge(4, 3, "knows", 4),
        edge(5, 2, "is", "tall"),
    ]
    assert ways(edges, 1, 4, 3) == [[3, 4], [1, 2, 4]]
    assert ways(edges, 1, 4, 2) == [[3, 4]]
    assert ways(edges, 4, 1, 3, limit=1) == [[4, 3]]
    assert ways(edges, 1, 9, 5) == ways(edges, 1, 1, 5) == []


def test_a_dense_graph_does_not_drown_the_search() -> None:
    crowd = [edge(one * 15 + other, one, "knows", other) for one in range(15) for other in range(15) if one < other]
    found = ways(crowd, 0, 14, 14, limit=50)
    assert len(found) == 50
    assert [len(way) for way in found] == sorted(len(way) for way in found)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=9), st.integers(1, 4))
def test_paths_are_exactly_the_simple_ways(pairs, hops: int) -> None:
    edges = [edge(number, one, "knows", other) for number, (one, other) in enumerate(pairs) if one != other]
    state = state_at(edges, NOBODY, 50, 50)

    def every(here: int, passed: tuple[int, ...], way: tuple[int, ...]):
        if here == 5:
            yield way
        elif len(way) < hops:
            for one in state.edges:
                ends = (one.subject[0], one.object[0])
                there = ends[1] if here == ends[0] else ends[0]
                if here in ends and there not in passed:
                    yield from every(there, (*passed, there), (*way, one.edge_id[0]))

    found = [tuple(one.edge_id[0] for one in way) for way in paths(state, bytes([0]), bytes([5]), hops, 10_000)]
    assert sorted(found) == sorted(every(0, (0,), ()))
    assert [len(way) for way in found] == sorted(len(way) for way in found)


def test_between_two_dates_stands_what_came_and_went() -> None:
    edges = [ended(edge(1, 1, "works_at", 2), 10, 10, b""), edge(2, 1, "works_at", 3, 10), edge(3, 1, "likes", "tea")]
    came, went = changes(state_at(edges, NOBODY, 5, 5), state_at(edges, NOBODY, 15, 15))
    assert ([one.edge_id[0] for one in came], [one.edge_id[0] for one in went]) == ([2], [1])


def test_with_all_that_is_known_a_merge_that_stands_is_followed_and_one_that_was_undone_is_not() -> None:
    made = Merge(b"m", bytes([1]), bytes([9]), 5, "manual")
    assert Identities([made], OPEN).canonical(bytes([9])) == bytes([1])
    assert Identities([undone(made, 7)], OPEN).canonical(bytes([9])) == bytes([9])
