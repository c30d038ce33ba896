"""A changed policy on the worker's own log: answered over the bus before it is configured, and nothing changes."""

import json

import pytest

from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.errors import InvalidMessage
from aico_memory.settings import Settings
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import Worker

HYBRID = "hybrid-40-30-30"
FIGURES = {"people": 20, "decisions": 6, "draws": 4, "least_decisions": 20, "least_effective": 5}


def evaluated(worker, policy="", **settings):
    told = json.dumps(settings) if settings else ""
    return worker.ask(behavioral_pb2.PolicyEvaluationRequest(policy=policy, settings_json=told), user="")


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """Five people with six judged selections each, by the older policy, which explores."""
    settings = Settings.model_validate({"behavioral": {"policy": HYBRID, "evaluation": FIGURES}})
    worker = Worker(MemoryBehavioralStore(), tmp_path_factory.mktemp("home"), settings)
    for number in range(5):
        user = f"user{number}"
        worker.consent(user)
        for turn in range(6):
            answer = worker.select(user=user, request_id=f"{user}-{turn}")
            good = answer.skill_id == "reactive_only"
            worker.feedback(answer.skill_id, 1 if good else -1, user=user, request_id=f"{user}-{turn}")
    yield worker
    worker.handlers.close()


def test_another_policy_is_compared_with_the_one_in_use_on_what_was_logged(used):
    before = used.export()
    found = evaluated(used, "hierarchical-thompson")
    assert (found.decisions, found.people) == (30, 5)
    assert (found.in_use.policy, found.candidate.policy) == (HYBRID, "hierarchical-thompson")
    assert list(found.changes) == [f"policy: {HYBRID} → hierarchical-thompson"]
    assert 0 <= found.in_use.low <= found.in_use.value <= found.in_use.high <= 1
    assert found.in_use.support == pytest.approx(1, abs=0.5)
    assert found.difference == pytest.approx(found.candidate.value - found.in_use.value)
    assert used.export() == before
    assert evaluated(used, "hierarchical-thompson") == found


def test_changed_figures_are_tried_out_too_and_the_same_ones_are_said_to_be_the_same(used):
    found = evaluated(used, hybrid={"trigger": 0.2, "posterior": 0.7, "alignment": 0.1}, trigger={"candidates": 3})
    assert [change.partition(":")[0] for change in found.changes] == [
        "hybrid.alignment", "hybrid.posterior", "hybrid.trigger", "trigger.candidates",
    ]  # fmt: skip
    same = evaluated(used, policy=HYBRID)
    assert (same.outcome, list(same.changes), same.difference) == ("unchanged", [], 0)


def test_only_people_with_consent_count_and_what_was_taken_back_does_not(tmp_path):
    settings = Settings.model_validate({"behavioral": {"policy": HYBRID, "evaluation": FIGURES}})
    worker = Worker(MemoryBehavioralStore(), tmp_path, settings)
    for user in ("ann", "bob"):
        worker.consent(user)
        answer = worker.select(user=user, request_id=f"{user}-1")
        worker.feedback(answer.skill_id, 1, user=user, request_id=f"{user}-1")
    worker.consent("bob", on=False)
    found = evaluated(worker)
    assert (found.outcome, found.decisions, found.observed) == ("too_few_decisions", 1, 1.0)
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann"))
    assert evaluated(worker).decisions == 0


@pytest.mark.parametrize(
    ("policy", "settings"),
    [("nonsense", "{}"), ("", "{"), ("", "[]"), ("", '{"hybrid": {"trigger": 2}}'), ("", '{"library": {}}'),
     ("", '{"policy": "nonsense"}'), ("", '{"hybrid": {"unknown": 1}}')],
)  # fmt: skip
def test_what_cannot_be_configured_is_refused(used, policy, settings):
    with pytest.raises(InvalidMessage):
        used.ask(behavioral_pb2.PolicyEvaluationRequest(policy=policy, settings_json=settings), user="")
