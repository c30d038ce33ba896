"""The item phases of sleep on the real store: what moves, rests and expires, and that twice is once."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aico_memory.contracts.v1 import context_pb2, semantic_pb2
from aico_memory.domain.gate.statement import Known
from aico_memory.domain.gate.tagging import Pair
from aico_memory.domain.graph.relations import relate
from aico_memory.domain.memory import OPEN, Memory, Scope
from aico_memory.domain.sleep import names
from tests.services.semantic.statements import items, message
from tests.services.semantic.worker import START, Worker
from tests.support.sleeping import night, slumber

DAY = 86_400_000_000
ADA = Scope("user", "ada")
MONTH = START + 30 * DAY


@pytest.fixture
def worker(tmp_path):
    made = Worker(tmp_path / "home", {"sleep_step_items": 7})
    yield made
    made.handlers.close()


def told(worker: Worker, *texts: str, user: str = "ada", **fields) -> None:
    for text in texts:
        worker.tell(message(text, user, **fields), user)


def put(worker: Worker, number: int, text: str = "", made_us: int = START, **fields: Any) -> bytes:
    """An item as it may have become, without a statement."""
    names_ = ("said_at_us", "recorded_at_us", "valid_from_us", "created_at_us", "updated_at_us", "received_at_us")
    defaults: dict[str, Any] = {"kind": "fact", "owner": "ada", "scope": ADA, "language": "en", "stability": 2.0,
                                **dict.fromkeys(names_, made_us)}  # fmt: skip
    memory = Memory(memory_id=number.to_bytes(16, "big"), text=text or f"Fact {number}", **{**defaults, **fields})
    with worker.handlers.state.transaction() as transaction:
        transaction.put_item(Known(memory), ["fact"], 1)
    return memory.memory_id


def at(worker: Worker, memory_id: bytes) -> Memory:
    (found,) = worker.handlers.state.known([memory_id], [ADA])
    return found.memory


def item(worker: Worker, value: str) -> Memory:
    (found,) = [one.memory for one in items(worker) if one.value == value]
    return found


def exported(worker: Worker) -> list[str]:
    return list(worker.handlers.export("", "", 9999).lines)


def vectors(worker: Worker, *ids: bytes) -> None:
    """The same vector for all of these."""
    vector = np.zeros(8, dtype=np.float32)
    vector[0] = 1
    with worker.handlers.state.transaction() as transaction:
        for memory_id in ids:
            transaction.keep_vector(memory_id, "some model", vector)


def test_flashbulbs_last_longer_with_every_night_and_once_a_night(worker):
    bulb, plain = put(worker, 1, flashbulb=True, pinned=True), put(worker, 2)
    for run in ("one", "two"):
        slumber(worker, names.EMOTION, MONTH, run=run)
        assert at(worker, bulb).stability == pytest.approx(2.2)
    assert at(worker, plain).stability == 2.0
    slumber(worker, names.EMOTION, MONTH + DAY)
    assert at(worker, bulb).stability == pytest.approx(2.42)


def test_what_was_retrieved_together_is_strengthened_once_and_related(worker):
    left, right, seldom = (put(worker, number) for number in (1, 2, 3))
    with worker.handlers.state.transaction() as transaction:
        for _ in range(3):
            transaction.count_pairs([Pair(left, right)])
        transaction.count_pairs([Pair(left, seldom)])
    for run in ("one", "two"):
        slept = slumber(worker, names.SYNAPSES, MONTH, run=run)
        assert slept.counts["strengthened"] == (2 if run == "one" else 0)
        assert (at(worker, left).stability, at(worker, seldom).stability) == (pytest.approx(2.04), 2.0)
    (relation,) = worker.handlers.state.relations([left])
    assert (relation.subject, relation.type, relation.object) == (left, "related_to", right)
    with worker.handlers.state.transaction() as transaction:
        transaction.count_pairs([Pair(left, right)])
    assert slumber(worker, names.SYNAPSES, MONTH, run="three").counts["strengthened"] == 2


def test_tags_that_ran_out_go_and_others_wait(worker):
    told(worker, "My bike is red")
    (tag,) = worker.handlers.state.tags(ADA, "s1", START)
    assert not slumber(worker, names.SYNAPSES, tag.expires_at_us - 1).counts
    assert worker.handlers.state.tags(ADA, "s1", START) == [tag]
    assert slumber(worker, names.SYNAPSES, tag.expires_at_us).counts["dropped_tags"] == 1
    assert worker.handlers.state.tags(ADA, "s1", START) == []


def test_accesses_utility_and_siblings_promote_and_the_words_decide_the_place(worker):
    tea = ("entity://thing/tea",)
    accessed = put(worker, 1, "User always locks the door", access_count=3)
    useful = put(worker, 2, "How to bake bread step by step", utility=0.7)
    fresh = put(worker, 3, utility=0.7, made_us=MONTH - DAY)
    siblings = [put(worker, 10 + number, f"Tea {number}", entities=tea) for number in range(20)]
    pinned = put(worker, 5, access_count=9, pinned=True)
    slept = slumber(worker, names.PLACES, MONTH)
    assert (at(worker, accessed).tier, at(worker, accessed).sub_tier) == ("semantic", "schematic")
    assert (at(worker, useful).tier, at(worker, useful).sub_tier) == ("semantic", "procedural")
    assert {at(worker, one).tier for one in siblings} == {"semantic"}
    assert {at(worker, one).sub_tier for one in siblings} == {"factual"}
    assert {at(worker, one).tier for one in (fresh, pinned)} == {"episodic"}
    assert (slept.counts["promoted"], slept.errors) == (22, [])
    assert {one.rule for one in slept.samples} >= {"3 accesses", "utility 0.70", "3 or more share an entity"}
    news = [one.what for one in worker.handlers.state.evolution(accessed)]
    assert news == ["sub_tier", "tier"]


def test_two_items_that_share_an_entity_stay_where_they_are(worker):
    pair = [put(worker, number, entities=("entity://thing/tea",)) for number in (1, 2)]
    assert not slumber(worker, names.PLACES, MONTH).counts
    assert {at(worker, one).tier for one in pair} == {"episodic"}


def test_only_what_is_both_idle_and_useless_is_demoted_and_a_strong_hit_wakes_it(worker):
    idle = put(worker, 1, tier="semantic", sub_tier="factual", utility=0.1)
    for number, kept in enumerate(({"utility": 0.2}, {"flashbulb": True}, {"pinned": True}, {"last_accessed_us": MONTH})):
        put(worker, 2 + number, **{"tier": "semantic", "sub_tier": "factual", "utility": 0.1, **kept})
    later = START + 60 * DAY
    assert slumber(worker, names.PLACES, later).counts["demoted"] == 1
    assert at(worker, idle).tier == "dormant"
    hit = str(uuid.UUID(bytes=idle))
    worker.tell(semantic_pb2.MemoriesUsed(user_id="ada", memory_ids=[hit], strong_ids=[hit], at_us=later))
    assert at(worker, idle).tier == "semantic"
    night(worker, later + 60_000_000, run="next")
    assert at(worker, idle).tier == "semantic"


def test_the_weakest_are_rehearsed_so_many_a_cycle(worker):
    weak = [put(worker, 1 + number, stability=1.0 + number / 1000) for number in range(60)]
    firm = put(worker, 99, stability=500.0)
    for run in ("night", "job"):
        slumber(worker, names.REHEARSAL, MONTH, run=run)
        done = [one for one in weak if at(worker, one).stability > 1.45]
        assert done == weak[:50]
    assert at(worker, weak[0]).stability == pytest.approx(1.5)
    assert (at(worker, firm).stability, at(worker, weak[0]).access_count) == (500.0, 0)
    slumber(worker, names.REHEARSAL, MONTH + DAY)
    assert all(at(worker, one).stability > 1.45 for one in weak)


def test_a_plan_expires_and_a_preference_rests_but_is_still_answered(worker):
    told(worker, "I plan to paint the kitchen", "I like tea", "My bike is red")
    plan, tea, bike = (item(worker, value) for value in ("paint the kitchen", "tea", "red"))
    assert not slumber(worker, names.EXPIRY, START + 6 * DAY).counts["expired"]
    assert slumber(worker, names.EXPIRY, START + 8 * DAY).counts["expired"] == 1
    gone = at(worker, plan.memory_id)
    assert (gone.status, gone.valid_until_us, gone.invalidated_at_us) == ("expired", plan.valid_until_us, START + 8 * DAY)
    assert slumber(worker, names.EXPIRY, START + 91 * DAY).counts["rested"] == 1
    assert (at(worker, tea.memory_id).status, at(worker, tea.memory_id).tier) == ("active", "dormant")
    assert at(worker, bike.memory_id) == bike
    answer = worker.ask(context_pb2.RecallRequest(user_id="ada", question="What do I like?"))
    assert [one.value for one in answer.results] == ["tea"]


def test_a_stated_end_counts_before_the_time_to_live(worker):
    ahead = put(worker, 1, kind="plan", valid_until_us=START + 60 * DAY, temporal_type="time_bounded")
    later = put(worker, 2, kind="plan", valid_from_us=START + 50 * DAY)
    stale = put(worker, 3, kind="plan")
    slumber(worker, names.EXPIRY, MONTH)
    assert [at(worker, one).status for one in (ahead, later, stale)] == ["active", "active", "expired"]
    slumber(worker, names.EXPIRY, START + 61 * DAY)
    assert [at(worker, one).status for one in (ahead, later, stale)] == ["expired"] * 3


def test_five_rules_let_items_rest(worker):
    # Else the indexer may name its own model first, and the vectors below are of another.
    worker.model_away = True
    old, new = put(worker, 1), put(worker, 2, made_us=START + DAY)
    over = put(worker, 3, valid_until_us=START + DAY)
    useless = put(worker, 4, utility=0.1)
    twins = [put(worker, 5, "User likes tea", utility=0.4), put(worker, 6, "user likes tea.", utility=0.6)]
    other = put(worker, 7, "User likes coffee", utility=0.3)
    vectors(worker, *twins, other)
    with worker.handlers.state.transaction() as transaction:
        transaction.add_relations([relate(old, "contradicts", new, 0.5, START)])
    slept = slumber(worker, names.FORGETTING, MONTH)
    rested = [one for one in (old, new, over, useless, *twins, other) if at(worker, one).tier == "dormant"]
    assert rested == [old, over, useless, twins[0]]
    rules = {name: count for name, count in slept.counts.items() if name.startswith("rested: ")}
    assert rules == {
        "rested: contradicted": 1, "rested: past its validity": 1, "rested: of no use": 1, "rested: a duplicate": 1
    }  # fmt: skip
    assert {at(worker, one).status for one in rested} == {"active"}
    assert not slumber(worker, names.FORGETTING, MONTH, run="again").counts["rested"]


def test_a_variant_does_not_put_to_rest_what_it_doubts(worker):
    held, doubt = put(worker, 1), put(worker, 2, made_us=START + DAY, variant_of=(1).to_bytes(16, "big"))
    with worker.handlers.state.transaction() as transaction:
        transaction.add_relations([relate(doubt, "contradicts", held, 0.5, START)])
    slumber(worker, names.FORGETTING, MONTH)
    assert [at(worker, one).tier for one in (held, doubt)] == ["episodic"] * 2


def test_consolidating_twice_changes_nothing_and_anchors_never_move(worker):
    tea = ("entity://thing/tea",)
    for number in range(1, 40):
        put(
            worker, number, entities=tea if number % 3 else (), utility=number / 40, access_count=number % 5,
            kind=("fact", "plan", "preference", "decision")[number % 4], flashbulb=number % 7 == 0,
            pinned=number % 7 == 0 or number % 11 == 0, immutable=number % 13 == 0, made_us=START + number * 3_600_000_000,
            tier=("episodic", "semantic")[number % 2],
        )  # fmt: skip
    anchors = [one.memory for one in items(worker) if one.memory.pinned or one.memory.immutable]
    first = night(worker, START + 120 * DAY)
    assert sum(slept.counts["seen"] for slept in first.values()) > 40
    assert not [slept.errors for slept in first.values() if slept.errors]
    once = exported(worker)
    for run, later_us in (("again", 0), ("a minute later", 60_000_000)):
        night(worker, START + 120 * DAY + later_us, run=run)
        assert [json.loads(line) for line in exported(worker)] == [json.loads(line) for line in once]
    fields = ("tier", "sub_tier", "status", "confidence", "utility", "valid_until_us")
    for one in anchors:
        assert [getattr(at(worker, one.memory_id), name) for name in fields] == [getattr(one, name) for name in fields]


def test_a_scope_that_is_too_full_is_trimmed_to_its_target(tmp_path):
    worker = Worker(tmp_path / "home", {"sleep_step_items": 30})
    figures = worker.handlers._write_path.persisting._model.forgetting
    for number in range(1, figures.active_limit + 21):
        put(worker, number, utility=0.5 + (number * 37 % 101) / 1000)
    slept = slumber(worker, names.FORGETTING, MONTH)
    awake = [one.memory for one in items(worker) if one.memory.tier != "dormant"]
    assert (len(awake), slept.counts["rested"]) == (figures.active_target, 70)
    resting = [one.memory.utility for one in items(worker) if one.memory.tier == "dormant"]
    assert max(resting) <= min(one.utility for one in awake)
    assert slept.steps > 5
    assert not slumber(worker, names.FORGETTING, MONTH, run="again").counts["rested"]
    worker.handlers.close()


def test_a_night_that_is_cut_into_many_small_steps_ends_as_one_in_large_steps(tmp_path):
    ends = []
    for place, size in enumerate((1, 7, 200)):
        worker = Worker(tmp_path / str(place), {"sleep_step_items": size})
        for number in range(1, 25):
            put(worker, number, utility=number / 25, access_count=number % 4, entities=("entity://thing/tea",),
                kind=("fact", "plan", "preference")[number % 3], tier=("episodic", "semantic")[number % 2])  # fmt: skip
        night(worker, START + 100 * DAY)
        ends.append([replace(one.memory, memory_id=b"") for one in items(worker)])
        worker.handlers.close()
    assert ends[0] == ends[1] == ends[2]
    assert OPEN not in {one.updated_at_us for one in ends[0]}
