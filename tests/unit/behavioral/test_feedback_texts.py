"""Over the worker's handlers: what people wrote is sorted at night, moves preferences once, and can be taken back."""

import json
from concurrent.futures import Future

import numpy as np
import pytest

from aico_memory.contracts.v1 import behavioral_pb2, model_pb2, sleep_pb2
from aico_memory.domain.feedback.classifier import SPELLING
from aico_memory.domain.feedback.phrases import CATEGORIES
from aico_memory.errors import KeyDestroyed
from aico_memory.models.feedback_tables import load_classifier
from aico_memory.paths import Home
from aico_memory.settings import Settings
from aico_memory.settings.behavioral import FeedbackTextSettings
from aico_memory.stores.behavioral.sql_store import SqlBehavioralStore
from aico_memory.stores.behavioral.twin import MemoryBehavioralStore
from services.behavioral.texts import NOT_ASKED
from tests.unit.behavioral.worker import START_US, Worker

NIGHT = behavioral_pb2.ClassifyFeedback(firing_id="night-1")
TOO_LONG, FRENCH, THANKS = "That was far too long, keep it short.", "C'est beaucoup trop long.", "Thank you, that was great."
MODEL = "sentence-transformers/all-MiniLM-L6-v2|384|53aa51172d142c89"
BATCH = 3


def settings(**texts):
    figures = {"model_deadline_ms": 10, "model_retry_ms": 1, "feedback_text": {"batch": BATCH, **texts}}
    return Settings.model_validate({"behavioral": figures})


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    return load_classifier(Home(tmp_path_factory.mktemp("home")), FeedbackTextSettings())


@pytest.fixture(params=["twin", "sql"])
def worker(request, tmp_path, monkeypatch, classifier):
    # Learned once for all tests.
    monkeypatch.setattr("services.behavioral.handlers.load_classifier", lambda *_: classifier)
    store = MemoryBehavioralStore() if request.param == "twin" else SqlBehavioralStore.open(tmp_path / "b.db", None)
    made = Worker(store, tmp_path, settings())
    made.consent()
    yield made
    made.handlers.close()


def night(worker, message=NIGHT):
    """One night: the job, and the steps it asks for; what was published on other topics."""
    published, waiting = [], [message]
    while waiting:
        emitted = worker.apply(worker.event(waiting.pop(0), user=""))
        waiting += [one for topic, one in emitted if isinstance(one, behavioral_pb2.ClassifyFeedback)]
        published += [one for topic, one in emitted if not isinstance(one, behavioral_pb2.ClassifyFeedback)]
    return published


def verbosity(worker, user="ann"):
    buckets = worker.ask(behavioral_pb2.PreferencesRequest(user_id=user), user=user).buckets
    return buckets[0].style["verbosity"] if buckets else 0.5


def wishes(worker, user="ann"):
    lines = [json.loads(line) for line in worker.export(user)]
    found = [line for line in lines if line["section"] == "behavioral.wish"]
    return {line["dimension"]: (line["more"], line["less"]) for line in found}


def entries(worker, user="ann"):
    return worker.ask(behavioral_pb2.FeedbackListRequest(user_id=user), user=user).feedback


def test_a_text_moves_the_preference_once_however_often_the_night_comes(worker):
    worker.feedback("casual_chat", -1, free_text=TOO_LONG)
    before = verbosity(worker)
    (finished,) = night(worker)
    step = worker.settings.behavioral.library.signal_step
    assert isinstance(finished, sleep_pb2.JobFinished)
    assert (finished.firing_id, finished.outcome) == ("night-1", "done")
    assert finished.detail == "1 texts sorted, 1 moved a preference"
    assert verbosity(worker) == pytest.approx(before - step)
    assert wishes(worker)["verbosity"] == (0.0, 1.0)
    night(worker)
    worker.publish(behavioral_pb2.LearnNow(), user="")
    assert verbosity(worker) == pytest.approx(before - step)
    assert wishes(worker)["verbosity"] == (0.0, 1.0)


