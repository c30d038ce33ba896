"""Own skills over the worker's handlers: made, chosen, judged, changed by version, put aside, proposed."""

import json

import pytest

from aico_memory.client.shapes import skill_shape
from aico_memory.clock import format_us
from aico_memory.contracts.v1 import behavioral_pb2, bus_pb2
from aico_memory.errors import InvalidMessage, SkillNotFound
from aico_memory.settings import Settings
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import START_US, Worker, own_skill

SKILLS = behavioral_pb2.SkillsRequest(user_id="ann")


@pytest.fixture
def worker(tmp_path):
    made = Worker(MemoryBehavioralStore(), tmp_path)
    made.consent()
    return made


def change(worker, skill_id, action, user="ann"):
    return worker.publish(behavioral_pb2.ChangeSkill(user_id=user, skill_id=skill_id, action=action), user=user)


def test_an_own_skill_is_chosen_judged_versioned_archived_and_deleted(worker):
    made = own_skill(worker)
    assert (made.type, made.status, made.version, made.name) == ("user_created", "accepted", 1, "Rhymes")
    assert set(made.style.values()) == {0.5}
    for number in range(60):
        answer = worker.select(intent="creative", request_id=f"r{number}")
        worker.feedback(answer.skill_id, 1 if answer.skill_id == made.skill_id else -1, request_id=f"r{number}")
    assert (answer.skill_id, answer.procedure_template) == (made.skill_id, "Answer in rhyme.")
    second = own_skill(worker, made.skill_id, template="Answer in verse.")
    assert (second.version, second.uses) == (2, next(s.uses for s in worker.ask(SKILLS).skills if s.skill_id == made.skill_id))
    assert worker.select(intent="creative", request_id="later").procedure_template == "Answer in verse."
    assert change(worker, made.skill_id, "archive").status == "archived"
    assert worker.select(intent="creative", request_id="gone").skill_id != made.skill_id
    assert change(worker, made.skill_id, "restore").status == "accepted"
    assert worker.select(intent="creative", request_id="back").skill_id == made.skill_id
    assert change(worker, made.skill_id, "delete").status == "deleted"
    assert made.skill_id not in {one.skill_id for one in worker.ask(SKILLS).skills}
    assert not any("rhyme" in line or "verse" in line for line in worker.export())
    with pytest.raises(SkillNotFound):
        change(worker, made.skill_id, "restore")


def test_an_own_skill_is_tried_beside_a_favourite_before_any_thumb_and_dropped_where_thumbs_refuse_it(worker):
    for number in range(12):
        answer = worker.select(intent="technical", request_id=f"f{number}")
        worker.feedback(answer.skill_id, 1, request_id=f"f{number}")
    made = own_skill(worker, intents=["technical"])

    def share(name):
        return sum(worker.select(intent="technical", request_id=f"{name}{n}").skill_id == made.skill_id for n in range(40)) / 40

    assert 0.2 < share("fresh") < 0.8
    first = worker.select(intent="technical", request_id="judged")
    for _ in range(5):
        worker.feedback(made.skill_id, -1, request_id=first.request_id)
    assert share("refused") == 0.0
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=0))
    assert share("forgotten") > 0.2


def test_an_own_skills_style_follows_what_it_is_liked_with(worker):
    made = own_skill(worker, intents=["question"])
    worker.feedback("concise_response", 1)
    for _ in range(10):
        worker.feedback(made.skill_id, 1)
    (found,) = [one for one in worker.ask(SKILLS).skills if one.skill_id == made.skill_id]
    assert found.style["verbosity"] < 0.5
    assert all(0 <= value <= 1 for value in found.dimensions)


@pytest.mark.parametrize(
    "fields",
    [
        {"template": "  "},
        {"intents": []},
        {"intents": [" ", "--"]},
        {"dimensions": [0.5] * 3},
        {"dimensions": [2.0] * 16},
        {"times_of_day": ["noon"]},
    ],
)
def test_an_own_skill_that_cannot_be_is_refused_and_leaves_nothing(worker, fields):
    before = worker.export()
    with pytest.raises(InvalidMessage):
        own_skill(worker, **fields)
    assert worker.export() == before


