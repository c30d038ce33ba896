"""The behavioral worker's handlers: selections, consent, what is kept for how long, the export."""

import json
import uuid

import pytest

from aico_memory.contracts.v1 import behavioral_pb2, bus_pb2, sleep_pb2
from aico_memory.domain.behavioral.situation import bucket_of
from aico_memory.errors import ConfigurationInvalid, InvalidMessage, NotFound
from aico_memory.settings import Settings
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import REPLY, START_US, Worker, confidence, of_type

DAY_US = 86_400_000_000
FIRST = uuid.UUID("01890a5d-ac96-774b-bcce-b302099a8057")


def test_a_selection_is_answered_announced_and_applied(consenting):
    request = behavioral_pb2.SkillSelectionRequest(
        user_id="ann", message_text="How far is the moon?", intent="question", sentiment="neutral", time_of_day="morning",
        apply=True,
    )  # fmt: skip
    event = consenting.event(request)
    emitted = consenting.apply(event)
    (answer,) = [message for topic, message in emitted if topic == REPLY]
    (announced,) = [message for topic, message in emitted if topic == "memory/behavioral/skill_response/v1/"]
    (applied,) = of_type(emitted, behavioral_pb2.SkillApplicationEvent)
    assert answer == announced
    page = consenting.ask(behavioral_pb2.SkillsRequest(user_id="ann"))
    assert answer.skill_id in {skill.skill_id for skill in page.skills if "question" in skill.intents}
    assert answer.procedure_template
    assert answer.outcome == "applied"
    assert answer.policy == "hierarchical-thompson"
    assert 0 < answer.propensity <= 1
    assert sum(answer.shares.values()) == pytest.approx(answer.score)
    assert set(answer.shares) == {"trigger", "posterior", "alignment"}
    assert answer.request_id == str(event.event_id)
    assert (applied.skill_id, applied.request_id) == (answer.skill_id, answer.request_id)


def test_a_selection_is_no_application_until_somebody_puts_it_to_use(consenting):
    fields = {"user_id": "ann", "message_text": "How far?", "intent": "question", "request_id": "r"}
    chosen = consenting.apply(consenting.event(behavioral_pb2.SkillSelectionRequest(**fields)))
    assert not of_type(chosen, behavioral_pb2.SkillApplicationEvent)
    emitted = consenting.apply(consenting.event(behavioral_pb2.SkillSelectionRequest(**fields, apply=True)))
    (applied,) = of_type(emitted, behavioral_pb2.SkillApplicationEvent)
    (answer, *_) = of_type(emitted, behavioral_pb2.SkillSelectionResponse)
    assert (applied.skill_id, applied.skill_name, applied.request_id) == (answer.skill_id, answer.skill_name, "r")


def test_where_no_skill_applies_none_is_named_and_that_is_said(consenting):
    event = consenting.event(
        behavioral_pb2.SkillSelectionRequest(
            user_id="ann", message_text="x", intent="unheard_of", sentiment="neutral", time_of_day="night", apply=True
        )
    )
    emitted = consenting.apply(event)
    assert not of_type(emitted, behavioral_pb2.SkillApplicationEvent)
    (answer, _) = of_type(emitted, behavioral_pb2.SkillSelectionResponse)
    assert (answer.skill_id, answer.outcome) == ("", "no_applicable_skill")
    assert "No skill's conditions" in answer.explanation


def test_the_same_request_replayed_into_another_store_gives_the_same_choice(tmp_path):
    def run(folder):
        worker = Worker(MemoryBehavioralStore(), folder)
        worker.consent()
        seen = []
        for number in range(60):
            answer = worker.select(request_id=f"r{number}")
            seen.append((answer.skill_id, answer.is_exploration, dict(answer.shares)))
            worker.feedback(answer.skill_id, 1 if number % 3 else -1, request_id=f"r{number}")
        return seen, worker.export()

    one, other = run(tmp_path / "one"), run(tmp_path / "other")
    assert one == other
    assert len({skill for skill, _, _ in one[0]}) > 1
    assert any(explored for _, explored, _ in one[0])


def test_another_deployment_seed_gives_other_draws(tmp_path):
    def shares(seed):
        worker = Worker(MemoryBehavioralStore(), tmp_path, Settings.model_validate({"behavioral": {"seed": seed}}))
        worker.consent()
        return dict(worker.select(request_id="r").shares)

    assert shares(1) == shares(1) != shares(2)


def test_a_request_id_asked_again_gets_the_answer_that_stands(consenting):
    first = consenting.select(request_id="r1")
    for _ in range(20):
        consenting.feedback(first.skill_id, -1)
    again = consenting.select(request_id="r1")
    first.selection_time_ms = 0
    assert again == first
    assert consenting.ask(behavioral_pb2.SelectionAnswerRequest(user_id="ann", request_id="r1")) == first


