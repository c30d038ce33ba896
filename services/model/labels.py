"""Which classifier answers which task, and the labels of one text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from aico_memory.contracts.v1 import model_pb2
from aico_memory.domain.formation.entities import Gazetteer, extract_entities
from aico_memory.domain.formation.language import LanguageTable, guess_language
from aico_memory.domain.language.detection import certain_language
from aico_memory.domain.language.tables import PhraseTable
from aico_memory.errors import AicoMemoryError, InvalidMessage, ModelUnavailable
from aico_memory.log import get_logger
from aico_memory.models.analysis import Classifier, EmbeddedClassifier
from aico_memory.models.embedder import Embedder, Vectors
from aico_memory.models.gazetteer import load_gazetteer
from aico_memory.models.language_tables import load_function_words
from aico_memory.models.transformer_classifier import TransformerClassifier
from aico_memory.paths import Home
from aico_memory.settings.models import ModelSettings

TASKS = ("intent", "sentiment", "language", "entities", "vector")
log = get_logger(__name__)


class Labels:
    """Intent, sentiment, language and entities of a text."""

    def __init__(
        self, classifiers: Mapping[str, Classifier], words: LanguageTable, gazetteer: Gazetteer,
        instead: Mapping[str, ModelUnavailable] | None = None,
    ) -> None:  # fmt: skip
        self._classifiers = classifiers
        # Task to why its configured transformer does not answer.
        self._instead = instead or {}
        self._words = words
        self._gazetteer = gazetteer
        self._learner: threading.Thread | None = None

    def learn(self, model: str, languages: Sequence[str], embed: Callable[[Sequence[str]], Vectors]) -> None:
        """Embed the examples in the background; until then the tables alone answer, and the answers say so."""

        def run() -> None:
            try:
                for classifier in self._classifiers.values():
                    if isinstance(classifier, EmbeddedClassifier):
                        classifier.learn_meanings(model, languages, embed(classifier.examples_for(languages)))
            except AicoMemoryError as error:
                log.warning("examples are not embedded; the tables alone answer", reason=error.detail)

        self._learner = threading.Thread(target=run, name="examples", daemon=True)
        self._learner.start()

    def settle(self, timeout: float) -> bool:
        """Wait until the examples are embedded; False where that takes longer."""
        if self._learner is not None:
            self._learner.join(timeout)
        return self._learner is not None and not self._learner.is_alive()

    def analyse(
        self, text: str, tasks: Sequence[str], embed: Callable[[str], npt.NDArray[np.float32]], embedder: Embedder
    ) -> model_pb2.Analysis:
        """The labels asked for (all where none is named), and who gave them."""
        asked = set(tasks) or {"intent", "sentiment", "language", "entities"}
        if unknown := asked - set(TASKS):
            raise InvalidMessage(f"AnalyseRequest.tasks names {sorted(unknown)[0]!r}; there are {', '.join(TASKS)}")
        # What is told is the best guess; what the classifiers act on must be certain.
        guess, language = guess_language(text, self._words), certain_language(text, self._words)
        answer = model_pb2.Analysis()
        # A text too short to tell its language: the model may still know it.
        spoken = not embedder.languages or language in ("", *embedder.languages)
        vector = None
        if "vector" in asked or (spoken and asked & set(self._classifiers)):
            vector = embed(text)
            answer.vector = vector.astype("<f4").tobytes()
            answer.fingerprint = embedder.fingerprint
        if "language" in asked:
            answer.language.name = guess
            answer.language.score = 1.0 if language else 0.5 if guess else 0.0
            answer.answered_by.append("language=script and function words")
        if "entities" in asked:
            answer.entities.extend(map(_entity, extract_entities(text, self._gazetteer, guess)))
            answer.answered_by.append("entities=gazetteer and rules")
        for task, classifier in self._classifiers.items():
            if task in asked:
                judgement = classifier.judge(text, language, vector if spoken else None)
                label = answer.intent if task == "intent" else answer.sentiment
                label.name, label.score = judgement.label, judgement.score
                told = "; the configured transformer is not at hand" if task in self._instead else ""
                answer.answered_by.append(f"{task}={judgement.answered_by}{told}")
        return answer

    def as_status(self) -> dict[str, str]:
        """Task to the kind of classifier that answers, and why it does where another one is configured."""
        kinds = {task: type(classifier).__name__ for task, classifier in self._classifiers.items()}
        return kinds | {task: f"{kinds[task]}: {why.detail}. {why.mend}" for task, why in self._instead.items()}

    def close(self) -> None:
        """Wait for the background thread; its work is refused by the closed queue."""
        if self._learner is not None:
            self._learner.join()


def load_labels(settings: ModelSettings, tables: Mapping[str, PhraseTable], home: Home) -> Labels:
    """The classifiers of these settings. Where a configured transformer is not at hand, the embedded classifier answers for
    its task and says so: vectors and the other labels do not hang on it.
    """
    classifiers: dict[str, Classifier] = {}
    instead: dict[str, ModelUnavailable] = {}
    for task, kind, model in (
        ("intent", settings.intent_classifier, settings.intent_model),
        ("sentiment", settings.sentiment_classifier, settings.sentiment_model),
    ):
        try:
            classifiers[task] = (
                TransformerClassifier(task, model) if kind == "transformer" else EmbeddedClassifier(task, tables)
            )
        except ModelUnavailable as missing:
            log.warning("a configured transformer does not answer", task=task, reason=missing.detail, mend=missing.mend)
            classifiers[task], instead[task] = EmbeddedClassifier(task, tables), missing
    return Labels(classifiers, load_function_words(home), load_gazetteer(home), instead)


def _entity(uri: str) -> model_pb2.Entity:
    kind, _, slug = uri.removeprefix("entity://").partition("/")
    return model_pb2.Entity(text=slug.replace("-", " "), type=kind, uri=uri)
