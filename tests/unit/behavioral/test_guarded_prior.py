"""The common prior under the guardrails: tried on people it was not fitted on, watched in use, taken back to the byte."""

import json

import pytest

from aico_memory.contracts.v1 import behavioral_pb2, guardrails_pb2
from aico_memory.domain.guardrails.adjustment import ROLLED_BACK
from aico_memory.errors import InvalidMessage, NotFound, RefusedTransition
from aico_memory.settings import Settings
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import START_US, Worker

HOUR_US = 3_600_000_000
LEARN = behavioral_pb2.LearnNow()


def settings(**guardrails):
    return Settings.model_validate({"guardrails": guardrails, "behavioral": {"model_deadline_ms": 10, "model_retry_ms": 1}})


def teach(worker, people=8, turns=12, at_us=START_US, liked="reactive_only", prefix="user"):
    for number in range(people):
        user = f"{prefix}{number}"
        worker.consent(user)
        for turn in range(turns):
            request = f"{prefix}-{number}-{turn}-{at_us}"
            answer = worker.select(user=user, request_id=request, timestamp=at_us)
            good = answer.skill_id == liked
            worker.feedback(answer.skill_id, 1 if good else -1, user=user, request_id=request, timestamp=at_us)


def ledger(worker, **fields):
    return list(worker.ask(guardrails_pb2.BehavioralAdjustmentsRequest(**fields), user="").adjustments)


def decide(worker, adjustment_id, action, reason=""):
    message = guardrails_pb2.BehavioralAdjustmentDecision(adjustment_id=adjustment_id, action=action, reason=reason)
    return worker.publish(message, user="")


def chosen(worker, name):
    """What somebody new gets, to the last bit."""
    user = f"probe-{name}"
    worker.consent(user)
    answer = worker.select(user=user, request_id="probe")
    return answer.skill_id, dict(answer.shares), answer.propensity


@pytest.fixture(params=["twin", "sql"])
def store(request, tmp_path):
    return MemoryBehavioralStore() if request.param == "twin" else SqlBehavioralStore.open(tmp_path, bytes(32))


def test_a_refit_is_tried_on_others_applied_with_its_scores_and_taken_back_to_the_bit(store, tmp_path):
    worker = Worker(store, tmp_path, settings())
    chosen(worker, "same")
    teach(worker)
    report = worker.publish(LEARN, user="")
    assert report.outcome == "learned", report
    (entry,) = ledger(worker)
    assert (entry.subject, entry.status, entry.replaces, entry.version) == (
        "behavioral_prior", "applied", "shipped-1", report.prior,
    )  # fmt: skip
    assert entry.after.success >= entry.before.success and entry.after.cases == 24 and entry.after.cost > 0
    assert 0 < entry.changed <= 24 and entry.samples[0].startswith("question, neutral, morning: ")
    (whole,) = ledger(worker, adjustment_id=entry.adjustment_id)
    assert json.loads(whole.body_json)["users"] == 6
    assert json.loads(whole.snapshot_json)["learned"] == ""
    back = decide(worker, entry.adjustment_id, "rollback", "odd choices")
    assert (back.status, back.reason, back.by) == ("rolled_back", "odd choices", "default")
    assert decide(worker, entry.adjustment_id, "rollback") == back
    answer = worker.select(user="probe-same", request_id="probe2")
    fresh = Worker(MemoryBehavioralStore(), tmp_path / "fresh", settings())
    fresh.consent("probe-same")
    fresh.select(user="probe-same", request_id="probe")
    expected = fresh.select(user="probe-same", request_id="probe2")
    assert (answer.skill_id, dict(answer.shares), answer.propensity) == (
        expected.skill_id, dict(expected.shares), expected.propensity,
    )  # fmt: skip
    assert worker.publish(LEARN, user="").outcome == "nothing_new"


def test_a_proposal_changes_nothing_until_it_is_approved(tmp_path):
    worker = Worker(MemoryBehavioralStore(), tmp_path, settings(behavioral_prior="propose"))
    teach(worker)
    report = worker.publish(LEARN, user="")
    assert (report.outcome, report.prior) == ("proposed", "shipped-1")
    assert worker.handlers.status()["adjustments"] == {"applied": {}, "proposed": 1}
    assert worker.publish(LEARN, user="").outcome == "nothing_new"
    (entry,) = ledger(worker)
    held = decide(worker, entry.adjustment_id, "approve")
    assert (held.status, held.by) == ("applied", "default")
    assert decide(worker, entry.adjustment_id, "approve") == held
    shown = worker.ask(behavioral_pb2.PoliciesRequest(), user="").priors
    assert [(one.version, one.status) for one in shown] == [(entry.version, "active")]
    assert worker.handlers.status()["adjustments"]["applied"] == {"behavioral_prior": entry.version}