def test_base_skills_are_fixed_and_own_ones_are_limited(tmp_path):
    worker = Worker(MemoryBehavioralStore(), tmp_path, Settings.model_validate({"behavioral": {"library": {"user_skills": 2}}}))
    worker.consent()
    with pytest.raises(InvalidMessage, match="base skill"):
        own_skill(worker, "concise_response")
    with pytest.raises(InvalidMessage, match="base skill"):
        change(worker, "concise_response", "delete")
    one, _ = own_skill(worker), own_skill(worker)
    with pytest.raises(InvalidMessage, match="2 are allowed"):
        own_skill(worker)
    assert own_skill(worker, one.skill_id).version == 2


def test_a_base_skill_that_is_put_aside_is_not_chosen_until_it_returns(worker):
    skills = [one.skill_id for one in worker.ask(SKILLS).skills if "question" in one.intents]
    for skill in skills[1:]:
        assert change(worker, skill, "archive").status == "archived"
    assert {worker.select(request_id=f"a{number}").skill_id for number in range(20)} == {skills[0]}
    change(worker, skills[0], "archive")
    assert worker.select(request_id="none").outcome == "no_applicable_skill"
    assert change(worker, skills[0], "restore").status == ""
    assert worker.select(request_id="again").skill_id == skills[0]


def test_a_base_skill_that_is_put_aside_stays_aside_without_consent(worker):
    worker.consent(on=False)
    chosen = worker.select(request_id="before").skill_id
    change(worker, chosen, "archive")
    assert worker.select(request_id="after").skill_id != chosen


def test_beyond_the_limit_the_least_valuable_skills_are_archived_and_base_ones_last(tmp_path):
    limited = {"behavioral": {"library": {"bytes_per_user": 10_000, "archive_at_once": 2}}}
    worker = Worker(MemoryBehavioralStore(), tmp_path, Settings.model_validate(limited))
    worker.consent()
    made = own_skill(worker, intents=["question"])
    worker.feedback(made.skill_id, 1)
    number = 0
    while not (archived := [one.skill_id for one in worker.ask(SKILLS).skills if one.status == "archived"]):
        number += 1
        answer = worker.select(request_id=f"r{number}", intent="question", sentiment=f"mood{number}")
        worker.feedback("concise_response" if number % 2 else "casual_chat", -1, request_id=f"r{number}")
        assert answer.skill_id
        assert number < 200
    assert len(archived) == 2
    assert "concise_response" in archived or "casual_chat" in archived


def crowded(store, folder, skills=14):
    """A person beyond the limit, with so many skills of their own that they never used and four that they have judged."""
    limited = {"behavioral": {"library": {"bytes_per_user": 10_000, "archive_at_once": 2}}}
    roomy, worker = Worker(store, folder), Worker(store, folder, Settings.model_validate(limited))
    roomy.consent()
    for skill in ("concise_response", "casual_chat", "detailed_explanation", "summarize_key_points"):
        roomy.feedback(skill, 1)
    made = [own_skill(roomy, template=f"{number} " + "Answer in rhyme. " * 60).skill_id for number in range(skills)]
    worker.count = roomy.count
    return worker, made


def size(worker, user="ann"):
    with worker.store.reading() as rows:
        return rows.size_of(user)


def test_the_export_tells_that_a_base_skill_is_put_aside(worker):
    def exported():
        lines = [json.loads(line) for line in worker.export("ann")]
        return {one["skill_id"]: one["archived"] for one in lines if one["section"] == "behavioral.skill"}

    worker.feedback("casual_chat", -1)
    assert exported() == {"casual_chat": False}
    change(worker, "casual_chat", "archive")
    assert exported() == {"casual_chat": True}


def archived(worker):
    return [one.skill_id for one in worker.ask(SKILLS).skills if one.status == "archived"]


