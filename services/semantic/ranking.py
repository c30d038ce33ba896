"""Ranking the memories of scopes for a question: words, vectors and everything else that is known of them, weighed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from aico_memory.contracts.v1 import model_pb2
from aico_memory.domain.formation.grammar import Calendar
from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.memory import Memory, Scope, View
from aico_memory.domain.retrieval.features import Figures, Worded, rows_of
from aico_memory.domain.retrieval.question import Question, QuestionTables
from aico_memory.domain.retrieval.ranking import Profile
from aico_memory.domain.retrieval.relative_time import AskedAt
from aico_memory.errors import AicoMemoryError, InvalidMessage
from aico_memory.models.ranking_tables import configured_profiles, load_time_cues
from aico_memory.paths import Home
from aico_memory.runtime.courtesy import Courtesy
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
from services.semantic.listed import Listed, matching
from services.semantic.live_index import LiveIndex
from services.semantic.shown import ROWS, ShownRows

MODEL, MISMATCH, BUILDING = "model", "vectors: model_mismatch", "vectors: deadline_exceeded"
# Taken beyond the limit: an index may be a moment behind the store.
_SPARE = 8
_MINUTE_US = 60_000_000
# In which a question leaves for the model.
_LEAVING_SECONDS = 0.0003
# Those of some rows that may be seen.
_Admit = Callable[[Sequence[int]], dict[int, Memory]]


def open_ranker(
    store: SemanticStore, source: TextSource, live: LiveIndex, link: LinkPort, languages: LanguageTable, home: Home,
    settings: Settings, courtesy: Courtesy, calendars: Mapping[str, Calendar],
) -> LearnedRanker:  # fmt: skip
    """The ranker of this home; `calendars` by language. Raises ConfigurationInvalid where a configured profile is not there."""
    figures = settings.retrieval
    tables = QuestionTables(languages, load_time_cues(home), settings.semantic.default_language, calendars)
    texts = InMemoryText(
        source, RowRules(languages, tables.cues, tables.default_language), cache_bytes=figures.text_cache_bytes,
        load_batch=settings.semantic.load_batch, session_gap_us=figures.session_gap_minutes * _MINUTE_US,
    )  # fmt: skip
    profiles = configured_profiles(home, figures)
    return LearnedRanker(store, texts, live, link, tables, profiles, figures, courtesy)


@dataclass(slots=True)
class _Embedded:
    """What the model said of the questions; no vectors where it was not asked or did not answer."""

    vectors: Sequence[Vector] = ()
    fingerprint: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class _Surveyed:
    """The scopes as they stood, and what each question's words say of them by the weights that are expected to apply."""

    scopes: Sequence[fused_search.Surveyed]
    # [question]
    weights: Sequence[Profile]
    worded: Sequence[Sequence[Worded]]
    # When a row begins or ceases to hold, or a day that a question names is another one; 0: not foreseen.
    turns_us: int = 0


