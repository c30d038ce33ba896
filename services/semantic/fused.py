"""One ranked list of a question: what answers it first, then what was said and is remembered, weighed by a ranking profile."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import compress

from aico_memory.contracts.v1 import context_pb2, semantic_pb2
from aico_memory.domain.formation.formed import SPEAKER
from aico_memory.domain.formation.language import LanguageTable
from aico_memory.domain.memory import ONCE_BELIEVED, RECORD, Memory, View, admits, conditions
from aico_memory.domain.retrieval.tokens import words
from aico_memory.settings.semantic import SemanticSettings
from aico_memory.stores.semantic.retrieval_port import RetrievalReads
from services.semantic.candidates import Ranked, Ranker
from services.semantic.direct_recall import NEAR, NOTHING, STATEMENT, DirectRecall, Recalled, speaking_of
from services.semantic.outlived import outlived

FUSED = "fused"
# What one answer may weigh; the bus carries answers of a few megabytes.
_ANSWER_BYTES = 3 * 1024 * 1024
# The tier of what rests, and the name of what that takes from a score; the name of what answering gives to it.
_AT_REST, _ANSWERS = "dormant", "answers"
# Why something is not in the list: its message is there.
SAME_MESSAGE = "same_message"
# Share of all words of question and message that both have, from which on the one repeats the other.
_SAME_WORDS = 0.8
_SAME_LENGTH = 2.0
# Best matches among which an answer to a part of the question answers it all.
_LEADING = 3
_Entry = tuple[int, float, Mapping[str, float]]
_Read = Callable[[Sequence[Memory]], list[semantic_pb2.MemoryRecord]]
_Records = Mapping[int, semantic_pb2.MemoryRecord]


def says_nothing(languages: LanguageTable) -> frozenset[str]:
    """Folded words of which what answers a question need not speak."""
    return frozenset().union(*languages.function_words.values(), (SPEAKER, "s"))


class FusedSearch:
    """Searches by ranking profile; safe from many threads."""

    def __init__(
        self, ranker: Ranker, recall: DirectRecall | None, languages: LanguageTable, settings: SemanticSettings,
        records: _Read, retrieval: RetrievalReads,
    ) -> None:  # fmt: skip
        self._ranker = ranker
        self._recall = recall
        self._settings = settings
        self._records = records
        self._retrieval = retrieval
        self._ignored = says_nothing(languages)

    def search(
        self, message: semantic_pb2.SemanticQuery, view: View, limit: int, names: Sequence[str], read: _Read
    ) -> semantic_pb2.SemanticMatches:
        """At most `limit` memories, best first; `read` makes records of items with their reading.

        What answers the question by the rules of recall stands first, whatever its score: where it speaks of all that the
        question names, or its message is among the first matches. Not where a ranking profile is named, which is shown as
        it ranks. Every message keeps its own place; of items beside it only those that answer stand in the list.
        """
        recalled = NOTHING

        def recall() -> None:
            nonlocal recalled
            if self._recall is not None and not message.profile:
                recalled = self._recalled(self._recall, message, view, names)

        # Twice as many: what rests on one message stands in several places.
        ranked = self._ranker.ranked(
            [message.text, *message.parts], view, min(2 * limit, self._settings.max_limit), hypotheses=(),
            embed_ms=message.embed_ms, profile=message.profile, shares=message.shares, meanwhile=recall,
        )  # fmt: skip
        answer = semantic_pb2.SemanticMatches(
            index=self._settings.index, model=ranked.model, degraded=ranked.degraded, turns_us=ranked.turns_us
        )
        entries = ranked.lists[0] if ranked.lists else []
        records = dict(zip(ranked.memories, self._records(list(ranked.memories.values())), strict=True))
        if (recalled.unanswered or not recalled.results) and self._recall is not None and not message.profile:
            near = {key: ranked.memories[key] for found in ranked.lists for key, _, _ in found[:NEAR]}
            among = speaking_of(recalled.unanswered or [message.text], near.values(), self._ignored)
            if among:
                recalled = self._recalled(self._recall, message, view, names, among, recalled)
        dropped: dict[str, str] = {}
        first, rest = self._answers_first(recalled, entries, records, ranked, message.text, read(recalled.memories))
        _order_sources(records, [key for key, _, _ in entries])
        again = said_again(message.text, records)
        kept = _one_a_message(rest, records, again, dropped)
        kept = [*first, *_at_rest_behind(kept, records, again, self._settings.dormant_factor)]
        listed = answer.lists.add(retriever=FUSED, milliseconds=sum(ranked.milliseconds.values()))
        room = _ANSWER_BYTES
        for place, (key, score, shares) in enumerate(kept):
            room -= records[key].ByteSize()
            full = place >= limit
            if full or (room < 0 and listed.scores):
                dropped.update((records[one].memory_id, "top_k" if full else "answer_bytes") for one, _, _ in kept[place:limit])
                dropped.update((records[one].memory_id, "top_k") for one, _, _ in kept[max(place, limit) :])
                break
            answer.records.append(records[key])
            listed.memory_ids.append(records[key].memory_id)
            listed.scores.append(score)
            if message.shares:
                weighed = [semantic_pb2.RankedShare(feature=name, value=value) for name, value in shares.items()]
                listed.shares.add(shares=weighed)
        listed.answers = min(len(first), len(listed.scores))
        shown = [(ranked.memories.get(key), records[key]) for key, _, _ in kept[: len(listed.scores)]]
        told = [(memory, [one.event_id for one in record.sources]) for memory, record in shown if memory is not None]
        over = outlived(self._retrieval, told, view)
        listed.over_us.extend(over.since.get(memory.memory_id, 0) if memory is not None else 0 for memory, _ in shown)
        answer.turns_us = min((at_us for at_us in (answer.turns_us, over.turns_us) if at_us), default=0)
        if message.shares:
            answer.dropped.extend(semantic_pb2.DroppedItem(id=one, rule=rule) for one, rule in dropped.items())
        for stage, milliseconds in ranked.milliseconds.items():
            answer.timings.add(stage=stage, milliseconds=milliseconds)
        return answer

    def _recalled(
        self, recall: DirectRecall, message: semantic_pb2.SemanticQuery, view: View, names: Sequence[str],
        among: Sequence[bytes] = (), before: Recalled = NOTHING,
    ) -> Recalled:  # fmt: skip
        request = context_pb2.CandidatesRequest(
            questions=[message.text, *message.parts], as_of_us=view.as_of_us, known_as_of_us=view.known_as_of_us
        )
        found = recall.recall(request, names, view.scopes, view.now_us, self._ignored, among, before)
        # When it held is decided; everything else that the search asks for applies to answers as well.
        wanted = conditions(replace(view, statuses=view.statuses or ONCE_BELIEVED, as_of_us=0, known_as_of_us=0))
        fits = [admits(wanted, memory) for memory in found.memories]
        return found._replace(
            results=list(compress(found.results, fits)), memories=list(compress(found.memories, fits)),
            left_over=list(compress(found.left_over, fits)),
        )  # fmt: skip

    def _texts(self, recalled: Recalled, made: Sequence[semantic_pb2.MemoryRecord]) -> frozenset[bytes]:
        """The messages of the answers that are long texts: what was read in one leads only where it is the best match."""
        if self._recall is None:
            return frozenset()
        events = {source.event_id for record in made for source in record.sources}
        return self._recall.texts(sorted(events), list({memory.scope for memory in recalled.memories}))

    def _answers_first(
        self, recalled: Recalled, entries: Sequence[_Entry], records: dict[int, semantic_pb2.MemoryRecord], ranked: Ranked,
        question: str, made: Sequence[semantic_pb2.MemoryRecord],
    ) -> tuple[list[_Entry], list[_Entry]]:  # fmt: skip
        """What answers, and the rest of the entries; the records of the answers are added under keys below zero."""
        if not recalled.results or self._recall is None:
            return [], list(entries)
        known = {ranked.memories[entry[0]].memory_id: entry for entry in entries}
        # Of a question in several parts what is among the first of one of them answers that part.
        listed = [entries, *ranked.lists[1:]]
        leading = {source.event_id for found in listed for key, _, _ in found[:_LEADING] for source in records[key].sources}
        top = max((score for _, score, _ in entries), default=0.0)
        first: list[_Entry] = []
        gone: set[int] = set()
        texts = self._texts(recalled, made)
        best = {source.event_id for key, _, _ in entries[:1] for source in records[key].sources}
        heard = {part for record in (*records.values(), *made) for source in record.sources for part in words(source.name)}
        people = self._recall.people_in(question, recalled.language, heard)
        answers = zip(recalled.results, recalled.memories, made, recalled.left_over, strict=True)
        for place, (fact, memory, record, left) in enumerate(answers, 1):
            said = {one.event_id for one in record.sources}
            if _said_by_another(record, people) or (left and not leading & said) or not said - (texts - best):
                continue
            key, score, shares = known.get(memory.memory_id, (-place, 0.0, {}))
            records[key] = record
            gone.add(key)
            raised = max(score, fact.confidence, top)
            first.append((key, raised, {**shares, _ANSWERS: _log_odds(raised) - _log_odds(score)}))
        first.sort(key=lambda entry: -entry[1])
        return first, [entry for entry in entries if entry[0] not in gone]


def _said_by_another(record: semantic_pb2.MemoryRecord, people: Set[str]) -> bool:
    """Whether somebody is asked about, and not the one whose word this is, nor whom it is about."""
    speakers = {part for source in record.sources for part in words(source.name)}
    return bool(speakers and people) and not people & (speakers | set(words(record.subject)) | set(words(record.text)))


def said_again(question: str, records: _Records) -> frozenset[int]:
    """Which of these are messages whose very words the question is made of, give or take one in five."""
    asked = frozenset(words(question))
    found = []
    for key, record in records.items():
        # What is twice as long, or half, repeats nothing; its words need not be taken apart.
        alike = len(question) <= _SAME_LENGTH * len(record.text) and len(record.text) <= _SAME_LENGTH * len(question)
        if record.kind == RECORD and asked and alike:
            said = frozenset(words(record.text))
            if len(asked & said) >= _SAME_WORDS * len(asked | said):
                found.append(key)
    return frozenset(found)


def _one_a_message(entries: Sequence[_Entry], records: _Records, again: Set[int], dropped: dict[str, str]) -> list[_Entry]:
    """Of memories that rest on the same messages one, in the place of the best: the message itself where it is among them.

    A search finds what was said, in the words in which it was said; `recall` tells what follows from it. A message that
    the question repeats stands first.
    """
    sources = {key: tuple(sorted({source.event_id for source in records[key].sources})) for key, _, _ in entries}
    said = {sources[entry[0]]: entry for entry in reversed(entries) if records[entry[0]].kind == RECORD}
    top = entries[0][1] if entries else 0.0
    kept = [(key, top, shares) for key, _, shares in entries if key in again]
    seen = {sources[key] for key, _, _ in kept}
    for key, score, shares in entries:
        source = sources[key]
        if key in again or (source and source in seen):
            continue
        message = said.get(source)
        if message is not None and message[0] != key and len(records[message[0]].text) > STATEMENT:
            # One of the many things that a text says lifts no text.
            continue
        seen.add(source)
        kept.append((key, score, shares) if message is None else (message[0], score, shares))
    shown = {records[key].memory_id for key, _, _ in kept}
    dropped.update((records[key].memory_id, SAME_MESSAGE) for key, _, _ in entries if records[key].memory_id not in shown)
    return kept


def _at_rest_behind(entries: Sequence[_Entry], records: _Records, again: Set[int], factor: float) -> list[_Entry]:
    """What is dormant stays reachable with a penalty that has a name; not what the question repeats word by word."""
    weighed = [
        (key, score * factor, {**shares, _AT_REST: _log_odds(score * factor) - _log_odds(score)})
        if records[key].tier == _AT_REST and key not in again
        else (key, score, shares)
        for key, score, shares in entries
    ]
    return sorted(weighed, key=lambda entry: -entry[1])


def _log_odds(score: float) -> float:
    inside = min(max(score, 1e-9), 1 - 1e-9)
    return math.log(inside / (1 - inside))


def _order_sources(records: _Records, ranking: Sequence[int]) -> None:
    """Where a memory rests on several messages, the one that matches best comes first."""
    places: dict[bytes, int] = {}
    for place, key in enumerate(ranking):
        if len(records[key].sources) == 1:
            places.setdefault(records[key].sources[0].event_id, place)
    for record in records.values():
        if len(record.sources) > 1:
            best_first = sorted(record.sources, key=lambda source: places.get(source.event_id, len(ranking)))
            del record.sources[:]
            record.sources.extend(best_first)
