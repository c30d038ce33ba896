"""Phases of sleep that mend what is known of many items: redundancy, variants, entities, edges and links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aico_memory.domain.graph.edges import Edge
from aico_memory.domain.graph.entities import Entity
from aico_memory.domain.graph.relations import relate
from aico_memory.domain.memory import OPEN, Scope
from aico_memory.domain.sleep import names
from aico_memory.domain.temporal.versions import Belief
from aico_memory.stores.semantic.twin import MemorySemanticStore
from tests.services.semantic.knowledge import (
    ADA,
    CHANGING,
    NOW,
    PARIS,
    ROME,
    an_item,
    counted,
    identifier,
    items,
    put,
    run,
    state_of,
)
from tests.support.memory_items import DAY, START


def test_of_items_that_say_the_same_the_less_useful_gives_way_with_its_proof_and_its_ties(store: Any) -> None:
    put(
        store,
        an_item(1, "The boiler in the cellar was repaired", utility=0.4),
        an_item(2, "Boiler in the cellar was repaired!", utility=0.6),
        an_item(3, "The boiler in the kitchen was repaired"), an_item(8, "User fixed something"),
        vectors={1: (1, 0), 2: (1, 0.05), 3: (1, 0.02), 8: (0, 1)},
    )  # fmt: skip
    with store.transaction() as transaction:
        transaction.add_relations([relate(identifier(8), "elaborates", identifier(1), 0.5, START)])
    found = run(store, names.REDUNDANCY)
    known = items(store)
    merged, kept = known[identifier(1)].memory, known[identifier(2)].memory
    assert (merged.status, merged.superseded_by, merged.valid_until_us) == ("superseded", identifier(2), OPEN)
    assert kept.status == known[identifier(3)].memory.status == "active"
    assert len(store.evidence([identifier(2)])[identifier(2)]) == 2
    assert len(store.evidence([identifier(1)])[identifier(1)]) == 1
    ties = {(one.subject, one.type, one.object) for one in store.relations([identifier(2)])}
    assert ties == {(identifier(2), "supersedes", identifier(1)), (identifier(8), "elaborates", identifier(2))}
    assert (counted(found, "merged"), counted(found, "close"), counted(found, "compared")) == (1, 3, 6)


def test_every_pair_of_a_scope_is_compared_once_over_all_steps(store: Any) -> None:
    wordings = ["User said it twice"] * 2 + [f"User said {number}" for number in range(11)]
    put(
        store, *(an_item(number, text) for number, text in enumerate(wordings, 1)),
        vectors={number: (1, number / 100) for number in range(1, 14)},
    )  # fmt: skip
    found = run(store, names.REDUNDANCY, limit=4)
    assert counted(found, "seen") == 13 and counted(found, "merged") == 1
    # One item is gone before its second block: what is over is compared no more.
    assert 66 <= counted(found, "compared") <= 78


def test_different_readings_are_never_merged_however_alike(store: Any) -> None:
    put(
        store, an_item(1, "User likes it", reading=("likes", "tea")), an_item(2, "User likes it", reading=("likes", "coffee")),
        vectors={1: (1, 0), 2: (1, 0)},
    )  # fmt: skip
    assert counted(run(store, names.REDUNDANCY), "merged") == 0


def test_old_weak_variants_become_invalid_and_others_stay(store: Any) -> None:
    held = an_item(1, "User lives in Rome", reading=("home_city", "Rome"))
    weak = {"variant_of": identifier(1), "confidence": 0.2, "fact_key": "key 1"}
    put(
        store, held, an_item(2, "User lives in Oslo", **weak), an_item(3, "User lives in Bonn", **{**weak, "confidence": 0.4}),
        an_item(4, "User lives in Genoa", day=99, **weak), an_item(5, "User lives in Turin", pinned=True, **weak),
    )  # fmt: skip
    found = run(store, names.VARIANTS, START + 100 * DAY)
    statuses = {number: items(store)[identifier(number)].memory.status for number in range(1, 6)}
    assert statuses == {1: "active", 2: "invalid", 3: "active", 4: "active", 5: "active"}
    assert found[0].changed == {"invalidated": [identifier(2)]}
    assert store.histories([identifier(2)])[identifier(2)][-1].new_value == "invalid"


def test_entities_of_one_name_become_one_unless_their_types_part_them_or_somebody_undid_it(store: Any) -> None:
    with store.transaction() as transaction:
        for number, name, type_ in ((1, "Anna", "person"), (2, "anna", ""), (3, "Mercury", "place"), (4, "Mercury", "tech")):
            transaction.put_entity(Entity(identifier(number), ADA, name, type_, START + number), "ada")
    put(store, an_item(9, "User knows Anna"))
    assert counted(run(store, names.VARIANTS), "merged_entities") == 1
    (merge,) = store.merges(ADA)
    assert (merge.kept, merge.absorbed, merge.how) == (identifier(1), identifier(2), "name")
    with store.transaction() as transaction:
        transaction.put_merge(replace(merge, undone_at_us=NOW), ADA)
    assert counted(run(store, names.VARIANTS, NOW + DAY), "merged_entities") == 0


def test_neighbours_of_what_was_used_last_longer_once(store: Any) -> None:
    put(store, an_item(1, "User met Anna", last_accessed_us=NOW - 5, stability=2.0), an_item(2, "Anna sings", stability=2.0))
    with store.transaction() as transaction:
        transaction.add_relations([relate(identifier(1), "related_to", identifier(2), 0.4, START)])
    for at_us in (NOW, NOW + DAY):
        run(store, names.VARIANTS, at_us)
        assert items(store)[identifier(2)].memory.stability == pytest.approx(2.04)
        assert items(store)[identifier(1)].memory.stability == 2.0


def test_edges_follow_what_is_believed_of_their_items(store: Any) -> None:
    put(store, replace(an_item(1, "User lives in Rome", reading=("home_city", "Rome")), single_valued=True))
    belief = Belief(START, START, OPEN)
    with store.transaction() as transaction:
        transaction.put_entity(Entity(identifier(50), ADA, "user", "person", START), "ada")
        transaction.put_edge(
            Edge(identifier(1), ADA, identifier(50), "home_city", None, "Rome", True, 0.72, identifier(1), (belief,)), "ada"
        )
        known = transaction.known([identifier(1)], [ADA])[0]
        gone = replace(known.memory, status="invalid", invalidated_at_us=START + DAY)
        transaction.put_item(replace(known, memory=gone), None, 3)
    for name in (names.VARIANTS, names.INDEX):
        with store.transaction() as transaction:
            transaction.put_edge(
                Edge(identifier(1), ADA, identifier(50), "home_city", None, "Rome", True, 0.72, identifier(1), (belief,)), "ada"
            )
        run(store, name)
        assert not store.edge_of(identifier(1)).beliefs[-1].holds


def test_links_that_dangle_are_found_and_repaired(store: Any) -> None:
    put(
        store, an_item(1, "User lives in Rome", status="superseded", superseded_by=identifier(77)),
        an_item(2, "User lives in Bonn", variant_of=identifier(78), fact_key="key 1"), an_item(3, "User sings"),
    )  # fmt: skip
    with store.transaction() as transaction:
        transaction.put_item(an_item(4, "nobody said so", kind="summary", write_source="consolidation"), [], 2)
        transaction.put_item(an_item(5, "nor this"), [], 2)
    found = run(store, names.INDEX)
    known = {number: items(store)[identifier(number)].memory for number in range(1, 6)}
    assert (known[1].superseded_by, known[2].variant_of, known[2].status) == (None, None, "superseded")
    assert (known[4].status, known[5].status) == ("expired", "active")
    assert (counted(found, "without_evidence"), counted(found, "repaired")) == (2, 3)
    assert counted(run(store, names.INDEX, NOW + DAY), "repaired") == 0


def test_what_sleep_wrote_is_never_summed_up_merged_or_clustered(store: Any) -> None:
    derived = {"write_source": "consolidation", "kind": "summary", "entities": (PARIS,)}
    put(
        store, *(an_item(number, "The same summary", **derived) for number in range(1, 13)),
        vectors=dict.fromkeys(range(1, 13), (1, 0)),
    )  # fmt: skip
    for name in (names.CLUSTERS, names.REDUNDANCY, names.ABSTRACTION):
        assert not counted(run(store, name), "clusters") + counted(run(store, name), "merged")


def test_others_memories_in_a_shared_scope_are_not_touched(store: Any) -> None:
    team = Scope("group", "team")
    mine = [an_item(number, f"Met in Paris, day {number}", entities=(PARIS,), scope=team) for number in range(1, 4)]
    theirs = [
        an_item(number, f"Met in Paris, day {number}", entities=(PARIS,), scope=team, owner="ben") for number in range(4, 8)
    ]
    put(store, *mine, *theirs, vectors=dict.fromkeys(range(1, 8), (1, 0)))
    before = {one.memory.memory_id: one for one in theirs}
    for name in CHANGING:
        run(store, name, scope=team)
    after = items(store, team)
    assert {key: after[key] for key in before} == before
    assert [one.memory.owner for one in after.values() if one.memory.kind == "summary"] == ["ada"]


TEXTS = st.sampled_from(
    ["User likes tea", "User likes the tea", "Went to Paris. It rained.", "Paris again", "Rome was hot", "User runs"]
)
ITEMS = st.lists(
    st.fixed_dictionaries(
        {
            "text": TEXTS, "kind": st.sampled_from(["fact", "episode", "preference"]), "day": st.integers(0, 20),
            "entities": st.sampled_from([(), (PARIS,), (ROME,), (PARIS, ROME)]), "pinned": st.booleans(),
            "immutable": st.booleans(), "utility": st.sampled_from([0.2, 0.5, 0.9]), "access_count": st.integers(0, 3),
            "importance": st.sampled_from([0.1, 0.5, 0.9]), "flashbulb": st.booleans(),
            "read": st.booleans(), "last_accessed_us": st.sampled_from([0, NOW - DAY]),
        }
    ),
    max_size=12,
)  # fmt: skip


def filled(make: Callable[[], Any], given_items: list[dict[str, Any]]) -> Any:
    store = make()
    known = []
    for number, drawn in enumerate(given_items, 1):
        fields = dict(drawn)
        text, read = fields.pop("text"), fields.pop("read")
        known.append(an_item(number, text, reading=("says", text) if read else None, **fields))
    vectors = {number: (1, len(one.memory.text) / 20) for number, one in enumerate(known, 1)}
    put(store, *known, vectors=vectors)
    return store


@given(ITEMS, st.integers(1, 7))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_second_run_changes_nothing_anchors_stay_and_every_summary_has_its_proof(
    given_items: list[dict[str, Any]], limit: int
) -> None:
    store = filled(MemorySemanticStore, given_items)
    before = items(store)
    for name in CHANGING:
        run(store, name, limit=limit)
    once = state_of(store)
    after = once[0]
    for key, known in before.items():
        if known.memory.pinned or known.memory.immutable:
            unmoved = replace(
                after[key].memory, stability=0, confidence=0, importance=0, last_accessed_us=0, last_referenced_us=0,
                updated_at_us=0,
            )  # fmt: skip
            was = replace(
                known.memory, stability=0, confidence=0, importance=0, last_accessed_us=0, last_referenced_us=0, updated_at_us=0
            )
            assert unmoved == was
        assert after[key].memory.text == known.memory.text and after[key].memory.valid_until_us == OPEN
    for one in after.values():
        if one.memory.write_source == "consolidation":
            assert store.evidence([one.memory.memory_id])[one.memory.memory_id]
        if one.memory.status == "superseded":
            assert one.memory.superseded_by in after
    for name in CHANGING:
        run(store, name, NOW + 3600_000_000, limit=limit)
    assert state_of(store) == once
