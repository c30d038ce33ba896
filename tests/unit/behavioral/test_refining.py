"""Templates of people's own skills: what feedback keeps naming is proposed, used once accepted, and taken back by version."""

import uuid

import pytest

from aico_memory.contracts.v1 import behavioral_pb2, sleep_pb2
from aico_memory.domain.behavioral.dimensions import DIMENSIONS, NEUTRAL
from aico_memory.domain.behavioral.records import FeedbackRecord
from aico_memory.domain.behavioral.refinement import RefinementFigures, refinement_of
from aico_memory.domain.behavioral.skill import Skill, Trigger
from aico_memory.errors import InvalidMessage, SkillNotFound
from aico_memory.settings import Settings
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import START_US, Worker, own_skill

FRAGMENTS = {"verbosity": ("Be short.", "Be long."), "explanation_depth": ("No why.", "Say why."), "formality": ("Du.", "Sie.")}
FIGURES = RefinementFigures()


def feedback(reward=-1, reason="", categories=None, **fields):
    event = uuid.UUID(int=1)
    return FeedbackRecord("ann", event, "m", "own", reward, 1, 0, "success", True, 0.5, reason, categories=categories, **fields)


def refined(*records, template="Rhyme.", dimensions=NEUTRAL, figures=FIGURES):
    return refinement_of(Skill("own", "Own", template, Trigger(), dimensions), records, FRAGMENTS, figures)


def value(found, dimension):
    return found.dimensions[DIMENSIONS.index(dimension)]


def test_what_is_named_often_enough_gets_its_sentence_and_moves_the_style():
    found = refined(*[feedback(reason="too_verbose")] * 3, feedback(1))
    assert found.template == "Rhyme. Be short. No why."
    assert (value(found, "verbosity"), value(found, "formality")) == (pytest.approx(0.3), 0.5)
    assert found.evidence == "4 feedbacks on it asked for 3 × less verbosity, 3 × less explanation_depth"


@pytest.mark.parametrize(
    "records",
    [
        [feedback(reason="too_verbose")] * 2,
        [feedback(reason="too_verbose")] * 3 + [feedback(reason="too_brief")],
        [feedback(reason="not_helpful")] * 9,
        [feedback(reason="too_verbose", undone_us=5)] * 3,
        [feedback(1, categories={"too_verbose": 0.9})] * 3,
        [feedback(0, categories={"too_verbose": 0.3})] * 3,
    ],
)
def test_too_little_both_ways_praise_and_what_was_taken_back_refine_nothing(records):
    assert refined(*records) is None


def test_a_text_counts_without_a_thumb_and_not_twice_beside_its_reason():
    said = {"too_brief": 0.8, "none": 0.1}
    assert refined(*[feedback(0, categories=said)] * 3).template == "Rhyme. Be long. Say why."
    assert refined(*[feedback(reason="too_brief", categories=said)] * 2) is None


def test_a_sentence_for_the_other_way_goes_and_one_that_stands_is_not_said_again():
    many = [feedback(reason="too_verbose")] * 3
    assert refined(*many, template="Be long. Rhyme.\n- Say why.").template == "Rhyme.\n- Be short. No why."
    assert refined(*many, template="Be short. No why.") is None
    assert refined(*many, template="Be short.").template == "Be short. No why."
    assert refined(*many, figures=RefinementFigures(sentences=1)).template == "Rhyme. Be short."


def test_away_from_a_skills_tone_is_away_from_where_it_stands():
    formal = tuple(0.9 if name == "formality" else 0.5 for name in DIMENSIONS)
    assert refined(*[feedback(reason="wrong_tone")] * 3, dimensions=formal).template == "Rhyme. Du."
    assert refined(*[feedback(reason="wrong_tone")] * 3) is None


@pytest.fixture
def worker(tmp_path):
    made = Worker(MemoryBehavioralStore(), tmp_path)
    made.consent()
    return made


def skills(worker, status=""):
    found = worker.ask(behavioral_pb2.SkillsRequest(user_id="ann")).skills
    return [one for one in found if one.type == "user_created" and status in ("", one.status)]


def change(worker, skill_id, action):
    return worker.publish(behavioral_pb2.ChangeSkill(user_id="ann", skill_id=skill_id, action=action))


def complained(worker, reason="too_verbose", **fields):
    """An own skill, three complaints on it, and the refinement that the night proposes."""
    made = own_skill(worker, **fields)
    for _ in range(3):
        worker.feedback(made.skill_id, -1, reason=reason)
    assert worker.publish(behavioral_pb2.LearnNow(), user="").proposals == 1
    (proposed,) = skills(worker, "proposed")
    return made, proposed


