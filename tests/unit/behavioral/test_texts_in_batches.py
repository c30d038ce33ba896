"""What a feedback text is sorted by does not depend on how the stream was cut: a batch sorts as its events one by one would."""

from concurrent.futures import Future

import numpy as np
import pytest

from aico_memory.contracts.v1 import behavioral_pb2, model_pb2
from aico_memory.models.feedback_tables import load_classifier
from aico_memory.paths import Home
from aico_memory.settings.behavioral import FeedbackTextSettings
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from tests.unit.behavioral.worker import Worker

MODEL = "sentence-transformers/all-MiniLM-L6-v2|384|53aa51172d142c89"
LONG, WRONG = "far too long", "that was wrong"
OFF = behavioral_pb2.ConsentChanged(user_id="ann", behavioral=False)
ON = behavioral_pb2.ConsentChanged(user_id="ann", behavioral=True)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    return load_classifier(Home(tmp_path_factory.mktemp("home")), FeedbackTextSettings())


@pytest.fixture
def made(tmp_path, monkeypatch, classifier):
    """Makes workers beside a model that gives each text a vector of its own."""
    monkeypatch.setattr("services.behavioral.handlers.load_classifier", lambda *_: classifier)

    def embedded(message, *_, **__):
        rows = [np.random.default_rng(list(text.encode())).normal(size=384) for text in message.texts]
        vectors = np.array([row / np.linalg.norm(row) for row in rows], dtype="<f4")
        answer = Future()
        answer.set_result(model_pb2.Embeddings(vectors=vectors.tobytes(), dimension=384, fingerprint=MODEL))
        return answer

    def worker(name):
        (tmp_path / name).mkdir()
        started = Worker(MemoryBehavioralStore(), tmp_path / name)
        monkeypatch.setattr(started.model, "request", embedded)
        started.consent()
        return started

    return worker


def edit(given, text):
    return behavioral_pb2.EditFeedback(user_id="ann", event_id=given.event_id.bytes, free_text=text)


def sorted_text(worker, together, *later):
    """The text of one feedback, and what it says, once a night has come behind what follows it."""
    given = worker.event(
        behavioral_pb2.FeedbackEvent(user_id="ann", message_id="m", skill_id="casual_chat", reward=-1, free_text=LONG)
    )
    worker.apply(given)
    events = [worker.event(edit(given, one) if isinstance(one, str) else one) for one in later]
    events.append(worker.event(behavioral_pb2.LearnNow(), user=""))
    for batch in [events] if together else [[one] for one in events]:
        worker.apply(*batch)
    (entry,) = worker.ask(behavioral_pb2.FeedbackListRequest(user_id="ann")).feedback
    return entry.free_text, entry.classified_by, dict(entry.categories)


@pytest.mark.parametrize("later", [(WRONG,), (WRONG, LONG), (OFF, ON)])
def test_a_text_is_sorted_in_the_batch_that_brings_it_as_it_is_by_itself(made, later):
    together, apart = (sorted_text(made(name), name == "together", *later) for name in ("together", "apart"))
    assert together == apart
    assert apart[1].startswith("spelling + ")


def test_a_text_that_waited_without_consent_is_sorted_in_the_batch_that_brings_consent(made):
    worker = made("waiting")
    worker.feedback("casual_chat", -1, free_text=LONG)
    worker.consent(on=False)
    worker.apply(worker.event(ON), worker.event(behavioral_pb2.LearnNow(), user=""))
    (entry,) = worker.ask(behavioral_pb2.FeedbackListRequest(user_id="ann")).feedback
    assert entry.categories
    assert entry.classified_by.startswith("spelling + ")


def test_a_second_night_in_a_batch_sorts_what_was_said_after_the_first(made):
    worker = made("nights")
    given = behavioral_pb2.FeedbackEvent(user_id="ann", message_id="m", skill_id="casual_chat", reward=-1, free_text=LONG)
    said = worker.event(given)
    night = behavioral_pb2.LearnNow()
    worker.apply(said, worker.event(night, user=""), worker.event(edit(said, WRONG)), worker.event(night, user=""))
    (entry,) = worker.ask(behavioral_pb2.FeedbackListRequest(user_id="ann")).feedback
    assert (entry.free_text, entry.classified_by) == (WRONG, "spelling + sentence-transformers/all-MiniLM-L6-v2")
