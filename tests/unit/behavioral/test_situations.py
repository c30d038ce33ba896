from concurrent.futures import Future
from time import monotonic, tzset

import pytest
from pydantic import ValidationError

from aico_memory.contracts.v1 import behavioral_pb2, model_pb2
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.paths import shipped_config
from aico_memory.settings import Settings
from aico_memory.stores.behavioral.skill_file import FILE, load_skills
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import START_US, Worker

SUMMARISE = "summarising a text, a meeting or a conversation"


FEW = ("casual_chat", "summarize_key_points", "concise_response", "detailed_explanation", "empathy_direct", "empathy_subtle")


@pytest.fixture
def worker(tmp_path):
    """Few skills and the hybrid policy, whose shares are plain multiples of the trigger."""
    base = load_skills(shipped_config() / FILE)
    hybrid = {"behavioral": {"policy": "hybrid-40-30-30", "model_deadline_ms": 10, "model_retry_ms": 1}}
    few = Catalogue.of(base.get(skill) for skill in FEW)
    made = Worker(MemoryBehavioralStore(), tmp_path, Settings.model_validate(hybrid), few)
    made.consent()
    return made


def parts(answer):
    return dict(entry.split("=", 1) for entry in answer.answered_by.split(", "))


def test_what_the_caller_says_is_used_and_the_model_is_not_asked(worker):
    answer = worker.select(intent="question", sentiment="neutral", time_of_day="morning")
    assert worker.model.asked == []
    assert parts(answer) == {"intent": "caller", "sentiment": "caller", "time_of_day": "caller"}


def test_what_the_caller_leaves_out_comes_from_the_model(worker):
    worker.model.intent, worker.model.sentiment = "casual", "positive"
    answer = worker.select("Lovely day!", intent="", sentiment="", time_of_day="morning")
    assert answer.skill_id == "casual_chat"
    assert parts(answer) == {
        "intent": "prototypes", "sentiment": "lexicon", "time_of_day": "caller", "topic": "tiny",
    }  # fmt: skip


def test_the_model_is_asked_only_for_what_is_missing(worker):
    worker.select(intent="question", sentiment="")
    (asked,) = worker.model.asked
    assert list(asked.tasks) == ["sentiment"]


def test_the_vector_of_a_text_comes_with_its_labels_and_is_made_once(worker):
    worker.model.vectors = {SUMMARISE: (0.0, 1.0, 0.0, 0.0), "near": (0.0, 1.0, 0.0, 0.0)}
    worker.model.intent = "summary"
    answer = worker.select("near", intent="", time_of_day="morning")
    assert answer.shares["trigger"] == pytest.approx(0.4)
    assert [list(one.tasks) for one in worker.model.asked if isinstance(one, model_pb2.AnalyseRequest)] == [
        ["intent", "vector"]
    ]
    assert not any("near" in one.texts for one in worker.model.asked if isinstance(one, model_pb2.EmbedRequest))
    # Said once more, it is not embedded again; another text is compared by what it is said to be about.
    worker.select("near", intent="", time_of_day="morning")
    worker.select("far", intent="", topic_text="near", time_of_day="morning")
    assert [list(one.tasks) for one in worker.model.asked[-2:]] == [["intent"], ["intent"]]


def test_without_the_model_the_marks_decide_and_that_is_said(worker):
    worker.model.away = True
    answer = worker.select("How far is the moon?", intent="", sentiment="", time_of_day="morning")
    assert answer.outcome == "applied"
    assert parts(answer) == {
        "intent": "builtin-marks", "sentiment": "default", "time_of_day": "caller", "topic": "left_out",
    }  # fmt: skip
    assert worker.handlers.status()["model_answers"] is False
    worker.model.away = False
    assert parts(worker.select(intent="", sentiment="neutral"))["intent"] == "prototypes"
    assert worker.handlers.status()["model_answers"] is True


def test_a_near_topic_raises_the_trigger_and_a_far_one_lowers_it(worker):
    worker.model.vectors = {SUMMARISE: (0.0, 1.0, 0.0, 0.0), "near": (0.0, 1.0, 0.0, 0.0), "far": (0.0, 0.0, 1.0, 0.0)}
    near = worker.select("near", intent="summary")
    far = worker.select("far", intent="summary")
    assert near.skill_id == far.skill_id == "summarize_key_points"
    assert near.shares["trigger"] == pytest.approx(0.4)
    assert far.shares["trigger"] == pytest.approx(0.4 * 0.4 / 0.7)


def test_a_topic_text_is_compared_instead_of_the_message(worker):
    worker.model.vectors = {SUMMARISE: (0.0, 1.0, 0.0, 0.0), "minutes": (0.0, 1.0, 0.0, 0.0), "hello": (0.0, 0.0, 1.0, 0.0)}
    assert worker.select("hello", intent="summary", topic_text="minutes").shares["trigger"] == pytest.approx(0.4)


