"""The model service over the twin embedder."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.registry import topic_of
from aico_memory.contracts.v1 import extraction_pb2, model_pb2
from aico_memory.domain.recall.reading.passage import KNOWN_THEN, MARKS
from aico_memory.errors import InvalidMessage
from aico_memory.ids import new_id
from aico_memory.models.language_tables import load_tables
from aico_memory.models.load import ModelAccount
from aico_memory.models.span_reader import load_span_reader
from aico_memory.models.twin import HashedEmbedder
from aico_memory.paths import Home
from aico_memory.settings.models import ModelSettings
from services.model.extraction import Extraction
from services.model.handlers import MAX_TEXTS, ModelHandlers
from services.model.labels import load_labels

HOME = Home(Path("/nowhere"))
ACCOUNT = ModelAccount("x", "hashed-ngrams", "f", "test", "twin", "onnx", "int8", "", 1.0, 20, False, "cpu", 0.1)


@pytest.fixture
def handlers() -> Iterator[ModelHandlers]:
    settings = ModelSettings(query_cache_entries=2)
    labels = load_labels(settings, load_tables(HOME), HOME)
    built = ModelHandlers(
        HashedEmbedder(), ACCOUNT, labels, settings, Extraction(None, "off", threading.Event()), load_span_reader(HOME)
    )
    yield built
    built.close()


def ask(handlers: ModelHandlers, message: Any) -> Any:
    topic = topic_of(message).name
    event = Event(event_id=new_id(1), topic=topic, user="", message=message)
    return handlers.requests[topic](event, None)  # type: ignore[arg-type]


def test_vectors_come_in_the_order_of_the_texts_with_model_and_fingerprint(handlers: ModelHandlers) -> None:
    texts = ["b", "a", "b", ""]
    answer = ask(handlers, model_pb2.EmbedRequest(texts=texts))
    rows = np.frombuffer(answer.vectors, dtype="<f4").reshape(4, answer.dimension)
    np.testing.assert_allclose(rows, HashedEmbedder().embed(texts))
    assert (answer.model, answer.fingerprint) == ("hashed-ngrams", HashedEmbedder().fingerprint)
    assert answer.cached == 0


def test_a_question_asked_again_comes_from_the_cache_and_says_so(handlers: ModelHandlers) -> None:
    first = ask(handlers, model_pb2.EmbedRequest(texts=["where?"], interactive=True))
    second = ask(handlers, model_pb2.EmbedRequest(texts=["where?", "when?"], interactive=True))
    assert (first.cached, second.cached) == (0, 1)
    assert second.vectors.startswith(first.vectors)
    assert handlers.status()["query_cache"] == {"entries": 2, "limit": 2, "hits": 1, "misses": 2}


def test_bulk_work_leaves_the_cache_of_queries_alone(handlers: ModelHandlers) -> None:
    ask(handlers, model_pb2.EmbedRequest(texts=["a", "b", "c"]))
    assert handlers.status()["query_cache"] == {"entries": 0, "limit": 2, "hits": 0, "misses": 0}


def test_too_many_texts_are_refused(handlers: ModelHandlers) -> None:
    with pytest.raises(InvalidMessage, match=str(MAX_TEXTS)):
        ask(handlers, model_pb2.EmbedRequest(texts=["x"] * (MAX_TEXTS + 1)))


def read_request(**changed: Any) -> model_pb2.ReadRequest:
    words = ["Where", "is", "my", "bike?", "The", "bike", "is", "at", "Harlow's."]
    fields: dict[str, Any] = {"words": words, "message": [0] * 4 + [1] * 5, "marks": bytes(9 * len(MARKS))}
    return model_pb2.ReadRequest(**{**fields, **changed})


def test_words_that_answer_come_with_the_reader_that_found_them(handlers: ModelHandlers) -> None:
    said = [KNOWN_THEN] + [0] * (len(MARKS) - 2) + [1]
    marks = bytes([0] * len(MARKS) * 4 + said * 5)
    answer = ask(handlers, read_request(marks=marks))
    assert [(run.first, run.last) for run in answer.runs][:1] == [(8, 8)]
    assert 0 < answer.runs[0].chance <= 1
    assert answer.reader.startswith("span reader")
    assert list(answer.languages) == ["de", "en", "tr"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"words": []}, "0 words"),
        ({"words": ["x"] * 2001}, "2001 words"),
        ({"message": [0]}, "1 messages"),
        ({"marks": b""}, "0 marks"),
        ({"message": [1, 0, 0, 0, 1, 1, 1, 1, 1]}, "rise"),
        ({"marks": bytes([99] * 9 * len(MARKS))}, "no mark has"),
    ],
)
def test_what_is_no_passage_is_refused(handlers: ModelHandlers, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidMessage, match=said):
        ask(handlers, read_request(**changed))


def test_an_analysis_names_the_classifiers(handlers: ModelHandlers) -> None:
    answer = ask(handlers, model_pb2.AnalyseRequest(text="Could you please send me the file?", tasks=["intent", "vector"]))
    assert answer.intent.name == "request"
    assert len(answer.vector) == 256 * 4
    assert [line.split("=")[0] for line in answer.answered_by] == ["intent"]
    assert not answer.HasField("sentiment")


def test_the_status_says_which_model_answers_and_why(handlers: ModelHandlers) -> None:
    status = handlers.status()
    assert (status["model"], status["served_by"], status["export_cosine"]) == ("hashed-ngrams", "onnx", 1.0)
    assert status["reason"] == "twin"
    assert status["classifiers"] == {"intent": "EmbeddedClassifier", "sentiment": "EmbeddedClassifier"}


def test_a_service_without_a_language_model_says_that_the_rules_answer(handlers: ModelHandlers) -> None:
    answer = ask(handlers, extraction_pb2.ExtractRequest(text="I live in Oslo."))
    assert (answer.answered_by, answer.degraded, answer.again, len(answer.facts)) == ("rules", "off", False, 0)
    assert handlers.status()["language_model"] == {"state": "off"}


def test_without_a_language_model_nothing_is_loaded_that_could_speak_to_a_network() -> None:
    program = (
        "import sys, services.model.handlers; print([name for name in ('httpx', 'requests', 'aiohttp') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
