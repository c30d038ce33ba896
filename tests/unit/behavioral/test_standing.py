"""Undo to a point in time lets skills stand as they stood then: accepted proposals, refinements, and what was put aside."""

import json

import pytest

from aico_memory.contracts.v1 import behavioral_pb2, bus_pb2
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.test_own_skills import archived, crowded
from tests.unit.behavioral.test_refining import complained, skills
from tests.unit.behavioral.worker import START_US, Worker, own_skill


@pytest.fixture(params=["twin", "sql"])
def worker(request, tmp_path):
    store = MemoryBehavioralStore() if request.param == "twin" else SqlBehavioralStore.open(tmp_path / "b", None)
    made = Worker(store, tmp_path)
    made.consent()
    yield made
    made.handlers.close()


def change(worker, skill_id, action):
    return worker.publish(behavioral_pb2.ChangeSkill(user_id="ann", skill_id=skill_id, action=action))


def now_us(worker):
    """When the last event was."""
    return START_US + worker.count * 1_000_000


def undo(worker, until_us):
    """Take back what came after; how many skills stand otherwise since, as the audit tells."""
    emitted = worker.apply(worker.event(behavioral_pb2.UndoLearning(user_id="ann", until_us=until_us)))
    (told,) = [json.loads(one.detail_json) for _, one in emitted if isinstance(one, bus_pb2.AuditEvent)]
    return told["skills"]


def statuses(worker):
    return {one.skill_id: one.status for one in worker.ask(behavioral_pb2.SkillsRequest(user_id="ann")).skills}


def test_a_proposal_that_was_accepted_is_one_again(worker):
    for number in range(40):
        answer = worker.select(request_id=f"r{number}", intent="summary")
        worker.feedback(answer.skill_id, -1, request_id=f"r{number}")
    worker.publish(behavioral_pb2.LearnNow(), user="")
    (proposed,) = skills(worker, "proposed")
    before = now_us(worker)
    change(worker, proposed.skill_id, "accept")
    change(worker, proposed.skill_id, "archive")
    accepted = now_us(worker)
    assert undo(worker, before) == 1
    (again,) = skills(worker)
    assert (again.status, again.evidence, again.template) == ("proposed", proposed.evidence, proposed.template)
    assert undo(worker, before) == 0
    assert change(worker, proposed.skill_id, "accept").status == "accepted"
    assert undo(worker, accepted) == 1, "what was accepted once more was a proposal in between"


def test_what_was_put_aside_by_hand_returns_and_what_was_restored_is_put_aside(worker):
    made = own_skill(worker)
    change(worker, "casual_chat", "archive")
    between = now_us(worker)
    change(worker, "casual_chat", "restore")
    change(worker, "concise_response", "archive")
    change(worker, made.skill_id, "archive")
    assert undo(worker, between) == 3
    standing = statuses(worker)
    assert (standing["casual_chat"], standing["concise_response"], standing[made.skill_id]) == ("archived", "", "accepted")
    assert undo(worker, 0) == 1
    assert "archived" not in statuses(worker).values()


def test_new_words_and_old_ones_leave_a_skill_aside_until_it_is_restored(worker):
    made = own_skill(worker)
    change(worker, made.skill_id, "archive")
    assert own_skill(worker, made.skill_id, template="Answer in verse.").status == "archived"
    back = change(worker, made.skill_id, "revert")
    assert (back.status, back.template) == ("archived", "Answer in rhyme.")
    assert worker.select(intent="creative", request_id="aside").skill_id != made.skill_id
    put_aside = now_us(worker)
    assert change(worker, made.skill_id, "restore").status == "accepted"
    assert change(worker, made.skill_id, "revert").status == "accepted"
    assert undo(worker, put_aside) == 1
    assert statuses(worker)[made.skill_id] == "archived"


def test_a_proposal_with_other_words_is_one_until_it_is_accepted(worker):
    made, proposed = complained(worker)
    before = now_us(worker)
    edited = own_skill(worker, proposed.skill_id, template="Answer in a limerick.", intents=[])
    assert (edited.status, edited.template) == ("proposed", "Answer in a limerick.")
    assert {one.skill_id: one.evidence for one in skills(worker)} == {made.skill_id: "", proposed.skill_id: proposed.evidence}
    assert undo(worker, before) == 0
    accepted = change(worker, proposed.skill_id, "accept")
    assert (accepted.skill_id, accepted.version, accepted.template) == (made.skill_id, 2, "Answer in a limerick.")
    assert [one.skill_id for one in skills(worker)] == [made.skill_id]