def test_the_skills_topics_are_embedded_once_and_again_for_another_model(worker):
    def asked_topics():
        return sum(SUMMARISE in one.texts for one in worker.model.asked if isinstance(one, model_pb2.EmbedRequest))

    worker.select("a", intent="summary")
    worker.select("b", intent="summary")
    assert asked_topics() == 1
    worker.model.fingerprint = "other|4|2"
    assert parts(worker.select("c", intent="summary"))["topic"] == "tiny"
    assert asked_topics() == 2


def test_no_embedding_is_asked_for_where_no_topic_could_decide(worker):
    worker.select("x", intent="emotional", sentiment="negative")
    assert worker.model.asked == []


@pytest.mark.parametrize(
    ("zone", "bucket_time"),
    [("", "morning"), ("Asia/Tokyo", "evening"), ("America/Los_Angeles", "night"), ("Mars/Olympus", "morning")],
)
def test_the_time_of_day_is_that_of_the_persons_zone(worker, zone, bucket_time):
    by_clock = worker.select(time_of_day="", zone=zone, timestamp=START_US)
    assert by_clock.bucket == worker.select(time_of_day=bucket_time).bucket
    assert parts(by_clock)["time_of_day"] == f"clock({zone if zone not in ('', 'Mars/Olympus') else 'UTC'})"


def test_a_zone_that_is_none_is_refused_in_the_settings(worker):
    with pytest.raises(ValidationError, match="Europe/Zurch"):
        Settings.model_validate({"behavioral": {"zone": "Europe/Zurch"}})
    assert Settings.model_validate({"behavioral": {"zone": "Asia/Tokyo"}}).behavioral.zone == "Asia/Tokyo"


def test_where_the_machine_has_lost_its_zones_the_time_is_utc_and_that_is_said(worker, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    tzset()
    try:
        situations = worker.handlers._situations
        situations._settings = situations._settings.model_copy(update={"zone": "Europe/Zurch"})
        by_clock = worker.select(time_of_day="", timestamp=START_US)
    finally:
        monkeypatch.undo()
        tzset()
    assert parts(by_clock)["time_of_day"] == "clock(UTC)"
    assert by_clock.bucket == worker.select(time_of_day="morning").bucket


def test_a_whole_batch_is_prepared_before_it_is_applied(worker):
    worker.model.intent = "casual"
    request = behavioral_pb2.SkillSelectionRequest(user_id="ann", message_text="Hi there", time_of_day="morning")
    events = [worker.event(request) for _ in range(3)]
    emitted = worker.apply(*events)
    answers = [message for _, message in emitted if isinstance(message, behavioral_pb2.SkillSelectionResponse)]
    assert {one.skill_id for one in answers} == {"casual_chat"}
    assert len(answers) == 6


def test_who_waits_for_a_choice_gets_it_soon_where_the_model_says_nothing_and_late_words_bring_it_back(tmp_path):
    settings = Settings.model_validate({"behavioral": {"model_deadline_ms": 60_000, "model_wait_ms": 20, "model_retry_ms": 1}})
    worker = Worker(MemoryBehavioralStore(), tmp_path, settings)
    worker.consent()
    asked = []

    def silent(message, **_):
        asked.append((message, Future()))
        return asked[-1][1]

    answered, worker.model.request = worker.model.request, silent
    started = monotonic()
    answer = worker.select(intent="", sentiment="", time_of_day="morning")
    assert monotonic() - started < 30
    assert parts(answer)["intent"] == "builtin-marks"
    assert parts(answer)["topic"] == "left_out"
    assert worker.handlers.status()["model_answers"] is False
    message, late = asked[0]
    late.set_result(answered(message).result())
    assert worker.handlers.status()["model_answers"] is True


def test_a_text_that_was_compared_before_is_not_embedded_again_until_the_topics_are(worker):
    def embedded():
        return [list(one.texts) for one in worker.model.asked if isinstance(one, model_pb2.EmbedRequest)]

    first = worker.select("hello", intent="summary", topic_text="minutes")
    again = worker.select("another message", intent="summary", topic_text="minutes")
    assert embedded().count(["minutes"]) == 1
    assert (again.shares["trigger"], parts(again)) == (first.shares["trigger"], parts(first))
    worker.model.away = True
    assert parts(worker.select("hi", intent="summary", topic_text="minutes"))["topic"] == "tiny"
    worker.model.away, worker.model.fingerprint = False, "other|4|2"
    worker.select("hi", intent="summary", topic_text="garden")
    worker.select("hi", intent="summary", topic_text="minutes")
    assert embedded().count(["minutes"]) == 2


def test_only_so_many_texts_are_kept(tmp_path):
    settings = Settings.model_validate({"behavioral": {"model_deadline_ms": 10, "model_retry_ms": 1, "cached_topics": 1}})
    made = Worker(MemoryBehavioralStore(), tmp_path, settings)
    for text in ("one", "two", "two", "one"):
        made.select("x", intent="summary", topic_text=text)
    asked = [list(one.texts) for one in made.model.asked if isinstance(one, model_pb2.EmbedRequest)]
    assert [asked.count([text]) for text in ("one", "two")] == [2, 1]
