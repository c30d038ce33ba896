"""The answer that was given with a selected skill: kept with consent, shown, exported, and gone with its trajectory."""

import json

import pytest

from aico_memory.contracts.v1 import behavioral_pb2, bus_pb2
from aico_memory.errors import NotFound
from tests.unit.behavioral.worker import START_US, of_type

DAY_US = 86_400_000_000


def record(worker, text, request_id="r1", user="ann"):
    message = behavioral_pb2.RecordResponse(user_id=user, request_id=request_id, response_text=text)
    return worker.publish(message, user=user).status


def listed(worker, user="ann"):
    return worker.ask(behavioral_pb2.SelectionListRequest(user_id=user), user=user).selections


def exported(worker):
    lines = [json.loads(line) for line in worker.export("ann")]
    return [line["response"] for line in lines if line["section"] == "behavioral.trajectory"]


def test_the_answer_is_listed_by_its_beginning_and_exported_whole_until_it_is_deleted(consenting):
    consenting.select(request_id="r1")
    assert (listed(consenting)[0].response_text, exported(consenting)) == ("", [None])
    assert record(consenting, "far " * 100) == "recorded"
    assert listed(consenting)[0].response_text == ("far " * 50)[:199] + "…"
    assert exported(consenting) == ["far " * 100]
    assert record(consenting, "384,400 km") == "recorded"
    assert (listed(consenting)[0].response_text, exported(consenting)) == ("384,400 km", ["384,400 km"])
    assert record(consenting, "") == "deleted"
    assert (listed(consenting)[0].response_text, exported(consenting)) == ("", [None])


def test_without_consent_nothing_is_kept_and_what_was_kept_can_be_deleted(worker):
    worker.select(request_id="off")
    assert record(worker, "words", "off") == "no_consent"
    worker.consent()
    assert record(worker, "words", "off") == "no_trajectory"
    worker.select(request_id="r1")
    record(worker, "first")
    worker.consent(on=False)
    assert record(worker, "second") == "no_consent"
    assert exported(worker) == ["first"]
    assert record(worker, "") == "deleted"
    assert exported(worker) == [None]


def test_deleting_an_answer_is_audited_as_deleting_a_selection_is_and_recording_one_is_not(consenting):
    consenting.select(request_id="r1")

    def audited(text):
        message = behavioral_pb2.RecordResponse(user_id="ann", request_id="r1", response_text=text)
        return [(one.action, json.loads(one.detail_json)) for one in of_type(
            consenting.apply(consenting.event(message)), bus_pb2.AuditEvent
        )]  # fmt: skip

    assert audited("384,400 km") == []
    assert audited("") == [("response_deleted", {"responses": 1})]
    assert audited("") == [], "there was none any more"


def test_the_answer_of_an_unknown_request_or_of_another_user_is_refused(consenting):
    consenting.select(request_id="r1")
    consenting.consent("bob")
    with pytest.raises(NotFound):
        record(consenting, "words", "r2")
    with pytest.raises(NotFound):
        record(consenting, "words", user="bob")
    assert exported(consenting) == [None]


def test_the_answer_goes_with_its_selection_and_with_the_retention_of_its_trajectory(consenting):
    consenting.select(request_id="r1", timestamp=START_US)
    consenting.select(request_id="r2", timestamp=START_US)
    assert (record(consenting, "one", "r1"), record(consenting, "two", "r2")) == ("recorded", "recorded")
    consenting.publish(behavioral_pb2.DeleteSelections(user_id="ann", request_id="r1"))
    assert exported(consenting) == ["two"]
    for days in (91, 457):
        cleanup = behavioral_pb2.BehavioralCleanUp(firing_id=f"f{days}", planned_at_us=START_US + days * DAY_US)
        consenting.apply(consenting.event(cleanup, user=""))
    assert exported(consenting) == []
    assert record(consenting, "late", "r2") == "no_trajectory"


def test_lists_go_on_by_their_cursor_to_the_end(consenting):
    for number in range(5):
        answer = consenting.select(request_id=f"r{number}")
        consenting.feedback(answer.skill_id, 1, request_id=f"r{number}")

    def selections(after=""):
        return consenting.ask(behavioral_pb2.SelectionListRequest(user_id="ann", limit=2, after=after))

    def thumbs(after=b""):
        return consenting.ask(behavioral_pb2.FeedbackListRequest(user_id="ann", limit=2, after=after))

    seen, page = [], selections()
    while True:
        seen += [one.request_id for one in page.selections]
        if not page.next:
            break
        page = selections(page.next)
    assert seen == ["r4", "r3", "r2", "r1", "r0"]
    seen, found = [], thumbs()
    while True:
        seen += [one.request_id for one in found.feedback]
        if not found.next:
            break
        found = thumbs(found.next)
    assert seen == ["r4", "r3", "r2", "r1", "r0"]
    with pytest.raises(NotFound):
        selections("gone")
    with pytest.raises(NotFound):
        thumbs(bytes(16))