@pytest.mark.parametrize("kind", ["twin", "sql"])
def test_what_is_archived_frees_room_and_own_skills_that_were_never_used_go_first_and_it_is_told(kind, tmp_path):
    store = MemoryBehavioralStore() if kind == "twin" else SqlBehavioralStore.open(tmp_path / "b", None)
    worker, made = crowded(store, tmp_path)
    before = size(worker)
    assert before > 10_000
    thumb = behavioral_pb2.FeedbackEvent(user_id="ann", message_id="m", skill_id="concise_response", reward=1)
    emitted = worker.apply(worker.event(thumb))
    assert len(archived(worker)) == 2
    assert set(archived(worker)) <= set(made), "what was liked stays"
    assert size(worker) < before - 2000
    told = [one.skill_id for _, one in emitted if isinstance(one, behavioral_pb2.SkillUpdated) and one.reason == "archived"]
    assert sorted(told) == sorted(archived(worker))
    (audited,) = [one for _, one in emitted if isinstance(one, bus_pb2.AuditEvent)]
    assert (audited.action, json.loads(audited.detail_json)["skills"]) == ("skills_archived", told)
    with worker.store.reading() as rows:
        assert sorted(one.subject for one in rows.evolution_of("ann") if one.what == "archived") == sorted(told)
    while size(worker) > 10_000:
        worker.feedback("concise_response", 1)
    enough = archived(worker)
    for _ in range(3):
        worker.feedback("concise_response", 1)
    assert archived(worker) == enough, "within the limit nothing more is put aside"
    assert set(enough) < set(made)
    assert change(worker, enough[0], "restore").status == "accepted"
    worker.handlers.close()


@pytest.mark.parametrize("kind", ["twin", "sql"])
def test_skills_that_are_made_keep_within_the_limit_without_any_thumb_and_the_one_just_made_stays(kind, tmp_path):
    store = MemoryBehavioralStore() if kind == "twin" else SqlBehavioralStore.open(tmp_path / "b", None)
    worker = Worker(store, tmp_path)
    for number in range(100):
        made = own_skill(worker, template=f"{number:03}" + "短" * 3997)
        assert made.status == "accepted"
    assert size(worker) <= worker.settings.behavioral.library.bytes_per_user
    aside = archived(worker)
    assert aside and made.skill_id not in aside
    assert change(worker, aside[0], "restore").status == "accepted"
    assert aside[0] not in archived(worker)
    assert size(worker) <= worker.settings.behavioral.library.bytes_per_user
    worker.handlers.close()


def test_versions_of_before_put_no_skill_aside(tmp_path):
    worker, (made,) = crowded(MemoryBehavioralStore(), tmp_path, skills=1)
    for number in range(12):
        own_skill(worker, made, template=f"{number} " + "Answer in verse. " * 60)
    worker.feedback("concise_response", 1)
    assert archived(worker) == []


def test_a_new_version_keeps_the_name_and_the_conditions_that_it_does_not_say(worker):
    made = own_skill(worker, sentiments=["positive"])
    changed = own_skill(worker, made.skill_id, name="", intents=[], template="Answer in a limerick.")
    assert (changed.name, changed.template, changed.version) == ("Rhymes", "Answer in a limerick.", 2)
    assert (list(changed.intents), list(changed.sentiments)) == (["creative"], ["positive"])
    elsewhere = own_skill(worker, made.skill_id, name="", intents=["casual"], template="Answer in a limerick.")
    assert (list(elsewhere.intents), list(elsewhere.sentiments)) == (["casual"], []), "stated conditions are all there are"


@pytest.mark.parametrize("condition", ["intents", "sentiments", "times_of_day"])
def test_conditions_are_labels_and_not_without_number(worker, condition):
    with pytest.raises(InvalidMessage, match="33"):
        own_skill(worker, **{condition: [f"name{number}" for number in range(33)]})
    with pytest.raises(InvalidMessage, match="65 characters"):
        own_skill(worker, **{condition: ["n" * 65]})
    assert archived(worker) == [] and not any("name1" in line for line in worker.export())


def test_the_largest_skills_there_can_be_are_listed_in_one_answer(worker):
    def names(count, length):
        return [f"{number:02}" + "𐐨" * (length - 2) for number in range(count)]

    for number in range(100):
        own_skill(
            worker, name="𐐨" * 128, template=f"{number:02}" + "𐐨" * 3998, intents=names(32, 64), sentiments=names(32, 64),
            topics=names(8, 200),
        )  # fmt: skip
    page = worker.ask(SKILLS)
    assert sum(one.type == "user_created" for one in page.skills) == 100
    assert page.ByteSize() < worker.settings.bus.reply_bytes


def test_a_given_id_that_a_user_does_not_have_makes_no_skill(worker):
    made = own_skill(worker)
    with pytest.raises(SkillNotFound, match=made.skill_id):
        own_skill(worker, made.skill_id, user="bob")
    assert own_skill(worker, "limericks", user="bob").skill_id == "limericks", "an id may be chosen"
    change(worker, made.skill_id, "delete")
    with pytest.raises(SkillNotFound):
        own_skill(worker, made.skill_id)