def test_a_night_that_has_no_time_left_leaves_proposals_to_the_next(tmp_path):
    store = MemoryBehavioralStore()
    hurried = Worker(store, tmp_path, Settings.model_validate({"behavioral": {"night_minutes": 0}}))
    hurried.consent()
    made = own_skill(hurried)
    for _ in range(3):
        hurried.feedback(made.skill_id, -1, reason="too_verbose")
    emitted = hurried.apply(hurried.event(behavioral_pb2.Learn(firing_id="f1"), user=""))
    (finished,) = [message for _, message in emitted if isinstance(message, sleep_pb2.JobFinished)]
    assert finished.detail.endswith("; 1 people wait for the next night's proposals")
    assert skills(hurried, "proposed") == []
    next_night = Worker(store, tmp_path)
    next_night.count = hurried.count
    assert next_night.publish(behavioral_pb2.LearnNow(), user="").proposals == 1


def test_a_refinement_is_used_once_accepted_as_a_version_that_is_taken_back(worker):
    made, proposed = complained(worker, sentiments=["positive"])
    assert proposed.evidence == (
        f"It refines version 1 of {made.skill_id}: 3 feedbacks on it asked for 3 × less verbosity, 3 × less explanation_depth"
    )
    chosen = worker.select(intent="creative", sentiment="positive", request_id="before")
    assert proposed.skill_id != chosen.skill_id
    accepted = change(worker, proposed.skill_id, "accept")
    assert (accepted.skill_id, accepted.version, accepted.name, accepted.status) == (made.skill_id, 2, "Rhymes", "accepted")
    assert accepted.template == "Answer in rhyme. Keep it short. Give the result without the reasoning."
    assert (list(accepted.intents), list(accepted.sentiments)) == (["creative"], ["positive"])
    assert accepted.style["verbosity"] == pytest.approx(0.3)
    assert [one.skill_id for one in skills(worker)] == [made.skill_id], "the proposal is gone"
    assert worker.publish(behavioral_pb2.LearnNow(), user="").proposals == 0, "thumbs of before were on another version"
    back = change(worker, made.skill_id, "revert")
    assert (back.template, back.style["verbosity"], back.version) == ("Answer in rhyme.", 0.5, 3)


def test_a_refinement_is_proposed_once_a_version_and_not_again_where_it_was_put_aside(worker):
    made, proposed = complained(worker)
    worker.feedback(made.skill_id, -1, reason="too_verbose")
    assert worker.publish(behavioral_pb2.LearnNow(), user="").proposals == 0
    assert change(worker, proposed.skill_id, "archive").status == "archived"
    assert worker.publish(behavioral_pb2.LearnNow(), user="").proposals == 0
    restored = change(worker, proposed.skill_id, "restore")
    assert (restored.skill_id, restored.status) == (proposed.skill_id, "proposed")
    assert change(worker, proposed.skill_id, "accept").skill_id == made.skill_id


def test_a_refinement_that_was_deleted_is_not_proposed_again_and_leaves_no_word(worker):
    made, proposed = complained(worker)
    assert change(worker, proposed.skill_id, "delete").status == "deleted"
    worker.feedback(made.skill_id, -1, reason="too_verbose")
    assert worker.publish(behavioral_pb2.LearnNow(), user="").proposals == 0
    assert [one.skill_id for one in skills(worker)] == [made.skill_id]
    assert not any("Keep it short" in line for line in worker.export())
    with pytest.raises(SkillNotFound):
        change(worker, proposed.skill_id, "accept")
    own_skill(worker, made.skill_id, template="Answer in verse.")
    for _ in range(3):
        worker.feedback(made.skill_id, -1, reason="too_verbose")
    assert worker.publish(behavioral_pb2.LearnNow(), user="").proposals == 1, "a new version is another skill to refine"


def test_a_refinement_of_what_is_another_skill_by_now_is_refused(worker):
    made, proposed = complained(worker)
    change(worker, made.skill_id, "archive")
    with pytest.raises(InvalidMessage, match="not in use"):
        change(worker, proposed.skill_id, "accept")
    change(worker, made.skill_id, "restore")
    own_skill(worker, made.skill_id, template="Answer in verse.")
    with pytest.raises(InvalidMessage, match="version 2 by now"):
        change(worker, proposed.skill_id, "accept")
    assert change(worker, proposed.skill_id, "delete").status == "deleted"
    assert [one.template for one in skills(worker)] == ["Answer in verse."]


def test_undo_after_a_refinement_was_accepted_leaves_its_style_as_it_was_made(worker):
    made, proposed = complained(worker)
    change(worker, proposed.skill_id, "accept")
    accepted_us = START_US + worker.count * 1_000_000
    worker.feedback("detailed_explanation", 1)
    worker.feedback(made.skill_id, 1)
    (learned,) = skills(worker)
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=accepted_us))
    (undone,) = skills(worker)
    assert undone.style["verbosity"] == pytest.approx(0.3) != learned.style["verbosity"]
    assert undone.template == proposed.template