def test_what_is_refused_or_switched_off_leaves_everything_as_it_was(tmp_path):
    strict = Worker(MemoryBehavioralStore(), tmp_path / "strict", settings(cases=1000))
    teach(strict)
    before = chosen(strict, "x")
    report = strict.publish(LEARN, user="")
    assert (report.outcome, report.prior, report.detail) == ("refused", "shipped-1", "too few cases: 24 of 1000")
    assert chosen(strict, "x") == before
    with pytest.raises(RefusedTransition):
        decide(strict, ledger(strict)[0].adjustment_id, "approve")
    off = Worker(MemoryBehavioralStore(), tmp_path / "off", settings(behavioral_prior="off"))
    teach(off)
    assert off.publish(LEARN, user="").outcome == "switched_off"
    assert ledger(off) == []


def test_where_people_like_it_less_afterwards_it_is_taken_back_by_itself_and_said(tmp_path):
    worker = Worker(MemoryBehavioralStore(), tmp_path, settings(watched_cases=20, fall=0.05, drift=0.0))
    teach(worker)
    assert worker.publish(LEARN, user="").outcome == "learned"
    later = START_US + 3 * HOUR_US
    for number in range(30):
        user, request = f"late{number % 5}", f"late-{number}"
        worker.consent(user)
        answer = worker.select(user=user, request_id=request, timestamp=later)
        worker.feedback(answer.skill_id, -1, user=user, request_id=request, timestamp=later)
    event = worker.event(LEARN, user="", occurred_us=later + HOUR_US)
    report = next(found for topic, found in worker.apply(event) if topic.startswith("memory/reply/"))
    assert (report.outcome, report.prior) == ("rolled_back", "shipped-1"), report
    assert report.detail.startswith("success fell from")
    entry = ledger(worker)[0]
    assert (entry.status, entry.by) == (ROLLED_BACK, "guardrails")
    assert entry.since["cases"] == 30
    (alarm,) = worker.handlers.status()["alarms"]
    assert "took back behavioral_prior" in alarm
    # Nothing of its kind is applied by itself for a while.
    again = worker.publish(LEARN, user="")
    assert again.outcome in {"proposed", "refused"}, again


def test_where_other_skills_are_chosen_than_before_the_drift_alarm_takes_it_back(tmp_path):
    worker = Worker(MemoryBehavioralStore(), tmp_path, settings(watched_cases=10, fall=1.0, drift=0.9))
    teach(worker)
    worker.publish(LEARN, user="")
    entry = ledger(worker)[0]
    if entry.status == "proposed":
        decide(worker, entry.adjustment_id, "approve")
    later = START_US + 3 * HOUR_US
    for number in range(20):
        worker.consent("other")
        worker.select(user="other", request_id=f"o{number}", timestamp=later, intent="emotional", sentiment="negative")
    event = worker.event(LEARN, user="", occurred_us=later + HOUR_US)
    report = next(found for topic, found in worker.apply(event) if topic.startswith("memory/reply/"))
    assert (report.outcome, report.prior) == ("rolled_back", "shipped-1"), report
    assert report.detail.startswith("drift: skills")


def test_decisions_that_make_no_sense_are_refused(tmp_path):
    worker = Worker(MemoryBehavioralStore(), tmp_path, settings())
    with pytest.raises(NotFound):
        decide(worker, "0198c0de-0000-7000-8000-000000000001", "rollback")
    with pytest.raises(NotFound):
        ledger(worker, adjustment_id="0198c0de-0000-7000-8000-000000000001")
    teach(worker)
    worker.publish(LEARN, user="")
    with pytest.raises(InvalidMessage, match="no decision"):
        decide(worker, ledger(worker)[0].adjustment_id, "forget")


def test_two_refits_are_taken_back_one_after_the_other(tmp_path):
    worker = Worker(MemoryBehavioralStore(), tmp_path, settings(drift=0.0, tolerance=1.0))
    teach(worker)
    first = worker.publish(LEARN, user="").prior
    teach(worker, at_us=START_US + HOUR_US, liked="casual_chat")
    second = worker.publish(LEARN, user="").prior
    assert len({first, second, "shipped-1"}) == 3
    newest, oldest = ledger(worker)
    assert (newest.status, oldest.status) == ("applied", "replaced")
    with pytest.raises(RefusedTransition):
        decide(worker, oldest.adjustment_id, "rollback")
    decide(worker, newest.adjustment_id, "rollback")
    assert [one.status for one in ledger(worker)] == ["rolled_back", "applied"]
    decide(worker, oldest.adjustment_id, "rollback")
    shown = worker.ask(behavioral_pb2.PoliciesRequest(), user="").priors
    assert [one.status for one in shown] == ["replaced", "replaced"]
