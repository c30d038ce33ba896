"""The benchmark in this process: the rules and indexes of the worker, without the bus, the store and the write path."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aico_memory.bench.retrieval.data import Collection, Said
from aico_memory.domain.formation.language import guess_language
from aico_memory.domain.memory import RECORD, Memory, Scope, View, facets_of
from aico_memory.domain.retrieval.evidence import Floats
from aico_memory.domain.retrieval.features import Figures, rows_of
from aico_memory.domain.retrieval.question import Question, QuestionTables
from aico_memory.domain.retrieval.ranking import Profile
from aico_memory.models.embedder import Embedder, Vectors
from aico_memory.models.language_tables import load_function_words
from aico_memory.models.load import load_embedder
from aico_memory.models.ranking_tables import load_time_cues
from aico_memory.paths import Home
from aico_memory.settings.load import load_settings
from aico_memory.stores.index import fused_search
from aico_memory.stores.index.exact import ExactVectorIndex
from aico_memory.stores.index.memory_text import InMemoryText
from aico_memory.stores.index.naive import KeptSource
from aico_memory.stores.index.scope_text import ScopeText
from aico_memory.stores.index.text_source import Change, RowRules
from aico_memory.stores.index.vector_port import VectorEntry

_BATCH = 64
_CACHE_BYTES = 1 << 30
_GAP_US = 3_600_000_000
_QUERY_LANGUAGES = 3


class KeptTexts:
    """The port `TextSource` over a list that does not change."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self._memories = list(enumerate(memories, start=1))

    def position(self) -> int:
        return 0

    def changes(self, after: int, limit: int) -> list[Change]:
        return []

    def memories(self, scope: Scope, after: int, limit: int) -> list[tuple[int, Memory]]:
        return [entry for entry in self._memories if entry[0] > after and entry[1].scope == scope][:limit]

    def newest(self, memories: int) -> list[Scope]:
        return list(dict.fromkeys(memory.scope for _, memory in self._memories[-memories:][::-1]))

    def opened(self, keys: Sequence[int]) -> list[tuple[int, Memory]]:
        return [entry for entry in self._memories if entry[0] in set(keys)]

    def size(self, scope: Scope) -> int:
        return len(self.memories(scope, 0, len(self._memories)))


@dataclass(frozen=True, slots=True)
class Tabulated:
    """A question with the features of every message."""

    question: Question
    # Rows in the order of their conversations.
    table: fused_search.Table
    # Places among the messages.
    gold: tuple[int, ...]
    category: str

    def features(self) -> Floats:
        """Shape (messages, features), in the order of the messages; keys are places, counted from one."""
        return rows_of(self.table.features, np.argsort(self.table.keys))


class Shelf:
    """The messages of one user, indexed."""

    def __init__(
        self, collection: Collection, tables: QuestionTables, embed: CachedEmbedder, model_languages: Sequence[str]
    ) -> None:
        self._tables = tables
        self._model_languages = model_languages
        self._embed = embed
        self._scope = Scope("user", collection.name)
        self.ids = [message.id for message in collection.messages]
        self._newest = max((_us(message) for message in collection.messages), default=0)
        memories = [self._memory(message, place) for place, message in enumerate(collection.messages)]
        vectors = embed([memory.text for memory in memories])
        entries = [
            VectorEntry(key, self._scope, facets_of(memory), vector)
            for key, (memory, vector) in enumerate(zip(memories, vectors, strict=True), start=1)
        ]
        rules = RowRules(tables.languages, tables.cues, tables.default_language)
        self._texts = InMemoryText(
            KeptTexts(memories), rules, cache_bytes=_CACHE_BYTES, load_batch=len(memories) + 1, session_gap_us=_GAP_US
        )
        self._vectors = ExactVectorIndex(KeptSource(lambda: entries), _CACHE_BYTES, len(entries) + 1)

    def tabulate(self, text: str, figures: Figures, characters: bool = False) -> tuple[Question, fused_search.Table]:
        """The question as it is understood, and the features of every message."""
        view = View((self._scope,), self._newest)

        def look(texts: Sequence[ScopeText]) -> tuple[Question, fused_search.Table]:
            question = fused_search.read(text, texts, self._tables, self._model_languages, _QUERY_LANGUAGES)
            vector = self._embed([question.vector_text])[0]
            table = fused_search.tabulate(
                question,
                texts,
                view,
                lambda _: self._vectors.similarities([vector], view, len(self.ids))[0],
                figures,
                characters=characters or question.foreign,
            )
            return question, table

        return self._texts.read(view.scopes, look)

    def _memory(self, message: Said, place: int) -> Memory:
        said = _us(message)
        return Memory(
            memory_id=uuid.uuid5(uuid.NAMESPACE_OID, f"{self._scope.id}/{place}").bytes, scope=self._scope,
            owner=self._scope.id, kind=RECORD, text=message.text, said_at_us=said, recorded_at_us=said, valid_from_us=said,
            created_at_us=said, updated_at_us=said, received_at_us=said, session_id=message.session, speaker=message.name,
            language=guess_language(message.text, self._tables.languages),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Workshop:
    """Tables and model with which collections are read."""

    tables: QuestionTables
    embed: CachedEmbedder
    figures: Figures
    model: str
    model_languages: tuple[str, ...]

    def shelf(self, collection: Collection) -> Shelf:
        """The collection's messages, indexed."""
        return Shelf(collection, self.tables, self.embed, self.model_languages)


def open_workshop(home: Home) -> Workshop:
    """The tables and the embedding model of this home's settings."""
    settings = load_settings(home)
    embedder, account = load_embedder(settings.models, home.model)
    tables = QuestionTables(load_function_words(home), load_time_cues(home), settings.semantic.default_language)
    figures = settings.retrieval
    return Workshop(
        tables, CachedEmbedder(embedder), Figures(figures.terse_words, figures.trusted_coverage, figures.rrf_k),
        account.model, tuple(figures.model_languages or embedder.languages),
    )  # fmt: skip


class CachedEmbedder:
    """Vectors of texts, each embedded once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vectors] = {}

    def __call__(self, texts: Sequence[str]) -> Vectors:
        new = sorted({text for text in texts if text not in self._known}, key=len)
        for start in range(0, len(new), _BATCH):
            part = new[start : start + _BATCH]
            self._known.update(zip(part, self._embedder.embed(part), strict=True))
        return np.stack([self._known[text] for text in texts])


def tabulated(collection: Collection, shelf: Shelf, figures: Figures, characters: bool = False) -> list[Tabulated]:
    """Every question of a collection with its features."""
    places = {identifier: place for place, identifier in enumerate(shelf.ids)}
    found = []
    for asked in collection.questions:
        question, table = shelf.tabulate(asked.text, figures, characters)
        found.append(Tabulated(question, table, tuple(places[one] for one in asked.gold), asked.category))
    return found


def ranked(entry: Tabulated, profile: Profile, ids: Sequence[str], depth: int) -> list[str]:
    """The ids of the best messages, best first. Keys are places, counted from one."""
    return [ids[found.key - 1] for found in fused_search.best(entry.table, profile, depth)]


def _us(message: Said) -> int:
    return int(message.at.timestamp() * 1_000_000)
