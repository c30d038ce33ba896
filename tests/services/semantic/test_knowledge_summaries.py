"""Phases of sleep that write of many items: summaries by theme and kind, clusters, habits."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest

from aico_memory.domain.gate.statement import Known
from aico_memory.domain.memory import OPEN
from aico_memory.domain.sleep import names
from aico_memory.domain.sleep.derived import derived_id
from aico_memory.ids import derive_id
from tests.services.semantic.knowledge import (
    ADA,
    NOW,
    PARIS,
    ROME,
    TRIP,
    an_item,
    counted,
    identifier,
    items,
    put,
    run,
    state_of,
    summaries,
    trip,
)
from tests.support.memory_items import DAY


def test_items_that_share_an_entity_have_one_summary_of_their_own_sentences(store: Any) -> None:
    put(store, *TRIP, an_item(9, "User likes chess."))
    found = run(store, names.THEMES)
    (summary,) = summaries(store)
    assert summary.text == (
        "Paris: Walked along the Seine in Paris. The museum in Paris was closed. Found a good bakery in Paris near the museum."
    )
    assert (summary.importance, summary.write_source, summary.tier, summary.language) == (
        0.8,
        "consolidation",
        "semantic",
        "en",
    )
    assert summary.entities == (PARIS,) and summary.memory_id == derived_id(ADA, "ada", f"theme:{PARIS}")
    events = {derive_id(uuid.UUID(bytes=one.memory.memory_id), "message").bytes for one in TRIP}
    assert {one.event_id for one in store.evidence([summary.memory_id])[summary.memory_id]} == events
    assert {one.method for one in store.evidence([summary.memory_id])[summary.memory_id]} == {"replay"}
    assert counted(found, "created") == 1
    assert [(one.decision, len(one.others)) for one in found[-1].samples] == [("created", 3)]


def test_items_without_a_reading_give_way_to_a_summary_that_holds_every_word(store: Any) -> None:
    put(store, *TRIP, an_item(4, "User lives in Paris", reading=("home_city", "Paris"), entities=(PARIS,)))
    found = run(store, names.THEMES)
    known = items(store)
    (summary,) = summaries(store)
    gone = [known[identifier(number)].memory for number in (1, 2, 3)]
    assert {(one.status, one.superseded_by, one.valid_until_us) for one in gone} == {("superseded", summary.memory_id, OPEN)}
    # What answers a question for a fact stays where it is.
    assert known[identifier(4)].memory.status == "active" and "User lives in Paris" in summary.text
    assert counted(found, "superseded") == 3 and len(found[-1].changed["superseded"]) == 3
    ties = {(one.type, one.object) for one in store.relations([summary.memory_id])}
    assert {("supersedes", identifier(number)) for number in (1, 2, 3)} <= ties
    assert ("elaborates", identifier(4)) in ties
    history = store.histories([identifier(1)])[identifier(1)]
    assert [(one.what, one.old_value, one.new_value) for one in history] == [("status", "active", "superseded")]


@pytest.mark.parametrize(
    "kept", [{"pinned": True}, {"immutable": True}, {"kind": "preference"}, {"access_count": 9}, {"flashbulb": True},
             {"said_at_us": NOW - DAY, "created_at_us": NOW - DAY}, {"valid_until_us": NOW + DAY}],
)  # fmt: skip
def test_what_is_anchored_fresh_used_bounded_or_kept_for_good_does_not_give_way(store: Any, kept: dict[str, Any]) -> None:
    first = replace(TRIP[0], memory=replace(TRIP[0].memory, **kept))
    put(store, first, *TRIP[1:])
    run(store, names.THEMES)
    assert items(store)[identifier(1)] == first
    assert len(summaries(store)) == 1


def test_a_second_night_renews_the_summary_and_makes_no_other(store: Any) -> None:
    put(store, *TRIP)
    run(store, names.THEMES)
    (before,) = summaries(store)
    put(store, trip(5, "Took the night train home from Paris.", 20))
    run(store, names.THEMES, NOW + DAY)
    (after,) = summaries(store)
    assert after.memory_id == before.memory_id and after.version == before.version + 1
    assert after.text.endswith("Took the night train home from Paris.")
    assert len(store.evidence([after.memory_id])[after.memory_id]) == 4
    assert "text" in {one.what for one in store.histories([after.memory_id])[after.memory_id]}


def test_a_summary_whose_items_are_gone_is_told_no_more_and_what_gave_way_to_it_stands_again(store: Any) -> None:
    put(store, *TRIP)
    run(store, names.THEMES)
    (summary,) = summaries(store)
    known = items(store)[identifier(2)]
    with store.transaction() as transaction:
        transaction.put_item(replace(known, memory=replace(known.memory, status="invalid")), None, 6)
    found = run(store, names.THEMES, NOW + DAY)
    assert counted(found, "expired") == 1
    assert [one.memory_id for one in summaries(store, status="expired")] == [summary.memory_id]
    statuses = {number: items(store)[identifier(number)].memory.status for number in (1, 2, 3)}
    assert statuses == {1: "active", 2: "invalid", 3: "active"}
    # The theme comes back, and the summary with it.
    put(store, trip(7, "Back in Paris for a week.", 29))
    run(store, names.THEMES, NOW + 2 * DAY)
    (again,) = summaries(store)
    assert again.memory_id == summary.memory_id and "museum in Paris was closed" not in again.text


def test_a_summary_that_a_person_deleted_or_edited_is_left_alone(store: Any) -> None:
    put(store, *TRIP)
    run(store, names.THEMES)
    (summary,) = summaries(store)
    for fields in ({"status": "invalid"}, {"write_source": "manual", "text": "My week in Paris."}):
        with store.transaction() as transaction:
            transaction.put_item(Known(replace(summary, **fields)), [], 7)
        put(store, trip(5, "Took the night train home from Paris.", 20))
        run(store, names.THEMES, NOW + DAY)
        stands = items(store)[summary.memory_id].memory
        assert {name: getattr(stands, name) for name in fields} == fields
        assert all(one.text == fields.get("text") for one in summaries(store))


def test_a_name_that_one_item_is_known_to_mention_counts_where_others_write_it(store: Any) -> None:
    kiko = ("entity://name/kiko",)
    put(
        store, an_item(1, "User's dog is Kiko", entities=kiko, kind="profile"), an_item(2, "Kiko sleeps in the kitchen"),
        an_item(3, "Kiko's bowl is blue"), an_item(4, "User wears a kiko ring"), an_item(5, "Kikonda is a river"),
    )  # fmt: skip
    found = run(store, names.CLUSTERS)
    (sample,) = found[0].samples
    assert {sample.memory_id, *sample.others} == {identifier(number) for number in (1, 2, 3)}
    assert (counted(found, "by_entity"), counted(found, "alone")) == (1, 2)


def test_a_name_of_two_words_is_written_whole(store: Any) -> None:
    ana = ("entity://name/ana-lima",)
    put(
        store, an_item(1, "User works with Ana Lima", entities=ana), an_item(2, "Ana Lima likes tea"),
        an_item(3, "Ana Lima lives in Graz"), an_item(4, "Ana sings"),
    )  # fmt: skip
    found = run(store, names.CLUSTERS)
    assert (counted(found, "clustered"), counted(found, "alone")) == (3, 1)


def test_without_an_entity_likeness_joins_items_of_a_kind(store: Any) -> None:
    texts = ("User runs five kilometres.", "User swims on weekends.", "User lifts weights.", "User hates olives.")
    put(
        store, *(an_item(number, text, kind="preference") for number, text in enumerate(texts, 1)),
        vectors={1: (1, 0.1), 2: (1, 0.2), 3: (1, 0.3), 4: (-0.2, 1)},
    )  # fmt: skip
    before = state_of(store)
    found = run(store, names.CLUSTERS)
    (sample,) = found[0].samples
    assert (sample.memory_id, set(sample.others)) == (identifier(3), {identifier(1), identifier(2)})
    assert (counted(found, "clusters"), counted(found, "alone"), counted(found, "by_entity")) == (1, 1, 0)
    assert state_of(store) == before


def test_a_large_scope_is_clustered_in_batches_and_in_steps(store: Any) -> None:
    texts = [
        an_item(number, f"Note {number} about the garden.", entities=(PARIS if number % 2 else ROME,))
        for number in range(1, 41)
    ]
    put(store, *texts)
    found = run(store, names.THEMES, limit=4, cluster_items=16, theme_sentences=3)
    assert len(found) == 6
    batches = sorted(one.fact_key for one in summaries(store))
    assert batches == sorted(f"theme:{uri}{batch}" for uri in (PARIS, ROME) for batch in ("", "#1", "#2"))
    assert all(len(one.text) < 800 and one.text.count("Note") == 3 for one in summaries(store))
    before = state_of(store)
    again = run(store, names.THEMES, NOW + DAY, limit=4, cluster_items=16, theme_sentences=3)
    assert state_of(store) == before and counted(again, "kept") == 6


def test_a_habit_is_told_of_what_comes_back_over_days_and_weeks(store: Any) -> None:
    put(store, *(trip(number, f"Ate in Paris, plate {number}", 7 * number) for number in range(1, 5)))
    found = run(store, names.ABSTRACTION, NOW + 30 * DAY)
    (pattern,) = summaries(store, "pattern")
    # 1 January 2026 is a Thursday.
    assert pattern.text == "User usually talks about Paris on Thursdays."
    assert (pattern.importance, pattern.sub_tier, pattern.tier) == (0.85, "schematic", "semantic")
    assert len(store.evidence([pattern.memory_id])[pattern.memory_id]) == 4
    assert counted(found, "patterns") == 1


def test_a_habit_is_told_in_the_language_of_its_items_and_only_of_enough_days(store: Any) -> None:
    put(store, *(trip(number, f"In Paris gegessen, Teller {number}", number, language="de") for number in range(1, 5)))
    run(store, names.ABSTRACTION)
    assert [one.text for one in summaries(store, "pattern")] == ["Spricht oft über Paris."]
    put(store, *(an_item(number, "In Rom", entities=(ROME,), language="de") for number in range(11, 15)))
    assert counted(run(store, names.ABSTRACTION), "no_habit") == 1


def test_a_habit_whose_ground_is_gone_is_told_no_more_however_large_the_scope_is(store: Any) -> None:
    eaten = [trip(number, f"Ate in Paris, plate {number}", 7 * number) for number in range(1, 5)]
    walked = [
        an_item(number, f"Walked in Rome, way {number}", entities=(ROME,), kind="episode", day=7 * (number - 4))
        for number in range(5, 9)
    ]
    put(store, *eaten, *walked)
    run(store, names.ABSTRACTION, NOW + 30 * DAY, cluster_items=4)
    assert {one.entities for one in summaries(store, "pattern")} == {(PARIS,), (ROME,)}
    put(store, *(replace(one, memory=replace(one.memory, entities=())) for one in eaten[1:]))
    found = run(store, names.ABSTRACTION, NOW + 31 * DAY, cluster_items=4)
    assert [one.entities for one in summaries(store, "pattern")] == [(ROME,)], "that of another batch stands"
    assert counted(found, "expired") == 1
    put(store, *(replace(one, memory=replace(one.memory, entities=())) for one in walked[1:]))
    run(store, names.ABSTRACTION, NOW + 32 * DAY, cluster_items=4)
    assert summaries(store, "pattern") == []


def test_a_kind_with_ten_items_has_one_summary_that_is_renewed_after_a_minute(store: Any) -> None:
    put(store, *(an_item(number, f"User enjoys sport number {number}", kind="preference") for number in range(1, 10)))
    assert not run(store, names.KINDS)[0].counts.get("kinds")
    put(store, an_item(10, "User enjoys chess", kind="preference"))
    run(store, names.KINDS)
    (summary,) = summaries(store)
    assert summary.text.startswith("Preferences: User enjoys") and summary.memory_id == derived_id(
        ADA, "ada", "kind:preference"
    )
    put(store, an_item(11, "User enjoys a very long walk in the hills", kind="preference"))
    assert counted(run(store, names.KINDS, NOW + 30_000_000), "debounced") == 1
    assert summaries(store) == [summary]
    run(store, names.KINDS, NOW + 90_000_000)
    assert "hills" in summaries(store)[0].text
    assert all(items(store)[identifier(number)].memory.status == "active" for number in range(1, 12))