def test_a_refined_skill_that_was_put_aside_since_is_as_it_was(worker):
    made, proposed = complained(worker)
    before = now_us(worker)
    change(worker, proposed.skill_id, "accept")
    change(worker, made.skill_id, "archive")
    assert [(one.status, one.template) for one in skills(worker)] == [("archived", proposed.template)]
    assert undo(worker, before) == 2
    assert [(one.status, one.template) for one in skills(worker)] == [("accepted", made.template)]


def test_what_was_put_aside_for_want_of_room_returns(tmp_path):
    worker, _ = crowded(MemoryBehavioralStore(), tmp_path)
    before = now_us(worker)
    worker.feedback("concise_response", 1)
    assert len(archived(worker)) == 2
    assert undo(worker, before) == 2
    assert archived(worker) == []


def test_a_refined_skill_has_its_words_and_style_of_before(worker):
    made, proposed = complained(worker)
    before = now_us(worker)
    assert change(worker, proposed.skill_id, "accept").template == proposed.template != made.template
    assert undo(worker, before) == 1
    (again,) = skills(worker)
    assert (again.skill_id, again.status, again.version, again.template) == (made.skill_id, "accepted", 3, made.template)
    assert list(again.dimensions) == list(made.dimensions)
    assert undo(worker, before) == 0


def test_words_that_its_user_wrote_since_stay(worker):
    made, proposed = complained(worker)
    before = now_us(worker)
    change(worker, proposed.skill_id, "accept")
    own_skill(worker, made.skill_id, template="Answer in verse.")
    assert undo(worker, before) == 0
    assert [one.template for one in skills(worker)] == ["Answer in verse."]


def test_what_was_deleted_since_stays_deleted(worker):
    made = own_skill(worker)
    before = now_us(worker)
    change(worker, made.skill_id, "archive")
    change(worker, made.skill_id, "delete")
    assert undo(worker, before) == 0
    assert made.skill_id not in statuses(worker)


def test_a_proposal_that_was_put_aside_is_one_again_when_it_is_restored(worker):
    _, proposed = complained(worker)
    change(worker, proposed.skill_id, "archive")
    assert change(worker, proposed.skill_id, "restore").status == "proposed"


def test_what_was_in_use_is_in_use_again_also_where_it_was_a_proposal_once(worker):
    made = own_skill(worker)
    change(worker, made.skill_id, "archive")
    assert change(worker, made.skill_id, "restore").status == "accepted"
    missed(worker)
    night(worker)
    (proposed,) = skills(worker, "proposed")
    change(worker, proposed.skill_id, "archive")
    before = now_us(worker)
    change(worker, proposed.skill_id, "accept")
    change(worker, proposed.skill_id, "archive")
    assert change(worker, proposed.skill_id, "restore").status == "accepted"
    assert undo(worker, before) == 1
    assert change(worker, proposed.skill_id, "restore").status == "proposed"


def missed(worker):
    """Thumbs that point away from all that is at hand with an intent."""
    for number in range(40):
        answer = worker.select(request_id=f"r{number}", intent="summary")
        worker.feedback(answer.skill_id, -1, request_id=f"r{number}")


def night(worker):
    """How many skills it proposes."""
    return worker.publish(behavioral_pb2.LearnNow(), user="").proposals


@pytest.mark.parametrize("action", ["archive", ""])
def test_only_what_can_be_chosen_keeps_a_skill_from_being_proposed(worker, tmp_path, action):
    other = Worker(MemoryBehavioralStore(), tmp_path / "other")
    other.consent()
    missed(other)
    assert night(other) == 1
    (wanted,) = skills(other, "proposed")
    missed(worker)
    own = own_skill(worker, intents=["summary"], dimensions=list(wanted.dimensions))
    if action:
        change(worker, own.skill_id, action)
    assert night(worker) == (1 if action else 0)
