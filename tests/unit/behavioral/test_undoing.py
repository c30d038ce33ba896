"""Over the worker's handlers: undo restores a moment, whatever a night or an edit made of older thumbs since."""

import json
import uuid

import pytest

from aico_memory.contracts.v1 import behavioral_pb2
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import START_US, Worker

LEARNED = ("behavioral.posterior", "behavioral.preference", "behavioral.skill", "behavioral.taste", "behavioral.wish")
FIRST = uuid.UUID(int=71)


@pytest.fixture(params=["twin", "sql"])
def worker(request, tmp_path):
    store = MemoryBehavioralStore() if request.param == "twin" else SqlBehavioralStore.open(tmp_path / "b", None)
    made = Worker(store, tmp_path)
    made.consent()
    yield made
    made.handlers.close()


def now_us(worker):
    return START_US + worker.count * 1_000_000


def sections(worker, *names):
    lines = [json.loads(line) for line in worker.export("ann")]
    return [line for line in lines if line["section"] in names]


def learned(worker):
    return sections(worker, *LEARNED)


def night(worker):
    return worker.publish(behavioral_pb2.LearnNow(), user="")


def edit(worker, **fields):
    return worker.publish(behavioral_pb2.EditFeedback(user_id="ann", event_id=FIRST.bytes, **fields))


def undo(worker, until_us):
    return worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=until_us))


def thumb(worker):
    (found,) = sections(worker, "behavioral.feedback")
    return found


def test_what_a_night_made_of_older_thumbs_goes_and_the_next_night_does_not_bring_it_again(worker):
    for _ in range(3):
        worker.feedback("detailed_explanation", -1, reason="too_verbose")
    before, until_us = learned(worker), now_us(worker)
    assert night(worker).signals == 3
    after = learned(worker)
    assert after != before
    result = undo(worker, until_us)
    assert (result.undone, result.left) == (0, 3)
    assert learned(worker) == before
    assert night(worker).signals == 0
    assert learned(worker) == before


def test_what_a_night_had_made_by_then_stays(worker):
    worker.feedback("detailed_explanation", -1, reason="too_verbose")
    night(worker)
    before, until_us = learned(worker), now_us(worker)
    worker.feedback("detailed_explanation", 1)
    undo(worker, until_us)
    assert learned(worker) == before


def test_a_thumb_that_was_edited_since_says_and_teaches_what_it_did_then(worker):
    worker.feedback("casual_chat", 1, event_id=FIRST)
    before, said, until_us = learned(worker), thumb(worker), now_us(worker)
    edit(worker, reward=-1, reason="too_brief")
    edit(worker, reward=0)
    result = undo(worker, until_us)
    assert (result.undone, result.left) == (1, 1)
    assert (learned(worker), thumb(worker)) == (before, said)
    assert not sections(worker, "behavioral.former_feedback")
    assert undo(worker, until_us).undone == 0


def test_an_edit_of_before_stays_and_a_later_one_goes(worker):
    worker.feedback("casual_chat", 1, event_id=FIRST)
    edit(worker, reward=-1)
    before, until_us = learned(worker), now_us(worker)
    edit(worker, reward=1)
    undo(worker, until_us)
    assert learned(worker) == before
    assert thumb(worker)["reward"] == -1


def test_the_reward_of_a_use_is_that_of_then(worker):
    chosen = worker.select(request_id="r1")
    worker.feedback(chosen.skill_id, 1, event_id=FIRST, request_id="r1")
    until_us = now_us(worker)
    edit(worker, reward=-1)
    undo(worker, until_us)
    (use,) = sections(worker, "behavioral.trajectory")
    assert use["reward"] == 1


def test_a_neutral_thumb_goes_and_gives_the_use_the_reward_back_that_it_had(worker):
    chosen = worker.select(request_id="r1")
    worker.feedback(chosen.skill_id, -1, request_id="r1")
    before, until_us = learned(worker), now_us(worker)
    worker.feedback(chosen.skill_id, 0, request_id="r1")
    result = undo(worker, until_us)
    assert (result.undone, result.left) == (1, 1)
    (use,) = sections(worker, "behavioral.trajectory")
    assert (use["reward"], learned(worker)) == (-1, before)


def test_a_reason_that_was_edited_before_its_night_moves_nothing_twice(worker):
    worker.feedback("detailed_explanation", -1, event_id=FIRST, reason="too_verbose")
    before, until_us = learned(worker), now_us(worker)
    edit(worker, reason="too_brief")
    night(worker)
    undo(worker, until_us)
    assert (learned(worker), thumb(worker)["reason"]) == (before, "too_verbose")
    assert night(worker).signals == 0


def test_an_edited_reason_without_a_night_waits_for_one_again(worker):
    worker.feedback("detailed_explanation", -1, event_id=FIRST, reason="too_verbose")
    until_us = now_us(worker)
    edit(worker, reason="wrong_tone")
    undo(worker, until_us)
    assert night(worker).signals == 1


def test_words_that_an_edit_took_away_are_kept_nowhere(worker):
    worker.feedback("casual_chat", -1, event_id=FIRST, free_text="Far too short")
    until_us = now_us(worker)
    edit(worker, free_text="")
    (former,) = sections(worker, "behavioral.former_feedback")
    assert (former["same_text"], former["reward"]) == (False, -1)
    assert not any("Far too short" in line for line in worker.export("ann"))
    undo(worker, until_us)
    assert (thumb(worker)["free_text"], thumb(worker)["reward"]) == (None, -1)


def test_a_text_that_an_edit_left_alone_stays(worker):
    worker.feedback("casual_chat", -1, event_id=FIRST, free_text="Far too short")
    until_us = now_us(worker)
    edit(worker, reward=1)
    undo(worker, until_us)
    assert (thumb(worker)["free_text"], thumb(worker)["reward"]) == ("Far too short", -1)


def test_what_deleted_feedback_said_before_goes_with_it(worker):
    worker.feedback("casual_chat", 1, event_id=FIRST)
    edit(worker, reward=-1)
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", event_id=FIRST.bytes))
    assert not sections(worker, "behavioral.feedback", "behavioral.former_feedback")


def test_an_undo_that_takes_back_nothing_changes_nothing_where_a_night_heard_a_text_and_a_reason(worker):
    worker.publish(behavioral_pb2.PutPreference(user_id="ann", style={"verbosity": 0.0}))
    worker.feedback("casual_chat", -1, reason="too_verbose", free_text="Way too short")
    night(worker)
    before = learned(worker)
    undo(worker, now_us(worker))
    assert learned(worker) == before
