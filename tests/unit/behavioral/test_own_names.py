"""What a person calls a skill of their own is told with each choice, and kept in no other place than the sealed skill."""

import json

import pytest

from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.settings import Settings
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import Worker, own_skill


@pytest.fixture(params=["twin", "sql"])
def worker(request, tmp_path):
    store = MemoryBehavioralStore() if request.param == "twin" else SqlBehavioralStore.open(tmp_path / "b", None)
    settings = {"behavioral": {"model_deadline_ms": 10, "model_retry_ms": 1, "diversity": {"share": 0.5, "least": 2}}}
    made = Worker(store, tmp_path, Settings.model_validate(settings), root_key=bytes(range(32)))
    made.consent()
    yield made
    made.handlers.close()


def explained(worker, request_id):
    return worker.ask(behavioral_pb2.ExplainSelectionRequest(user_id="ann", request_id=request_id)).explanation


def lines_with(worker, word):
    return [section for line in worker.export() if word in line for section in [json.loads(line)["section"]]]


def chosen(worker, made, times=30):
    """The own skill is liked and tried until it was chosen, and until another one stands in for it."""
    alone = beside = None
    for number in range(times):
        answer = worker.select(intent="creative", request_id=f"r{number}")
        worker.feedback(answer.skill_id, 1 if answer.skill_id == made.skill_id else -1, request_id=f"r{number}")
        if answer.skill_id == made.skill_id:
            alone = answer
        elif "Rhymes" in answer.explanation:
            beside = answer
    return alone, beside


def test_a_name_is_told_as_it_is_now_and_goes_with_the_skill(worker):
    made = own_skill(worker)
    alone, beside = chosen(worker, made)
    assert alone.explanation.startswith("Rhymes scores ")
    assert "Rhymes has made" in beside.explanation
    assert explained(worker, alone.request_id) == alone.explanation
    assert explained(worker, beside.request_id) == beside.explanation
    again = worker.select(intent="creative", request_id=alone.request_id)
    assert (again.skill_name, again.explanation) == ("Rhymes", alone.explanation)
    assert set(lines_with(worker, "Rhymes")) == {"behavioral.user_skill"}
    own_skill(worker, made.skill_id, name="Odes")
    assert explained(worker, alone.request_id) == alone.explanation.replace("Rhymes", "Odes")
    worker.publish(behavioral_pb2.ChangeSkill(user_id="ann", skill_id=made.skill_id, action="archive"))
    assert explained(worker, beside.request_id) == beside.explanation.replace("Rhymes", "Odes")
    worker.publish(behavioral_pb2.ChangeSkill(user_id="ann", skill_id=made.skill_id, action="delete"))
    assert explained(worker, alone.request_id) == alone.explanation.replace("Rhymes", made.skill_id)
    assert explained(worker, beside.request_id) == beside.explanation.replace("Rhymes", made.skill_id)
    assert lines_with(worker, "Rhymes") == lines_with(worker, "Odes") == []


def test_a_name_goes_with_the_key_of_its_person(worker):
    made = own_skill(worker)
    alone, beside = chosen(worker, made)
    worker.handlers._ports.vault.users.destroy("ann")
    for one in (alone, beside):
        assert explained(worker, one.request_id) == one.explanation.replace("Rhymes", made.skill_id)
    assert lines_with(worker, "Rhymes") == []
    names = {one.skill_name for one in worker.ask(behavioral_pb2.SelectionListRequest(user_id="ann")).selections}
    assert "Rhymes" not in names
