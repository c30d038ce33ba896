"""Answers about memories: ranked lists by vector and by words, single memories, pages, histories."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import zip_longest

import numpy as np

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import semantic_pb2
from aico_memory.domain.formation.language import LanguageTable, guess_language
from aico_memory.domain.memory import RECORD, Memory, Scope, View
from aico_memory.domain.retrieval.tokens import query_tokens
from aico_memory.domain.scopes import subject_for
from aico_memory.errors import DeadlineExceeded, InvalidMessage, ModelMismatch, NotFound
from aico_memory.settings.identity import IdentitySettings
from aico_memory.settings.memory_model import ImportanceSettings
from aico_memory.settings.semantic import SemanticSettings
from aico_memory.stores.semantic.port import SemanticStore
from aico_memory.stores.semantic.retrieval_port import RetrievalReads
from services.semantic.candidates import Ranker
from services.semantic.convert import (
    detail_message,
    history_of,
    id_bytes,
    of_version,
    present_us,
    record_message,
    scopes_of,
    view_of,
)
from services.semantic.direct_recall import DirectRecall
from services.semantic.fused import FUSED, FusedSearch
from services.semantic.live_index import LiveIndex
from services.semantic.telling_then import tell_as_known

VECTOR, TEXT = "vector", "text"
# Taken beyond the limit from an index, which may be a moment behind the store.
_SPARE = 8
# What one answer may weigh; the bus carries answers of a few megabytes.
_ANSWER_BYTES = 3 * 1024 * 1024
_Ranked = list[tuple[int, float]]


class Answering:
    """Answers from the store and its indexes; safe from many threads."""

    def __init__(
        self, store: SemanticStore, live: LiveIndex, languages: LanguageTable, settings: SemanticSettings, clock: Clock,
        identity: IdentitySettings, retrieval: RetrievalReads, ranker: Ranker | None = None, recall: DirectRecall | None = None,
        vouched: Callable[[], int] = lambda: 0, importance: ImportanceSettings | None = None,
    ) -> None:  # fmt: skip
        self._store = store
        self._live = live
        self._languages = languages
        self._settings = settings
        self._clock = clock
        self._identity = identity
        self._importance = importance or ImportanceSettings()
        # Global sequence through which everything is applied and indexed.
        self._vouched = vouched
        self._searching = (
            FusedSearch(ranker, recall, languages, settings, self.records, retrieval) if ranker is not None else None
        )

    def query(self, event: Event) -> semantic_pb2.SemanticMatches:
        """Ranked lists of the retrievers that are asked for. ModelMismatch where only vectors are, of another model."""
        message = event.message
        # First of all: what is written meanwhile is not vouched for.
        settled = self._vouched()
        scopes = self._scopes(event)
        view = view_of(scopes, message.filters, present_us(self._clock), message.as_of_us, message.known_as_of_us)
        wanted = tuple(message.retrievers) or ((VECTOR, TEXT) if message.vector else (TEXT,))
        limit = min(message.limit or 50, self._settings.max_limit)
        if FUSED in wanted:
            if self._searching is None or wanted != (FUSED,):
                raise InvalidMessage(f"The retriever {FUSED} answers alone")
            read = partial(self._read_records, event=event)
            answer = self._searching.search(message, view, limit, self._identity.names(event.user), read)
            tell_as_known(self._store, scopes, answer.records, view.known_as_of_us)
            answer.settled = settled
            return answer
        answer = semantic_pb2.SemanticMatches(index=self._settings.index)
        ranked: dict[str, _Ranked] = {}
        found: dict[int, Memory] = {}
        for retriever in wanted:
            started = time.perf_counter()
            try:
                if retriever == VECTOR:
                    ranked[retriever] = self._by_vector(message, view, limit, found)
                elif retriever == TEXT:
                    ranked[retriever] = self._by_words(message.text, view, limit, found)
                else:
                    raise InvalidMessage(f"No retriever {retriever!r}; there are {VECTOR}, {TEXT} and {FUSED}")
            except (ModelMismatch, DeadlineExceeded) as error:
                if len(wanted) == 1:
                    raise
                answer.degraded.append(f"{retriever}: {error.code}")
                continue
            answer.lists.add(retriever=retriever, milliseconds=(time.perf_counter() - started) * 1000)
        kept = _that_fit(ranked, dict(zip(found, self.records(list(found.values())), strict=True)))
        for entry in answer.lists:
            seen = [(kept[key].memory_id, score) for key, score in ranked[entry.retriever] if key in kept]
            entry.memory_ids.extend(memory_id for memory_id, _ in seen)
            entry.scores.extend(score for _, score in seen)
        answer.records.extend(kept.values())
        tell_as_known(self._store, scopes, answer.records, view.known_as_of_us)
        return answer

    def get(self, event: Event) -> semantic_pb2.MemoryPage:
        """Memories by id, in the scopes named, whatever their status; unknown ones are left out."""
        wanted = [id_bytes(memory_id) for memory_id in event.message.memory_ids]
        found = self._store.get(wanted, self._scopes(event))
        records = self._read_records(found, event)
        for memory, record in zip(found, records, strict=True):
            record.detail.CopyFrom(detail_message(memory, self._clock.now_us(), self._importance))
        return semantic_pb2.MemoryPage(records=records)

    def page(self, event: Event) -> semantic_pb2.MemoryPage:
        """Memories by ascending id; `next` is "" on the last page."""
        message = event.message
        limit = min(message.limit or self._settings.page_limit, self._settings.page_limit)
        view = view_of(self._scopes(event), message.filters, self._clock.now_us())
        after = id_bytes(message.after) if message.after else b""
        found = self._store.page(view, after, limit + 1)
        records = _first_that_fit(self._read_records(found[:limit], event))
        following = records[-1].memory_id if len(found) > len(records) else ""
        return semantic_pb2.MemoryPage(records=records, next=following)

    def history(self, event: Event) -> semantic_pb2.MemoryHistory:
        """How a memory came to be as it is, its creation first. Raises NotFound."""
        memory_id = id_bytes(event.message.memory_id)
        found = self._store.get([memory_id], self._scopes(event))
        if not found:
            raise NotFound(f"No memory {event.message.memory_id} of this user")
        memory = found[0]
        evidence = self._store.evidence([memory_id])[memory_id]
        return semantic_pb2.MemoryHistory(changes=history_of(memory, self._store.evolution(memory_id), evidence))

    def records(self, memories: Sequence[Memory]) -> list[semantic_pb2.MemoryRecord]:
        """Memories with their sources."""
        evidence = self._store.evidence([memory.version_of or memory.memory_id for memory in memories])
        return [record_message(memory, of_version(memory, evidence)) for memory in memories]

    def _read_records(self, memories: Sequence[Memory], event: Event) -> list[semantic_pb2.MemoryRecord]:
        """Memories with their sources, and items with their reading, as whoever asks knows whom they are about."""
        names = self._identity.names(event.user)
        items = [memory for memory in memories if memory.kind != RECORD]
        known = self._store.known([one.memory_id for one in items], list({one.scope for one in items})) if items else []
        readings = {one.memory.memory_id: one for one in known}
        records = self.records(memories)
        for memory, record in zip(memories, records, strict=True):
            reading = readings.get(memory.memory_id)
            if reading is not None:
                record.subject = subject_for(reading.subject, memory, names)
                record.predicate, record.value = reading.predicate, reading.value
        return records

    def _scopes(self, event: Event) -> tuple[Scope, ...]:
        """Where the question may look: the scopes it names, and the user's own under every name of theirs."""
        return scopes_of(event.message.scopes, event.user, self._identity.names(event.user))

    def _by_words(self, text: str, view: View, limit: int, found: dict[int, Memory]) -> _Ranked:
        spoken = self._store.languages(view.scopes, self._settings.query_languages)
        asked = guess_language(text, self._languages) or self._settings.default_language
        ignored = self._languages.function_words.get(asked, frozenset())
        tokens = query_tokens(text, tuple(dict.fromkeys((asked, *spoken))), ignored)
        hits = self._store.search_text(tokens, view, limit)
        found.update(self._store.admitted([hit.key for hit in hits if hit.key not in found], view))
        return [(hit.key, hit.score) for hit in hits]

    def _by_vector(self, message: semantic_pb2.SemanticQuery, view: View, limit: int, found: dict[int, Memory]) -> _Ranked:
        fingerprint, index = self._live.current()
        vector = np.frombuffer(message.vector, dtype="<f4") if len(message.vector) % 4 == 0 else np.empty(0, dtype="<f4")
        if not len(vector):
            raise InvalidMessage("A vector search without a vector of float32 numbers")
        if index is None:
            if self._live.building:
                raise DeadlineExceeded("The vector index is being built")
            return []
        if message.embedding_fingerprint != fingerprint:
            raise ModelMismatch(f"The index is built with {fingerprint!r}, the question with {message.embedding_fingerprint!r}")
        wanted = limit + _SPARE
        while True:
            near = index.search(vector, view, wanted)
            admitted = self._store.admitted([one.key for one in near], view)
            kept = [one for one in near if one.key in admitted][:limit]
            if len(kept) == limit or len(near) < wanted:
                break
            wanted *= 2
        found.update((one.key, admitted[one.key]) for one in kept)
        return [(one.key, one.score) for one in kept]


def _first_that_fit(records: Sequence[semantic_pb2.MemoryRecord]) -> Sequence[semantic_pb2.MemoryRecord]:
    """The first records that one answer carries; always one."""
    room = _ANSWER_BYTES
    for place, record in enumerate(records):
        room -= record.ByteSize()
        if room < 0 and place:
            return records[:place]
    return records


def _that_fit(
    ranked: Mapping[str, _Ranked], records: Mapping[int, semantic_pb2.MemoryRecord]
) -> dict[int, semantic_pb2.MemoryRecord]:
    """The records of the best ranks, of all lists in turn, that one answer carries; the first always."""
    kept: dict[int, semantic_pb2.MemoryRecord] = {}
    room = _ANSWER_BYTES
    for same_rank in zip_longest(*ranked.values()):
        for key in (entry[0] for entry in same_rank if entry is not None):
            if key in records and key not in kept:
                room -= records[key].ByteSize()
                if room < 0 and kept:
                    return kept
                kept[key] = records[key]
    return kept
