"""Ranking by reciprocal rank fusion of words and vectors, with one question to the embedding model."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import wait

import numpy as np

from aico_memory.contracts.v1 import model_pb2, semantic_pb2
from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.language.detection import certain_language
from aico_memory.domain.memory import Memory, View
from aico_memory.domain.retrieval.fusion import Ranking, fuse
from aico_memory.errors import AicoMemoryError
from aico_memory.runtime.ports import LinkPort
from aico_memory.settings.context import ContextSettings
from services.semantic.answering import TEXT, VECTOR, Answering
from services.semantic.candidates import Ranked


class RankFusion:
    """The port `Ranker` over both indexes."""

    def __init__(self, answering: Answering, link: LinkPort, languages: LanguageTable, settings: ContextSettings) -> None:
        self._answering = answering
        self._link = link
        self._languages = languages
        self._settings = settings

    def ranked(self, questions: Sequence[str], view: View, limit: int, *, hypotheses: Sequence[str], embed_ms: float) -> Ranked:
        """As the port says; scores are shares of what the top of every list would get."""
        answer = Ranked([], {})
        started = time.perf_counter()
        embedded = self._embed([*questions, *hypotheses], embed_ms, answer)
        answer.milliseconds["embed"] = (time.perf_counter() - started) * 1000
        started = time.perf_counter()
        for place, question in enumerate(questions):
            vector = None
            if embedded is not None:
                rows = embedded[1]
                vector = rows[place] if place or not hypotheses else _centroid(rows[[0, *range(len(questions), len(rows))]])
            answer.lists.append(self._one(question, vector, embedded, view, limit, answer))
        answer.language = certain_language(questions[0], self._languages) if questions else ""
        answer.milliseconds["rank"] = (time.perf_counter() - started) * 1000
        return answer

    def _one(
        self, question: str, vector: np.ndarray | None, embedded: tuple[model_pb2.Embeddings, np.ndarray] | None, view: View,
        limit: int, answer: Ranked,
    ) -> list[tuple[int, float, Mapping[str, float]]]:  # fmt: skip
        found: dict[int, Memory] = {}
        settings = self._settings
        words = self._answering._by_words(question, view, limit, found)
        rankings = [Ranking(TEXT, [str(key) for key, _ in words], settings.text_weight)]
        if vector is not None and embedded is not None:
            spoken = embedded[0].languages
            language = certain_language(question, self._languages)
            foreign = bool(spoken) and bool(language) and language not in spoken
            message = semantic_pb2.SemanticQuery(vector=vector.tobytes(), embedding_fingerprint=embedded[0].fingerprint)
            try:
                near = self._answering._by_vector(message, view, limit, found)
                answer.fingerprint = embedded[0].fingerprint
                weight = settings.foreign_vector_weight if foreign else settings.vector_weight
                rankings.append(Ranking(VECTOR, [str(key) for key, _ in near], weight))
            except AicoMemoryError as error:
                answer.degraded.append(f"vectors: {error.code}")
        answer.memories.update(found)
        return [(int(one.id), one.score, one.shares) for one in fuse(rankings, settings.rrf_k)[:limit] if int(one.id) in found]

    def _embed(self, texts: Sequence[str], embed_ms: float, answer: Ranked) -> tuple[model_pb2.Embeddings, np.ndarray] | None:
        if embed_ms <= 0:
            answer.degraded.append("model")
            return None
        try:
            future = self._link.request(model_pb2.EmbedRequest(texts=texts, interactive=True), timeout=embed_ms / 1000)
            if not wait([future], embed_ms / 1000).done:
                future.cancel()
                answer.degraded.append("model")
                return None
            embedded = future.result()
        except AicoMemoryError:
            answer.degraded.append("model")
            return None
        answer.model = embedded.model
        return embedded, np.frombuffer(embedded.vectors, dtype="<f4").reshape(len(texts), -1)


def _centroid(rows: np.ndarray) -> np.ndarray:
    mean = rows.mean(axis=0)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), dtype=np.float32)