def test_an_unknown_time_of_day_is_refused(consenting):
    with pytest.raises(InvalidMessage, match="noon"):
        consenting.select(time_of_day="noon")


def test_learning_is_off_until_it_is_switched_on(worker):
    answers = [worker.select(request_id=f"r{number}") for number in range(30)]
    assert {(one.skill_id, one.is_exploration, one.outcome) for one in answers} == {("concise_response", False, "no_consent")}
    assert {one.policy for one in answers} == {"fixed-default"}
    result = worker.feedback("concise_response", free_text="far too long")
    assert (result.status, result.skill_updated, result.new_confidence) == ("no_consent", False, 0.5)
    counts = worker.handlers.status()["rows"]
    assert (counts["skill_states"], counts["posteriors"], counts["preferences"], counts["trajectories"]) == (0, 0, 0, 0)
    lines = [json.loads(line) for line in worker.export()]
    (kept,) = [line for line in lines if line["section"] == "behavioral.feedback"]
    told = {name: value for name, value in kept.items() if value not in (None, "", 0, False)}
    assert told.keys() == {"section", "key", "user", "event_id", "status", "new_confidence", "bucket"}
    assert told["bucket"] == bucket_of("", "", "")


def test_of_a_selection_without_consent_nothing_of_the_situation_is_kept(worker):
    answer = worker.select(request_id="r1", sentiment="negative")
    worker.select(request_id="r2", intent="unheard of")
    lines = [json.loads(line) for line in worker.export()]
    kept, nothing = [line for line in lines if line["section"] == "behavioral.selection"]
    for one in (kept, nothing):
        assert (one["intent"], one["sentiment"], one["time_of_day"], one["bucket"]) == ("", "", "", bucket_of("", "", ""))
    assert (kept["outcome"], kept["skill_id"], kept["explanation"] != "") == ("no_consent", answer.skill_id, True)
    again = worker.select(request_id="r1", sentiment="negative")
    assert (again.bucket, again.skill_id, again.explanation) == (answer.bucket, answer.skill_id, answer.explanation)
    worker.consent()
    assert worker.feedback("", 1, request_id="r1").status == "success"
    (cell,) = [json.loads(line) for line in worker.export() if '"behavioral.taste"' in line]
    assert (cell["intent"], cell["sentiment"]) == ("", "")


def test_consent_taken_back_loses_nothing_that_was_learned(consenting):
    consenting.feedback("casual_chat")
    assert consenting.consent(on=False).behavioral is False
    assert consenting.feedback("casual_chat").status == "no_consent"
    assert confidence(consenting, "casual_chat") == pytest.approx(0.59)
    consenting.consent()
    assert consenting.feedback("casual_chat").new_confidence == pytest.approx(0.653)


def test_a_change_of_consent_leaves_the_other_one_and_is_audited(worker):
    event = worker.event(behavioral_pb2.ConsentChanged(user_id="ann", long_term=False))
    emitted = worker.apply(event)
    (state,) = of_type(emitted, behavioral_pb2.ConsentState)
    (audit,) = of_type(emitted, bus_pb2.AuditEvent)
    assert (state.behavioral, state.long_term) == (False, False)
    assert (audit.action, audit.subject, audit.actor) == ("consent_changed", "ann", "default")
    assert worker.consent().long_term is False
    again = worker.apply(worker.event(behavioral_pb2.ConsentChanged(user_id="ann", behavioral=True)))
    assert not of_type(again, bus_pb2.AuditEvent)


def test_a_batch_that_fails_leaves_nothing_and_applies_whole_afterwards(consenting):
    request = behavioral_pb2.SkillSelectionRequest(user_id="ann", message_text="What now?")
    events = [consenting.event(request), consenting.event(request)]
    before = consenting.export()
    consenting.handlers.prepare(events)
    with pytest.raises(ZeroDivisionError), consenting.store.state.transaction() as transaction:
        consenting.handlers.apply(transaction, events[0])
        raise ZeroDivisionError
    assert consenting.export() == before
    answers = of_type(consenting.apply(*events), behavioral_pb2.SkillSelectionResponse)
    assert {one.answered_by.split(",")[0] for one in answers} == {"intent=prototypes"}


def test_trajectories_without_a_thumb_are_archived_and_deleted_by_the_planned_time(consenting):
    consenting.select(request_id="silent")
    judged = consenting.select(request_id="judged")
    consenting.feedback(judged.skill_id, request_id="judged")

    def clean_up(days):
        message = behavioral_pb2.BehavioralCleanUp(firing_id=f"f{days}", planned_at_us=START_US + days * DAY_US)
        return of_type(consenting.apply(consenting.event(message, user="")), sleep_pb2.JobFinished)[0]

    def left():
        lines = map(json.loads, consenting.export())
        return {line["request_id"] for line in lines if line["section"] == "behavioral.trajectory"}

    assert clean_up(89).detail == "0 trajectories archived, 0 deleted"
    assert clean_up(91).detail == "1 trajectories archived, 0 deleted"
    assert left() == {"silent", "judged"}
    finished = clean_up(457)
    assert (finished.firing_id, finished.outcome, finished.detail) == ("f457", "done", "0 trajectories archived, 1 deleted")
    assert left() == {"judged"}


