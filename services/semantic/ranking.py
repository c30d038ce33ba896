"""Ranking the memories of scopes for a question: words, vectors and everything else that is known of them, weighed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from aico_memory.contracts.v1 import model_pb2
from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.memory import View
from aico_memory.domain.retrieval.features import Figures
from aico_memory.domain.retrieval.question import Question, QuestionTables
from aico_memory.domain.retrieval.ranking import Profile
from aico_memory.errors import AicoMemoryError, ConfigurationInvalid, InvalidMessage
from aico_memory.models.ranking_tables import load_profiles, load_time_cues
from aico_memory.paths import Home
from aico_memory.runtime.ports import LinkPort
from aico_memory.settings.retrieval import RetrievalSettings
from aico_memory.settings.root import Settings
from aico_memory.stores.index import fused_search
from aico_memory.stores.index.memory_text import InMemoryText
from aico_memory.stores.index.scope_text import ScopeText
from aico_memory.stores.index.text_source import RowRules, TextSource
from aico_memory.stores.index.vector_port import Similarities, Vector
from aico_memory.stores.semantic.port import SemanticStore
from services.semantic.candidates import Ranked
from services.semantic.live_index import LiveIndex

MODEL, MISMATCH, BUILDING = "model", "vectors: model_mismatch", "vectors: deadline_exceeded"
# Taken beyond the limit: an index may be a moment behind the store.
_SPARE = 8
_MINUTE_US = 60_000_000


def open_ranker(
    store: SemanticStore, source: TextSource, live: LiveIndex, link: LinkPort, languages: LanguageTable, home: Home,
    settings: Settings,
) -> LearnedRanker:  # fmt: skip
    """The ranker of this home. Raises ConfigurationInvalid where a configured profile is not there."""
    figures = settings.retrieval
    tables = QuestionTables(languages, load_time_cues(home), settings.semantic.default_language)
    texts = InMemoryText(
        source, RowRules(languages, tables.cues, tables.default_language), cache_bytes=figures.text_cache_bytes,
        load_batch=settings.semantic.load_batch, session_gap_us=figures.session_gap_minutes * _MINUTE_US,
    )  # fmt: skip
    profiles = load_profiles(home)
    for name in (figures.profile, figures.lexical_profile):
        if name not in profiles:
            raise ConfigurationInvalid(f"No ranking profile {name!r}", f"There are: {', '.join(sorted(profiles))}.")
    return LearnedRanker(store, texts, live, link, tables, profiles, figures)


@dataclass(slots=True)
class _Embedded:
    """What the model said of the questions; no vectors where it was not asked or did not answer."""

    vectors: Sequence[Vector] = ()
    fingerprint: str = ""
    model: str = ""


class LearnedRanker:
    """The port `Ranker`; safe from many threads."""

    def __init__(
        self, store: SemanticStore, texts: InMemoryText, live: LiveIndex, link: LinkPort, tables: QuestionTables,
        profiles: Mapping[str, Profile], settings: RetrievalSettings,
    ) -> None:  # fmt: skip
        self._store = store
        self.texts = texts
        self._live = live
        self._link = link
        self._tables = tables
        self._named = profiles
        self._settings = settings
        self._figures = Figures(settings.terse_words, settings.trusted_coverage, settings.rrf_k)
        self._profiles = fused_search.Profiles(self._named[settings.profile], self._named[settings.lexical_profile])
        # What the model that answered last speaks; until one has, any language.
        self._languages: tuple[str, ...] = tuple(settings.model_languages)

    def ranked(
        self, questions: Sequence[str], view: View, limit: int, *, hypotheses: Sequence[str] = (), embed_ms: float,
        profile: str = "",
    ) -> Ranked:  # fmt: skip
        """The best memories of each question that the view admits; without an embedding in `embed_ms` by words alone.

        Scores are about the share of such hits that are right; shares are in log-odds. A `profile` that is named
        ranks whatever the language. Raises InvalidMessage for one that there is not.
        """
        if profile and profile not in self._named:
            raise InvalidMessage(f"No ranking profile {profile!r}", f"There are: {', '.join(sorted(self._named))}.")
        answer = Ranked([], {})
        started = time.perf_counter()
        read = self.texts.read(view.scopes, partial(self._read, questions))
        answer.milliseconds["read"] = _since(started)
        started = time.perf_counter()
        embedded = self._embedded(read, hypotheses, embed_ms, answer)
        answer.milliseconds["embed"] = _since(started)
        started = time.perf_counter()
        for place, question in enumerate(read):
            vector = embedded.vectors[place] if embedded.vectors else None
            answer.lists.append(self._best(question, vector, view, limit, profile, answer))
        answer.milliseconds["rank"] = _since(started)
        answer.fingerprint, answer.model = embedded.fingerprint, embedded.model
        answer.language = read[0].language if read else ""
        return answer

    def _read(self, questions: Sequence[str], texts: Sequence[ScopeText]) -> list[Question]:
        most = self._settings.query_languages
        return [fused_search.read(text, texts, self._tables, self._languages, most) for text in questions]

    def _best(
        self, question: Question, embedded: Vector | None, view: View, limit: int, profile: str, answer: Ranked
    ) -> list[tuple[int, float, Mapping[str, float]]]:
        scopes = tuple(dict.fromkeys(view.scopes))
        near = [self._near(embedded, replace(view, scopes=(scope,)), limit) for scope in scopes]
        with_vectors = any(one is not None and len(one[0]) for one in near)
        weights = self._named[profile] if profile else self._profiles.of(question, with_vectors)
        look = partial(
            fused_search.tabulate, question, view=view, similarities=near.__getitem__, figures=self._figures,
            characters=weights.reads_characters,
        )  # fmt: skip
        table = self.texts.read(scopes, lambda texts: look(texts=texts))
        wanted = limit + _SPARE
        while True:
            found = fused_search.best(table, weights, wanted)
            admitted = self._store.admitted([one.key for one in found], view)
            kept = [one for one in found if one.key in admitted][:limit]
            if len(kept) == limit or len(found) < wanted:
                break
            wanted *= 2
        answer.memories.update((one.key, admitted[one.key]) for one in kept)
        return [(one.key, one.score, one.shares) for one in kept]

    def _near(self, vector: Vector | None, view: View, limit: int) -> Similarities | None:
        _, index = self._live.current()
        if vector is None or index is None:
            return None
        return index.similarities(vector, view, max(limit + _SPARE, self._settings.vector_candidates))

    def _embedded(self, questions: Sequence[Question], hypotheses: Sequence[str], wait_ms: float, answer: Ranked) -> _Embedded:
        """Vectors of the questions, the first one's the centroid of itself and its hypotheses.

        Where words alone decide the model is not asked.
        """
        if not questions or all(question.foreign for question in questions):
            return _Embedded()
        texts = [question.vector_text for question in questions]
        embeddings = self._ask([*texts, *hypotheses], wait_ms)
        if embeddings is None:
            answer.degraded.append(MODEL)
            return _Embedded()
        if not self._settings.model_languages:
            self._languages = tuple(embeddings.languages)
        fingerprint, index = self._live.current()
        if fingerprint and embeddings.fingerprint != fingerprint:
            answer.degraded.append(MISMATCH)
            return _Embedded(model=embeddings.model)
        if index is None and self._live.building:
            answer.degraded.append(BUILDING)
        rows = np.frombuffer(embeddings.vectors, dtype="<f4").reshape(len(texts) + len(hypotheses), -1)
        first = rows[[0, *range(len(texts), len(rows))]].mean(axis=0)
        return _Embedded([np.asarray(first, dtype=np.float32), *rows[1 : len(texts)]], embeddings.fingerprint, embeddings.model)

    def _ask(self, texts: Sequence[str], wait_ms: float) -> model_pb2.Embeddings | None:
        if wait_ms <= 0:
            return None
        try:
            future = self._link.request(model_pb2.EmbedRequest(texts=texts, interactive=True), timeout=wait_ms / 1000)
            if wait([future], wait_ms / 1000).done:
                embeddings: model_pb2.Embeddings = future.result()
                return embeddings
            future.cancel()
        except AicoMemoryError:
            return None
        return None


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
