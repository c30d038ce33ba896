"""Steps of sleep over the bus: scopes one after the other, news, reports; and what stops a step but never the worker."""

from __future__ import annotations

import json

import pytest

from aico_memory.contracts.v1 import semantic_pb2, sleep_pb2
from aico_memory.domain.memory import Scope
from aico_memory.domain.sleep import names
from services.semantic.sleep.stepping import Place
from tests.services.semantic.statements import items, message, set_policy
from tests.services.semantic.worker import START, Worker
from tests.support.sleeping import slumber

DAY = 86_400_000_000
ADA = Scope("user", "ada")
MONTH = START + 30 * DAY


@pytest.fixture
def worker(tmp_path):
    made = Worker(tmp_path / "home", {"sleep_step_items": 2})
    yield made
    made.handlers.close()


def told(worker: Worker, *texts: str, user: str = "ada", **fields) -> None:
    for text in texts:
        worker.tell(message(text, user, **fields), user)


def confidences(worker: Worker, scope: Scope = ADA) -> dict[str, float]:
    return {one.value: one.memory.confidence for one in items(worker, scope)}


def test_a_phase_goes_through_a_scope_in_steps_and_tells_what_it_did(worker):
    told(worker, "My bike is red", "My bike is red", "My car is a Volvo", "Our cat is called Tom", "I own a boat")
    before = confidences(worker)
    slept = slumber(worker, names.DECAY, MONTH)
    facts = [one.memory for one in items(worker) if one.memory.kind == "fact"]
    assert slept.counts["seen"] == slept.counts["decayed"] == len(facts) > 2
    assert slept.steps == len(facts) // 2 + 1
    assert not slept.errors
    after = confidences(worker)
    for one in items(worker):
        expected = before[one.value] * (1 - 0.015 * (one.memory.kind == "fact")) ** 30
        assert after[one.value] == pytest.approx(expected, rel=1e-3)
    assert {one.decision for one in slept.samples} == {"decayed"}
    assert slept.samples[0].rule.startswith("fact unused for 30 days")


def test_what_changed_is_announced_and_remembered_with_the_step_as_its_cause(worker):
    told(worker, "My bike is red")
    worker.handlers.state.settle_outgoing([one.event_id for one in worker.handlers.state.outgoing(1000)])
    step = sleep_pb2.SleepStep(run_id="r", user_id="ada", phase=names.DECAY, at_us=MONTH)
    event = worker.tell(step)
    (news,) = worker.emitted(("changed", semantic_pb2.Changed))
    assert (news.action, news.rule, news.event_id) == ("updated", "decay", event.event_id.bytes)
    assert (news.scope.id, len(news.memory_ids)) == ("ada", 1)
    (item,) = items(worker)
    (change,) = [one for one in worker.handlers.state.evolution(item.memory.memory_id) if one.what == "confidence"]
    assert (change.cause, change.at_us, change.reason) == (event.event_id.bytes, MONTH, "sleep: decay")
    assert float(change.new_value) == item.memory.confidence < float(change.old_value)


def test_each_owner_sleeps_alone_and_through_all_scopes_that_hold_something_of_theirs(worker):
    told(worker, "My bike is red")
    told(worker, "My kayak is green", group_id="g")
    told(worker, "I own a boat", user="ben", group_id="g")
    slept = slumber(worker, names.DECAY, MONTH)
    assert slept.counts["decayed"] == 2
    decayed = {one.memory.owner: one.memory.confidence for one in items(worker, Scope("group", "g"))}
    assert decayed["ada"] < decayed["ben"]
    assert slumber(worker, names.DECAY, MONTH, user="ben").counts["decayed"] == 1
    assert slumber(worker, names.DECAY, MONTH, user="nobody").steps == 1


def test_a_step_that_is_delivered_or_asked_for_again_changes_nothing(worker):
    told(worker, "My bike is red", "My car is a Volvo")
    slumber(worker, names.DECAY, MONTH)
    once = list(worker.handlers.export("", "", 999).lines)
    for run in ("night", "another"):
        assert not slumber(worker, names.DECAY, MONTH, run=run).counts
    assert list(worker.handlers.export("", "", 999).lines) == once


@pytest.mark.parametrize(
    ("phase", "after", "error"),
    [("dreaming", "", "unknown_phase"), (names.DECAY, "somewhere", "invalid_message"),
     (names.DECAY, "[1, 2, 3]", "invalid_message"), (names.DECAY, json.dumps(["user", "ada", "no id"]), "ValueError")],
)  # fmt: skip
def test_what_cannot_be_done_is_told_and_stops_nothing(worker, phase, after, error):
    told(worker, "My bike is red")
    worker.tell(sleep_pb2.SleepStep(run_id="r", user_id="ada", phase=phase, after=after, at_us=MONTH))
    (done,) = worker.emitted(("slept", sleep_pb2.SleepStepDone))
    assert (done.error, done.next, dict(done.counts)) == (error, "", {})
    assert slumber(worker, names.DECAY, MONTH).counts["decayed"] == 1


def test_a_scope_that_is_read_only_is_left_as_it_is_and_the_next_one_sleeps(worker):
    told(worker, "My kayak is green", group_id="g")
    told(worker, "My bike is red")
    set_policy(worker, Scope("group", "g"), read_only=True)
    slept = slumber(worker, names.DECAY, MONTH)
    assert (slept.errors, slept.counts["decayed"]) == (["read_only"], 1)
    (kayak,) = items(worker, Scope("group", "g"))
    assert worker.handlers.state.evolution(kayak.memory.memory_id) == []


def test_where_a_step_begins_is_written_for_any_scope():
    for place in (Place(Scope("group", 'a|b"[]'), "00ff"), Place(Scope("user", "ünal"))):
        assert Place.read(place.written()) == place
    assert Place.read("") == Place() and Place().written() == ""


def test_sleepers_are_told_by_name_with_what_they_have_and_page_by_page(worker):
    told(worker, "I live in Rome", "I like tea", "I moved to Oslo")
    told(worker, "I live in Bern", user="ben")
    told(worker, "Hello there", user="cem")
    page = worker.ask(sleep_pb2.SleepersRequest(limit=2))
    assert ([one.user_id for one in page.users], page.next) == (["ada", "ben"], "ben")
    ada = page.users[0]
    assert (ada.active, ada.dormant, ada.ended, ada.records) == (2, 0, 1, 3)
    assert dict(ada.shares) == {"tier.episodic": 2, "kind.profile": 1, "kind.preference": 1}
    assert START < ada.last_us < START + DAY
    rest = worker.ask(sleep_pb2.SleepersRequest(limit=2, after=page.next))
    assert ([(one.user_id, one.active, one.records) for one in rest.users], rest.next) == ([("cem", 0, 1)], "")
    named = worker.ask(sleep_pb2.SleepersRequest(user_ids=["zoe", "ben"]))
    assert [(one.user_id, one.records) for one in named.users] == [("ben", 1), ("zoe", 0)]
