"""What thumbs taught on a skill of one's own stays what they taught, whatever became of the skill since."""

import json
import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.errors import InvalidMessage, SkillNotFound
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.test_refining import complained, skills
from tests.unit.behavioral.worker import START_US, Worker, own_skill

LEARNED = ("posterior", "preference", "skill", "stated_style", "taste", "wish")
EXTRA = uuid.UUID(int=4242)
ID = "limericks"
LOW, HIGH = [0.1] * 16, [0.9] * 16


@pytest.fixture(params=["twin", "sql"])
def worker(request, tmp_path):
    store = MemoryBehavioralStore() if request.param == "twin" else SqlBehavioralStore.open(tmp_path / "b", None)
    made = begun(Worker(store, tmp_path))
    yield made
    made.handlers.close()


def begun(worker):
    worker.consent()
    worker.feedback("casual_chat", -1)
    return worker


def learned(worker):
    """All that was learned of the person, the styles of their skills and the course of confidence."""
    lines = [json.loads(line) for line in worker.export("ann")]
    kept = [line for line in lines if line["section"].removeprefix("behavioral.") in LEARNED]
    course = [line for line in lines if line["section"] == "behavioral.evolution" and line["what"] == "learned"]
    (state,) = [line for line in lines if line["section"] == "behavioral.consent"]
    return kept, course, state["feedback_count"], [(one.skill_id, one.version, list(one.dimensions)) for one in skills(worker)]


def change(worker, action, skill_id=ID):
    return worker.publish(behavioral_pb2.ChangeSkill(user_id="ann", skill_id=skill_id, action=action))


def now_us(worker):
    return START_US + worker.count * 1_000_000


def something_else_is_undone(worker):
    """Two thumbs on another skill, one deleted and one undone: what else was learned is learned again."""
    event_id = uuid.UUID(int=EXTRA.int + worker.count)
    worker.feedback("casual_chat", 1, event_id=event_id)
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", event_id=event_id.bytes))
    until_us = now_us(worker)
    worker.feedback("casual_chat", -1, reason="too_brief")
    return worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=until_us))


def test_thumbs_on_a_version_of_before_are_learned_again_with_its_style(worker):
    own_skill(worker, ID, dimensions=HIGH)
    for reward in (1, 1, -1):
        worker.feedback(ID, reward)
    own_skill(worker, ID, dimensions=LOW)
    worker.feedback(ID, 1)
    before = learned(worker)
    something_else_is_undone(worker)
    assert learned(worker) == before


def test_other_words_keep_the_style_and_undo_goes_behind_them(worker):
    made = own_skill(worker, ID, dimensions=LOW)
    until_us = now_us(worker)
    worker.feedback(ID, 1)
    (moved,) = skills(worker)
    own_skill(worker, ID, template="Answer in verse.", intents=[])
    worker.feedback(ID, 1)
    before = learned(worker)
    assert list(skills(worker)[0].dimensions) != list(moved.dimensions) != list(made.dimensions)
    something_else_is_undone(worker)
    assert learned(worker) == before
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=until_us))
    (undone,) = skills(worker)
    assert (list(undone.dimensions), undone.template) == (LOW, "Answer in verse.")


def test_what_goes_back_to_a_version_begins_with_the_style_that_this_was_made_with(worker):
    own_skill(worker, ID, dimensions=LOW)
    worker.feedback(ID, 1)
    own_skill(worker, ID, template="Answer in verse.")
    assert list(change(worker, "revert").dimensions) == LOW
    worker.feedback(ID, 1)
    before = learned(worker)
    something_else_is_undone(worker)
    assert learned(worker) == before
    assert list(change(worker, "revert").dimensions) == LOW


def test_a_deleted_skill_leaves_what_its_thumbs_taught_of_the_person_and_another_of_its_id_gets_none_of_it(worker):
    own_skill(worker, ID, dimensions=HIGH)
    worker.feedback(ID, 1)
    own_skill(worker, ID, dimensions=LOW)
    worker.feedback(ID, -1, reason="too_verbose")
    taught = learned(worker)
    change(worker, "delete")
    worker.publish(behavioral_pb2.LearnNow(), user="")
    before = learned(worker)
    assert before[1:3] == taught[1:3], "its thumbs count"
    assert something_else_is_undone(worker).left == 3
    assert learned(worker) == before
    with pytest.raises(SkillNotFound):
        worker.feedback(ID, 1)
    again = own_skill(worker, ID, template="Answer in verse.")
    assert (again.uses, set(again.style.values())) == (0, {0.5})
    with pytest.raises(InvalidMessage, match="no version"):
        change(worker, "revert")
    worker.feedback(ID, 1)
    before = learned(worker)
    something_else_is_undone(worker)
    assert learned(worker) == before
    assert not any("rhyme" in line for line in worker.export())