class LearnedRanker:
    """The port `Ranker`; safe from many threads."""

    def __init__(
        self, store: SemanticStore, texts: InMemoryText, live: LiveIndex, link: LinkPort, tables: QuestionTables,
        profiles: Mapping[str, Profile], settings: RetrievalSettings, courtesy: Courtesy,
    ) -> None:  # fmt: skip
        self._store = store
        self.texts = texts
        self._live = live
        self._link = link
        self._tables = tables
        self._named = profiles
        self._settings = settings
        self._courtesy = courtesy
        self._figures = Figures(settings.terse_words, settings.trusted_coverage, settings.rrf_k)
        self._profiles = fused_search.Profiles(self.shipped, self._named[settings.lexical_profile])
        self.shown = ShownRows()
        # What the model that answered last speaks; until one has, any language.
        self._languages: tuple[str, ...] = tuple(settings.model_languages)

    @property
    def shipped(self) -> Profile:
        """The configured profile, whatever was learned from use since."""
        return self._named[self._settings.profile]

    def adopt(self, profile: Profile | None) -> None:
        """Rank by this profile where the configured one would; None: by that again."""
        self._profiles = replace(self._profiles, fused=profile or self.shipped)

    def ranked(
        self, questions: Sequence[str], view: View, limit: int, *, hypotheses: Sequence[str] = (), embed_ms: float,
        profile: str = "", kinds: Sequence[str] = (), shares: bool = False, meanwhile: Callable[[], None] | None = None,
        shown: bool = False, zone: str = "", by_parts: bool = False,
    ) -> Ranked:  # fmt: skip
        """The best memories of each question that the view admits; without an embedding in `embed_ms` by words alone.

        The first question has `limit` places, the others as many together. `kinds` are ranked once more by themselves, for
        the first question, in a last list. Scores are about the share of such hits that are right; shares are in log-odds.
        `zone` (IANA) is that of the questions' own dates. With `shown` memories have only what a context weighs and shows. A
        `profile` that is named ranks whatever the language. `meanwhile` is called while the model embeds. Raises
        InvalidMessage for a profile that there is not. `by_parts`: the first question's vector is that of the others together.
        """
        if profile and profile not in self._named:
            raise InvalidMessage(f"No ranking profile {profile!r}", f"There are: {', '.join(sorted(self._named))}.")
        answer = Ranked([], {})
        started = time.perf_counter()
        asked_at = AskedAt(view.as_of_us or view.now_us, zone)
        read = self.texts.read(view.scopes, partial(self._read, questions, asked_at))
        answer.language = read[0].language if read else ""
        answer.milliseconds["read"] = _since(started)
        started = time.perf_counter()
        # A question that asks several things costs no embedding beside those of its parts.
        own = read[1:] if by_parts and len(read) > 1 and not hypotheses else read
        asked, languages = self._ask(own, hypotheses, embed_ms), self._languages
        # While the model embeds: everything that needs no vector.
        surveyed = self._survey(read, view, profile, kinds, asked is not None)
        answer.turns_us = surveyed.turns_us
        answer.milliseconds["words"] = _since(started)
        if meanwhile is not None:
            meanwhile()
        embedded = self._embedded(own, asked, embed_ms - _since(started), answer)
        if own is not read and embedded.vectors:
            embedded.vectors = [np.mean(embedded.vectors, axis=0), *embedded.vectors]
        if self._languages != languages:
            # It speaks others than was thought before it answered anybody: of these words decide.
            read = self.texts.read(view.scopes, partial(self._read, questions, asked_at))
        answer.milliseconds["embed"] = _since(started)
        started = time.perf_counter()
        # Small talk asks nothing, and yet wants what is at hand.
        most = [limit, *(max(1, limit // (len(read) - 1)) for _ in read[1:])][: len(read)]
        tables = self._tables_of(read, surveyed, embedded, view, max(most, default=0), profile, kinds)
        self._fill(answer, tables, most, view, shares, partial(self._store.admitted, view=view, shown=shown))
        answer.milliseconds["rank"] = _since(started)
        answer.fingerprint, answer.model = embedded.fingerprint, embedded.model
        answer.vectors = partial(self._at_hand, embedded.fingerprint, answer.memories)
        return answer

    def _at_hand(self, wanted: str, memories: Mapping[int, Memory]) -> dict[bytes, Vector]:
        """The vectors of these memories that the index has in memory, if it is that of this model."""
        fingerprint, index = self._live.current()
        if index is None or fingerprint != wanted:
            return {}
        by_scope: dict[Scope, list[int]] = {}
        for key, memory in memories.items():
            by_scope.setdefault(memory.scope, []).append(key)
        found = (one for scope, keys in by_scope.items() for one in index.at_hand(keys, scope).items())
        return {memories[key].memory_id: vector for key, vector in found}

    def _read(self, questions: Sequence[str], asked_at: AskedAt, texts: Sequence[ScopeText]) -> list[Question]:
        most = self._settings.query_languages
        return [fused_search.read(text, texts, self._tables, self._languages, most, asked_at) for text in questions]

    def _survey(
        self, read: Sequence[Question], view: View, profile: str, kinds: Sequence[str], with_vectors: bool
    ) -> _Surveyed:
        weights = [self._named[profile] if profile else self._profiles.of(question, with_vectors) for question in read]

        def look(texts: Sequence[ScopeText]) -> _Surveyed:
            scopes = fused_search.survey(texts, view, kinds)
            return _Surveyed(scopes, weights, [
                fused_search.reading(
                    question, texts, scopes, view.now_us, self._figures, its.reads_characters, its.used
                )
                for question, its in zip(read, weights, strict=True)
            ], fused_search.turning(texts, view, read))  # fmt: skip

        return self.texts.read(tuple(dict.fromkeys(view.scopes)), look)

    def _tables_of(
        self, read: Sequence[Question], surveyed: _Surveyed, embedded: _Embedded, view: View, limit: int, profile: str,
        kinds: Sequence[str],
    ) -> list[Listed]:  # fmt: skip
        """What each list is taken from: one a question, and that of the kinds."""
        # [scope][question]
        near = [self._near(embedded.vectors, replace(view, scopes=(scope,)), limit) for scope in dict.fromkeys(view.scopes)]
        with_vectors = any(len(one[0]) for of_scope in near for one in of_scope[:1])
        expected = [self._named[profile] if profile else self._profiles.of(question, with_vectors) for question in read]
        if any(one is not other for one, other in zip(expected, surveyed.weights, strict=True)):
            # The model did not answer: words alone decide, and by other features.
            surveyed = self._survey(read, view, profile, kinds, with_vectors)
        found = []
        for place, (question, weights, worded) in enumerate(zip(read, expected, surveyed.worded, strict=True)):
            beside = [of_scope[place] if of_scope else None for of_scope in near]
            table = fused_search.table_of(surveyed.scopes, worded, beside.__getitem__, with_kinds=not place)
            found.append(Listed(question, table, weights))
        if kinds and found:
            found.append(replace(found[0], of_kinds=True))
        return found

    def _fill(
        self, answer: Ranked, tables: Sequence[Listed], most: Sequence[int], view: View, shares: bool, admit: _Admit
    ) -> None:
        """Take the best of each table that the store still admits."""
        limits = [*most, *(most[:1] if len(tables) > len(most) else ())]
        wanted = [limit + _SPARE for limit in limits]
        best = [one.best(count) for one, count in zip(tables, wanted, strict=True)]
        admitted: dict[int, Memory] = {}
        asked: set[int] = set()
        while True:
            fresh = {one.key for found in best for one in found} - asked
            admitted.update(admit(sorted(fresh)) if fresh else {})
            asked |= fresh
            kept = [[one for one in found if one.key in admitted][:limit] for found, limit in zip(best, limits, strict=True)]
            # An index may be behind the store by more than was spared.
            short = [at for at, found in enumerate(kept) if len(found) < limits[at] and len(best[at]) == wanted[at]]
            if not short:
                break
            for at in short:
                wanted[at] *= 2
                best[at] = tables[at].best(wanted[at])
        for listed, found in zip(tables, kept, strict=True):
            answer.lists.append(self._told(listed, found, limits[len(answer.lists)], view, admitted, shares, answer, admit))

    def _told(
        self, listed: Listed, found: Sequence[fused_search.Found], limit: int, view: View, admitted: dict[int, Memory],
        shares: bool, answer: Ranked, admit: _Admit,
    ) -> list[tuple[int, float, Mapping[str, float]]]:  # fmt: skip
        """One list, with what sleep wrote of its hits behind them."""
        table = listed.table
        if listed.weights is self._profiles.fused and not listed.of_kinds:
            self._note(listed.question, view.scopes, table, found, admitted)
        if table.derived and not listed.of_kinds:
            derived = admit([key for key, _ in table.derived])
            table = table._replace(derived=tuple(one for one in table.derived if one[0] in derived))
            found = fused_search.with_derived(found, table, limit)
            admitted.update(derived)
        if listed.weights is self._profiles.lexical:
            found = matching(found, listed.weights)
        answer.memories.update((one.key, admitted[one.key]) for one in found)
        return [(one.key, one.score, listed.weights.shares(one.features) if shares else {}) for one in found]

    def _note(
        self, question: Question, scopes: Sequence[Scope], table: fused_search.Table, kept: Sequence[fused_search.Found],
        admitted: Mapping[int, Memory],
    ) -> None:  # fmt: skip
        places = [one.place for one in kept[:ROWS]]
        memories = [admitted[one.key] for one in kept[:ROWS]]
        self.shown.note(
            question.vector_text, [scope.key for scope in scopes], memories,
            rows_of(table.features, np.array(places, dtype=np.intp)),
        )  # fmt: skip

    def _near(self, vectors: Sequence[Vector], view: View, limit: int) -> Sequence[Similarities]:
        _, index = self._live.current()
        if not vectors or index is None:
            return ()
        return index.similarities(vectors, view, max(limit + _SPARE, self._settings.vector_candidates))

    def _ask(
        self, questions: Sequence[Question], hypotheses: Sequence[str], wait_ms: float
    ) -> Future[model_pb2.Embeddings] | None:
        """The question to the model, under way; None where it is not asked, since words alone decide or there is no time."""
        if not questions or all(question.foreign for question in questions) or wait_ms <= 0:
            return None
        texts = [*(question.vector_text for question in questions), *hypotheses]
        try:
            asked = self._link.request(model_pb2.EmbedRequest(texts=texts, interactive=True), timeout=wait_ms / 1000)
        except AicoMemoryError:
            return None
        # The link's thread sends it now, before this one computes: otherwise it waits for its turn at each of its steps.
        wait([asked], _LEAVING_SECONDS)
        return asked

    def _embedded(
        self, questions: Sequence[Question], asked: Future[model_pb2.Embeddings] | None, wait_ms: float, answer: Ranked
    ) -> _Embedded:
        """Vectors of the questions, the first one's the centroid of itself and its hypotheses."""
        if not questions or all(question.foreign for question in questions):
            return _Embedded()
        # The consumer may compute while this thread does not.
        with self._courtesy.waiting():
            embeddings = _taken(asked, wait_ms)
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
        rows = np.frombuffer(embeddings.vectors, dtype="<f4").reshape(-1, embeddings.dimension)
        first = rows[[0, *range(len(questions), len(rows))]].mean(axis=0)
        return _Embedded(
            [np.asarray(first, dtype=np.float32), *rows[1 : len(questions)]], embeddings.fingerprint, embeddings.model
        )


def _taken(asked: Future[model_pb2.Embeddings] | None, wait_ms: float) -> model_pb2.Embeddings | None:
    if asked is None:
        return None
    try:
        if wait([asked], max(0.0, wait_ms) / 1000).done:
            return asked.result()
        asked.cancel()
    except AicoMemoryError:
        return None
    return None


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
