"""A person's key is destroyed, and perhaps another one made since: what the old one sealed is gone, and all goes on."""

import json

import pytest

from aico_memory.contracts.v1 import behavioral_pb2, sleep_pb2
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import Worker, of_type, own_skill

WORDS = ("rhyme", "Rhymes", "far too long", "How far is the moon")


@pytest.fixture(params=["twin", "sql"])
def worker(request, tmp_path):
    store = MemoryBehavioralStore() if request.param == "twin" else SqlBehavioralStore.open(tmp_path / "b", None)
    made = Worker(store, tmp_path, root_key=bytes(range(32)))
    made.consent()
    yield made
    made.handlers.close()


@pytest.fixture
def keys(worker):
    return worker.handlers._ports.vault.users


def taught(worker):
    """An own skill with a topic, a use with its answer, three complaints that call for a refinement, and one in words."""
    made = own_skill(worker, topics=["poems"])
    worker.select(request_id="r1")
    worker.publish(behavioral_pb2.RecordResponse(user_id="ann", request_id="r1", response_text="In rhyme."))
    for _ in range(3):
        worker.feedback(made.skill_id, -1, reason="too_verbose")
    worker.feedback("casual_chat", -1, free_text="That was far too long.")
    return made


def asked(worker):
    """Everything that is told of what was sealed."""
    selections = worker.ask(behavioral_pb2.SelectionListRequest(user_id="ann")).selections
    return [
        *worker.ask(behavioral_pb2.SkillsRequest(user_id="ann")).skills,
        *worker.ask(behavioral_pb2.FeedbackListRequest(user_id="ann")).feedback,
        *selections,
        *[worker.ask(behavioral_pb2.ExplainSelectionRequest(user_id="ann", request_id=one.request_id)) for one in selections],
        *worker.ask(behavioral_pb2.BehaviorExportRequest(user_id="ann")).lines,
        *worker.export(),
    ]


def test_under_another_key_what_the_old_one_sealed_is_gone_and_the_person_is_served(worker, keys):
    made = taught(worker)
    keys.destroy("ann")
    keys.sealer("ann")
    assert worker.select("Hm?", request_id="r2", intent="creative").skill_id not in ("", made.skill_id)
    assert not [word for word in WORDS for told in asked(worker) if word in str(told)]
    emitted = worker.apply(worker.event(behavioral_pb2.ClassifyFeedback(firing_id="f1"), user=""))
    (sorted_texts,) = of_type(emitted, sleep_pb2.JobFinished)
    assert sorted_texts.detail == "1 texts sorted, 0 moved a preference"
    assert worker.publish(behavioral_pb2.LearnNow(), user="").proposals == 0
    changing = worker.event(behavioral_pb2.ChangeSkill(user_id="ann", skill_id=made.skill_id, action="archive"))
    selecting = worker.event(behavioral_pb2.SkillSelectionRequest(user_id="ann", message_text="Hm?", request_id="r3"))
    chosen = of_type(worker.apply(changing, selecting), behavioral_pb2.SkillSelectionResponse)
    assert {one.request_id for one in chosen} == {"r3"}
    again = own_skill(worker, made.skill_id, name="Odes", template="Answer in an ode.")
    assert (again.name, again.template, list(again.intents)) == ("Odes", "Answer in an ode.", ["creative"])


def test_the_night_makes_no_key_for_whom_it_was_destroyed_and_reads_the_others(worker, keys):
    worker.consent("zoe")
    theirs = own_skill(worker, user="zoe")
    for _ in range(3):
        worker.feedback(theirs.skill_id, -1, user="zoe", reason="too_verbose")
    taught(worker)
    keys.destroy("ann")
    assert worker.publish(behavioral_pb2.LearnNow(), user="").proposals == 1
    assert worker.ask(behavioral_pb2.PolicyEvaluationRequest(policy="hybrid-40-30-30"), user="").outcome
    lines = [json.loads(line) for line in worker.export("ann")]
    assert {line["definition"] for line in lines if line["section"] == "behavioral.user_skill"} == {None}
    assert not keys.exists("ann")


def test_who_has_no_key_any_more_is_told_the_base_skills_and_all_that_is_not_sealed(worker, keys):
    made = taught(worker)
    keys.destroy("ann")
    told = {one.skill_id for one in worker.ask(behavioral_pb2.SkillsRequest(user_id="ann")).skills}
    assert "casual_chat" in told
    assert made.skill_id not in told
    assert not [word for word in WORDS for one in asked(worker) if word in str(one)]
    assert not keys.exists("ann")
