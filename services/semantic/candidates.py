"""Everything that assembling a context needs of long-term memory, in one answer: ranked candidates and what ties them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np

from aico_memory.clock import Clock
from aico_memory.contracts.envelope import Event
from aico_memory.contracts.v1 import context_pb2, semantic_pb2
from aico_memory.domain.formation.entities import Gazetteer
from aico_memory.domain.memory import OPEN, RECORD, Condition, Evidence, Memory, Scope, View, conditions, record_of
from aico_memory.settings.identity import IdentitySettings
from aico_memory.stores.semantic.item_port import Vector
from aico_memory.stores.semantic.port import SemanticStore
from aico_memory.stores.semantic.retrieval_port import RetrievalReads, Sources
from services.semantic.at_hand import AtHand, at_hand
from services.semantic.connecting import Connecting
from services.semantic.convert import (
    CREATED,
    history_of,
    id_bytes,
    id_text,
    of_version,
    present_us,
    record_message,
    scopes_of,
    shown_message,
    view_of,
)
from services.semantic.direct_recall import NEAR, NOTHING, DirectRecall, Recalled, speaking_of
from services.semantic.outlived import outlived
from services.semantic.telling_then import tell_as_known

# Candidates between which likeness is told (the rest is far from any context), and first matches of each question that may
# answer it though words of it are left open.
_COMPARED, _LEADING = 60, 3
# Messages told of each: enough to see which records an item repeats.
_SOURCES = 8
# Of those that an answer rests on, none is left out.
_ALL = sys.maxsize
# What one answer may weigh, and the letters of one memory in it; the bus carries answers of a few megabytes.
_ANSWER_BYTES = 3 * 1024 * 1024
_LETTERS = 20_000


@dataclass(slots=True)
class Ranked:
    """What a ranking found for some questions."""

    # One list a question: row, score 0..1, what each feature gave to it; best first.
    lists: list[list[tuple[int, float, Mapping[str, float]]]]
    memories: dict[int, Memory]
    # What the vectors in use were made with; "" where there are none.
    fingerprint: str = ""
    model: str = ""
    language: str = ""
    degraded: list[str] = field(default_factory=list)
    milliseconds: dict[str, float] = field(default_factory=dict)
    # When the same questions may next find something else though nothing was said; 0: not foreseen.
    turns_us: int = 0
    # Vectors of these memories, in any length, as far as the index has them at hand.
    vectors: Callable[[], dict[bytes, Vector]] = dict


@dataclass(slots=True)
class _Aside:
    """What was found while the model embedded."""

    recalled: Recalled = NOTHING
    at_hand: AtHand | None = None
    milliseconds: float = 0.0


class Ranker(Protocol):
    """Ranks the memories of scopes."""

    def ranked(
        self, questions: Sequence[str], view: View, limit: int, *, hypotheses: Sequence[str], embed_ms: float,
        profile: str = "", kinds: Sequence[str] = (), shares: bool = False, meanwhile: Callable[[], None] | None = None,
        shown: bool = False, zone: str = "", by_parts: bool = False,
    ) -> Ranked:  # fmt: skip
        """The best memories of each question that the view admits; without an embedding in `embed_ms` by words alone.

        `zone` (IANA) is that of the questions' own dates. `profile` names a ranking profile; empty: the configured ones.
        `kinds` are ranked once more by themselves, in a last list. `meanwhile` is called once, while the model embeds.
        `by_parts`: the first question's vector is that of the others together. Raises InvalidMessage for a profile that
        there is not.
        """


class CandidateAnswers:
    """Answers from the store; safe from many threads."""

    def __init__(
        self, store: SemanticStore, retrieval: RetrievalReads, ranker: Ranker, recall: DirectRecall, gazetteer: Gazetteer,
        identity: IdentitySettings, clock: Clock, vouched: Callable[[], int], ignored: Set[str] | None = None,
        pair_count: int = 1,
    ) -> None:  # fmt: skip
        self._store = store
        self._retrieval = retrieval
        self._ranker = ranker
        self._recall = recall
        self._connecting = Connecting(store, retrieval, gazetteer)
        self._identity = identity
        self._clock = clock
        # Global sequence through which everything is applied and indexed.
        self._vouched = vouched
        # Folded function words, of which an answer need not speak; None: an answer need not speak of anything.
        self._ignored = ignored
        # Uses together from which they say that two memories belong together.
        self._pair_count = pair_count

    def candidates(self, event: Event) -> context_pb2.Candidates:
        """Ranked lists, one a question, and what else takes part. Raises InvalidMessage, AccessDenied."""
        request: context_pb2.CandidatesRequest = event.message
        # First of all: what is written meanwhile is not vouched for.
        settled = self._vouched()
        names = self._identity.names(event.user)
        scopes = scopes_of(request.scopes, event.user, names)
        now_us = present_us(self._clock)
        view = view_of(scopes, request.filters, now_us, request.as_of_us, request.known_as_of_us)
        answer = context_pb2.Candidates(settled=settled)
        aside = _Aside()
        ranked = self._ranker.ranked(
            tuple(request.questions), view, request.limit, hypotheses=tuple(request.hypotheses), embed_ms=request.embed_ms,
            kinds=tuple(request.kinds), shares=request.shares,
            meanwhile=partial(self._aside, aside, request, names, view, now_us), shown=True, zone=request.zone, by_parts=True,
        )  # fmt: skip
        self._among(aside, request, names, scopes, now_us, ranked)
        memories = dict(ranked.memories)
        self._lists(answer, ranked, request.shares)
        found = {memory.memory_id: memory for memory in memories.values()}
        found.update((one.memory_id, one) for one in aside.recalled.memories)
        answer.facts.extend(self._answering(aside.recalled, ranked, len(request.questions)))
        answer.language = aside.recalled.language
        answer.timings.add(stage="facts", milliseconds=aside.milliseconds)
        started = time.perf_counter()
        self._connecting.connect(answer, request, scopes, _asked_of(view), ranked, found)
        answer.timings.add(stage="graph", milliseconds=_since(started))
        # First what the answer may not lack, however large everything else is.
        first = [*aside.recalled.memories]
        if request.hot:
            kept = aside.at_hand or at_hand(self._retrieval, request, scopes, _asked_of(view), now_us)
            first += kept.hot
            kept.tell(answer)
        found = {**{memory.memory_id: memory for memory in first}, **found}
        started = time.perf_counter()
        self._tell(answer, list(found.values()), ranked, view)
        tell_as_known(self._store, scopes, answer.records, view.known_as_of_us)
        answer.timings.add(stage="records", milliseconds=_since(started))
        answer.degraded.extend(ranked.degraded)
        answer.model, answer.language = ranked.model, answer.language or ranked.language
        answer.turns_us = ranked.turns_us
        return answer

    def around(self, event: Event) -> context_pb2.Around:
        """Memories with their changes, creation first, and what was said around them, as it was known at the moment asked
        for; unknown ids are named, and so are those that do not fit into the answer."""
        request: context_pb2.AroundRequest = event.message
        known_us = request.known_as_of_us or OPEN
        settled = self._vouched()
        scopes = scopes_of(request.scopes, event.user, self._identity.names(event.user))
        wanted = dict.fromkeys(id_bytes(memory_id) for memory_id in request.memory_ids)
        memories = self._store.get(list(wanted), scopes)
        ids = [memory.memory_id for memory in memories]
        proofs = self._store.evidence([memory.version_of or memory.memory_id for memory in memories])
        evidence, changes = [of_version(memory, proofs) for memory in memories], self._store.histories(ids)
        values = {one.memory.memory_id: one for one in self._store.known(ids, scopes)}
        unknown = [id_text(one) for one in wanted.keys() - set(ids)]
        answer, room = context_pb2.Around(settled=settled, unknown=sorted(unknown)), _ANSWER_BYTES
        for place, (memory, sources) in enumerate(zip(memories, evidence, strict=True)):
            record = record_message(memory, sources)
            reading = values.get(memory.memory_id)
            if reading is not None:
                record.subject, record.predicate, record.value = reading.subject, reading.predicate, reading.value
            before, after = self._beside(memory, sources[:1], request.neighbours, known_us)
            history = history_of(memory, changes[memory.memory_id], sources)
            one = context_pb2.AroundOne(
                record=record, before=before[::-1], after=after,
                # What was known then was made when it arrived, which may have been later.
                changes=[change for change in history if change.what == CREATED or change.at_us <= known_us],
            )  # fmt: skip
            room -= one.ByteSize()
            if room < 0 and answer.found:
                answer.cut.extend(map(id_text, ids[place:]))
                break
            answer.found.append(one)
        tell_as_known(self._store, scopes, [one.record for one in answer.found], request.known_as_of_us)
        return answer

    def _beside(
        self, memory: Memory, source: Sequence[Evidence], limit: int, known_us: int
    ) -> tuple[list[context_pb2.Neighbour], list[context_pb2.Neighbour]]:
        if not limit:
            return [], []
        said_at_us = getattr(source[0], "said_at_us", 0) if source and memory.kind != RECORD else 0
        session = getattr(source[0], "session_id", "") if source and memory.kind != RECORD else ""
        at = replace(memory, said_at_us=said_at_us or memory.said_at_us, session_id=session or memory.session_id)
        # The message that an item was made of is not beside it, and what a version says now is not beside that.
        own = {record_of(one.event_id) for one in source} | {memory.version_of}
        before, after = (
            [_neighbour(one) for one in beside if one.memory_id not in own and one.recorded_at_us <= known_us][:limit]
            for beside in self._retrieval.around(at, limit + len(own))
        )
        return before, after

    def _lists(self, answer: context_pb2.Candidates, ranked: Ranked, told: bool) -> None:
        for entries in ranked.lists:
            listed = answer.lists.add()
            for key, score, shares in entries:
                listed.memory_ids.append(id_text(ranked.memories[key].memory_id))
                listed.scores.append(score)
                # Of each of them, of one that no feature speaks for as well.
                if told:
                    listed.shares.add(
                        shares=[semantic_pb2.RankedShare(feature=name, value=value) for name, value in shares.items()]
                    )
        for stage, milliseconds in ranked.milliseconds.items():
            answer.timings.add(stage=stage, milliseconds=milliseconds)

    def _answering(self, recalled: Recalled, ranked: Ranked, questions: int) -> Iterator[context_pb2.RecalledFact]:
        """Those that speak of all that is asked, or are said by one of the first matches, as in a search.

        "Where is the key?" is no question for where somebody lives, of whom alone it is known where they are.
        """
        leading = {
            ranked.memories[key].memory_id for entries in ranked.lists[:questions] for key, _, _ in entries[:_LEADING]
        }  # fmt: skip
        open_words = recalled.left_over or (frozenset(),) * len(recalled.results)
        doubted = {
            one.memory_id: one.owner
            for one, left in zip(recalled.memories, open_words, strict=True)
            if left and one.memory_id not in leading
        }
        rests = self._retrieval.sources_of(doubted, _ALL) if doubted else {}
        for fact, memory in zip(recalled.results, recalled.memories, strict=True):
            of = rests.get(memory.memory_id)
            if of is None or any(record_of(event_id) in leading for event_id in of.event_ids):
                yield fact

    def _aside(
        self, aside: _Aside, request: context_pb2.CandidatesRequest, names: Sequence[str], view: View, now_us: int
    ) -> None:
        """What needs no vector, while the model makes them."""
        started = time.perf_counter()
        if request.facts and request.questions:
            aside.recalled = self._recall.recall(request, names, view.scopes, now_us, self._ignored)
        aside.milliseconds = _since(started)
        if request.hot:
            aside.at_hand = at_hand(self._retrieval, request, view.scopes, _asked_of(view), now_us)

    def _among(
        self, aside: _Aside, request: context_pb2.CandidatesRequest, names: Sequence[str], scopes: Sequence[Scope], now_us: int,
        ranked: Ranked,
    ) -> None:  # fmt: skip
        """Where the wording led to nothing that answers: what is asked for by a name that no table knows ("my manager")."""
        before = aside.recalled
        if (before.results and not before.unanswered) or not (request.facts and request.questions) or self._ignored is None:
            return
        started = time.perf_counter()
        best = {key: ranked.memories[key] for entries in ranked.lists[: len(request.questions)] for key, _, _ in entries[:NEAR]}
        among = speaking_of(before.unanswered or request.questions, best.values(), self._ignored)
        if among:
            aside.recalled = self._recall.recall(request, names, scopes, now_us, self._ignored, among, before)
        aside.milliseconds += _since(started)

    def _tell(self, answer: context_pb2.Candidates, memories: Sequence[Memory], ranked: Ranked, view: View) -> None:
        sources = self._retrieval.sources_of(
            {memory.version_of or memory.memory_id: memory.owner for memory in memories}, _SOURCES
        )
        told, records, room = self._retrieval.told(memories, sources, _content), answer.records, _ANSWER_BYTES
        rests = ((one, sources[one.memory_id].event_ids) for one in memories)
        over = outlived(self._retrieval, rests, view).since
        for memory, content in zip(memories, told, strict=True):
            room -= len(content)
            if room < 0 and records:
                answer.degraded.append("candidates: too_large")
                return
            records.add().MergeFromString(content)
            over_us = over.get(memory.memory_id, 0)
            answer.traits.add(valence=memory.valence, source_confidence=memory.source_confidence, over_us=over_us)
        items = [memory.memory_id for memory in memories if memory.kind != RECORD]
        if items:
            counts = self._store.pair_counts(items)
            answer.together.extend(
                context_pb2.UsedTogether(first=id_text(pair[0]), second=id_text(pair[1]), times=times)
                for pair, times in counts.items()
                if times >= self._pair_count
            )
        if ranked.fingerprint and 1 < len(memories) <= _COMPARED:
            vectors = ranked.vectors()
            missing = [memory.memory_id for memory in memories if memory.memory_id not in vectors]
            if missing:
                vectors.update(self._store.vectors_of(missing, ranked.fingerprint))
            if len(vectors) == len(memories):
                answer.similarities = _hundredths([vectors[memory.memory_id] for memory in memories])


def _content(memory: Memory, sources: Sources) -> bytes:
    """A record as the answer carries it. No line of a prompt is longer than its text; `get` has the whole."""
    return shown_message(memory, *sources, _LETTERS).SerializeToString()


def _hundredths(vectors: Sequence[Vector]) -> bytes:
    rows = np.stack(vectors)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    cosines = rows @ rows.T
    near: bytes = np.clip(np.rint(cosines * 100), -100, 100).astype(np.int8).tobytes()
    return near


def _asked_of(view: View) -> tuple[Condition, ...]:
    """What memories beside the ranked ones have to meet: what is or was true, as the question asks, of any kind."""
    return conditions(replace(view, kinds=(), tiers=(), session_id="", since_us=0, until_us=0))


def _neighbour(memory: Memory) -> context_pb2.Neighbour:
    return context_pb2.Neighbour(id=id_text(memory.memory_id), text=memory.text, said_at_us=memory.said_at_us)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