def test_what_was_said_of_a_text_is_kept_with_it_and_shown(worker):
    worker.feedback("casual_chat", -1, free_text=TOO_LONG)
    night(worker)
    (entry,) = entries(worker)
    assert set(entry.categories) == set(CATEGORIES)
    assert max(entry.categories, key=entry.categories.get) == "too_verbose"
    assert entry.classified_by == SPELLING
    exported = [json.loads(line) for line in worker.export("ann")]
    kept = next(line for line in exported if line["section"] == "behavioral.feedback")
    assert kept["categories"] == dict(entry.categories)


def test_the_reason_beside_a_text_counts_once(worker):
    worker.feedback("casual_chat", -1, reason="too_verbose", free_text=TOO_LONG)
    before = verbosity(worker)
    night(worker)
    assert verbosity(worker) == before
    worker.publish(behavioral_pb2.LearnNow(), user="")
    assert verbosity(worker) == pytest.approx(before - worker.settings.behavioral.library.signal_step)
    assert wishes(worker)["verbosity"] == (0.0, 1.0)


@pytest.mark.parametrize(("reward", "text", "moves"), [(1, TOO_LONG, 0), (0, FRENCH, 1), (-1, THANKS, 0), (-1, FRENCH, 1)])
def test_praise_and_thumbs_up_move_nothing_and_a_neutral_thumb_with_words_does(worker, reward, text, moves):
    worker.feedback("casual_chat", reward, free_text=text)
    (finished,) = night(worker)
    assert finished.detail == f"1 texts sorted, {moves} moved a preference"


def test_a_reason_with_a_neutral_thumb_is_heard_at_night_as_a_text_is(worker):
    worker.feedback("casual_chat", 0, reason="too_verbose")
    assert (verbosity(worker), wishes(worker)) == (0.5, {})
    report = worker.publish(behavioral_pb2.LearnNow(), user="")
    assert report.signals == 1
    assert (verbosity(worker), wishes(worker)["verbosity"]) == (pytest.approx(0.45), (0.0, 1.0))
    assert worker.publish(behavioral_pb2.LearnNow(), user="").signals == 0


@pytest.mark.parametrize(("reward", "text"), [(0, ""), (0, TOO_LONG), (1, "")])
def test_a_reason_beside_a_thumb_that_is_not_down_counts_once_or_not_at_all_and_undo_knows_of_it(worker, reward, text):
    worker.feedback("casual_chat", reward, reason="too_verbose", free_text=text)
    untaught, before_night = (verbosity(worker), wishes(worker)), START_US + worker.count * 1_000_000
    worker.publish(behavioral_pb2.LearnNow(), user="")
    taught = verbosity(worker), wishes(worker)
    assert taught[1].get("verbosity") == (None if reward else (0.0, 1.0))
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=START_US * 2))
    assert (verbosity(worker), wishes(worker)) == taught
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=before_night))
    assert (verbosity(worker), wishes(worker)) == untaught
    assert worker.publish(behavioral_pb2.LearnNow(), user="").signals == 0


def test_many_texts_take_several_steps_and_each_is_sorted_once(worker):
    for number in range(2 * BATCH + 1):
        worker.feedback("casual_chat", -1, message_id=f"m{number}", free_text=TOO_LONG)
    (finished,) = night(worker)
    assert finished.detail == f"{2 * BATCH + 1} texts sorted, {2 * BATCH + 1} moved a preference"
    assert wishes(worker)["verbosity"] == (0.0, 2 * BATCH + 1)


def test_a_text_given_in_the_batch_of_the_night_is_sorted_in_it(worker):
    given = behavioral_pb2.FeedbackEvent(user_id="ann", message_id="m", skill_id="casual_chat", reward=-1, free_text=TOO_LONG)
    emitted = worker.apply(worker.event(given), worker.event(NIGHT, user=""))
    assert any(isinstance(one, sleep_pb2.JobFinished) and one.detail.startswith("1 texts") for _, one in emitted)


def test_without_consent_nothing_is_sorted_until_it_is_given_again(worker):
    worker.feedback("casual_chat", -1, free_text=TOO_LONG)
    worker.consent(on=False)
    (finished,) = night(worker)
    assert finished.detail.startswith("0 texts")
    worker.consent(on=True)
    (finished,) = night(worker)
    assert finished.detail.startswith("1 texts")


