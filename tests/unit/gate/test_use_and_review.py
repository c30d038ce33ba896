"""What use does to items, what review does to what waits, and what is told of each decision."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aico_memory.domain.formation.formed import Formed
from aico_memory.domain.gate.apply import Standing
from aico_memory.domain.gate.decide import Decision, decide
from aico_memory.domain.gate.explain import explanation, outcome
from aico_memory.domain.gate.policy import Admission, WritePolicy
from aico_memory.domain.gate.reinforcement import reinforce
from aico_memory.domain.gate.review import promote, queue, reject, to_shadow
from aico_memory.domain.gate.score import Channels, Score
from aico_memory.domain.gate.statement import Neighbour
from aico_memory.domain.gate.synthesis import parts, synthesise
from aico_memory.domain.gate.tagging import (
    Pair,
    capture,
    neighbours_of,
    pairs_of,
    retrieved_together,
    spread,
    tag_for,
)
from aico_memory.domain.graph.relations import relate
from aico_memory.domain.lifecycle import require_changeable
from aico_memory.domain.memory import Scope
from aico_memory.errors import ImmutableItem, InvalidMessage, RefusedTransition
from aico_memory.settings.write_path import InteractionSettings, TagSettings
from tests.support.memory_items import DAY, START, item
from tests.support.statements import ADMITTED, ALICE, GATE, MODEL, Shelf, day, said, told

TAGS = TagSettings()
USE = InteractionSettings()
HOUR = DAY // 24
WORLD = Scope("global", "global")
CAUSE = b"c" * 16


def passes(response: str, *items, already=(), delta=None, summary: str = ""):
    return reinforce(response, summary, items, (ALICE, WORLD), already, day(1), USE, delta)


def test_a_response_that_repeats_an_item_raises_it_once() -> None:
    tea = item(1, "User likes  green TEA.", confidence=0.5)
    (found,) = passes("Since user likes green tea, try sencha. User likes green tea!", tea, tea)
    assert (found.old_confidence, found.new_confidence) == (0.5, 0.52)
    assert (found.memory.reference_count, found.memory.last_referenced_us) == (1, day(1))
    assert passes("user likes green tea", tea, already={tea.memory_id}) == ()
    assert passes("Try sencha", tea, summary="User likes green tea")[0].memory.memory_id == tea.memory_id


def test_only_the_leading_window_of_a_long_item_is_looked_for() -> None:
    long = item(1, "User " + "walks along the river every morning " * 4)
    assert passes(long.text[:80], long)
    assert not passes(long.text[:79], long)
    assert not passes(long.text[10:], long)


def test_a_window_does_not_reach_from_the_response_into_the_summary() -> None:
    assert not passes("User likes", item(1, "User likes green tea"), summary="green tea")


@pytest.mark.parametrize("status", ["candidate", "shadow", "superseded", "expired", "disabled", "invalid"])
def test_what_is_not_active_never_moves(status: str) -> None:
    assert passes("User likes green tea", item(1, "User likes green tea", status=status)) == ()


def test_what_is_out_of_view_or_too_short_never_moves() -> None:
    foreign = item(1, "User likes green tea", scope=Scope("user", "bob"))
    fact, liking = (
        item(place, "Tea is a drink of leaves", scope=WORLD, kind=kind) for place, kind in ((2, "fact"), (3, "preference"))
    )
    found = passes("User likes green tea. Tea is a drink of leaves. Likes tea", foreign, fact, liking, item(4, "Likes tea"))
    assert [one.memory.memory_id for one in found] == [liking.memory_id]


def test_confidence_ends_at_one_and_negative_deltas_are_refused() -> None:
    sure = item(1, "User likes green tea", confidence=0.99)
    assert passes("user likes green tea", sure)[0].new_confidence == 1.0
    with pytest.raises(InvalidMessage):
        passes("user likes green tea", sure, delta=-0.1)


def test_something_important_captures_what_was_weak_in_its_session_once() -> None:
    weak = item(1, importance=0.3, session_id="s", stability=10.0)
    strong = item(2, importance=0.7, session_id="s")
    tag = tag_for(weak, START, TAGS)
    assert tag is not None
    ((captured, lasting),) = capture(strong, START + HOUR, [tag], {weak.memory_id: weak}, TAGS, MODEL.retention)
    assert lasting.stability == pytest.approx(13.0)
    assert capture(strong, START + 2 * HOUR, [captured], {weak.memory_id: lasting}, TAGS, MODEL.retention) == ()


@pytest.mark.parametrize(
    ("fields", "at_us"),
    [
        ({"importance": 0.69}, START + HOUR), ({"session_id": "other"}, START + HOUR), ({"session_id": ""}, START + HOUR),
        ({"scope": Scope("user", "bob")}, START + HOUR), ({}, START + 4 * HOUR), ({}, START - 1),
    ],
)  # fmt: skip
def test_no_capture_out_of_session_scope_and_time(fields, at_us: int) -> None:
    weak = item(1, importance=0.3, session_id="s", stability=10.0)
    strong = item(2, **{"importance": 0.9, "session_id": "s", **fields})
    assert capture(strong, at_us, [tag_for(weak, START, TAGS)], {weak.memory_id: weak}, TAGS, MODEL.retention) == ()
    assert tag_for(replace(weak, importance=0.5), START, TAGS) is None
    assert tag_for(replace(weak, session_id=""), START, TAGS) is None


def test_items_retrieved_together_last_longer_and_are_counted_as_pairs() -> None:
    both = [item(1, stability=10.0), item(2, stability=20.0), item(3, stability=5.0, status="candidate")]
    found = retrieved_together(both, day(2), TAGS, MODEL.retention)
    assert all(1.0 < one.storage_strength < 10.0 for one in found)
    again = retrieved_together(found, day(2), TAGS, MODEL.retention)
    assert [one.storage_strength > before.storage_strength for one, before in zip(again, found, strict=True)] == [True, True]
    assert [(one.access_count, one.stability, one.last_accessed_us) for one in found] == [(1, 10.2, day(2)), (1, 20.4, day(2))]
    assert retrieved_together(both[:1], day(2), TAGS, MODEL.retention)[0].stability == 10.0
    assert pairs_of([b"b", b"a", b"c", b"a"], TAGS) == (Pair(b"a", b"b"), Pair(b"b", b"c"), Pair(b"a", b"c"))


def test_activation_spreads_one_relation_far_and_never_into_another_scope() -> None:
    relations = [
        relate(b"a", "elaborates", b"b", 0.5, 1),
        relate(b"c", "causes", b"a", 0.5, 1),
        relate(b"b", "causes", b"d", 0.5, 1),
    ]
    assert neighbours_of({b"a"}, relations) == {b"b", b"c"}
    near = [
        item(1, stability=10.0),
        item(2, stability=10.0, scope=Scope("user", "bob")),
        item(3, status="expired", stability=1.0),
    ]
    found = spread({ALICE}, near, TAGS, MODEL.retention)
    assert [(one.memory_id, one.stability, one.access_count) for one in found] == [(near[0].memory_id, 10.2, 0)]


def test_synthesis_appends_what_is_new_and_repeats_nothing() -> None:
    assert synthesise("User has a dog.", "User has a dog. It is called Rex") == "User has a dog. It is called Rex"
    assert synthesise("We use Kafka", "It runs on port 9092.5") == "We use Kafka. It runs on port 9092.5"
    assert synthesise("We use Kafka in Docker", "we use kafka!") == "We use Kafka in Docker"
    assert synthesise("User likes art", "User likes artichokes") == "User likes art. User likes artichokes"
    assert synthesise("a" * 300, "b" * 300) is None


@given(st.text("ab .", max_size=30), st.text("ab .", max_size=30))
def test_synthesis_keeps_every_fact_of_both(old: str, new: str) -> None:
    joined = synthesise(old, new)
    assert joined is not None
    words = "".join(letter if letter in "ab" else " " for letter in joined).split()
    text = f" {' '.join(words)} "
    for part in (*parts(old), *parts(new)):
        kept = "".join(letter if letter in "ab" else " " for letter in part).split()
        assert f" {' '.join(kept)} " in text or not kept


def waiting(shelf: Shelf, statement, action: str = "CANDIDATE"):
    shelf.keep(statement, Decision(action, "mode_manual", "waits", instead="CREATE"))
    return shelf.items[statement.statement_id].memory


def promoted(shelf: Shelf, statement, evidence: int = 1):
    near = [Neighbour(one, 0.8) for one in shelf.items.values()]
    standing = Standing(tuple(shelf.statements), shelf.items, dict.fromkeys(shelf.items, 1))
    memory = shelf.items[statement.statement_id].memory
    reviewed = promote(
        statement, memory, day(30), CAUSE, near, [], standing, evidence, GATE.default, GATE, MODEL
    )  # fmt: skip
    if reviewed.applied is not None:
        shelf.persist(reviewed.applied)
    known = shelf.items[statement.statement_id]
    shelf.items[statement.statement_id] = replace(known, memory=reviewed.memory)
    return reviewed


def test_a_promoted_candidate_takes_the_place_of_what_it_contradicts() -> None:
    shelf, oslo = told([said(1, "Rome", 0)]), said(2, "Oslo", 20)
    waiting(shelf, oslo)
    assert (shelf.held(25), [one.memory_id for one in queue([one.memory for one in shelf.items.values()], [ALICE])]) == (
        ["rome"], [oslo.statement_id],
    )  # fmt: skip
    reviewed = promoted(shelf, oslo)
    assert (reviewed.memory.status, shelf.held(25), shelf.held(5), shelf.active()) == ("active", ["oslo"], ["rome"], ["oslo"])
    assert [(one.what, one.old_value, one.new_value) for one in reviewed.changes] == [("status", "candidate", "active")]


def test_a_promoted_candidate_that_only_confirms_is_laid_aside() -> None:
    shelf, again = told([said(1, "Rome", 0)]), said(2, "Rome", 20)
    waiting(shelf, again)
    assert promoted(shelf, again).memory.status == "invalid"
    assert (shelf.active(), shelf.items[said(1, "Rome", 0).statement_id].memory.reference_count) == (["rome"], 1)


def test_a_duplicate_said_earlier_that_is_promoted_last_takes_nothing_with_it() -> None:
    shelf, first, second = Shelf(), said(1, "Rome", 0), said(2, "Rome", 5)
    waiting(shelf, first)
    waiting(shelf, second)
    promoted(shelf, second)
    assert promoted(shelf, first).memory.status == "invalid"
    for again in (said(3, "Rome", 31), said(4, "Rome", 32)):
        shelf.tell(again)
        assert (shelf.active(), shelf.held(3), shelf.held(40)) == (["rome"], ["rome"], ["rome"])
    shelf.tell(said(5, "Oslo", 50))
    assert (shelf.held(3), shelf.held(51), shelf.active()) == (["rome"], ["oslo"], ["oslo"])


def test_a_promotion_tells_what_was_said_since_and_writes_what_was_told_as_past_as_past() -> None:
    expected = (("retract", "disabled", "RETRACT"), ("end", "expired", "END"))
    for act, status, action in expected:
        shelf, rome = Shelf(), said(1, "Rome", 0)
        waiting(shelf, rome)
        shelf.keep(said(2, "Rome", 20, act=act), Decision("NOTHING", "nothing_to_close", "not known"))
        reviewed = promoted(shelf, rome)
        assert reviewed.applied is not None
        assert (reviewed.memory.status, reviewed.applied.decision.action) == (status, action)
    shelf, past = Shelf(), said(1, "Rome", 20, since=0, until=10)
    waiting(shelf, past)
    reviewed = promoted(shelf, past)
    assert reviewed.applied is not None
    assert (reviewed.memory.status, reviewed.applied.decision.action) == ("expired", "CREATE")


def test_nothing_is_promoted_without_evidence_twice_or_against_an_immutable_item() -> None:
    shelf, oslo = told([said(1, "Rome", 0)]), said(2, "Oslo", 20)
    waiting(shelf, oslo)
    with pytest.raises(InvalidMessage, match="without evidence"):
        promoted(shelf, oslo, evidence=0)
    rome = shelf.items[said(1, "Rome", 0).statement_id]
    shelf.items[rome.memory.memory_id] = replace(rome, memory=replace(rome.memory, immutable=True))
    with pytest.raises(ImmutableItem):
        promoted(shelf, oslo)
    shelf.items[rome.memory.memory_id] = rome
    promoted(shelf, oslo)
    with pytest.raises(RefusedTransition, match="active does not lead to active"):
        promoted(shelf, oslo)


def test_what_was_superseded_and_does_not_come_back_is_refused_with_what_to_do() -> None:
    rome, oslo = said(1, "Rome", 0), said(2, "Oslo", 20)
    shelf = told([rome, oslo])
    with pytest.raises(RefusedTransition, match="superseded and does not come back") as refused:
        promoted(shelf, rome)
    assert "update" in refused.value.mend


def test_an_immutable_item_is_named_as_ids_are_shown() -> None:
    fixed = item(1, immutable=True)
    with pytest.raises(ImmutableItem, match=str(uuid.UUID(bytes=fixed.memory_id))):
        require_changeable(fixed)
    shelf, oslo = told([said(1, "Rome", 0)]), said(2, "Oslo", 20)
    waiting(shelf, oslo)
    rome = shelf.items[said(1, "Rome", 0).statement_id]
    shelf.items[rome.memory.memory_id] = replace(rome, memory=replace(rome.memory, immutable=True))
    with pytest.raises(ImmutableItem, match=str(uuid.UUID(bytes=rome.memory.memory_id))):
        promoted(shelf, oslo)


def test_review_rejects_and_shadows_by_the_lifecycle() -> None:
    shelf = Shelf()
    candidate = waiting(shelf, said(2, "Oslo", 20))
    assert to_shadow(candidate, day(21), CAUSE).memory.status == "shadow"
    refused = reject(candidate, day(21), CAUSE).memory
    assert (refused.status, refused.invalidated_at_us) == ("invalid", candidate.recorded_at_us)
    with pytest.raises(RefusedTransition):
        reject(refused, day(22), CAUSE)
    with pytest.raises(InvalidMessage, match="active does not wait"):
        queue([candidate], [ALICE], ["active"])
    assert queue([candidate], [Scope("user", "bob")]) == ()


def test_the_explanation_names_filters_neighbours_rule_and_what_shadow_mode_would_have_done() -> None:
    shelf, oslo = told([said(1, "Rome", 0)]), said(2, "Oslo", 20)
    near = [Neighbour(one, 0.83) for one in shelf.items.values()]
    decision = decide(oslo, near, [], ADMITTED, WritePolicy(), GATE.default, GATE)
    applied = shelf.keep(oslo, decision)
    scored = Score(Channels(0.2, 0.1, 0.5, 0.0), 0.3, 0.72, False)
    told_of = outcome(oslo, scored, near, ADMITTED, decision, applied, frozenset(), 0.6)
    record = explanation(oslo.event_id, Formed(filtered=("emoji",), classes=(("correction", 0.4),)), [told_of])
    assert (record.filtered, record.classes, record.outcomes) == (("emoji",), (("correction", 0.4),), (told_of,))
    assert (told_of.action, told_of.rule, told_of.in_auto, told_of.in_shadow) == (
        "SUPERSEDE",
        "more_confident",
        "SUPERSEDE",
        "SHADOW",
    )
    (seen,) = told_of.neighbours
    assert (seen.similarity, seen.same_key, seen.contradiction) == (0.83, True, "another object of a single-valued predicate")
    assert set(told_of.written) == {said(1, "Rome", 0).statement_id, oslo.statement_id}


def test_the_explanation_of_what_waits_says_that_it_waits() -> None:
    full = Admission("wait", "hour_limit")
    decision = decide(said(2, "Oslo", 20), [], [], full, WritePolicy(), GATE.default, GATE)
    told_of = outcome(said(2, "Oslo", 20), Score(Channels(), 0, 0.7, False), [], full, decision, None, frozenset(), 0.6)
    assert (told_of.action, told_of.admission, told_of.waits, told_of.in_auto, told_of.in_shadow, told_of.written) == (
        "SKIP", "hour_limit", True, "CREATE", "SKIP", (),
    )  # fmt: skip
