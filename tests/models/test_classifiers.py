"""Intent, sentiment and language by the embedded classifiers, on sentences that are not among the examples."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from aico_memory.contracts.v1 import model_pb2
from aico_memory.errors import InvalidMessage, ModelUnavailable
from aico_memory.models.embedder import Embedder
from aico_memory.models.language_tables import load_tables
from aico_memory.models.transformer_classifier import TransformerClassifier, _own_labels
from aico_memory.models.twin import HashedEmbedder
from aico_memory.paths import Home
from aico_memory.settings.models import ModelSettings
from services.model.labels import Labels, load_labels

LABELLED = yaml.safe_load((Path(__file__).parent / "labelled.yaml").read_text(encoding="utf-8"))
# Share of right answers below which something broke; measured: intent 0.94, sentiment 1.0.
LEAST = {"intent": 0.85, "sentiment": 0.9}
HOME = Home(Path("/nowhere"))


@pytest.fixture(scope="module")
def labels(loaded: tuple[Embedder, object]) -> Labels:
    embedder = loaded[0]
    labels = load_labels(ModelSettings(), load_tables(HOME), HOME)
    labels.learn(embedder.model, embedder.languages, embedder.embed)
    assert labels.settle(60)
    return labels


@pytest.mark.parametrize("task", ["intent", "sentiment"])
def test_most_sentences_get_the_label_that_a_person_gave(labels: Labels, loaded: tuple[Embedder, object], task: str) -> None:
    embedder, right, wrong = loaded[0], 0, []
    for language, by_label in LABELLED[task].items():
        for label, sentences in by_label.items():
            for sentence in sentences:
                answer = labels.analyse(sentence, [task], lambda text: embedder.embed([text])[0], embedder)
                if getattr(answer, task).name == label:
                    right += 1
                else:
                    wrong.append((language, sentence, label, getattr(answer, task).name))
    assert right / (right + len(wrong)) >= LEAST[task], wrong


def test_no_measured_sentence_is_among_the_examples() -> None:
    examples = {
        sentence
        for table in load_tables(HOME).values()
        for source in (table.intent_examples, table.sentiment_examples)
        for sentences in source.values()
        for sentence in sentences
    }
    measured = {s for task in LABELLED.values() for labels in task.values() for part in labels.values() for s in part}
    assert not examples & measured


def test_the_answer_names_who_gave_each_label(labels: Labels, loaded: tuple[Embedder, object]) -> None:
    embedder = loaded[0]
    answer = labels.analyse("What a wonderful day, thank you!", [], lambda text: embedder.embed([text])[0], embedder)
    assert (answer.sentiment.name, answer.language.name) == ("positive", "en")
    assert [line.split("=")[0] for line in answer.answered_by] == ["language", "entities", "intent", "sentiment"]
    assert embedder.model in answer.answered_by[2]
    assert answer.fingerprint == embedder.fingerprint


def test_a_language_the_model_does_not_speak_is_answered_by_the_tables(labels: Labels, loaded: tuple[Embedder, object]) -> None:
    embedder = loaded[0]

    def refuse(text: str) -> object:
        raise AssertionError(f"{text} was embedded")

    if embedder.languages:
        answer = labels.analyse("Ich bin heute sehr traurig und allein.", ["sentiment"], refuse, embedder)  # type: ignore[arg-type]
        assert answer.sentiment.name == "negative"
        assert answer.answered_by == ["sentiment=embedded (tables)"]


def test_entities_are_found_by_rules(labels: Labels, loaded: tuple[Embedder, object]) -> None:
    answer = labels.analyse("I use Python with @anna", ["entities"], lambda text: loaded[0].embed([text])[0], loaded[0])
    assert [(entity.type, entity.text) for entity in answer.entities] == [("tech", "python"), ("handle", "anna")]
    assert not answer.vector


def test_an_unknown_task_is_refused(labels: Labels, loaded: tuple[Embedder, object]) -> None:
    with pytest.raises(InvalidMessage, match="horoscope"):
        labels.analyse("hello", ["horoscope"], lambda text: loaded[0].embed([text])[0], loaded[0])


def test_a_greeting_is_casual_without_any_embedding(labels: Labels, loaded: tuple[Embedder, object]) -> None:
    answer: model_pb2.Analysis = labels.analyse("Merhaba!", ["intent"], lambda text: loaded[0].embed([text])[0], loaded[0])
    assert (answer.intent.name, answer.intent.score) == ("casual", 1.0)


@pytest.mark.parametrize("task", ["intent", "sentiment"])
def test_a_configured_transformer_without_weights_fails_at_once(task: str) -> None:
    with pytest.raises(ModelUnavailable, match="not in the hub's local cache") as raised:
        TransformerClassifier(task, "example-org/not-cached")
    assert f"models.{task}_model" in raised.value.mend
    assert "models.embedding" not in raised.value.mend


def test_without_the_weights_of_a_configured_transformer_the_embedded_classifier_answers_and_says_so() -> None:
    settings = ModelSettings(sentiment_classifier="transformer", sentiment_model="example-org/not-cached")
    labels, embedder = load_labels(settings, load_tables(HOME), HOME), HashedEmbedder()
    answer = labels.analyse(
        "What a wonderful day, thank you!", ["intent", "sentiment"], lambda _: embedder.embed([""])[0], embedder
    )
    assert answer.sentiment.name == "positive"
    assert list(answer.answered_by) == [
        "intent=embedded (tables)",
        "sentiment=embedded (tables); the configured transformer is not at hand",
    ]
    status = labels.as_status()
    assert status["intent"] == "EmbeddedClassifier"
    assert status["sentiment"].startswith("EmbeddedClassifier: example-org/not-cached is configured, but")
    assert "models.sentiment_model" in status["sentiment"]


def test_a_base_model_without_a_trained_head_is_refused() -> None:
    with pytest.raises(ModelUnavailable, match="no trained classification head"):
        _own_labels("intent", "xlm-roberta-base", {0: "LABEL_0", 1: "LABEL_1"}, ["XLMRobertaForMaskedLM"])


def test_stars_become_sentiments_and_unknown_labels_are_refused() -> None:
    stars = {at: f"{at + 1} star{'s' if at else ''}" for at in range(5)}
    labels = _own_labels("sentiment", "nlptown", stars, ["BertForSequenceClassification"])
    assert labels == ["negative", "negative", "neutral", "positive", "positive"]
    with pytest.raises(ModelUnavailable, match="no intent known"):
        _own_labels("intent", "stars", stars, ["BertForSequenceClassification"])
