"""What people write of answers, through real processes: sorted on request, and at night, once, whatever dies."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Callable

import pytest

from aico_memory.clock import SystemClock
from aico_memory.contracts.envelope import make_record
from aico_memory.contracts.v1 import sleep_pb2
from aico_memory.domain.feedback.phrases import CATEGORIES
from aico_memory.errors import InvalidMessage
from aico_memory.runtime.processes import restart_process
from aico_memory.runtime.waiting import until
from tests.support.deployment import Deployment

pytestmark = pytest.mark.deployment
SAID = {
    "en": ("I stopped reading, there is simply too much text.", "too_verbose"),
    "de": ("Bitte erklär mir das viel ausführlicher.", "too_brief"),
    "fr": ("Ton ton est vraiment impoli.", "wrong_tone"),
    "es": ("Eso no me ayuda nada.", "not_helpful"),
    "ru": ("Это неверно, дата неправильная.", "incorrect_info"),
    "ja": ("ありがとう、助かりました!", "none"),
}


def verbosity(client, user: str) -> float:
    (bucket,) = client.preferences(user)
    return bucket["dimensions"]["verbosity"]


def trigger(deployment: Deployment, job: str) -> None:
    """Ask the scheduler to fire a job now."""
    link = deployment.link()
    try:
        record = make_record(sleep_pb2.TriggerJob(job=job), event_id=uuid.uuid4(), occurred_us=SystemClock().now_us())
        link.publish([record])[0].result(90)
    finally:
        link.close()


def outcome_of(deployment: Deployment, job: str) -> str | None:
    """How the job's last firing ended, once it has."""
    (found,) = [one for one in deployment.ok("jobs", "--json").json["jobs"] if one["name"] == job]
    return found["last_outcome"] or None


def test_six_scores_over_the_bus_and_on_the_command_line(deployment: Deployment) -> None:
    with deployment.client() as client:
        for language, (text, category) in SAID.items():
            scores = client.classify_feedback(text)
            assert set(scores) == set(CATEGORIES)
            assert all(0 <= score <= 1 for score in scores.values())
            assert max(scores, key=scores.get) == category, (language, scores)
        told = client.read_feedback(SAID["de"][0], "de")
        assert (told["language"], told["category"]) == ("de", "too_brief")
        assert told["answered_by"].startswith("spelling + ")
        with pytest.raises(InvalidMessage):
            client.classify_feedback("")
    shown = deployment.ok("feedback", "classify", SAID["fr"][0], "--json").json
    assert (shown["category"], shown["language"]) == ("wrong_tone", "fr")
    assert "too_verbose" in deployment.ok("feedback", "classify", SAID["en"][0]).out


def test_a_night_moves_the_preference_once_also_after_kill_9(make_deployment: Callable[..., Deployment]) -> None:
    deployment = make_deployment("texts")
    deployment.up()
    with deployment.client() as client:
        client.set_consent("ana", behavioral=True)
        client.feedback("ana", "answer-1", "casual_chat", -1, free_text="Das war mir viel zu lang, fass dich kürzer.")
        before = verbosity(client, "ana")
        restart_process(deployment.home, "behavioral", 120, signal.SIGKILL)
        trigger(deployment, "feedback_classification")

        def sorted_at_night() -> dict | None:
            (one,) = client.feedback_list("ana")
            return one if one["categories"] else None

        entry = until(sorted_at_night, 60.0, "The text was not sorted")
        assert max(entry["categories"], key=entry["categories"].get) == "too_verbose"
        done = until(lambda: outcome_of(deployment, "feedback_classification"), 60.0, "The scheduler was not told of the end")
        assert done == "done"
        moved = verbosity(client, "ana")
        assert moved == pytest.approx(before - 0.05)
        restart_process(deployment.home, "behavioral", 120, signal.SIGKILL)
        report = client.learn_now()
        assert (report["classified"], report["moved_by_text"]) == (0, 0)
        assert verbosity(client, "ana") == moved
        # With the model service away the spelling answers alone, and says so.
        restart_process(deployment.home, "model", 120, signal.SIGKILL)
        client.feedback("ana", "answer-2", "casual_chat", -1, free_text="Trop long, va droit au but.")
        report = client.learn_now()
        assert (report["classified"], report["moved_by_text"]) == (1, 1)
        assert verbosity(client, "ana") < moved
        assert client.undo_learning("ana") == {"undone": 2, "left": 0}
        assert client.preferences("ana") == []
