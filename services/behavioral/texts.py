"""Feedback in people's own words: sorted on request, and at night where it is stored.

The model is asked for embeddings before the transaction, so that no write lock is held while it works. A text that it
was not asked for waits for the next step: what a text is sorted by never depends on how the stream was cut.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message

from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import behavioral_pb2, model_pb2
from aico_memory.domain.behavioral.records import FeedbackRecord
from aico_memory.domain.behavioral.skill import Catalogue
from aico_memory.domain.feedback.classifier import FeedbackClassifier, Sorted, matching
from aico_memory.domain.text_regression.grams import Floats
from aico_memory.errors import AicoMemoryError, KeyDestroyed, SkillNotFound, WrongKey
from aico_memory.runtime.ports import Ports
from aico_memory.settings.behavioral import FeedbackTextSettings
from aico_memory.stores.behavioral.port import BehavioralRows, BehavioralStore
from aico_memory.vault.sealer import Sealer
from services.behavioral.feedback import LearningRules, dimensions_of, text_context
from services.behavioral.own_topics import text_digest
from services.behavioral.signals import move_by_text
from services.behavioral.topic_vectors import rows_of

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

Ask = Callable[[Message, float], "Future[Any]"]
# So many texts go to the model at once.
_TEXTS = 64
# Digits of a stored chance: beyond them batches of the model differ.
_DIGITS = 3
UNREADABLE = "unreadable"
NOT_ASKED = "no text was sorted yet"


@dataclass(frozen=True, slots=True)
class _Embedded:
    """A text's vector; None where the model did not answer."""

    vector: Floats | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of a night did, and how many texts are left."""

    classified: int = 0
    moved: int = 0
    left: int = 0


class FeedbackTexts:
    """`prepare`, `step` and `forget` in the consumer's thread, `classify` in any."""

    def __init__(
        self, store: BehavioralStore, ask: Ask, settings: FeedbackTextSettings, load: Callable[[], FeedbackClassifier],
        sealer_of: Callable[[str], Sealer], rules: LearningRules, log: FilteringBoundLogger,
    ) -> None:  # fmt: skip
        self._log = log
        self._rules = rules
        self._store = store
        self._ask = ask
        self._settings = settings
        self._load = load
        self._sealer_of = sealer_of
        self._lock = threading.Lock()
        self._classifier: FeedbackClassifier | None = None
        # By digest of the text: an edit gives the same feedback other words.
        self._embedded: dict[bytes, _Embedded] = {}
        self._model_is_well = True
        self._calibration = NOT_ASKED
        self._warned: set[str] = set()

    def classify(self, event: Event, ports: Ports) -> Message:
        """Sort the text of a request; nothing is stored."""
        message = event.message
        patience = self._settings.model_wait_ms if self._model_is_well else self._settings.model_retry_ms
        (embedded,) = self._embed([self._heard(message.text, message.language)], patience / 1000, interactive=True)
        self._model_is_well = embedded.vector is not None
        found = self._sort(message.text, message.language, embedded)
        threshold, calibration = self._threshold(found, embedded)
        return behavioral_pb2.TextCategories(
            scores=found.scores, category=found.category, matching=matching(found.scores, threshold),
            language=found.language, answered_by=found.answered_by, threshold=threshold, calibration=calibration,
        )  # fmt: skip

    @property
    def calibration(self) -> str:
        """Where the threshold of the text sorted last is from."""
        return self._calibration

    def prepare(self, given: Iterable[str], agreeing: Iterable[str]) -> None:
        """Embed what waits in the store, what was given in the same batch, and what waits of people who may agree there."""
        batch = self._settings.batch
        with self._store.reading() as rows:
            waiting = rows.unclassified(batch)
            back = [one for user in sorted(agreeing) for one in rows.feedback_of(user) if _unsorted(one)]
        given = [*(self._opened(one) for one in (*waiting, *back[:batch])), *given]
        texts = [text for text in dict.fromkeys(given) if text and text_digest(text) not in self._embedded]
        found = self._embed([self._heard(text, "") for text in texts], self._settings.night_wait_ms / 1000, interactive=False)
        self._embedded.update(zip(map(text_digest, texts), found, strict=True))

    def forget(self) -> None:
        """What was prepared is done with."""
        self._embedded.clear()

    def step(self, rows: BehavioralRows, catalogue: Catalogue, signal_step: float, event: Event) -> Step:
        """Sort texts that were prepared, and move preferences by them; each text once."""
        pending = [(one, self._opened(one)) for one in rows.unclassified(self._settings.batch)]
        ready = [(one, text) for one, text in pending if not text or text_digest(text) in self._embedded]
        moved = sum(self._one(rows, record, text, catalogue, signal_step, event) for record, text in ready)
        return Step(len(ready), moved, rows.count_unclassified())

    def _one(
        self, rows: BehavioralRows, record: FeedbackRecord, text: str, catalogue: Catalogue, signal_step: float, event: Event
    ) -> bool:  # fmt: skip
        at_us = event.occurred_us
        if not text:
            rows.classified(record.event_id, {}, at_us, UNREADABLE, None)
            return False
        embedded = self._embedded[text_digest(text)]
        found = self._sort(text, "", embedded)
        scores = {name: round(score, _DIGITS) for name, score in found.scores.items()}
        threshold, _ = self._threshold(found, embedded)
        rows.classified(record.event_id, scores, at_us, found.answered_by, threshold)
        try:
            dimensions = dimensions_of(rows, record.user, record.skill_id, catalogue)
        except SkillNotFound:
            return False
        told = replace(record, categories=scores, text_threshold=threshold)
        if not move_by_text(rows, told, dimensions, self._rules, signal_step, at_us):
            return False
        rows.put_user(record.user, replace(rows.user(record.user), revision=event.event_id.hex))
        return True

    def _opened(self, record: FeedbackRecord) -> str:
        """The text; "" where its key is gone, whether or not another one was made since."""
        if record.sealed_text is None:
            return ""
        try:
            return self._sealer_of(record.user).open(record.sealed_text, text_context(record.event_id.bytes)).decode()
        except (KeyDestroyed, WrongKey):
            return ""

    def _heard(self, text: str, language: str) -> str:
        """What is embedded of a text: without what denies a complaint; all of it where nothing else is said."""
        return self._loaded().heard(text, language) or text

    def _sort(self, text: str, language: str, embedded: _Embedded) -> Sorted:
        return self._loaded().sort(text, language, embedded.vector, embedded.fingerprint)

    def _loaded(self) -> FeedbackClassifier:
        with self._lock:
            # Learning the spelling takes a second or two, and many deployments are never asked.
            if self._classifier is None:
                self._classifier = self._load()
            return self._classifier

    def _threshold(self, found: Sorted, embedded: _Embedded) -> tuple[float, str]:
        """What is set for the model that answered, else what was calibrated for it; of the spelling alone its own.

        With words on where it is from.
        """
        fingerprint = embedded.fingerprint
        if found.threshold is not None:
            told = self._settings.thresholds.get(fingerprint)
            threshold = found.threshold if told is None else told
            self._calibration = f"{threshold:g}, {'calibrated' if told is None else 'set'} for {fingerprint}"
            return threshold, self._calibration
        lack = self._classifier.lack_of(fingerprint) if self._classifier is not None and fingerprint else ""
        why = f"{fingerprint} is not calibrated: {lack}" if lack else "no embedding was at hand"
        if lack and fingerprint not in self._warned:
            self._warned.add(fingerprint)
            self._log.warning("feedback text without the embedding model", model=fingerprint, reason=lack)
        self._calibration = f"{self._settings.threshold:g}, of the spelling alone; {why}"
        return self._settings.threshold, self._calibration

    def _embed(self, texts: Sequence[str], seconds: float, interactive: bool) -> list[_Embedded]:
        """In the order of the texts; what does not come in time is left out."""
        until = monotonic() + seconds
        found: list[_Embedded] = []
        for start in range(0, len(texts), _TEXTS):
            part = texts[start : start + _TEXTS]
            found += self._asked(part, until - monotonic(), interactive) or [_Embedded()] * len(part)
        return found

    def _asked(self, texts: Sequence[str], seconds: float, interactive: bool) -> list[_Embedded]:
        if seconds <= 0:
            return []
        try:
            question = model_pb2.EmbedRequest(texts=texts, interactive=interactive)
            answer = self._ask(question, seconds).result(seconds)
        except (AicoMemoryError, FutureTimeout):
            return []
        rows = rows_of(answer, len(texts))
        return [] if rows is None else [_Embedded(row, answer.fingerprint) for row in rows]


def _unsorted(record: FeedbackRecord) -> bool:
    return record.sealed_text is not None and record.categories is None and record.undone_us is None