def test_complaints_about_a_deleted_skill_refine_no_other_of_its_id(worker):
    complained(worker, skill_id=ID)
    change(worker, "delete")
    own_skill(worker, ID)
    worker.feedback(ID, -1, reason="too_verbose")
    assert worker.publish(behavioral_pb2.LearnNow(), user="").proposals == 0


def test_a_skill_without_thumbs_leaves_nothing_where_it_was(worker):
    before = worker.handlers.status()["rows"]["user_skills"]
    own_skill(worker, ID)
    own_skill(worker, ID, template="Answer in verse.")
    change(worker, "delete")
    assert worker.handlers.status()["rows"]["user_skills"] == before
    assert own_skill(worker, ID).version == 1


def test_undo_of_a_refinement_brings_back_what_thumbs_had_taught_of_the_style_before(worker):
    worker.feedback("detailed_explanation", 1)
    made = own_skill(worker, dimensions=LOW)
    worker.feedback(made.skill_id, 1)
    for _ in range(3):
        worker.feedback(made.skill_id, -1, reason="too_brief")
    worker.publish(behavioral_pb2.LearnNow(), user="")
    (standing,), (proposed,) = skills(worker, "accepted"), skills(worker, "proposed")
    until_us = now_us(worker)
    change(worker, "accept", proposed.skill_id)
    worker.feedback(made.skill_id, 1)
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=until_us))
    (again,) = skills(worker)
    assert list(again.dimensions) == list(standing.dimensions) != LOW
    before = learned(worker)
    something_else_is_undone(worker)
    assert learned(worker) == before


STEPS = (
    *[("thumb", ID, 1, "")] * 3, ("thumb", ID, -1, "wrong_tone"), ("thumb", ID, -1, "too_verbose"), ("thumb", "odes", 1, ""),
    *[("put", ID, style, "") for style in (None, LOW, HIGH)], ("put", "odes", HIGH, ""), ("delete", ID, 0, ""),
    ("revert", ID, 0, ""), ("archive", ID, 0, ""), ("thumb", "detailed_explanation", 1, ""), ("night", "", 0, ""),
)  # fmt: skip


def take(worker, step):
    kind, skill_id, value, reason = step
    if kind == "thumb":
        worker.feedback(skill_id, value, reason=reason)
    elif kind == "put":
        own_skill(worker, skill_id, dimensions=value)
    elif kind == "night":
        worker.publish(behavioral_pb2.LearnNow(), user="")
    else:
        change(worker, kind, skill_id)


@given(st.lists(st.sampled_from(STEPS), min_size=4, max_size=14))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_became_of_own_skills_what_else_is_undone_leaves_all_that_was_learned(tmp_path, course):
    worker = begun(Worker(MemoryBehavioralStore(), tmp_path))
    own_skill(worker, ID, dimensions=HIGH)
    for step in course:
        try:
            take(worker, step)
        except (SkillNotFound, InvalidMessage):
            continue
    before = learned(worker)
    something_else_is_undone(worker)
    assert learned(worker) == before


def test_a_style_may_name_some_dimensions_and_the_others_stay(worker):
    made = own_skill(worker, style={"verbosity": 0.1})
    assert (made.style["verbosity"], made.style["formality"]) == (0.1, 0.5)
    second = own_skill(worker, made.skill_id, style={"formality": 0.9})
    assert (second.version, second.style["verbosity"], second.style["formality"]) == (2, 0.1, 0.9)
    third = own_skill(worker, made.skill_id, template="Answer in verse.")
    assert (third.style["verbosity"], third.style["formality"]) == (0.1, 0.9)
    event = behavioral_pb2.ChangeSkill(user_id="ann", skill_id=made.skill_id, action="revert")
    back = worker.publish(event)
    assert (back.style["verbosity"], back.style["formality"]) == (0.1, 0.9)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"style": {"wit": 0.5}}, "wit"),
        ({"style": {"verbosity": 1.5}}, "verbosity"),
        ({"style": {"verbosity": float("nan")}}, "verbosity"),
        ({"style": {"verbosity": 0.5}, "dimensions": [0.5] * 16}, "twice"),
    ],
)
def test_a_style_that_is_none_makes_no_skill(worker, wrong, told):
    with pytest.raises(InvalidMessage, match=told):
        own_skill(worker, **wrong)
    assert not [one for one in worker.ask(behavioral_pb2.SkillsRequest(user_id="ann")).skills if one.type == "user_created"]