def test_undo_takes_back_what_texts_taught(worker):
    worker.feedback("casual_chat", -1, message_id="m1")
    kept, kept_wishes = verbosity(worker), wishes(worker)
    until = worker.event(NIGHT, user="").occurred_us
    worker.feedback("casual_chat", 0, message_id="m2", free_text=TOO_LONG)
    night(worker)
    assert verbosity(worker) < kept
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=until))
    assert (verbosity(worker), wishes(worker)) == (kept, kept_wishes)
    night(worker)
    assert (verbosity(worker), wishes(worker)) == (kept, kept_wishes)


def test_folding_again_leaves_what_texts_taught_where_it_was(worker):
    worker.feedback("casual_chat", -1, message_id="m1", free_text=TOO_LONG)
    night(worker)
    kept, kept_wishes = verbosity(worker), wishes(worker)
    later = worker.event(NIGHT, user="").occurred_us
    worker.feedback("casual_chat", -1, message_id="m2")
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=later))
    assert verbosity(worker) == pytest.approx(kept)
    assert wishes(worker) == kept_wishes


def test_a_text_whose_key_is_gone_is_left_behind_as_unreadable(worker, monkeypatch):
    worker.feedback("casual_chat", -1, free_text=TOO_LONG)

    def gone(*_, **__):
        raise KeyDestroyed("The key of this user is gone")

    monkeypatch.setattr(worker.handlers._texts, "_sealer_of", gone)
    (finished,) = night(worker)
    assert finished.detail == "1 texts sorted, 0 moved a preference"


def test_a_request_gets_all_six_scores_and_stores_nothing(worker):
    before = worker.handlers.status()["rows"]
    answer = worker.ask(behavioral_pb2.ClassifyTextRequest(text=FRENCH), user="")
    assert set(answer.scores) == set(CATEGORIES)
    assert sum(answer.scores.values()) == pytest.approx(1, abs=1e-5)
    assert (answer.category, answer.language, list(answer.matching)) == ("too_verbose", "fr", ["too_verbose"])
    assert worker.handlers.status()["rows"] == before


def test_without_a_model_the_spelling_answers_and_says_so(worker):
    worker.model.away = True
    answer = worker.ask(behavioral_pb2.ClassifyTextRequest(text=FRENCH, language="fr"), user="")
    assert (answer.category, answer.answered_by) == ("too_verbose", SPELLING)


@pytest.fixture
def heard(worker, monkeypatch):
    """The worker beside an embedding model of this fingerprint."""

    def with_model(fingerprint):
        def embedded(message, *_, **__):
            answer = Future()
            vectors = np.full((len(message.texts), 384), 384**-0.5, dtype="<f4")
            answer.set_result(model_pb2.Embeddings(vectors=vectors.tobytes(), dimension=384, fingerprint=fingerprint))
            return answer

        monkeypatch.setattr(worker.model, "request", embedded)
        return worker

    return with_model


def test_a_model_that_weights_were_trained_for_is_heard(heard):
    worker = heard(MODEL)
    answer = worker.ask(behavioral_pb2.ClassifyTextRequest(text=TOO_LONG), user="")
    assert answer.answered_by == "spelling + sentence-transformers/all-MiniLM-L6-v2"
    worker.feedback("casual_chat", -1, free_text=TOO_LONG)
    night(worker)
    assert entries(worker)[0].classified_by == answer.answered_by


def test_a_complaint_that_is_denied_moves_nothing_and_the_rest_alone_is_embedded(heard, monkeypatch):
    worker = heard(MODEL)
    asked, embed = [], worker.model.request
    monkeypatch.setattr(worker.model, "request", lambda message, *rest, **more: asked.extend(message.texts) or embed(message))
    answer = worker.ask(behavioral_pb2.ClassifyTextRequest(text="Not too long at all."), user="")
    assert (answer.category, list(answer.matching), answer.scores["none"]) == ("none", [], 1.0)
    worker.feedback("casual_chat", -1, free_text="Not too long at all.")
    worker.feedback("casual_chat", -1, free_text="Not rude, but the year is wrong.")
    before = verbosity(worker)
    (finished,) = night(worker)
    assert finished.detail.startswith("2 texts sorted")
    assert verbosity(worker) == before
    # Where nothing is left the text itself stands for it, and its embedding is not heard.
    assert asked == ["Not too long at all.", "Not too long at all.", "but the year is wrong."]