def test_a_version_can_be_taken_back_and_brought_back(worker):
    first = own_skill(worker, dimensions=[0.1] * 16)
    own_skill(worker, first.skill_id, name="Limericks", template="Answer in a limerick.", dimensions=[0.9] * 16)
    back = change(worker, first.skill_id, "revert")
    assert (back.name, back.template, back.version) == ("Rhymes", "Answer in rhyme.", 3)
    assert list(back.dimensions) == [0.1] * 16
    assert worker.select(request_id="r", intent="creative").skill_id
    again = change(worker, first.skill_id, "revert")
    assert (again.name, again.template, list(again.dimensions)) == ("Limericks", "Answer in a limerick.", [0.9] * 16)
    with pytest.raises(InvalidMessage, match="no version"):
        change(worker, own_skill(worker).skill_id, "revert")
    with pytest.raises(SkillNotFound):
        change(worker, first.skill_id, "revert", user="bob")


def test_only_what_was_put_aside_is_restored_and_a_refused_change_is_not_in_the_audit(worker):
    made = own_skill(worker)

    def audited(action):
        event = worker.event(behavioral_pb2.ChangeSkill(user_id="ann", skill_id=made.skill_id, action=action))
        return [found for _, found in worker.apply(event) if isinstance(found, bus_pb2.AuditEvent)]

    with pytest.raises(InvalidMessage, match="not archived") as refused:
        change(worker, made.skill_id, "restore")
    assert "Only what was archived" in refused.value.mend
    assert audited("restore") == audited("explode") == []
    assert len(audited("archive")) == 1
    assert change(worker, made.skill_id, "restore").status == "accepted"


def test_a_proposed_template_speaks_first_of_what_reasons_named(worker):
    for number in range(40):
        answer = worker.select(request_id=f"r{number}", intent="creative", sentiment="neutral", time_of_day="morning")
        worker.feedback(answer.skill_id, -1, request_id=f"r{number}", reason="too_brief")
    assert worker.publish(behavioral_pb2.LearnNow(), user="").proposals == 1
    (proposed,) = [one for one in worker.ask(SKILLS).skills if one.status == "proposed"]
    assert proposed.style["verbosity"] > 0.5
    told = proposed.template.split(". ")
    assert told[:2] == ["Explain why, step by step", "Take the room that the matter needs"]


def test_where_everything_at_hand_keeps_missing_a_skill_is_proposed_and_used_once_accepted(worker):
    for number in range(40):
        answer = worker.select(request_id=f"r{number}", intent="summary")
        worker.feedback(answer.skill_id, -1, request_id=f"r{number}")
    assert worker.publish(behavioral_pb2.LearnNow(), user="").proposals == 1
    (proposed,) = [one for one in worker.ask(SKILLS).skills if one.status == "proposed"]
    assert proposed.template
    assert "40 of 40 thumbs pointed down" in proposed.evidence
    assert list(proposed.intents) == ["summary"]
    assert {worker.select(request_id=f"p{n}", intent="summary").skill_id for n in range(8)}.isdisjoint({proposed.skill_id})
    assert change(worker, proposed.skill_id, "accept").status == "accepted"
    assert worker.select(request_id="accepted", intent="summary").skill_id == proposed.skill_id
    assert worker.publish(behavioral_pb2.LearnNow(), user="").proposals == 0


def test_an_own_skill_says_when_it_was_made_and_changed_and_a_base_skill_does_not(worker):
    def at(skill_id):
        one = skill_shape(next(one for one in worker.ask(SKILLS).skills if one.skill_id == skill_id))
        return one["created_at"], one["updated_at"]

    def now():
        return format_us(START_US + worker.count * 1_000_000)

    made = own_skill(worker)
    created = now()
    assert at(made.skill_id) == (created, created)
    assert skill_shape(made)["created_at"] == created
    own_skill(worker, made.skill_id, template="Answer in verse.")
    changed = now()
    worker.feedback(made.skill_id, 1)
    assert at(made.skill_id) == (created, changed)
    change(worker, made.skill_id, "archive")
    archived = now()
    assert at(made.skill_id) == (created, archived)
    assert at("casual_chat") == (None, None)
