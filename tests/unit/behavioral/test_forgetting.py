"""A person deletes selections: what was asked, what was chosen and why; what thumbs have taught stays."""

import json

import pytest

from aico_memory.contracts.v1 import behavioral_pb2, bus_pb2
from aico_memory.errors import InvalidMessage, NotFound
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import START_US, Worker


@pytest.fixture(params=["twin", "sql"])
def worker(request, tmp_path):
    store = MemoryBehavioralStore() if request.param == "twin" else SqlBehavioralStore.open(tmp_path / "b", None)
    made = Worker(store, tmp_path)
    made.consent()
    yield made
    made.handlers.close()


def delete(worker, user="ann", **fields):
    """How many went, as the answer and the audit tell."""
    emitted = worker.apply(worker.event(behavioral_pb2.DeleteSelections(user_id=user, **fields), user=user))
    (answer,) = [one for _, one in emitted if isinstance(one, behavioral_pb2.SelectionsDeleted)]
    (told,) = [json.loads(one.detail_json) for _, one in emitted if isinstance(one, bus_pb2.AuditEvent)]
    assert told == {"selections": answer.deleted}
    return answer.deleted


def listed(worker, user="ann"):
    page = worker.ask(behavioral_pb2.SelectionListRequest(user_id=user), user=user)
    return [one.request_id for one in page.selections]


def kept(worker, user="ann"):
    """Ids of the requests of which anything stands, and everything else."""
    lines = [json.loads(line) for line in worker.export(user)]
    course = {"behavioral.selection", "behavioral.trajectory"}
    asked = {one["request_id"] for one in lines if one["section"] in course}
    return asked, [one for one in lines if one["section"] not in course]


def three(worker):
    for name in ("r1", "r2", "r3"):
        worker.select(f"Question {name}?", request_id=name)
        worker.feedback("", -1, request_id=name)


def test_one_request_goes_with_what_was_asked_and_what_it_taught_stays(worker):
    three(worker)
    before = kept(worker)
    assert before[0] == {"r1", "r2", "r3"}
    assert delete(worker, request_id="r2") == 1
    assert kept(worker) == ({"r1", "r3"}, before[1])
    assert listed(worker) == ["r3", "r1"]
    with pytest.raises(NotFound):
        worker.ask(behavioral_pb2.ExplainSelectionRequest(user_id="ann", request_id="r2"))
    with pytest.raises(NotFound):
        worker.publish(behavioral_pb2.DeleteSelections(user_id="ann", request_id="r2"))


def test_all_up_to_a_moment_go_and_then_all(worker):
    three(worker)
    # The third selection is the event before the last.
    third_us = START_US + (worker.count - 1) * 1_000_000
    assert delete(worker, until_us=third_us - 1) == 2
    assert listed(worker) == ["r3"]
    assert delete(worker) == 1
    assert kept(worker)[0] == set()
    assert delete(worker) == 0
    with pytest.raises(InvalidMessage):
        worker.publish(behavioral_pb2.DeleteSelections(user_id="ann", until_us=-1))


def test_another_persons_selections_stay(worker):
    worker.consent("ben")
    three(worker)
    worker.select(user="ben", request_id="r1")
    assert delete(worker) == 3
    assert listed(worker, "ben") == ["r1"]
    assert kept(worker, "ben")[0] == {"r1"}


def test_a_request_that_comes_again_is_answered_as_before(worker):
    first = worker.select(request_id="again")
    assert delete(worker, request_id="again") == 1
    assert worker.select(request_id="again").skill_id == first.skill_id
    assert listed(worker) == ["again"]