def test_what_is_acted_on_is_decided_by_the_threshold_of_the_model_that_answered(heard, classifier):
    worker = heard(MODEL)
    assert worker.handlers.status()["feedback_text"] == NOT_ASKED
    answer = worker.ask(behavioral_pb2.ClassifyTextRequest(text=TOO_LONG), user="")
    assert answer.threshold == classifier.sort(TOO_LONG, "", np.full(384, 384**-0.5, dtype=np.float32), MODEL).threshold
    assert answer.calibration == f"{answer.threshold:g}, calibrated for {MODEL}"
    assert worker.handlers.status()["feedback_text"] == answer.calibration


def test_of_a_model_that_is_not_calibrated_the_spelling_answers_by_its_own_threshold_and_says_why(heard):
    worker = heard("another|384|1")
    answer = worker.ask(behavioral_pb2.ClassifyTextRequest(text=TOO_LONG), user="")
    assert (answer.answered_by, answer.threshold) == (SPELLING, worker.settings.behavioral.feedback_text.threshold)
    assert answer.calibration.endswith("another|384|1 is not calibrated: nothing was trained for it")


@pytest.mark.parametrize(("threshold", "moves"), [(0.0, 1), (1.0, 0)])
def test_a_threshold_that_is_set_for_a_model_takes_the_place_of_its_own_and_stays_with_the_text(heard, threshold, moves):
    worker = heard(MODEL)
    worker.handlers._texts._settings = FeedbackTextSettings(thresholds={MODEL: threshold})
    answer = worker.ask(behavioral_pb2.ClassifyTextRequest(text=FRENCH), user="")
    assert (answer.threshold, bool(answer.matching)) == (threshold, bool(moves))
    assert answer.calibration == f"{threshold:g}, set for {MODEL}"
    worker.feedback("casual_chat", 0, free_text=FRENCH)
    (finished,) = night(worker)
    assert finished.detail == f"1 texts sorted, {moves} moved a preference"
    # Set otherwise since; what is learned again after an undo is the same.
    worker.handlers._texts._settings = FeedbackTextSettings(thresholds={MODEL: 1.0 - threshold})
    kept = wishes(worker)
    worker.feedback("reactive_only", 1, timestamp=START_US * 2)
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=START_US * 2 - 1))
    assert wishes(worker) == kept


@pytest.mark.parametrize(("reason", "kept"), [("", 0.25), ("not_helpful", 1.0), ("incorrect_info", 0.25)])
def test_a_text_that_says_the_content_was_wrong_takes_back_what_the_thumb_counted_for_style(worker, reason, kept):
    worker.feedback("casual_chat", -1, reason=reason, free_text="That is factually wrong, the numbers are incorrect.")

    def counted():
        lines = [json.loads(line) for line in worker.export("ann")]
        return [line["negative"] for line in lines if line["section"] == "behavioral.taste"]

    night(worker)
    (entry,) = entries(worker)
    assert max(entry.categories, key=entry.categories.get) == "incorrect_info"
    assert counted() == [kept]
    night(worker)
    assert counted() == [kept]
    # What is learned again after an undo is the same.
    worker.feedback("reactive_only", 1, timestamp=START_US * 2)
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=START_US * 2 - 1))
    assert counted() == [kept]


def test_a_batch_that_leaves_texts_to_later_steps_says_how_many(worker):
    for _ in range(5):
        worker.feedback("casual_chat", -1, free_text=TOO_LONG)
    report = worker.publish(behavioral_pb2.LearnNow(), user="")
    assert (report.classified, report.texts_left) == (3, 2)
    last = worker.publish(behavioral_pb2.LearnNow(), user="")
    assert (last.classified, last.texts_left) == (2, 0)


def test_undo_to_before_the_night_takes_back_what_it_read_in_a_text_and_no_night_reads_it_again(worker):
    worker.feedback("detailed_explanation", -1, free_text=TOO_LONG)
    before, until_us = (verbosity(worker), wishes(worker)), START_US + worker.count * 1_000_000
    night(worker)
    assert (verbosity(worker), wishes(worker)) != before
    worker.publish(behavioral_pb2.UndoLearning(user_id="ann", until_us=until_us))
    assert (verbosity(worker), wishes(worker)) == before
    night(worker)
    assert (verbosity(worker), wishes(worker)) == before
