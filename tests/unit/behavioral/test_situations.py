import pytest

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


def test_a_whole_batch_is_prepared_before_it_is_applied(worker):
    worker.model.intent = "casual"
    request = behavioral_pb2.SkillSelectionRequest(user_id="ann", message_text="Hi there", time_of_day="morning")
    events = [worker.event(request) for _ in range(3)]
    emitted = worker.apply(*events)
    answers = [message for _, message in emitted if isinstance(message, behavioral_pb2.SkillSelectionResponse)]
    assert {one.skill_id for one in answers} == {"casual_chat"}
    assert len(answers) == 6