def test_old_selections_and_courses_are_deleted_and_what_was_judged_can_still_be_explained(consenting):
    judged = consenting.select(request_id="judged")
    consenting.feedback(judged.skill_id, request_id="judged")
    consenting.select(request_id="nothing", intent="unheard_of")
    consenting.consent(on=False)

    def clean_up(days):
        message = behavioral_pb2.BehavioralCleanUp(firing_id=f"f{days}", planned_at_us=START_US + days * DAY_US)
        return of_type(consenting.apply(consenting.event(message, user="")), sleep_pb2.JobFinished)[0].detail

    def exported(section):
        return [line for line in map(json.loads, consenting.export()) if line["section"] == f"behavioral.{section}"]

    assert clean_up(729) == "0 trajectories archived, 0 deleted"
    assert len(exported("selection")) == 2
    told = clean_up(731)
    assert told.startswith("0 trajectories archived, 0 deleted; 1 selections and 1 changes deleted; ")
    assert told.endswith("hourly figures deleted")
    assert [line["request_id"] for line in exported("selection")] == ["judged"]
    assert {line["what"] for line in exported("evolution")} == {"consent"}
    assert len(exported("feedback")) == 1
    assert consenting.ask(behavioral_pb2.ExplainSelectionRequest(request_id="judged", user_id="ann")).explanation


def test_the_export_has_the_texts_and_no_operational_fields(consenting):
    answer = consenting.select("Wie weit ist der Mond?", request_id="r1", conversation_id="c1")
    consenting.feedback(answer.skill_id, reason="too_brief", free_text="mehr bitte", request_id="r1")
    lines = consenting.export()
    found = {line["section"]: line for line in map(json.loads, lines)}
    assert found["behavioral.trajectory"]["input"] == "Wie weit ist der Mond?"
    assert (found["behavioral.trajectory"]["turn"], found["behavioral.trajectory"]["reward"]) == (1, 1)
    assert found["behavioral.feedback"]["free_text"] == "mehr bitte"
    assert found["behavioral.skill"]["confidence"] == pytest.approx(0.59)
    assert not any("selection_time" in line or "position" in line for line in lines)
    assert consenting.export(size=1) == lines
    with pytest.raises(InvalidMessage):
        consenting.handlers.export("", "nonsense", 10)


def test_answers_are_kept_for_their_user_only(consenting):
    consenting.select(request_id="r1")
    consenting.feedback("casual_chat", event_id=FIRST)
    with pytest.raises(NotFound):
        consenting.ask(behavioral_pb2.SelectionAnswerRequest(user_id="bob", request_id="r1"), user="bob")
    with pytest.raises(NotFound):
        consenting.ask(behavioral_pb2.FeedbackAnswerRequest(user_id="bob", event_id=FIRST.bytes), user="bob")
    with pytest.raises(NotFound):
        consenting.ask(behavioral_pb2.FeedbackAnswerRequest(user_id="ann", event_id=b"short"))


def test_skills_are_listed_with_their_sixteen_dimensions(worker):
    skills = worker.ask(behavioral_pb2.SkillsRequest(user_id="ann")).skills
    assert len(skills) >= 12
    assert {len(one.dimensions) for one in skills} == {16}
    assert {one.confidence for one in skills} == {0.5}


def test_a_policy_that_does_not_exist_stops_the_start(tmp_path):
    with pytest.raises(ConfigurationInvalid, match=r"behavioral\.policy"):
        Worker(MemoryBehavioralStore(), tmp_path, Settings.model_validate({"behavioral": {"policy": "guess"}}))


def test_what_was_learned_stands_after_the_store_was_closed(tmp_path):
    key = bytes(range(32))
    first = Worker(SqlBehavioralStore.open(tmp_path / "store", key), tmp_path)
    first.consent()
    twin = Worker(MemoryBehavioralStore(), tmp_path)
    twin.consent()
    for worker in (first, twin):
        for number in range(15):
            answer = worker.select(request_id=f"r{number}")
            worker.feedback(answer.skill_id, 1 - 2 * (number % 2), request_id=answer.request_id)
    before = first.export()
    assert before == twin.export()
    first.handlers.close()
    second = Worker(SqlBehavioralStore.open(tmp_path / "store", key), tmp_path)
    assert second.export() == before
    again = second.select(request_id="next")
    assert dict(again.shares) == dict(twin.select(request_id="next").shares)
    second.handlers.close()
